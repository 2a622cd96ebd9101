"""Runs every form of the contract over every stream, and puts the numbers together."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from statistics import mean
from typing import TYPE_CHECKING, Any, Final

from lapse_bench.wire.http2 import Http2, served_2
from lapse_bench.wire.mcp import run_mcp
from lapse_bench.wire.streams import Form, run_stream, streams
from lapse_bench.wire.tokens import ENCODING, added

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lapse_bench.provenance import Provenance
    from lapse_bench.wire.answers import Answers
    from lapse_bench.wire.counting import Sized
    from lapse_bench.wire.mcp import Result
    from lapse_bench.wire.streams import Ran, Stream

__all__ = ["FORMS", "SIZES", "measured"]

FORMS: Final[Mapping[str, Form]] = {
    "L0": Form(0),
    "L1": Form(1),
    "L2": Form(1),
    "L3": Form(1),
    "L4": Form(4),
    "L5": Form(5),
    "L6": Form(6),
    "digest": Form(6, digest=True),
    "L6+rows": Form(6, extensions=True),
    "digest+rows": Form(6, extensions=True, digest=True),
}
"""Levels 2 and 3 change nothing on the wire (section 3.3), so they are Level 1 here. `digest` says
what Level 6 says; `+rows` adds what the source text does not have, row stamps and `when`."""

SIZES: Final = (6, 60, 600, 6_000)
"""Tables that the service has."""

_SOURCE_MEAN: Final = 817
_SOURCE_ADDED: Final = 123
_SOURCE_BARE: Final = _SOURCE_MEAN - _SOURCE_ADDED
"""Bytes of the source text's mean response without the contract (section 3.7)."""


@dataclass(frozen=True, slots=True)
class _Share:
    """Means of a run's answers."""

    answers: int
    body: float
    envelope: float
    fixes: float
    lines: float
    head: float
    request: float
    request_rest: float

    @classmethod
    def of(cls, calls: Sequence[Sized]) -> _Share:
        def average(name: str) -> float:
            return mean(getattr(call, name) for call in calls)

        names = ("body", "envelope", "fixes", "lines", "head", "request", "request_rest")
        return cls(len(calls), *(average(name) for name in names))

    @property
    def contract(self) -> float:
        return self.envelope + self.fixes + self.lines

    @property
    def payload(self) -> float:
        return self.body + self.lines

    def percent(self) -> float:
        """Of body and contract lines."""
        return _percent(self.contract, self.payload)

    def as_json(self) -> dict[str, Any]:
        bare = self.payload - self.contract
        return {
            "answers": self.answers,
            "mean_bytes": {
                "without_contract": _rounded(bare),
                "contract": _rounded(self.contract),
                "of_that_versions_in_body": _rounded(self.envelope),
                "of_that_fixes_in_body": _rounded(self.fixes),
                "of_that_header_lines": _rounded(self.lines),
                "other_head": _rounded(self.head),
                "request_contract_lines": _rounded(self.request),
                "request_without": _rounded(self.request_rest),
            },
            "pct_of_payload": self.percent(),
            "pct_over_payload_without": _percent(self.contract, bare),
            "pct_of_whole_message": _percent(self.contract, self.payload + self.head),
            "pct_of_body_alone": _percent(self.envelope + self.fixes, self.body),
            "pct_at_source_size": _percent(self.contract, _SOURCE_BARE + self.contract),
        }


