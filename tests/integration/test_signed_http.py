"""Signed contracts over real HTTP: a service that signs, a client that demands it, a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

import lapse
from lapse.contract import Aliases, Demand, Registry, Rule, Table, Terms, Violation
from lapse.runtime import Event, Memory
from lapse.server import ASGIApp, Contract, ContractMiddleware, Receive, Scope, Send
from lapse.server import Signing as Signs
from lapse.signing import HmacKeys
from lapse.signing.ed25519 import Ed25519Signer
from lapse.testing import ManualClock
from lapse.transports.http import Transport
from lapse_bench.serving import loopback, served

SECOND = 1_000_000
BEGIN = 1_764_500_000 * SECOND
ISSUER = "https://shop.example"
SIGNER = Ed25519Signer("2026", b"\1" * 32)
ORDER = "POST /order"


def shop(contract: Callable[[], Contract]) -> ASGIApp:
    """Answers orders by the contract of the moment; a code that is not the row's is refused."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        held = contract()
        key = scope["path"].rpartition("/")[2]
        with held.reading() as tables:
            row = tables["codes"].get(key)
            given = dict(scope["headers"]).get(b"x-code", b"").decode()
            if given == row:
                await _send(send, 200, b'{"success":true}', [])
                return
            fix = tables.suggest("SET_CODE", {"code": row}, when={})
            violation = Violation(
                policy="codes", title="codes", detail="see codes", suggestions=(fix,)
            )
            answer = held.problem(violation)
        await _send(send, answer.status, answer.body, list(answer.headers))

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        await ContractMiddleware(app, contract())(scope, receive, send)

    return whole


