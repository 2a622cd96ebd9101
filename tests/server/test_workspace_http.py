"""A workspace over HTTP: what is answered, and what no answer holds."""

from __future__ import annotations

from typing import Any

import http_sf
import pytest
import rfc8785

VIEW = "returns/r2/view?purpose=booking"


@pytest.mark.requirement("C-WS-08")
def test_a_return_that_lacks_something_names_it(service: Any) -> None:
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
def test_a_view_is_the_bytes_that_were_signed(admitted: Any) -> None:
    answer = admitted.call("planner", "GET", VIEW)
    found: Any = http_sf.parse(answer.headers["view-signature"].encode(), tltype="item")
    signature, parameters = found
    assert isinstance(signature, bytes)
    assert rfc8785.dumps(answer.json()) == answer.content
    assert admitted.keys.verify(
        parameters["key"], b"lapse return view 1\n" + answer.content, signature
    )
    body = answer.json()
    assert {item["id"] for item in body["items"]} >= {"o", "f", "p1"}
    assert body["returning"][0] == "r2"
    changed = answer.content.replace(b"Riverside", b"Lakesides")
    assert not admitted.keys.verify(
        parameters["key"], b"lapse return view 1\n" + changed, signature
    )


@pytest.mark.requirement("C-WS-11")
def test_a_view_is_checked_anew_each_time(admitted: Any) -> None:
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
def test_experience_comes_back_with_its_source_or_not_at_all(service: Any) -> None:
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


SECRETS = ("Sunrise", "Riverside", "Settle", "Quiet")


@pytest.mark.requirement("C-WS-07")
def test_no_write_and_no_outcome_repeats_words(service: Any) -> None:
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


BODIES: dict[str, Any] = {
    "items": {"text": "x", "slot": "x", "rests_on": ["o"], "item_id": "h0"},
    "supersede": {"text": "x"},
    "return": {"purpose": "booking"},
}


@pytest.mark.requirement("C-WS-04", "C-WS-07", "C-WS-11")
def test_what_the_view_leaves_out_is_reached_by_no_endpoint(admitted: Any) -> None:
    shown = admitted.call("planner", "GET", VIEW).text
    left_out = [word for word in ("Sunrise", "Quiet", "Lakeside") if word not in shown]
    admitted.post("other", "items", {"text": "Lakeside", "slot": "l", "item_id": "l"}, 201)
    assert left_out == ["Sunrise", "Quiet", "Lakeside"]
    document = admitted.call(None, "GET", "openapi.json").json()
    calls = [
        (method.upper(), path.removeprefix("/workspace/").format(item=item, cycle="r2"))
        for path, methods in document["paths"].items()
        for method in methods
        for item in (("h0", "p0", "e", "l") if "{item}" in path else ("",))
    ]
    assert len(calls) == 10 + 4 * 7
    for who in ("planner", "booker", "guest"):
        for method, path in calls:
            body = BODIES.get(path.rpartition("/")[2], {}) if method == "POST" else None
            answer = admitted.call(who, method, f"{path}?purpose=booking", body)
            assert answer.status_code < 500
            assert not [word for word in left_out if word in answer.text], (who, method, path)


@pytest.mark.requirement("C-WS-09")
def test_a_call_may_be_repeated(service: Any) -> None:
    first = service.returns("r1")
    service.say("p1", "Pickup at Riverside", supports=["d_p"], replaces=["p0"])
    assert service.returns("r1") == first
    said = {"text": "Twice", "slot": "t", "item_id": "t"}
    assert service.post("booker", "items", said, 201) == service.post("booker", "items", said, 201)
    assert service.post("booker", "items", {**said, "text": "Else"}, 409)


def test_what_many_say_at_once_is_all_there(service: Any) -> None:
    said = [
        ("booker", "items", {"text": f"News {number}", "slot": f"n{number}", "audience": "team"})
        for number in range(6)  # fewer than the rounds that a return takes when it is overtaken
    ]
    back = [("planner", "return", {"purpose": "booking", "cycle": f"r{n}"}) for n in range(2)]
    answers = service.together([*said[:3], *back, *said[3:]])
    assert {answer.status_code for answer in answers} == {200, 201}
    written = [answer.json() for answer in answers if answer.status_code == 201]
    assert len(written) == 6
    assert len({one["revision"] for one in written}) == 6  # one after the other
    standing = service.get("operator", "status")
    assert standing["revision"] == max(one["revision"] for one in written)
    assert [member["presence"] for member in standing["members"]] == ["blocked"]


def test_looking_ahead_leaves_less_to_ask(service: Any) -> None:
    found = service.post("planner", "scan", {"pairs": 100})
    assert (found["answered"], found["complete"]) == (True, True)
    assert service.post("other", "scan", {}, 422)["detail"].startswith("identity: ")


def test_a_dispute_is_decided_by_who_looks_again(service: Any) -> None:
    service.say("w1", "Rain", slot="weather")
    sun = {"text": "Sun", "slot": "weather", "audience": "team", "task": "trip"}
    service.post("guest", "items", sun, 201)
    assert service.post("other", "items/w1/resolve", {"vouch": True}, 403)
    decided = service.post("booker", "items/w1/resolve", {"vouch": True}, 201)
    assert decided["status"] == "active"