def measured(
    *, seed: int, provenance: Provenance, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Run everything; the result as JSON.

    Args:
        seed: recorded; nothing here is drawn.
        provenance: where the result comes from.
        tell: called before every part with what it is.
    """
    found = streams()
    problems: list[str] = []
    ran: dict[str, dict[str, Ran]] = {}
    words: dict[str, dict[str, Ran]] = {}
    for name, stream in found.items():
        tell(name)
        ran[name] = _forms(stream, "object", problems)
        words[name] = _forms(stream, "word", problems, _WITH_ONE_WORD)
    tell("tables")
    sizes = {size: _sized(found["payments"], size) for size in SIZES}
    tell("http2")
    http2 = {name: _framed(found["payments"], FORMS[name]) for name in _CONTRASTED}
    tell("mcp")
    mcp = {name: run_mcp(found["payments"], FORMS[name]) for name in _CONTRASTED}
    return {
        "benchmark": "wire",
        "config": _config(seed),
        **provenance.as_json(),
        "overhead_pct_by_level": _by(ran, lambda run: _later(run).percent()),
        "overhead_pct_by_level_with_first_answers": _by(ran, lambda run: _all(run).percent()),
        "overhead_pct_by_level_one_word_answers": _by(words, lambda run: _later(run).percent()),
        "digest_overhead_pct_by_tables": {
            str(size): _later(both["digest"]).percent() for size, both in sizes.items()
        },
        **_tokens(ran, mcp),
        "request_bytes_by_level": _by(ran, lambda run: _rounded(_later(run).request)),
        "by_tables": {str(size): _contrast(both) for size, both in sizes.items()},
        "streams": _by(ran, lambda run: _later(run).as_json()),
        "streams_one_word_answers": _by(words, lambda run: _later(run).as_json()),
        "http2": {name: _framed_json(later) for name, (_, later) in http2.items()},
        "mcp": {name: _results_json(results) for name, results in mcp.items()},
        "source": {
            "mean_response_bytes": _SOURCE_MEAN,
            "mean_added_bytes": _SOURCE_ADDED,
            "overhead_pct": 15.1,
        },
        "samples": {
            "columns": ["status", *_COLUMNS],
            **{stream: _samples(forms) for stream, forms in ran.items()},
            "http2": {name: [list(astuple(x)) for x in both[0]] for name, both in http2.items()},
            "mcp": {name: [list(astuple(x)) for x in results] for name, results in mcp.items()},
        },
        "problems": problems,
    }


def _config(seed: int) -> dict[str, Any]:
    return {
        "seed": seed,
        "forms": {name: _described(form) for name, form in FORMS.items()},
        "arms": ["A0", "A2D"],
        "sizes": list(SIZES),
        "counted": "after the first answer to each client, unless it says otherwise",
        "encoding": ENCODING,
        "transport": "HTTP/1.1, HTTP/2 and MCP's streamable HTTP on loopback",
    }


def _tokens(
    ran: Mapping[str, Mapping[str, Ran]], mcp: Mapping[str, Sequence[Result]]
) -> dict[str, Any]:
    """What planners read of the contract, with digests: memory blocks, and texts of errors."""
    contexts = [c for forms in ran.values() for c in forms["digest+rows"].contexts]
    by_text = {name: sum(result.tokens for result in results) for name, results in mcp.items()}
    in_briefs = added(contexts)
    return {
        "planner_tokens_from_contract_fields": in_briefs + by_text["digest+rows"],
        "planner_tokens": {
            "contexts": len(contexts),
            "http_briefs_digest+rows": in_briefs,
            "mcp_error_texts": by_text,
        },
    }


_CONTRASTED: Final = ("L6", "digest", "L6+rows", "digest+rows")
_WITH_ONE_WORD: Final = ("L1", *_CONTRASTED)
_COLUMNS: Final = ("body", "envelope", "fixes", "lines", "head", "request", "request_rest")


def _forms(
    stream: Stream, answers: Answers, problems: list[str], names: Sequence[str] = tuple(FORMS)
) -> dict[str, Ran]:
    ran: dict[str, Ran] = {}
    for name in names:
        form = FORMS[name]
        again = next((known for known in ran if FORMS[known] == form), None)
        ran[name] = run_stream(stream, form, answers=answers) if again is None else ran[again]
        counters = ran[name].counters
        if counters.get("failed"):
            problems.append(f"{stream.name}, {name}: the client could not take in some answers")
        if form.digest and not counters.get("digests"):
            problems.append(f"{stream.name}, {name}: no answer was a digest")
    return ran


def _sized(stream: Stream, size: int) -> dict[str, Ran]:
    return {name: run_stream(stream, FORMS[name], tables=size) for name in ("L6", "digest")}


def _framed(stream: Stream, form: Form) -> tuple[list[Any], list[Any]]:
    """All answers, and those after the first one to each client."""
    made: list[Http2] = []

    def connection() -> Http2:
        made.append(Http2())
        return made[-1]

    run_stream(stream, form, serving=served_2, wrapped=connection)
    return (
        [answer for one in made for answer in one.answers],
        [answer for one in made for answer in one.answers[1:]],
    )


def _framed_json(later: Sequence[Any]) -> dict[str, Any]:
    return {
        "answers": len(later),
        "mean_bytes": {
            "header_block": _rounded(mean(answer.block for answer in later)),
            "of_that_contract": _rounded(mean(answer.ours for answer in later)),
            "body": _rounded(mean(answer.data for answer in later)),
            "frames": _rounded(mean(answer.frames for answer in later)),
        },
    }


def _results_json(results: Sequence[Result]) -> dict[str, Any]:
    later = results[1:]
    contract = mean(result.contract for result in later)
    return {
        "results": len(later),
        "mean_bytes": {
            "result": _rounded(mean(result.whole for result in later)),
            "contract": _rounded(contract),
            "of_that_meta": _rounded(mean(result.meta for result in later)),
        },
        "pct_of_result": _percent(contract, mean(result.whole for result in later)),
        "tokens_of_contract_in_texts": sum(result.tokens for result in results),
    }


def _contrast(both: Mapping[str, Ran]) -> dict[str, Any]:
    full, digest = _later(both["L6"]), _later(both["digest"])
    first = [run.calls[0] for run in both["digest"].recorded]
    return {
        "full_overhead_pct": full.percent(),
        "full_mean_contract_bytes": _rounded(full.contract),
        "digest_overhead_pct": digest.percent(),
        "digest_mean_contract_bytes": _rounded(digest.contract),
        "first_answer_contract_bytes": _rounded(mean(call.contract for call in first)),
        "digest_overhead_pct_with_first_answers": _all(both["digest"]).percent(),
    }


def _later(run: Ran) -> _Share:
    return _Share.of([call for one in run.recorded for call in one.calls[1:]])


def _all(run: Ran) -> _Share:
    return _Share.of([call for one in run.recorded for call in one.calls])


def _by(
    ran: Mapping[str, Mapping[str, Ran]], number: Callable[[Ran], Any]
) -> dict[str, dict[str, Any]]:
    return {
        stream: {name: number(run) for name, run in forms.items()} for stream, forms in ran.items()
    }


def _samples(forms: Mapping[str, Ran]) -> dict[str, list[list[list[int]]]]:
    return {
        name: [[list(astuple(call)) for call in one.calls] for one in run.recorded]
        for name, run in forms.items()
    }


def _described(form: Form) -> dict[str, Any]:
    return {"level": form.level, "rows_and_when": form.extensions, "digest": form.digest}


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


def _rounded(number: float) -> float:
    return round(number, 1)
