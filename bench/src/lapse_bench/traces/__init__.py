"""Histories of reference tables: what drift looks like when nobody made it up.

A trace is one JSON object a line, plain or gzip, in time order::

    {"at": "2019-05-27T11:13:58Z", "commit": "870c1cae1f25", "table": "php", "key": "7.1",
     "op": "added|changed|removed", "before": {...}|null, "after": {...}|null}

`before` and `after` are whole rows, and `before` always equals what stands there when the history
is replayed from nothing. Reading checks all of that, and an error names the line, the field, the
value and the remedy.

Three real histories ship with the package, thinned by the rule in `lapse_bench.traces.thinning`,
each beside its licence.
"""

from lapse_bench.traces.history import Event, History, Tables, described, read
from lapse_bench.traces.places import SHIPPED, find
from lapse_bench.traces.thinning import fewer, thin

__all__ = ["SHIPPED", "Event", "History", "Tables", "described", "fewer", "find", "read", "thin"]
