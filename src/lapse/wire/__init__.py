"""What crosses a boundary: read tolerantly, written exactly.

::

    reading = read_response(response.headers.raw, response.content)   # never raises
    reading.envelope.table_versions
    reading.refusals                                                  # what was left out, and why

    body = write_problem(Problem(type="…", title="…", status=422, detail="…"), envelope)
"""

from lapse.wire import models
from lapse.wire.fields import (
    FIELD_BYTES,
    LOCATION,
    RULES,
    VERSIONS,
    contract_fields,
    versions_field,
)
from lapse.wire.limits import DEFAULT_LIMITS, Limits, Reason, Refusal
from lapse.wire.parsing import write
from lapse.wire.reading import (
    Reading,
    ReloadRequest,
    read_changes,
    read_reload_request,
    read_response,
)
from lapse.wire.schemas import schemas
from lapse.wire.transfer import read_export, write_export
from lapse.wire.writing import (
    JSON,
    PROBLEM_JSON,
    Problem,
    changes_members,
    envelope_members,
    graph_members,
    preferred_type,
    problem_members,
    reload_members,
    suggestion_members,
    write_changes,
    write_envelope,
    write_problem,
)

__all__ = [
    "DEFAULT_LIMITS",
    "FIELD_BYTES",
    "JSON",
    "LOCATION",
    "PROBLEM_JSON",
    "RULES",
    "VERSIONS",
    "Limits",
    "Problem",
    "Reading",
    "Reason",
    "Refusal",
    "ReloadRequest",
    "changes_members",
    "contract_fields",
    "envelope_members",
    "graph_members",
    "models",
    "preferred_type",
    "problem_members",
    "read_changes",
    "read_export",
    "read_reload_request",
    "read_response",
    "reload_members",
    "schemas",
    "suggestion_members",
    "versions_field",
    "write",
    "write_changes",
    "write_envelope",
    "write_export",
    "write_problem",
]
