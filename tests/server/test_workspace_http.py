"""A workspace over HTTP: who may ask, what is answered, and what never is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio
import http_sf
import httpx2
import pytest
import rfc8785

import lapse
from lapse.admission import Policy
from lapse.errors import InvalidValue, StoreUnavailable
from lapse.judges import DeclaredPremise, DeclaredPremises
from lapse.ledger import Change, Head
from lapse.runtime import Judging, Session, Workspace
from lapse.server.workspace_http import BODY_BYTES, workspace_application
from lapse.server.workspace_seat import Grant
from lapse.server.workspace_tokens import Tokens
from lapse.signing import HmacKeys
from lapse.storage import InMemoryStore, RandomIds, SystemClock

KEYS = HmacKeys({"k1": b"a key of at least 32 random bytes!"}, sign_with="k1")
GRANTS = {
    "planner": Grant(
        principal="A1",
        role="planner",
        task="trip",
        purposes=frozenset({"booking"}),
        observer="A1",
    ),
    "booker": Grant(principal="A2", role="booker", task="trip", observer="desk"),
    "other": Grant(principal="A3", role="planner", task="trip"),
    "guest": Grant(principal="A4", role="guest", observer="desk"),
    "operator": Grant(principal="op", role="operator", operator=True, observer="desk"),
    "stranger": Grant(principal="A1", role="planner", task="trip", tenant="other"),
}


def token(name: str) -> str:
    return f"{name:*<40}"


def tokens() -> Tokens:
    found = Tokens()
    for name, grant in GRANTS.items():
        found = found.granting(token(name), grant)
    return found


class Breakable(InMemoryStore):
    """A store that can be told to fail, with a reason that is nobody's business."""

    broken = False

    def changes(self, **asked: Any) -> Iterator[Change]:
        if self.broken:
            raise StoreUnavailable("password of the account at db.internal was refused")
        return super().changes(**asked)

    def append(self, changes: Any, *, after: Head) -> None:
        if self.broken:
            raise StoreUnavailable("password of the account at db.internal was refused")
        super().append(changes, after=after)


def opened(session: Session, tenant: str | None = None) -> Workspace:
    return Workspace(
        session,
        clock=SystemClock(),
        ids=RandomIds(),
        policy=Policy(observers=frozenset({"desk", "A1"})),
        signer=KEYS,
        verifier=KEYS,
        judging=Judging((DeclaredPremise(),), DeclaredPremises()),
        tenant=tenant,
    )


