"""A workspace over HTTP, called in process by everybody who has a token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

from lapse.admission import Policy
from lapse.errors import StoreUnavailable
from lapse.judges import DeclaredPremise, DeclaredPremises
from lapse.ledger import Change, Head
from lapse.runtime import Judging, Session, Workspace
from lapse.server.workspace_grants import Grant
from lapse.server.workspace_http import workspace_application
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

    keys = KEYS

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

    def together(self, calls: list[tuple[str, str, Any]]) -> list[httpx2.Response]:
        """Answers to calls that are made at the same time."""
        found: list[httpx2.Response] = []

        async def all_called() -> None:
            transport = httpx2.ASGITransport(self.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://w") as client:

                async def called(who: str, path: str, body: Any) -> None:
                    headers = {"authorization": f"Bearer {token(who)}"}
                    asked = client.post(f"/workspace/{path}", json=body, headers=headers)
                    found.append(await asked)

                async with anyio.create_task_group() as group:
                    for call in calls:
                        group.start_soon(called, *call)

        anyio.run(all_called)
        return found

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
