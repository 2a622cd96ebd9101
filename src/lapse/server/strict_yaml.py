"""YAML read strictly: its structure, with JSON's scalars, and nothing that hides what is meant.

A date and ``no`` stay text, a name given twice is refused, and there are no aliases and no tags.
"""

# The library's stubs leave the loader's inside untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lapse.errors import InvalidValue, MissingExtra

try:
    import yaml
except ImportError:  # pragma: no cover - the extra is there in the tests
    feature = "a contract server from a file"
    raise MissingExtra(feature, "server") from None

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["read_yaml"]


def read_yaml(text: str | bytes) -> object:
    """The value of a YAML document: None, bool, int, float, str, lists and dicts.

    Raises:
        InvalidValue: it is not YAML as read here.
    """
    try:
        return yaml.load(text, Loader=_Strict)  # noqa: S506 - derived from SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as failure:
        remedy = f"write plain YAML ({' '.join(str(failure).split())})"
        raise InvalidValue("the file", text, remedy) from None


class _Strict(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the registry filled below

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "tag", None) is not None:
            raise _refusal("aliases and tags are not read", event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(
        self,
        node: Any,
        deep: bool = False,  # noqa: FBT001, FBT002 - the signature is the library's
    ) -> dict[Hashable, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in names:
                raise _refusal(f"the name {key.value!r} is given twice", key.start_mark)
            names.add(str(key.value))
        return super().construct_mapping(node, deep)


def _refusal(what: str, where: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(problem=what, problem_mark=where)


for _tag, _form, _first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"-?(?:0|[1-9][0-9]*)", "-0123456789"),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", "-0123456789"),
):
    _Strict.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_form})\Z"), list(_first)
    )
