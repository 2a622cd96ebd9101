"""Memora's sessions and questions as return episodes that need no model.

Memora (arXiv 2604.20006) is ten personas' conversations, each session adding, updating or deleting
something, and questions with what has to be remembered and what has to be forgotten. Here a
session becomes the claims that it makes (`lapse_bench.returns.memora_claims`), an agent leaves at
a quarter, half or three quarters of the sessions and returns for the question at the end.

Two things decide the construction:

* Facts are scored, not sessions: an update both ends a value and states the next one.
* `forgetting_evidence.session_id` is the session that *ended* a value. The one that stated it is
  the latest earlier session whose item equals `old_item`, else `item` (`stating_session`).

What an episode leaves to its reader is not the conversation but what a perfect extractor would
have written down; so methods are compared on what they do with changes, not on reading.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from lapse.errors import InvalidValue
from lapse_bench.returns.episodes import Answers, ReturnEpisode
from lapse_bench.returns.memora_claims import (
    World,
    facts_forgotten,
    facts_needed,
    forgotten_items,
    topics_of,
)
from lapse_bench.returns.shipped import rows_of, shipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from lapse_bench.returns.episodes import Claim

__all__ = [
    "DEPARTURES",
    "Links",
    "Memora",
    "MemoraEpisode",
    "episodes_of",
    "links_found",
    "read_memora",
    "stating_session",
    "stripped",
]

DEPARTURES: Final = (25, 50, 75)
"""Where the agent leaves, in percent of the sessions (Table 4 of the source)."""

Links: TypeAlias = Literal["named", "unnamed"]
"""Whether an update names what it replaces, or only states what holds now."""


@dataclass(frozen=True, slots=True)
class Memora:
    """A set of worlds and the questions about them.

    Attributes:
        worlds: sessions and claims of one persona over one period.
        questions: each with the name of its world.
    """

    worlds: Mapping[str, World]
    questions: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoraEpisode:
    """One question at one departure.

    Attributes:
        departure: in percent of the sessions.
        kind: remembering, reasoning or recommending.
        episode: for methods.
        answers: for the score.
        old_valid: the needed facts that the agent already held when it left.
        crossing: the stale facts that it held when it left; at least one.
    """

    departure: int
    kind: str
    episode: ReturnEpisode
    answers: Answers
    old_valid: int
    crossing: int


def read_memora(path: Path | None = None) -> Memora:
    """Read the data that ships, or files of the same form.

    Args:
        path: a file, or a folder whose `*.jsonl.gz` and `*.jsonl` are read; the shipped file when
            None. A row is a session or a question with `kind` and `persona`; the period is its
            `period`, else the name of its file.

    Raises:
        InvalidValue: there is no such file, a row breaks the form, or nothing is in it.
    """
    if path is None:
        path = shipped("memora")
    sources = sorted([*path.glob("*.jsonl.gz"), *path.glob("*.jsonl")]) if path.is_dir() else [path]
    sessions: dict[str, list[Mapping[str, Any]]] = {}
    questions: list[tuple[str, Mapping[str, Any]]] = []
    for source in sources:
        for number, row in enumerate(rows_of(source), 1):
            where = f"{source.name}, row {number}"
            world = f"{row.get('period', source.name.split('.')[0])}/{_text(row, 'persona', where)}"
            if row.get("kind") == "session":
                sessions.setdefault(world, []).append(_session(row, where))
            elif row.get("kind") == "question":
                _text(row, "question_id", where)
                questions.append((world, row))
            else:
                raise InvalidValue(f"{where}, kind", row.get("kind"), "write session or question")
    if not sessions or not questions:
        raise InvalidValue("data", str(path), "give sessions and questions about them")
    lost = {world for world, _ in questions} - sessions.keys()
    if lost:
        raise InvalidValue("data", min(lost), "give the sessions of each question's persona")
    return Memora(
        {world: World(rows) for world, rows in sessions.items()},
        tuple(questions),
    )


def stripped(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """What ships of the source's rows: everything but the conversations, and the period beside.

    Args:
        rows: the name of a period and a row each.
    """
    return [
        {
            **{member: value for member, value in row.items() if member != "conversation"},
            "period": period,
        }
        for period, row in rows
    ]


def stating_session(world: World, changing: int) -> int | None:
    """The session that stated what another one ended: None when there is none.

    The latest earlier session whose item equals the changing session's `old_item`, else its
    `item`.
    """
    details = world.details(changing)
    ended = details.get("old_item", details.get("item"))
    earlier = (
        session for session in reversed(world.sessions) if session < changing and ended is not None
    )
    return next(
        (session for session in earlier if world.details(session).get("item") == ended), None
    )


def links_found(memora: Memora) -> Counter[str]:
    """How many references to forgotten things there are, and how many the rule links.

    Returns:
        `references`; `changes`, those that point at an update or a deletion; `linked`, those for
        which a stating session is found. The rest point at sessions that change nothing.
    """
    found: Counter[str] = Counter()
    for name, question in memora.questions:
        world = memora.worlds[name]
        for item in forgotten_items(question):
            found["references"] += 1
            session = item.get("session_id")
            if isinstance(session, int) and world.operation(session) in {"update", "delete"}:
                found["changes"] += 1
                found["linked"] += stating_session(world, session) is not None
    return found


def episodes_of(memora: Memora, *, links: Links = "named") -> Iterator[MemoraEpisode]:
    """The episodes: every question at every departure at which something it names is lost.

    A question makes an episode when a fact that it wants forgotten stood at the departure and was
    ended in the absence. Deterministic: the order of the questions, then of the departures.
    """
    for place, (name, question) in enumerate(memora.questions):
        world = memora.worlds[name]
        needed = facts_needed(world, question)
        ended = facts_forgotten(world, question)
        # What was lost and said again holds; nobody is to forget it.
        lost = {fact: spans for fact, spans in ended.items() if fact not in needed}
        for departure in DEPARTURES:
            departed = world.session_at(departure)
            stale = {
                fact for fact, spans in lost.items() if any(until > departed for _, until in spans)
            }
            crossing = {
                fact
                for fact in stale
                if any(since <= departed < until for since, until in lost[fact])
            }
            if not crossing:
                continue
            bank = world.standing(departed, topics_of(question))
            log = world.written_after(departed, topics_of(question))
            held = {claim.fact for claim in bank}
            yield MemoraEpisode(
                departure=departure,
                kind=str(question.get("question_kind", "")),
                episode=ReturnEpisode(
                    id=f"memora-{place}-{departure}",
                    workload=str(question.get("question", "")),
                    departed=departed,
                    returned=world.sessions[-1] + 1,
                    bank=_linked(bank, links),
                    log=_linked(log, links),
                    # A store that only adds: nothing that was written ever leaves it.
                    store=frozenset(c.id for c in (*bank, *log) if c.does == "state"),
                ),
                answers=Answers(valid=frozenset(needed), stale=frozenset(stale)),
                old_valid=len(needed & held),
                crossing=len(crossing),
            )


def _linked(claims: tuple[Claim, ...], links: Links) -> tuple[Claim, ...]:
    return claims if links == "named" else tuple(replace(claim, supersedes=()) for claim in claims)


def _text(row: Mapping[str, Any], member: str, where: str) -> str:
    value = row.get(member)
    if not isinstance(value, str) or not value:
        raise InvalidValue(f"{where}, {member}", value, "write a text")
    return value


def _session(row: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    session, operation = row.get("session_id"), row.get("operation")
    if not isinstance(session, int):
        raise InvalidValue(f"{where}, session_id", session, "write a whole number")
    if operation not in {None, "add", "update", "delete"}:
        raise InvalidValue(f"{where}, operation", operation, "write add, update, delete or null")
    if operation is not None and not isinstance(row.get("operation_details"), dict):
        raise InvalidValue(
            f"{where}, operation_details", row.get("operation_details"), "write an object"
        )
    return row
