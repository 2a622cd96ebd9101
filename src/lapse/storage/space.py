"""What the system says when a file may not grow."""

from __future__ import annotations

import errno

__all__ = ["NO_SPACE"]

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The disk is full, the user's quota is, or the process's own limit is reached."""