async def _send(send: Send, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    headers = headers or [(b"content-type", b"application/json")]
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def registry(code: str = "A") -> Registry:
    rows = {"growth": code, "scale": "S"}
    return Registry.of([Table("codes", rows, "1.0.0")], [Rule("codes", "codes", "funds", "x")])


def codes(memory: Memory, path: str = "/growth") -> list[Any]:
    return [fix.parameters["code"] for fix in memory.fixes(f"POST {path}", {}, issuer=ISSUER)]


@pytest.mark.requirement("C-TRU-01", "C-TRU-14", "C-TRU-16")
def test_a_signed_change_evicts_the_fix_it_is_about_and_keeps_the_other(tmp_path: Path) -> None:
    clock = ManualClock(BEGIN)
    contract = Contract(
        registry(),
        operator_token="op",  # noqa: S106 - a made-up one
        signing=Signs(SIGNER, issuer=ISSUER, clock=clock),
    )
    terms = Terms(issuer=ISSUER, keys={"2026": SIGNER.public})
    with (
        served(shop(lambda: contract)) as url,
        lapse.open(
            tmp_path / "memory.db",
            clock=clock,
            trust=lapse.trust(tmp_path / "trust", terms={ISSUER: terms}),
        ) as memory,
        httpx2.Client(
            base_url=url, transport=Transport(memory, loopback(), issuer=ISSUER)
        ) as client,
    ):
        assert client.post("/growth").status_code == 422
        assert client.post("/scale").status_code == 422
        assert (codes(memory), codes(memory, "/scale")) == (["A"], ["S"])
        operator = {"authorization": "Bearer op"}
        rows = {"growth": "B", "scale": "S"}
        reload = {"table": "codes", "rows": rows}
        assert client.post("/contract/reload", json=reload, headers=operator).status_code == 200
        assert (codes(memory), codes(memory, "/scale")) == ([], ["S"])
        clock.advance(seconds=301)  # nobody called meanwhile: the last word is over
        assert codes(memory, "/scale") == []
        assert client.get("/contract/versions").status_code == 200
        assert codes(memory, "/scale") == ["S"]
        assert memory.counters["evicted"] == 1
        assert "untrusted" not in memory.counters


@pytest.mark.requirement("C-TRU-14", "C-TRU-17")
def test_restarts_of_both_sides_keep_key_and_epoch(tmp_path: Path) -> None:
    clock = ManualClock(BEGIN)

    def started(signer: Ed25519Signer, code: str) -> Contract:
        signing = Signs(signer, issuer=ISSUER, clock=clock, epoch_file=tmp_path / "epoch")
        return Contract(registry(code), signing=signing, state_file=tmp_path / "state")

    held = [started(SIGNER, "A")]
    told: list[Event] = []
    with served(shop(lambda: held[0])) as url:

        def visit(path: str) -> list[Any]:
            with (
                lapse.open(
                    tmp_path / "memory.db",
                    clock=clock,
                    trust=lapse.trust(tmp_path / "trust"),
                    observers=[told.append],
                ) as memory,
                httpx2.Client(
                    base_url=url, transport=Transport(memory, loopback(), issuer=ISSUER)
                ) as client,
            ):
                client.post(path)
                return codes(memory, path)

        assert visit("/growth") == ["A"]
        held[0] = started(SIGNER, "B")
        assert visit("/growth") == ["B"]
        held[0] = started(Ed25519Signer("2027", b"\2" * 32), "C")
        assert visit("/growth") == ["B"]  # another key: silence, and the last word stands
        assert [str(e.reason) for e in told if e.what == "untrusted"] == ["key_changed"]


@pytest.mark.requirement("C-TRU-02", "C-TRU-13")
def test_one_trust_domain_shares_a_secret(tmp_path: Path) -> None:
    clock = ManualClock(BEGIN)
    keys = HmacKeys({"k": b"s" * 32}, sign_with="k")
    contract = Contract(registry(), signing=Signs(keys, issuer=ISSUER, clock=clock))
    trust = lapse.trust(tmp_path / "trust", verifier=keys, otherwise=Demand.ALWAYS)
    with (
        served(shop(lambda: contract)) as url,
        lapse.open("memory:", clock=clock, trust=trust) as memory,
        httpx2.Client(
            base_url=url, transport=Transport(memory, loopback(), issuer=ISSUER)
        ) as client,
    ):
        client.post("/growth")
        assert codes(memory) == ["A"]
        stranger = HmacKeys({"k": b"x" * 32}, sign_with="k")
        contract = Contract(registry("B"), signing=Signs(stranger, issuer=ISSUER, clock=clock))
        client.post("/growth")
        assert codes(memory) == ["A"]
        assert memory.counters["untrusted"] == 1


@pytest.mark.requirement("C-TRU-16")
def test_a_refused_question_evicts_nothing() -> None:
    clock = ManualClock(BEGIN)
    contract = Contract(registry(), signing=Signs(SIGNER, issuer=ISSUER, clock=clock))
    inner, lost = shop(lambda: contract), [False]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if lost[0] and scope["path"] == "/contract/changes":
            await _send(send, 404, b"{}", [])
        else:
            await inner(scope, receive, send)

    with (
        served(app) as url,
        lapse.open("memory:", clock=clock, trust=lapse.trust()) as memory,
        httpx2.Client(
            base_url=url, transport=Transport(memory, loopback(), issuer=ISSUER)
        ) as client,
    ):
        client.post("/growth")
        client.post("/scale")
        lost[0] = True
        clock.advance(seconds=1)
        contract.reload("codes", {"growth": "B", "scale": "S"})
        client.post("/other", headers={"x-code": "?"})
        assert codes(memory, "/scale") == []  # held back: nobody said what changed
        assert "evicted" not in memory.counters
        lost[0] = False
        client.post("/scale", headers={"x-code": "S"})
        assert codes(memory, "/scale") == ["S"]
        assert codes(memory) == []


NAMES = ("secret_codes", "secret_plans", "row_alpha", "row_beta", "hidden_relation")


@pytest.mark.requirement("C-TRU-21")
def test_with_aliases_no_true_name_leaves_the_service() -> None:
    clock = ManualClock(BEGIN)
    tables = [
        Table("secret_codes", {"row_alpha": "row_beta", "row_beta": "row_alpha"}, "1.0.0"),
        Table("secret_plans", {"row_alpha": "X", "row_beta": "Y"}, "1.0.0"),
    ]
    rules = [Rule("secret_codes", "secret_plans", "hidden_relation", "")]
    contract = Contract(
        Registry.of(tables, rules),
        signing=Signs(SIGNER, issuer=ISSUER, clock=clock),
        aliases=Aliases(secret="s" * 32),
    )

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        with contract.reading() as held:
            value = held["secret_plans"].get("row_alpha")
            fix = held.suggest("SET", {"value": value}, when={})
        violation = Violation(
            policy="secret_plans",
            title="secret_plans does not fit",
            detail="look into secret_codes",
            suggestions=(fix,),
            more={"hints": ["secret_plans"]},
        )
        answer = contract.problem(violation)
        await _send(send, answer.status, answer.body, list(answer.headers))

    with (
        served(ContractMiddleware(app, contract)) as url,
        lapse.open("memory:", clock=clock, trust=lapse.trust()) as memory,
        httpx2.Client(
            base_url=url, transport=Transport(memory, loopback(), issuer=ISSUER)
        ) as client,
    ):
        seen = [client.post("/order")]
        (fix,) = memory.fixes("POST /order", {}, issuer=ISSUER)
        clock.advance(seconds=1)
        contract.reload("secret_codes", {"row_alpha": "row_alpha", "row_beta": "row_alpha"})
        contract.reload("secret_plans", {"row_alpha": "X", "row_beta": "Z"})
        alias = Aliases(secret="s" * 32).table("secret_plans")
        seen += [
            client.post("/order"),
            client.get("/contract/versions"),
            client.get("/contract/graph"),
            client.get("/admin/graph"),
            client.get("/contract/changes", params={"table": alias, "since": "1.0.0"}),
            client.get("/contract/changes", params={"table": "nobody", "since": "1.0.0"}),
            client.get("/contract/changes"),
            client.post("/contract/reload", json={"table": "x"}),
            client.delete("/contract/versions"),
        ]
        assert [r.status_code for r in seen] == [422, 422, 200, 200, 200, 200, 200, 400, 403, 405]
        changes = seen[5].json()
        assert (changes["table"], changes["complete"], len(changes["rows"])) == (alias, True, 1)
        assert seen[6].json()["complete"] is False
        assert len(seen[3].json()["edges"]) == 2
        for response in seen:
            said = f"{response.headers.raw!r} {response.text}"
            assert [name for name in NAMES if name in said] == []
        # The client needs to know nothing of it: the fix whose row stayed is kept.
        assert [f.id for f in memory.fixes("POST /order", {}, issuer=ISSUER)] == [fix.id]
        assert "untrusted" not in memory.counters
    # Asking by the true name tells nothing either: it is no name on the wire.
    assert contract.changes_since("secret_plans", "1.0.0").version is None
