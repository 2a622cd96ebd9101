"""The contract's endpoints, in process."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lapse.contract import Registry, Rule, Table
from lapse.ledger import canonical
from lapse.server import Contract, ContractMiddleware, Receive, Scope, Send
from lapse.wire import read_changes, read_response

TOKEN = "operator"  # noqa: S105 - of a server that lives for one test
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def registry() -> Registry:
    return Registry.of(
        [
            Table("codes", {"growth": {"code": "SUMMERSALE25"}, "scale": {"code": "S"}}, "1.0.0"),
            Table("promo", {"SUMMERSALE25": {}, "S": {}}, "1.0.0"),
        ],
        [Rule("codes", "promo", "requires_recognition", "code")],
    )


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"hello"})


@asynccontextmanager
async def client(contract: Contract, **options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=ContractMiddleware(hello, contract, **options))
    async with httpx2.AsyncClient(transport=transport, base_url="http://service") as http:
        yield http


def contract(**options: Any) -> Contract:
    return Contract(registry(), operator_token=TOKEN, **options)


@pytest.mark.requirement("C-VER-05")
async def test_versions_with_a_strong_tag() -> None:
    async with client(contract()) as http:
        answer = await http.get("/contract/versions")
    content = {
        "table_versions": {"codes": "1.0.0", "promo": "1.0.0"},
        "rules_version": registry().rules_version,
    }
    assert answer.json() == content
    tag = hashlib.sha256(canonical(content)).hexdigest()[:32]
    assert answer.headers["etag"] == f'"{tag}"'
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("form", ["{tag}", "W/{tag}", '"other", {tag}', "*"])
@pytest.mark.requirement("C-VER-06")
async def test_versions_that_are_known_already(form: str) -> None:
    async with client(contract()) as http:
        tag = (await http.get("/contract/versions")).headers["etag"]
        answer = await http.get(
            "/contract/versions", headers={"If-None-Match": form.format(tag=tag)}
        )
        other = await http.get("/contract/versions", headers={"If-None-Match": '"other"'})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert answer.headers["cache-control"] == "no-cache"
    assert "content-length" not in answer.headers
    assert other.status_code == 200


@pytest.mark.requirement("C-VER-05")
async def test_the_tag_moves_with_every_reload_and_declaration() -> None:
    service = contract()
    async with client(service) as http:

        async def tag() -> str:
            return (await http.get("/contract/versions")).headers["etag"]

        tags = [await tag()]
        service.reload("codes", {"growth": {"code": "W"}})
        tags.append(await tag())
        assert service.declare([]) == registry().with_rules([]).rules_version
        tags.append(await tag())
    assert len(set(tags)) == 3


@pytest.mark.requirement("C-CHG-01", "C-CHG-04", "C-CHG-05", "C-CHG-06")
async def test_changes_since_a_version() -> None:
    service = contract()
    service.reload("codes", {"growth": {"code": "W"}, "scale": {"code": "S"}}, "1.1.0")
    async with client(service) as http:

        async def changes(table: str, since: str) -> Any:
            answer = await http.get("/contract/changes", params={"table": table, "since": since})
            assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
            return read_changes(answer.content)

        moved = await changes("codes", "1.0.0")
        assert (moved.version, moved.complete) == ("1.1.0", True)
        assert dict(moved.rows) == {"growth": service.registry.row_version("codes", "growth")}
        assert moved.downstream == (("promo", "SUMMERSALE25"),)
        now = await changes("codes", "1.1.0")
        assert (now.complete, dict(now.rows)) == (True, {})
        assert (await changes("codes", "0.9")).complete is False
        gone = await changes("no such table / é", "1")
        assert (gone.version, gone.complete) == (None, False)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "table=codes",
        "since=1",
        "table=codes&since=1&since=2",
        "table=&since=1",
        "table=a%0Ab&since=1",
        "table=%FF&since=1",
        "x",
        "table=codes&since=1&" + "&".join(f"x{n}=1" for n in range(20)),
    ],
)
@pytest.mark.requirement("C-CHG-08")
async def test_a_question_that_cannot_be_read(query: str) -> None:
    async with client(contract()) as http:
        answer = await http.get(f"/contract/changes?{query}")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/contract/graph", "/admin/graph"])
@pytest.mark.requirement("C-GRF-01")
async def test_the_graph_from_level_5(path: str) -> None:
    async with client(contract(level=5)) as http:
        graph = (await http.get(path)).json()
    assert graph["nodes"]["promo:S"] == {"table": "promo", "key": "S", "version": "1.0.0"}
    assert len(graph["edges"]) == 2
    assert {"from": "codes:scale", "to": "promo:S", "relation": "requires_recognition"} in graph[
        "edges"
    ]
    async with client(contract(level=4)) as http:
        assert (await http.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/contract/reload", "/admin/reload-table"])
@pytest.mark.requirement("C-RLD-01", "C-RLD-02")
async def test_a_reload(path: str) -> None:
    service = contract()
    body = {"table": "codes", "rows": {"growth": {"code": "WINTERLAUNCH26"}}, "version": "1.1.0"}
    async with client(service) as http:
        answer = await http.post(path, json=body, headers=BEARER)
        assert answer.json() == {
            "table": "codes",
            "old_version": "1.0.0",
            "new_version": "1.1.0",
            "diff": {"added": [], "removed": ["scale"], "changed": ["growth"]},
            "affected_downstream": ["promo:S", "promo:SUMMERSALE25"],
        }
        assert read_response(answer.headers.raw, None).envelope.table_versions == {
            "codes": "1.1.0", "promo": "1.0.0"
        }  # fmt: skip
        gone = await http.post(path, json={"table": "codes", "rows": None}, headers=BEARER)
        assert (gone.json()["new_version"], gone.json()["diff"]["removed"]) == (None, ["growth"])
    assert set(service.registry.tables) == {"promo"}


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer wrong", "Basic operator", f"Bearer {TOKEN}x", "Bearer \xe9"],
)
@pytest.mark.requirement("C-RLD-03")
async def test_a_reload_needs_the_operator(header: str | None) -> None:
    service = contract()
    headers = [] if header is None else [(b"authorization", header.encode("latin-1"))]
    async with client(service) as http:
        answer = await http.post("/contract/reload", content=b"{", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert service.registry == registry()


@pytest.mark.requirement("C-RLD-03")
async def test_without_a_token_nobody_reloads() -> None:
    async with client(Contract(registry())) as http:
        for headers in ({}, BEARER, {"Authorization": "Bearer None"}, {"Authorization": "Bearer "}):
            assert (await http.post("/contract/reload", headers=headers)).status_code == 403


@pytest.mark.requirement("C-RLD-04")
async def test_two_operators_do_not_race() -> None:
    service = contract()
    body: dict[str, Any] = {"table": "codes", "rows": {}}
    async with client(service) as http:
        versions_tag = (await http.get("/contract/versions")).headers["etag"]

        async def status(if_match: str) -> int:
            headers = {**BEARER, "If-Match": if_match}
            return (await http.post("/contract/reload", json=body, headers=headers)).status_code

        assert await status('"0.9"') == 412
        assert await status(f"W/{versions_tag}") == 412
        assert service.registry == registry()
        assert await status(f'"0.9", {versions_tag}') == 200
        assert await status(versions_tag) == 412
        body["rows"] = {"k": 1}
        assert await status(f'"{service.registry.tables["codes"].version}"') == 200
        assert await status("*") == 200
        body["table"] = "new"
        assert await status("*") == 412
        assert await status((await http.get("/contract/versions")).headers["etag"]) == 200


@pytest.mark.requirement("C-RLD-05")
async def test_a_benign_bump() -> None:
    rows = {key: dict(row) for key, row in registry().tables["codes"].rows.items()}
    async with client(contract()) as http:
        bump = {"table": "codes", "rows": rows, "version": "1.1.0"}
        answer = await http.post("/contract/reload", json=bump, headers=BEARER)
        assert answer.json()["diff"] == {"added": [], "removed": [], "changed": []}
        assert answer.json()["new_version"] == "1.1.0"
        again = await http.post(
            "/contract/reload", json={"table": "codes", "rows": rows}, headers=BEARER
        )
        assert (again.json()["old_version"], again.json()["new_version"]) == ("1.1.0", "1.1.0")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"\xff", b'{"table": "codes"}', b'{"rows": {}}',
        b'{"table": "codes", "rows": []}', b'{"table": "codes", "rows": {"a": NaN}}',
        b'{"table": "codes", "rows": {"a": 1, "a": 2}}',
        b'{"table": "codes", "rows": {"a": 9007199254740993}}',
        b'{"table": "codes", "rows": {"": 1}}', b'{"table": "a:b", "rows": {}}',
        b'{"table": "codes", "rows": {}, "version": 2}',
        b'{"table": "codes", "rows": {}, "version": "1.0.0"}',
        b'{"table": "nowhere", "rows": null}', b'{"table": "codes", "rows": {"a": "\\ud800"}}',
        b'{"table": "codes", "rows": {"a": ' + b"[" * 100 + b"]" * 100 + b"}}",
    ],
)  # fmt: skip
@pytest.mark.requirement("C-RLD-06", "C-VER-03")
async def test_a_reload_that_is_not_possible_changes_nothing(body: bytes) -> None:
    service = contract()
    async with client(service) as http:
        answer = await http.post("/contract/reload", content=body, headers=BEARER)
    assert answer.status_code == 400
    assert json.loads(answer.content)["status"] == 400
    assert service.registry == registry()


@pytest.mark.requirement("C-RLD-06")
async def test_a_reload_that_is_too_large_is_not_read_to_its_end() -> None:
    service = contract()
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 100

    async with client(service, reload_bytes=1_000) as http:
        declared = await http.post("/contract/reload", content=b"x" * 1_001, headers=BEARER)
        streamed = await http.post("/contract/reload", content=endless(), headers=BEARER)
    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert read < 20


@pytest.mark.requirement("C-RLD-09")
async def test_other_methods() -> None:
    async with client(contract()) as http:
        for path, allow in (("versions", "GET, HEAD, OPTIONS"), ("reload", "POST, OPTIONS")):
            options = await http.options(f"/contract/{path}")
            assert (options.status_code, options.headers["allow"]) == (204, allow)
            assert "content-length" not in options.headers
            other = await http.delete(f"/contract/{path}")
            assert (other.status_code, other.headers["allow"]) == (405, allow)
        full, head = await http.get("/contract/versions"), await http.head("/contract/versions")
        assert head.content == b""
        assert head.headers == full.headers


async def test_a_lower_level_offers_less() -> None:
    async with client(contract(level=0)) as http:
        for path in ("versions", "changes?table=codes&since=1", "graph"):
            answer = await http.get(f"/contract/{path}")
            assert answer.status_code == 404
            assert not [name for name in answer.headers if name.startswith("contract-")]
        done = await http.post("/contract/reload", json={"table": "t", "rows": {}}, headers=BEARER)
        assert done.status_code == 200
    async with client(contract(level=1)) as http:
        assert "rules_version" not in (await http.get("/contract/versions")).json()


@pytest.mark.parametrize("when", ["before the body", "in the body"])
async def test_a_client_that_goes_away_is_answered_nothing(when: str) -> None:
    messages = [{"type": "http.disconnect"}]
    if when == "in the body":
        messages.insert(0, {"type": "http.request", "body": b"{", "more_body": True})  # type: ignore[dict-item]
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/contract/reload",
        "headers": [(b"authorization", f"Bearer {TOKEN}".encode())],
    }
    await ContractMiddleware(hello, contract())(scope, receive, send)
    assert sent == []


@pytest.mark.requirement("C-RLD-07")
async def test_reloads_come_one_after_the_other() -> None:
    service = contract()
    async with client(service) as http:
        bodies = [{"table": "codes", "rows": {"k": n}} for n in range(20)]
        answers = await asyncio.gather(
            *(http.post("/contract/reload", json=body, headers=BEARER) for body in bodies)
        )
    done = [answer.json() for answer in answers]
    olds, news = {d["old_version"] for d in done}, {d["new_version"] for d in done}
    assert len(olds) == len(news) == 20
    assert olds - news == {"1.0.0"}
    assert news - olds == {service.registry.tables["codes"].version}


@pytest.mark.requirement("C-RLD-08")
async def test_a_reload_that_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    service = contract(state_file=folder / "state.json")
    (folder / "state.json").unlink()
    folder.rmdir()
    async with client(service) as http:
        answer = await http.post(
            "/contract/reload", json={"table": "codes", "rows": {}}, headers=BEARER
        )
    assert answer.status_code == 503
    assert service.registry.table_versions == registry().table_versions