class Given:
    """Gives a store the id of the ledger whose changes it takes over."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def new(self) -> str:
        return self._ledger


class Service:
    """The application, called in process by whoever a token is of."""

    def __init__(self, like: Service | None = None) -> None:
        self.store = Breakable(ids=RandomIds() if like is None else Given(like.store.ledger))
        if like is not None:
            self.store.append(tuple(like.store.changes()), after=self.store.head())
        session = Session(self.store)
        spaces = {None: opened(session), "other": opened(session, "other")}
        self.app = workspace_application(spaces, tokens())

    def call(
        self, who: str | None, method: str, path: str, body: Any = None, **more: Any
    ) -> httpx2.Response:
        headers = {} if who is None else {"authorization": f"Bearer {token(who)}"}

        async def called() -> httpx2.Response:
            transport = httpx2.ASGITransport(self.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://w") as client:
                asked: dict[str, Any] = {"headers": {**headers, **more.pop("headers", {})}, **more}
                if body is not None:
                    asked["json"] = body
                return await client.request(method, f"/workspace/{path}", **asked)

        answer = anyio.run(called)
        assert answer.headers["cache-control"] == "no-store"
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code
        return answer

    def post(self, who: str, path: str, body: Any, status: int = 200) -> Any:
        answer = self.call(who, "POST", path, body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def get(self, who: str, path: str, status: int = 200) -> Any:
        answer = self.call(who, "GET", path)
        assert answer.status_code == status, answer.text
        return answer.json()

    def say(self, name: str, text: str, **more: Any) -> None:
        said = {"text": text, "slot": name, "item_id": name, "audience": "team", **more}
        assert self.post("booker", "items", said, 201)["id"] == name

    def returns(self, cycle: str, **more: Any) -> Any:
        return self.post("planner", "return", {"purpose": "booking", "cycle": cycle, **more})


@pytest.fixture(scope="module")
def first() -> Service:
    """A1 left while a hotel and a pickup at it stood; then the hotel changed."""
    at = Service()
    owed = {"obligation": "trip", "required": ["d_h", "d_p"], "critical": ["d_p"]}
    at.say("o", "Settle", kind="obligation", **owed)
    at.say("f", "Open", kind="frontier", obligation="trip")
    at.say("h0", "Sunrise is booked", supports=["d_h"])
    at.say("p0", "Pickup at Sunrise", supports=["d_p"], assumes=["h0"])
    mine = {"text": "Quiet is good", "slot": "e", "kind": "experience", "rests_on": ["h0"]}
    at.post("planner", "items", {**mine, "item_id": "e"}, 201)
    at.post("planner", "depart", {}, 201)
    instead = {"text": "Riverside is booked"}
    at.post("booker", "items/h0/supersede", instead, 201)
    return at


@pytest.fixture
def service(first: Service) -> Service:
    """A copy of it, for one test."""
    return Service(first)


@pytest.fixture
def admitted(service: Service) -> Service:
    """What was missing is there, and A1 is back in cycle r2."""
    service.say("p1", "Pickup at Riverside", supports=["d_p"], replaces=["p0"])
    assert service.returns("r2")["outcome"] == "admitted"
    return service


VIEW = "returns/r2/view?purpose=booking"


@pytest.mark.requirement("C-WS-08")
def test_a_return_that_lacks_something_names_it(service: Service) -> None:
    found = service.returns("r1", workload="Book it")
    assert (found["outcome"], found["shown"], found["workload"]) == ("block", [], "Book it")
    (missing,) = found["missing"]
    assert (missing["dependency"], missing["critical"], missing["needed_by"]) == (
        "d_p",
        True,
        ["trip"],
    )
    assert found["left_out"]["p0"]["reasons"] == ["premise_changed"]
    assert service.get("planner", "me")["presence"] == "blocked"
    refused = service.get("planner", "returns/r1/view?purpose=booking", 409)
    assert refused["reasons"] == ["insufficient_coverage", "insufficient_critical"]


@pytest.mark.requirement("C-WS-10")
def test_a_view_is_the_bytes_that_were_signed(admitted: Service) -> None:
    answer = admitted.call("planner", "GET", VIEW)
    found: Any = http_sf.parse(answer.headers["view-signature"].encode(), tltype="item")
    signature, parameters = found
    assert isinstance(signature, bytes)
    assert rfc8785.dumps(answer.json()) == answer.content
    assert KEYS.verify(parameters["key"], b"lapse return view 1\n" + answer.content, signature)
    body = answer.json()
    assert {item["id"] for item in body["items"]} >= {"o", "f", "p1"}
    assert body["returning"][0] == "r2"
    changed = answer.content.replace(b"Riverside", b"Lakesides")
    assert not KEYS.verify(parameters["key"], b"lapse return view 1\n" + changed, signature)


@pytest.mark.requirement("C-WS-11")
def test_a_view_is_checked_anew_each_time(admitted: Service) -> None:
    assert admitted.call("planner", "GET", VIEW).status_code == 200
    brief = admitted.call("planner", "GET", "returns/r2/brief?purpose=booking")
    assert brief.headers["content-type"].startswith("text/plain")
    assert "Riverside" in brief.text
    assert "Sunrise" not in brief.text
    admitted.say("news", "A flood")
    for name in ("view", "brief", "experience"):
        refused = admitted.get("planner", f"returns/r2/{name}?purpose=booking", 409)
        assert refused["reasons"] == ["epoch_mismatch"], name


@pytest.mark.requirement("C-WS-11")
def test_experience_comes_back_with_its_source_or_not_at_all(service: Service) -> None:
    riverside = service.get("operator", "items/h0")["story"][-1]["detail"]["by"]
    own = {"text": "Riverside is far", "slot": "e2", "kind": "experience", "item_id": "e2"}
    service.post("planner", "items", {**own, "rests_on": [riverside]}, 201)
    service.say("p1", "Pickup at Riverside", supports=["d_p"], replaces=["p0"])
    found = service.returns("r2")
    assert found["experience"] == ["e2"]
    assert "source_not_shown" in found["left_out"]["e"]["reasons"]
    (item,) = service.get("planner", "returns/r2/experience?purpose=booking")["items"]
    assert item["record"]["content"]["text"] == "Riverside is far"
    for path in ("view", "brief"):
        shown = service.call("planner", "GET", f"returns/r2/{path}?purpose=booking")
        assert "is far" not in shown.text


@pytest.mark.requirement("C-WS-01")
@pytest.mark.parametrize("who", [None, "nobody"])
def test_who_is_not_known_is_told_nothing(service: Service, who: str | None) -> None:
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
def test_no_request_says_who_asks(service: Service, member: str) -> None:
    said = {"text": "x", "slot": "x", member: "A2"}
    assert service.post("planner", "items", said, 422)["errors"][0]["loc"] == ["body", member]
    assert service.post("planner", "depart", {member: "A2"}, 422)
    assert service.post("planner", "return", {"purpose": "booking", member: "A2"}, 422)


@pytest.mark.requirement("C-WS-02")
def test_a_token_is_for_its_task_and_its_purposes(service: Service) -> None:
    assert "works on 'trip'" in service.post("other", "depart", {"task": "taxes"}, 403)["detail"]
    refused = service.post("planner", "return", {"purpose": "selling"}, 403)
    assert "returns for booking" in refused["detail"]
    assert service.post("guest", "depart", {"task": "taxes"}, 201)["task"] == "taxes"


@pytest.mark.requirement("C-WS-03")
def test_what_another_tenant_wrote_is_not_there(service: Service) -> None:
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
    service: Service, verb: str, body: dict[str, str]
) -> None:
    private = service.post("booker", f"items/e/{verb}", body, 404)
    nothing = service.post("booker", f"items/zz/{verb}", body, 404)
    assert without(private, "'e'") == without(nothing, "'zz'")


@pytest.mark.requirement("C-WS-04")
def test_it_cannot_be_named_in_a_statement_either(service: Service) -> None:
    for member in ("rests_on", "assumes", "replaces"):
        said = {"text": "x", "slot": "x", member: ["e"]}
        assert service.post("booker", "items", said, 404)
    for item in ("e", "zz"):
        assert service.post("booker", "items/f/supersede", {"text": "x", "rests_on": [item]}, 404)


@pytest.mark.requirement("C-WS-04")
def test_a_return_is_for_who_returned(admitted: Service) -> None:
    for path in ("returns/r2", VIEW, "returns/r2/brief?purpose=booking"):
        other = admitted.get("other", path, 404)
        nothing = admitted.get("other", path.replace("r2", "r9"), 404)
        assert without(other, "r2") == without(nothing, "r9")
    assert admitted.get("operator", "returns/r2")["outcome"] == "admitted"
    seen = admitted.get("operator", "returns/r2/view?purpose=booking&task=trip", 409)
    assert set(seen["reasons"]) == {"principal_mismatch", "role_mismatch"}


@pytest.mark.requirement("C-WS-05")
def test_only_operators_see_all(service: Service) -> None:
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
def test_only_a_name_to_vouch_under_makes_evidence(service: Service) -> None:
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


SECRETS = ("Sunrise", "Riverside", "Settle", "Quiet")


@pytest.mark.requirement("C-WS-07")
def test_no_write_and_no_outcome_repeats_words(service: Service) -> None:
    calls: list[tuple[str, Any]] = [
        ("items", {"text": "x", "slot": "x", "rests_on": ["f"]}),
        ("items/p0/dispute", {}),
        ("items/p0/restore", {}),
        ("items/p0/close", {}),
        ("items/p0/restore", {}),
        ("items/f/supersede", {"text": "Still open"}),
        ("items/o/revoke", {"why": "x"}),
    ]
    answers = [service.call("booker", "POST", path, body) for path, body in calls]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 200, 200, 201, 200]
    answers.append(service.call("planner", "POST", "return", {"purpose": "booking"}))
    cycle = answers[-1].json()["cycle"]
    answers.append(service.call("planner", "GET", f"returns/{cycle}"))
    answers.append(service.call("planner", "GET", "me"))
    answers.append(service.call("operator", "GET", "status"))
    for answer in answers:
        assert not [word for word in SECRETS if word in answer.text], answer.url


@pytest.mark.requirement("C-WS-09")
def test_a_call_may_be_repeated(service: Service) -> None:
    first = service.returns("r1")
    service.say("p1", "Pickup at Riverside", supports=["d_p"], replaces=["p0"])
    assert service.returns("r1") == first
    said = {"text": "Twice", "slot": "t", "item_id": "t"}
    assert service.post("booker", "items", said, 201) == service.post("booker", "items", said, 201)
    assert service.post("booker", "items", {**said, "text": "Else"}, 409)


@pytest.mark.requirement("C-WS-12", "C-WS-13")
def test_what_cannot_be_taken_is_refused_and_not_repeated(service: Service) -> None:
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
def test_a_ledger_that_fails_keeps_its_reasons(service: Service) -> None:
    before = service.get("operator", "status")
    service.store.broken = True
    answer = service.call("booker", "POST", "items", {"text": "x", "slot": "x"})
    assert answer.status_code == 503
    assert "password" not in answer.text
    service.store.broken = False
    assert service.get("operator", "status") == before


def test_looking_ahead_leaves_less_to_ask(service: Service) -> None:
    found = service.post("planner", "scan", {"pairs": 100})
    assert (found["answered"], found["complete"]) == (True, True)
    assert service.post("other", "scan", {}, 422)["detail"].startswith("identity: ")


def test_a_dispute_is_decided_by_who_looks_again(service: Service) -> None:
    service.say("w1", "Rain", slot="weather")
    sun = {"text": "Sun", "slot": "weather", "audience": "team", "task": "trip"}
    service.post("guest", "items", sun, 201)
    assert service.post("other", "items/w1/resolve", {"vouch": True}, 403)
    decided = service.post("booker", "items/w1/resolve", {"vouch": True}, 201)
    assert decided["status"] == "active"


def test_tokens_are_kept_as_digests_and_read_back(service: Service) -> None:
    text = tokens().written()
    assert not [name for name in GRANTS if token(name) in text]
    again = Tokens.parse(text)
    assert {grant.principal for grant in again} == {g.principal for g in GRANTS.values()}
    for name, grant in GRANTS.items():
        assert again.grant_of(token(name)) == grant
    assert again.grant_of("") is None
    with pytest.raises(InvalidValue, match="32 random bytes"):
        tokens().granting("short", GRANTS["planner"])
    del service


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
    with lapse.workspace("memory:") as workspace, pytest.raises(InvalidValue, match="every token"):
        workspace_application({None: workspace}, tokens())
