"""The client's ends of the wire; each needs its own extra, so import the door you use.

`lapse.transports.http` wraps an httpx2 (or httpx) transport.
"""

__all__: list[str] = []
