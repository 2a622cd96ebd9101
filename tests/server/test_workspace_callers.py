"""A workspace over HTTP: who may ask, for what, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lapse
from lapse.errors import InvalidValue
from lapse.server.workspace_grants import Grant
from lapse.server.workspace_http import BODY_BYTES, workspace_application
from lapse.server.workspace_tokens import Tokens

VIEW = "returns/r2/view?purpose=booking"


@pytest.mark.requirement("C-WS-01")
@pytest.mark.parametrize("who", [None, "nobody"])
def test_who_is_not_known_is_told_nothing(service: Any, who: str | None) -> None:
    for method, path in (("GET", "me"), ("GET", "returns/r1"), ("POST", "depart")):
        answer = service.call(who, method, path, {} if method == "POST" else None)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer ")
    basic = service.call(None, "GET", "me", headers={"authorization": "Basic QTE6eA=="})
    assert basic.status_code == 401


@pytest.mark.requirement("C-WS-01")
@pytest.mark.parametrize(
    "member", ["principal", "role", "tenant", "by", "authority", "observer", "operator"]
)
def test_no_request_says_who_asks(service: Any, member: str) -> None:
    said = {"text": "x", "slot": "x", member: "A2"}
    assert service.post("planner", "items", said, 422)["errors"][0]["loc"] == ["body", member]
    assert service.post("planner", "depart", {member: "A2"}, 422)
    assert service.post("planner", "return", {"purpose": "booking", member: "A2"}, 422)


@pytest.mark.requirement("C-WS-02")
def test_a_token_is_for_its_task_and_its_purposes(service: Any) -> None:
    assert "works on 'trip'" in service.post("other", "depart", {"task": "taxes"}, 403)["detail"]
    refused = service.post("planner", "return", {"purpose": "selling"}, 403)
    assert "returns for booking" in refused["detail"]
    assert service.post("guest", "depart", {"task": "taxes"}, 201)["task"] == "taxes"


@pytest.mark.requirement("C-WS-03")
def test_what_another_tenant_wrote_is_not_there(service: Any) -> None:
    assert service.post("stranger", "depart", {}, 201)["items"] == 0
    found = service.post("stranger", "return", {"purpose": "booking"})
    assert (found["outcome"], found["left_out"]) == ("block", {})
    assert service.post("stranger", "items/h0/revoke", {}, 404)


def without(problem: Any, name: str) -> Any:
    return json.loads(json.dumps(problem).replace(name, "ID"))


@pytest.mark.requirement("C-WS-04")
@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("supersede", {"text": "x"}),
        ("revoke", {}),
        ("close", {}),
        ("dispute", {}),
        ("resolve", {}),
        ("restore", {}),
    ],
)
def test_what_may_not_be_seen_is_as_what_never_was(
    service: Any, verb: str, body: dict[str, str]
) -> None:
    private = service.post("booker", f"items/e/{verb}", body, 404)
    nothing = service.post("booker", f"items/zz/{verb}", body, 404)
    assert without(private, "'e'") == without(nothing, "'zz'")


@pytest.mark.requirement("C-WS-04")
def test_it_cannot_be_named_in_a_statement_either(service: Any) -> None:
    for member in ("rests_on", "assumes", "replaces"):
        said = {"text": "x", "slot": "x", member: ["e"]}
        assert service.post("booker", "items", said, 404)
    for item in ("e", "zz"):
        assert service.post("booker", "items/f/supersede", {"text": "x", "rests_on": [item]}, 404)


@pytest.mark.requirement("C-WS-04")
def test_a_return_is_for_who_returned(admitted: Any) -> None:
    for path in ("returns/r2", VIEW, "returns/r2/brief?purpose=booking"):
        other = admitted.get("other", path, 404)
        nothing = admitted.get("other", path.replace("r2", "r9"), 404)
        assert without(other, "r2") == without(nothing, "r9")
    assert admitted.get("operator", "returns/r2")["outcome"] == "admitted"
    seen = admitted.get("operator", "returns/r2/view?purpose=booking&task=trip", 409)
    assert set(seen["reasons"]) == {"principal_mismatch", "role_mismatch"}


@pytest.mark.requirement("C-WS-05")
def test_only_operators_see_all(service: Any) -> None:
    for path in ("status", "items/h0"):
        assert service.get("planner", path, 403)
    standing = service.get("operator", "status")
    assert [member["presence"] for member in standing["members"]] == ["absent"]
    assert standing["obligations"] == [
        {"name": "trip", "required": ["d_h", "d_p"], "critical": ["d_p"]}
    ]
    told = service.get("operator", "items/h0")
    assert told["item"]["record"]["content"]["text"] == "Sunrise is booked"
    assert told["fallen"]["reasons"] == ["superseded"]
    assert service.get("operator", "items/zz", 404)


@pytest.mark.requirement("C-WS-06")
def test_only_a_name_to_vouch_under_makes_evidence(service: Any) -> None:
    given: list[Any] = [["desk", [], 0, "", "confirms"]]
    receipt: dict[str, Any] = {"text": "x", "slot": "x", "receipts": given}
    assert service.post("planner", "items", receipt, 422)
    rumour = {"text": "Pickup somewhere", "slot": "p2", "item_id": "p2", "supports": ["d_p"]}
    service.post("other", "items", {**rumour, "audience": "team"}, 201)
    service.say("p3", "Seen by nobody", supports=["d_p"], vouch=False)
    found = service.returns("r1")
    for item in ("p2", "p3"):
        assert found["left_out"][item]["reasons"] == ["provenance_missing"]
    service.post("other", "items/p2/dispute", {}, 200)
    assert service.post("other", "items/p2/restore", {}, 403)
    assert service.post("booker", "items/p2/restore", {"looked_at": "the desk"})["id"] == "p2"


@pytest.mark.requirement("C-WS-12", "C-WS-13")
def test_what_cannot_be_taken_is_refused_and_not_repeated(service: Any) -> None:
    json_ = {"content-type": "application/json"}
    for content, status in (
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
        (b" " * (BODY_BYTES + 1), 413),
        (b'{"text": "hush-hush", "slot": 7}', 422),
        (b'{"text": "hush-hush", "slot": "x", "hush-hush": 1}', 422),
        (b'{"text": "\\ud800", "slot": "x"}', 422),
        (b'{"text": "x", "slot": "x", "attributes": {"a": 1e999}}', 422),
        (b'{"text": "x", "slot": "x", "attributes": {"plan": ["hush-hush"]}}', 422),
    ):
        answer = service.call("booker", "POST", "items", content=content, headers=json_)
        assert answer.status_code == status, answer.text
        assert "hush-hush" not in answer.text.replace('"body","hush-hush"', "")
    assert service.call("booker", "GET", "nowhere").status_code == 404
    wrong = service.call("booker", "DELETE", "me")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")
    assert service.get("planner", "returns/r1/view", 422)


@pytest.mark.requirement("C-WS-14")
def test_a_ledger_that_fails_keeps_its_reasons(service: Any) -> None:
    before = service.get("operator", "status")
    service.store.broken = True
    answer = service.call("booker", "POST", "items", {"text": "x", "slot": "x"})
    assert answer.status_code == 503
    assert "password" not in answer.text
    service.store.broken = False
    assert service.get("operator", "status") == before


def test_tokens_are_kept_as_digests_and_read_back() -> None:
    planner = Grant(principal="A1", role="planner", task="trip", purposes=frozenset({"booking"}))
    operator = Grant(principal="op", role="operator", operator=True, tenant="t", authority="user")
    tokens = Tokens().granting("p" * 40, planner).granting("o" * 40, operator)
    text = tokens.written()
    assert "p" * 40 not in text
    again = Tokens.parse(text)
    assert [*again] == [planner, operator]
    assert (again.grant_of("p" * 40), again.grant_of("o" * 40)) == (planner, operator)
    assert again.grant_of("") is None
    with pytest.raises(InvalidValue, match="32 random bytes"):
        tokens.granting("short", planner)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("{", "the whole"),
        ('{"tokens": [{"sha256": "x", "principal": "A1", "role": "r"}]}', "tokens.0.sha256"),
        ('{"tokens": [], "more": 1}', "more"),
    ],
)
def test_a_file_that_is_none_of_tokens_is_refused_by_place(text: str, place: str) -> None:
    with pytest.raises(InvalidValue, match=place):
        Tokens.parse(text)


def test_every_token_needs_its_tenants_workspace() -> None:
    grant = Grant(principal="A1", role="planner", tenant="other")
    tokens = Tokens().granting("t" * 40, grant)
    with lapse.workspace("memory:") as workspace, pytest.raises(InvalidValue, match="every token"):
        workspace_application({None: workspace}, tokens)
