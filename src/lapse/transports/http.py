"""The door to the HTTP transports: `Transport`, and `AsyncTransport` for an `AsyncClient`.

::

    memory = lapse.open("fixes.db")
    client = httpx2.Client(transport=Transport(memory), base_url="https://api.example")
"""

from __future__ import annotations

from lapse.errors import MissingExtra

try:
    import httpx2 as _httpx2
except ImportError as _missing:
    raise MissingExtra("lapse.transports.http", "http") from _missing

from lapse.transports.http_amending import Amended, unamended
from lapse.transports.http_async import AsyncTransport
from lapse.transports.http_reading import envelope_of
from lapse.transports.http_sync import Transport
from lapse.transports.request_schemas import RequestSchemas

__all__ = ["Amended", "AsyncTransport", "RequestSchemas", "Transport", "envelope_of", "unamended"]

del _httpx2
