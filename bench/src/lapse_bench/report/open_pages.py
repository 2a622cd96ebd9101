"""The pages that say more than their cells: coverage, rotations, vectors, wordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lapse_bench.report.marking import Report, cells_of, share, table, text
from lapse_bench.report.omitting import CHANNELS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["coverage", "rotations", "vectors", "wordings"]

_BACK: Final = ["", "[All pages](index.md)"]

_COVERED: Final = """
The text that we have lists the marks of a row in order and not their columns; `printed` is the
reading that sections 3.3 to 3.5 leave, but for A2DO, where it is one of several.

## What was taken away, and what came of it

Each arm ran against the whole service and against one that kept a channel to itself. A cell says
what became of retries and evictions; `=` is the same behaviour, episode by episode."""

_STREAMS: Final = """
`payments` is the source text's stream, `channels` one on which each channel matters to some arm,
`rules` the rule stream. On the payments stream no arm does anything else without vectors or without
the graph: there the source text exercises neither.

## Levels 2 and 3

First attempts of 36 at which the words for a planner would be others without the level."""

_TURNED: Final = """
What holds: row granularity evicts one fix a rotation, each rightly, and its retries are five first
meetings of other tasks, one of the governed task and one a rotation. Whoever believes the newest
entry does as well without any invalidation, since here the newest entry is always right.

Where it breaks: the scoring, before the protocol. Two slots a rotation leave nine, seven, five,
three and one governed episodes, and none from six rotations on. A believer in the oldest entry is
right three times with one rotation and three times with four; the rate rises from 33.3 % to 100 %
because what it gets wrong no longer counts. So its gap to A2D narrows with every rotation for a
reason that has nothing to do with a model, and the plateau at three rotations that the source text
reports (section 6.4) cannot be told from an artefact of the exclusion list.

With one slot a rotation, A2D stays at 100 % up to eight rotations, and the believer in the oldest
entry ends at 0 %. At eleven, one before every governed episode but the first, a memory of that
class is worth nothing in any arm."""

_VECTORS: Final = """
The source text measures Level 4 only inside the arm that also follows the graph (section 6.4).
Here fixes rest on two or three tables, and lapse by tables that Level 1 does not name: a code that
can no longer be redeemed, a contract that no longer asks for credit. Arms without the graph are not
told of it.

![What vectors buy](figures/vectors.svg)"""

_VECTORS_SAID: Final = """
A fix that lapsed unnoticed is applied whenever its task comes back. Where the service then has
nothing to suggest, the task ends there: it is not completed. Without `rows`, a client that learns
that some row of a table changed has to throw away every fix under it.

Table granularity completes one task more than row granularity: the benign bump before had thrown
the funding fixes away, rightly or not, before they lapsed. It pays for that with four evictions of
fixes that held.

Following the graph changes nothing on this stream: its edges lead away from what a fix was read
from, and what a fix was read from is in its vector. On the stream of Table 2 the graph costs one
eviction of a fix that still held ([Table 2](table-2.md), A2DG without L5)."""

_WORTH: Final = """
## What a level can be worth at most

Scripted planners do every time what a level is there to prevent: `paraphrasing` says what it is
told in its own words (Level 2), `forgetful` takes over the last field and drops the rest (Level 3),
`conservative` never adds a field because a memory says so (no level). `newest` follows word for
word. The distance to it is the most that a level could buy with such a reader. With `apply`, the
transport merges what is remembered, and no words are needed."""

_ASKED: Final = """
On the payments stream every request lacks one thing, so whoever forgets all but the last loses
nothing; on `two-at-once` every request lacks two.

## Asked of a model"""

_LENIENT: Final = """
The service judges what a request carries. A model that drops the members a policy is about passes
without having followed anything, and small models do; what nobody passes that way is the governed
class, which is what compliance counts."""

_NOBODY_ASKED: Final = """
Needs a model: `--planner local` asks the small one that ships in a package, which takes minutes."""


