"""Where ledgers are kept, and what vouches for them from outside.

In this process: `InMemoryStore`. The others have doors of their own, so that nothing here loads a
database driver: `lapse.storage.sqlite.SqliteStore` (a file, the default) and
`lapse.storage.postgres.PostgresStore` (a server, shared by machines).
"""

from lapse.storage.memory import InMemoryStore
from lapse.storage.system import RandomIds, SystemClock

__all__ = ["InMemoryStore", "RandomIds", "SystemClock"]
