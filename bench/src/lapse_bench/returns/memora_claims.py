"""What a Memora session says, as claims, and which facts a question needs or wants forgotten.

Slots: a preference is one slot for each thing liked or disliked; a to-do or an event one for each;
of a document each plain field is a slot and each element of a list is one. So an update of a
preference's *value* (Joan Crawford, now Grace Kelly) leaves one slot and fills another: no rule
that looks at slots alone can see it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lapse_bench.returns.episodes import Claim

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lapse_bench.returns.episodes import Fact

__all__ = [
    "World",
    "evidence_of",
    "facts_forgotten",
    "facts_needed",
    "forgotten_items",
    "topics_of",
]

_Slot: TypeAlias = tuple[str, str]

_SUBCATEGORIES = {
    "movies": ("genres", "actors", "directors", "already_watched_list"),
    "books": ("topics", "authors", "already_read_list"),
    "music": ("genres", "artists", "decades", "already_listened_list"),
    "travel": ("destination_types", "regions", "climates", "already_visited_list"),
}
"""The source's own division of preferences; a question is about one of the four, and may name one
part of it."""


class World:
    """The sessions of one persona over one period, and what stood when.

    Attributes:
        sessions: the ids, in order.
    """

    __slots__ = ("_claims", "_ended", "_rows", "_topics", "sessions")

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take the sessions in any order and write down what each says."""
        self._rows = {row["session_id"]: row for row in rows}
        self.sessions: tuple[int, ...] = tuple(sorted(self._rows))
        self._claims: dict[str, Claim] = {}
        self._topics: dict[str, str] = {}
        self._ended: dict[str, int] = {}
        standing: dict[_Slot, Claim] = {}
        for session in self.sessions:
            if self.operation(session) is None:
                continue
            # One at a time: what a session says next may replace what it has just said.
            for number, (topic, claim) in enumerate(_said(self._rows[session], standing)):
                named = replace(claim, id=f"{session}.{number}")
                self._claims[named.id] = named
                self._topics[named.id] = topic
                self._apply(named, standing)

    def _apply(self, claim: Claim, standing: dict[_Slot, Claim]) -> None:
        there = standing.get(claim.slot)
        if claim.does == "state" and there is not None and there.value == claim.value:
            self._ended[claim.id] = claim.at  # says again what stands, and what stands goes on
            return
        gone = [old for old in standing.values() if old.id in claim.supersedes]
        for old in gone if there is None else [*gone, there]:
            self._ended[old.id] = claim.at
            standing.pop(old.slot, None)
        if claim.does == "state":
            standing[claim.slot] = claim

    def operation(self, session: int) -> str | None:
        """What a session did: add, update, delete, or nothing."""
        row = self._rows.get(session)
        return None if row is None else row["operation"]

    def details(self, session: int) -> Mapping[str, Any]:
        """The source's `operation_details` of a session."""
        return self._rows[session].get("operation_details") or {}

    def session_at(self, percent: int) -> int:
        """The last session before a departure at so many percent of them."""
        return self.sessions[max(0, len(self.sessions) * percent // 100 - 1)]

    def standing(self, session: int, topics: Collection[str]) -> tuple[Claim, ...]:
        """What stands after a session, in the order in which it was said."""
        return tuple(
            claim
            for claim in self._about(topics)
            if claim.does == "state"
            and claim.at <= session < self._ended.get(claim.id, session + 1)
        )

    def written_after(self, session: int, topics: Collection[str]) -> tuple[Claim, ...]:
        """What was said and withdrawn after a session, in order."""
        return tuple(claim for claim in self._about(topics) if claim.at > session)

    def spans(self, topics: Collection[str]) -> Iterator[tuple[Claim, int | None]]:
        """Every statement and the session that ended it, None when it still stands."""
        for claim in self._about(topics):
            if claim.does == "state":
                yield claim, self._ended.get(claim.id)

    def _about(self, topics: Collection[str]) -> Iterator[Claim]:
        return (claim for claim in self._claims.values() if self._topics[claim.id] in topics)


def topics_of(question: Mapping[str, Any]) -> frozenset[str]:
    """What a question is about, out of its id, as the purpose of a workload: never its answers."""
    parts = str(question["question_id"]).split("_")
    if parts[0] == "pref":
        named = _SUBCATEGORIES.get(parts[1], ())
        one = "_".join(parts[2:-1])
        return frozenset([one] if one in named else named)
    if parts[0] == "content":
        # content_KIND_SESSION_ITEM, and the item is the kind and a number.
        whole = str(question["question_id"])
        kind = "_".join(parts[1 : next(i for i, part in enumerate(parts) if part.isdigit())])
        return frozenset([whole[whole.rindex(kind) :]])
    if "todos" in parts:
        return frozenset(["todo_list"])
    if "calendar" in parts:
        return frozenset(["calendar_event"])
    return frozenset()


def evidence_of(question: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a question has to remember; empty when it names nothing."""
    return cast("Mapping[str, Any] | None", question.get("memory_evidence")) or {}


def forgotten_items(question: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """What a question wants forgotten, each with the session that ended it."""
    evidence = cast("Mapping[str, Any] | None", question.get("forgetting_evidence")) or {}
    return cast("Sequence[Mapping[str, Any]] | None", evidence.get("forgotten_items")) or ()


def facts_needed(world: World, question: Mapping[str, Any]) -> frozenset[Fact]:
    """The facts that the question's evidence names and that stand at the end.

    A question about a document needs all of it, so everything of it that stands.
    """
    evidence = evidence_of(question)
    standing = world.standing(world.sessions[-1], topics_of(question))
    if "content_data" in evidence:
        return frozenset(claim.fact for claim in standing)
    wanted = set(_named(evidence))
    return frozenset(claim.fact for claim in standing if _label(claim) in wanted)


def facts_forgotten(world: World, question: Mapping[str, Any]) -> dict[Fact, list[tuple[int, int]]]:
    """The facts to forget, each with when it was stated and when it ended; there may be several."""
    items = forgotten_items(question)
    found: dict[Fact, list[tuple[int, int]]] = {}
    for claim, ended in world.spans(topics_of(question)):
        named = any(
            item.get("session_id") == ended
            and "value" in item
            and _label(claim) == _plain(item["value"])
            and ("field" not in item or claim.attribute.split("/")[0] == item["field"])
            for item in items
        )
        if named and ended is not None:
            found.setdefault(claim.fact, []).append((claim.at, ended))
    return found


def _named(evidence: object) -> Iterator[str]:
    """The labels anywhere in a question's evidence."""
    if isinstance(evidence, dict):
        members = cast("dict[str, object]", evidence)
        label = members.get("value", members.get("item"))
        if "session_id" in members and label is not None:
            yield _plain(label)
        for member in members.values():
            yield from _named(member)
    elif isinstance(evidence, list):
        for element in cast("list[object]", evidence):
            yield from _named(element)


def _label(claim: Claim) -> str:
    """What the source calls a fact: the thing itself, or a document's content."""
    return claim.value if claim.entity.startswith("document/") else claim.entity.split("/", 1)[1]


def _said(row: Mapping[str, Any], standing: Mapping[_Slot, Claim]) -> Iterator[tuple[str, Claim]]:
    """The topic and the claim of everything that a session adds, changes or deletes."""
    details: Mapping[str, Any] = row["operation_details"]
    if "content_data" in details:
        yield from _of_document(row, details, standing)
    elif row["session_type"] == "preference":
        yield _of_preference(row, details, standing)
    elif row["session_type"] == "goal":
        part = details["subcategory"]
        yield part, _claim(row, f"{part}/goal", "target", _plain(details["item"]), standing)
    else:
        yield _of_activity(row, details, standing)


def _of_preference(
    row: Mapping[str, Any], details: Mapping[str, Any], standing: Mapping[_Slot, Claim]
) -> tuple[str, Claim]:
    part, attribute = details["subcategory"], "preference"
    old = standing.get((f"{part}/{details.get('old_item', details['item'])}", attribute))
    entity, value = f"{part}/{details['item']}", details["preference"]
    return part, _claim(row, entity, attribute, value, standing, named=old)


def _of_activity(
    row: Mapping[str, Any], details: Mapping[str, Any], standing: Mapping[_Slot, Claim]
) -> tuple[str, Claim]:
    category, item = details["category"], details["item"]
    if category == "todo_list":
        name, attribute, value = item["description"], "open", "yes"
    elif category == "calendar_event":
        # Dates are relative to the day on which they were said.
        since = item.get("updated_at", item["created_at"])
        name, attribute, value = item["event_name"], "date", f"{item['date']} from {since}"
    else:  # an expense or a walk is an event of its own: no later one replaces it
        name, attribute, value = str(row["session_id"]), "happened", _plain(item)
    return category, _claim(row, f"{category}/{name}", attribute, value, standing)


def _of_document(
    row: Mapping[str, Any], details: Mapping[str, Any], standing: Mapping[_Slot, Claim]
) -> Iterator[tuple[str, Claim]]:
    name = details["item"]

    def says(field: str, value: object, *, does: Literal["state", "withdraw"]) -> Claim:
        return _claim(row, f"document/{name}", field, _plain(value), standing, does=does)

    if row["operation"] == "add":
        for field, content in details["content_data"].items():
            if isinstance(content, list):
                for element in cast("list[object]", content):
                    yield name, says(f"{field}/{_plain(element)}", element, does="state")
            else:
                yield name, says(field, content, does="state")
        return
    for change in (*details.get("memory_updates", ()), *details.get("memory_deletes", ())):
        field = change["field"]
        if "removed_item" in change:
            gone = change["removed_item"]
            yield name, says(f"{field}/{_plain(gone)}", gone, does="withdraw")
        elif "added_item" in change:
            new = change["added_item"]
            yield name, says(f"{field}/{_plain(new)}", new, does="state")
        else:
            new = change.get("updated_to", change.get("reverted_to"))
            yield name, says(field, new, does="state")


def _claim(
    row: Mapping[str, Any],
    entity: str,
    attribute: str,
    value: str,
    standing: Mapping[_Slot, Claim],
    *,
    does: Literal["state", "withdraw"] | None = None,
    named: Claim | None = None,
) -> Claim:
    """A claim of a session; an update or a deletion names what stands in the slot."""
    operation = row["operation"]
    does = does or ("withdraw" if operation == "delete" else "state")
    old = None if operation == "add" else named or standing.get((entity, attribute))
    says = f"{entity}, {attribute}: {value}" if does == "state" else f"{entity}: not any more"
    return Claim(
        id="",
        at=row["session_id"],
        entity=entity,
        attribute=attribute,
        value=value if does == "state" else "",
        does=does,
        text=says,
        supersedes=() if old is None else (old.id,),
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