def coverage(result: Report) -> list[str]:
    """What Table 2's cells rest on."""
    channels = [channel.name for channel in CHANNELS]
    found = [
        (arm, stream, by_channel)
        for arm, streams in result["coverage"].items()
        for stream, by_channel in streams.items()
    ]
    return [
        _COVERED,
        *table(
            ["arm", "stream", *channels],
            [(arm, stream, *(_change(of[name]) for name in channels)) for arm, stream, of in found],
        ),
        "",
        *(f"* `{channel.name}`: {channel.says}" for channel in CHANNELS),
        _STREAMS,
        *table(
            ["arm", "stream", "L2", "L3"],
            [
                (arm, stream, of["L2"]["first_attempts"], of["L3"]["first_attempts"])
                for arm, stream, of in found
            ],
        ),
    ]


def _change(found: Report) -> str:
    if found["broke"]:
        return "cannot run"
    if not found["changes"]:
        return "="
    retries, evictions = found["retries"], found["evictions"]
    return f"retries {retries[0]} → {retries[1]}, evictions {evictions[0]} → {evictions[1]}"


def rotations(result: Report) -> list[str]:
    """What happens with more rotations than the source text tried."""
    head = ["rotations", "arm", "planner", "two slots", "one slot", "all governed", "retries"]
    rows = [
        (
            one["rotations"],
            one["arm"],
            one["planner"],
            share(one["two_slots"]),
            share(one["one_slot"]),
            share(one["governed"]),
            one["retries"],
            one["stale_applied"],
            f"{one['evictions_correct']}/{one['evictions_wrong']}",
        )
        for one in result["rotations"]
    ]
    return [
        "",
        "## One to eleven rotations",
        *table([*head, "stale applied", "evictions right/wrong"], rows),
        _TURNED,
    ]


def vectors(result: Report) -> str:
    """Level 4 apart from the graph."""
    head = ["the service says", "arm", "retries", "done", "stale applied", "evictions right/wrong"]
    rows = [
        (
            one["form"] or "any",
            one["arm"],
            one["retries"],
            f"{one['completed']}/{one['episodes']}",
            one["stale_applied"],
            f"{one['evictions_correct']}/{one['evictions_wrong']}",
            one["lapsed"],
            one["recall"],
            one["precision"],
        )
        for one in result["vectors"]
    ]
    return text(
        [
            "# Dependency vectors apart from the graph",
            *_BACK,
            _VECTORS,
            *table([*head, "lapsed", "recall", "precision"], rows),
            _VECTORS_SAID,
        ]
    )


def wordings(result: Report) -> str:
    """Level 2 against Level 3, and other prompts."""
    found = result["wordings"]
    head = ["planner", "stream", "arm", "fixes", "retries", "compliance", "done"]
    asked = [_NOBODY_ASKED]
    if found["model"]:
        more = ["level", "prompt", "prompt tokens", "of which memory", "attempts without a request"]
        rows = [(*_run(one), *_variant(one)) for one in found["model"]]
        asked = [*table([*head, *more], rows), _LENIENT]
    return text(
        [
            "# Level 2 against Level 3, and other prompts",
            *_BACK,
            *cells_of(result, "Section 3.5"),
            _WORTH,
            *table(head, [_run(one) for one in found["scripted"]]),
            _ASKED,
            *asked,
        ]
    )


def _run(one: Report) -> Sequence[object]:
    done = f"{one['completed']}/{one['episodes']}"
    named = (one["answered"], one["stream"], one["arm"], one["consume"])
    return (*named, one["retries"], share(one["compliance"]), done)


def _variant(one: Report) -> Sequence[object]:
    level = f"L{one['level']}" if one["arm"] != "A0" else "-"
    tokens, failures = one["tokens"], sum(one["planner_failures"].values())
    return (level, one["prompting"], tokens["prompt"], tokens["memory"], failures)
