"""Which texts may name something that crosses the wire.

Names end up in logs, in prompts and in database columns, so a name that could start a new line or
end a text early is refused at both ends.
"""

from __future__ import annotations

import re

from lapse.errors import InvalidValue

__all__ = ["NAME_CHARACTERS", "check_name", "is_name"]

NAME_CHARACTERS = 512
"""The longest table, key, version, relation or action name; real ones stay below 200."""

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""C0 and C1 controls, the two line breaks that are no controls, and lone surrogates."""


def is_name(text: str) -> bool:
    """Whether a text may name a table, a key, a version, a relation or an action (C-ENV-09)."""
    return 0 < len(text) <= NAME_CHARACTERS and _UNFIT.search(text) is None


def check_name(field: str, text: object) -> str:
    """The text itself, if it may be a name.

    Raises:
        InvalidValue: it is no string, empty, too long, or holds a control character.
    """
    if isinstance(text, str) and is_name(text):
        return text
    remedy = f"pass 1 to {NAME_CHARACTERS} characters without control characters or line breaks"
    raise InvalidValue(field, text, remedy)
