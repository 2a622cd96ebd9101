"""Where ledgers are kept, and what vouches for them from outside.

In this process: `InMemoryStore`. Around any store: `TrustedStore`, with a `FileAnchor`. The others
have doors of their own, so that nothing here loads a database driver:
`lapse.storage.sqlite.SqliteStore` (a file, the default) and `lapse.storage.postgres.PostgresStore`
(a server, shared by machines).
"""

from lapse.storage.anchor import FileAnchor
from lapse.storage.memory import InMemoryStore
from lapse.storage.system import RandomIds, SystemClock
from lapse.storage.trusted import TrustedStore

__all__ = ["FileAnchor", "InMemoryStore", "RandomIds", "SystemClock", "TrustedStore"]
