"""What an arm consumes: a service keeps one thing to itself, and somebody behaves otherwise."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx2
import pytest

from lapse.server import Contract
from lapse_bench.report.coverage import coverage, coverage_cells, coverage_jobs
from lapse_bench.report.jobs import Job, Results
from lapse_bench.report.omitting import CHANNELS, chosen, without
from lapse_bench.report.trials import done
from lapse_bench.report.vectors import ARMS, FORMS, vectors, vectors_jobs
from lapse_bench.service import service
from lapse_bench.serving import loopback, served
from lapse_bench.worlds import acme

REFUSED = {"customer": "cus_1", "plan": "plan_partner_growth"}


@cache
def said(channel: str) -> dict[str, Any]:
    """What a service says to a refused request, to its changes endpoint and to its graph."""
    contract = Contract(acme.initial())
    contract.reload("required_promo_policy", {"partner": {"campaign": "x", "plans": []}}, "2")
    names = (channel,) if channel else ()
    with (
        served(without(service(contract, acme.judge), chosen(names))) as url,
        httpx2.Client(base_url=url, transport=loopback()) as client,
    ):
        refused = client.post("/v1/subscriptions", json=REFUSED, headers={"contract-root": '"x"'})
        query = {"table": "required_promo_policy", "since": "1.0.0"}
        changes = client.get("/contract/changes", params=query)
        graph = client.get("/contract/graph")
    (suggestion,) = refused.json()["recovery_feedback"]["suggestions"]
    return {
        "members": refused.json(),
        "headers": {name for name in refused.headers if name.startswith("contract")},
        "suggestion": suggestion,
        "changes": changes.json() if changes.is_success else None,
        "graph": graph.is_success,
    }


def test_a_channel_takes_away_what_it_says_and_nothing_else() -> None:
    whole = said("")
    assert whole["headers"] == {"contract-versions", "contract-rules", "contract-location"}
    assert {"table_versions", "rules_version"} <= set(whole["members"])
    assert whole["changes"]["downstream"]
    assert whole["graph"]
    left = {channel.name: said(channel.name) for channel in CHANNELS}
    assert "cache_hint" not in left["hint"]["suggestion"]
    assert "table_versions" not in left["L1"]["members"]
    assert left["L1"]["headers"] == {"contract-rules", "contract-location"}
    assert "tables" not in left["L4"]["suggestion"]
    assert {row["table"] for row in left["L4"]["suggestion"]["rows"]} == {"active_csm_codes"}
    assert "rows" not in left["rows"]["suggestion"]
    assert (left["L5"]["graph"], left["L5"]["changes"]["downstream"]) == (False, [])
    assert "rules_version" not in left["L6"]["members"]
    assert left["Diff"]["changes"] is None
    for name, found in left.items():
        kept = set(found["suggestion"]) | set(found["members"])
        assert {*whole["suggestion"], *whole["members"]} - kept == {
            "hint": {"cache_hint"},
            "L1": {"table", "table_versions"},
            "L4": {"tables"},
            "rows": {"rows"},
            "L5": set(),
            "L6": {"rules_version"},
            "Diff": set(),
        }[name]


def test_what_is_left_is_a_whole_message() -> None:
    contract = Contract(acme.initial())
    app = without(service(contract, acme.judge), chosen(["hint", "L1", "L4", "rows", "L6"]))
    with served(app) as url, httpx2.Client(base_url=url, transport=loopback()) as client:
        answer = client.post("/v1/subscriptions", json=REFUSED)
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert json.loads(answer.content)["recovery_feedback"]["suggestions"][0]["parameters"] == {
        "promotion_code": "SUMMERSALE25"
    }


def test_there_are_no_other_channels() -> None:
    with pytest.raises(KeyError):
        chosen(["L7"])


def job(arm: str, *names: str, stream: str = "channels") -> Job:
    return Job(stream=stream, arm=arm, planner="newest", without=names)


@pytest.mark.parametrize(
    ("arm", "consumed", "ignored"),
    [("A1", "hint", "L1"), ("A2D", "L4", "L5"), ("A2DG", "L5", "L6")],
)
def test_an_arm_behaves_otherwise_without_what_it_consumes(
    arm: str, consumed: str, ignored: str
) -> None:
    whole, less, same = done([job(arm), job(arm, consumed), job(arm, ignored)]).values()
    assert whole["trace"] != less["trace"]
    assert whole["trace"] == same["trace"]


@cache
def shown() -> Results:
    """A report's runs of Table 2, as if nothing mattered but the diff, to row granularity alone."""
    (whole,) = done([job("A2D", stream="payments")]).values()
    trace: dict[str, list[Any]] = {"attempts": [], "evictions": []}
    other: dict[str, Any] = {**whole, "trace": trace}
    return {
        wanted: other if (wanted.arm, wanted.without) == ("A2D", ("Diff",)) else whole
        for wanted in coverage_jobs()
    }


def test_a_cell_says_whether_anything_changed_on_any_stream() -> None:
    cells = {(c.row, c.column): c for c in coverage_cells(coverage(shown()))}
    assert (cells["A2D", "Diff"].verdict, cells["A2D", "Diff"].ours) == ("equal", {"newest": "✓"})
    assert cells["A2DC", "Diff"].verdict == "different"
    assert cells["A2DC", "Diff"].why == "unexplained"
    assert cells["A1", "L1"].verdict == "equal"
    assert cells["A2D", "L2"].verdict == cells["A2D", "L3"].verdict == "equal"
    assert len(cells) == 6 * 7


def test_vectors_are_what_notices_a_second_table() -> None:
    silent = ("L5", "L6")
    wanted = {
        "one": job("A2D", *FORMS["one table (L1)"], *silent, stream="vectors"),
        "every": job("A2D", *FORMS["every table (L4)"], *silent, stream="vectors"),
        "rows": job("A2D", *FORMS["every table and its rows"], *silent, stream="vectors"),
    }
    found = done(wanted.values())
    told = {name: found[one] for name, one in wanted.items()}
    assert {name: run["recall"] for name, run in told.items()} == {
        "one": 0.3333,
        "every": 1.0,
        "rows": 1.0,
    }
    assert {name: run["stale_applied"] for name, run in told.items()} == {
        "one": 5,
        "every": 2,
        "rows": 2,
    }
    assert {name: run["evictions_wrong"] for name, run in told.items()} == {
        "one": 0,
        "every": 2,
        "rows": 0,
    }
    rows = vectors(dict.fromkeys(vectors_jobs(), told["rows"]))
    assert len(rows) == 2 + len(ARMS) * len(FORMS)
