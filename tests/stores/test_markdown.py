"""A memory file that people edit, too: what a guard makes of it, and what happens to its bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lapse.admission import Ending
from lapse.errors import InvalidValue, StoreConflict, StoreCorrupt, StoreReadOnly, StoreUnavailable
from lapse.ledger import JsonObject, Scope, Status
from lapse.stores import Guarded, Legacy, Provenance, Sidecar, Standing, items_of
from lapse.stores.markdown import MarkdownStore, served_document
from lapse.testing import Notebook

FILE = """---
owner: team
---

# Shop

Payments go through Adyen.

## Build

Run `make build`.

```sh
# not a heading
make build
```

## Deploy

### Staging

Staging is `stage.example`.

### Production

Deploy on Tuesdays only.
"""
BUILD, STAGING, PRODUCTION = (
    '["Shop","Build"]',
    '["Shop","Deploy","Staging"]',
    '["Shop","Deploy","Production"]',
)
TEAM = Provenance(writer="team", authority="user")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "CLAUDE.md"
    place.write_bytes(FILE.encode())
    return place


@pytest.fixture
def guarded(path: Path, beside: Callable[[str], Sidecar]) -> Guarded:
    return Guarded(MarkdownStore(path), beside("CLAUDE.md"))


def test_sections_are_memories_and_nobody_vouched_for_them(guarded: Guarded) -> None:
    texts = {one.external_id: one.text for one in guarded.store.list()}
    assert texts == {
        '["Shop"]': "Payments go through Adyen.",
        BUILD: "Run `make build`.\n\n```sh\n# not a heading\nmake build\n```",
        STAGING: "Staging is `stage.example`.",
        PRODUCTION: "Deploy on Tuesdays only.",
    }
    assert list(guarded.list()) == []
    assert served_document(guarded) == "---\nowner: team\n---\n\n"


def test_an_adopted_file_is_served_whole(guarded: Guarded) -> None:
    assert len(guarded.adopt(TEAM)) == 4
    assert served_document(guarded) == FILE
    assert guarded.adopt(TEAM) == ()
    assert [r.content["writer"] for r in guarded.sidecar.history(BUILD)] == ["team"]
    assert [r.slot for r in guarded.sidecar.history(BUILD)] == [f"CLAUDE.md/{BUILD}"]


def test_what_lapsed_is_left_out_of_what_is_served_and_stays_in_the_file(
    guarded: Guarded, path: Path
) -> None:
    guarded.adopt(TEAM)
    guarded.invalidate(PRODUCTION, by="ana", reason="any day now", ending=Ending.SUPERSEDED)
    assert served_document(guarded) == FILE.replace(
        "### Production\n\nDeploy on Tuesdays only.\n", ""
    )
    guarded.invalidate(STAGING, by="ana", ending=Ending.CLOSED)
    assert "## Deploy" not in served_document(guarded)  # nothing below it stands
    assert "## Build" in served_document(guarded)
    assert path.read_bytes() == FILE.encode()
    guarded.restore(STAGING, by="ana")
    guarded.restore(PRODUCTION, by="ana")
    assert served_document(guarded) == FILE


def test_an_edit_by_hand_is_drift_until_it_is_attested(guarded: Guarded, path: Path) -> None:
    guarded.adopt(TEAM)
    path.write_bytes(FILE.replace("Tuesdays", "Fridays").encode())
    assert [one.external_id for one in guarded.search("deploy").left_out] == [PRODUCTION]
    assert "Fridays" not in served_document(guarded)
    guarded.attest(PRODUCTION)
    assert "Fridays" in served_document(guarded)
    path.write_bytes(FILE.replace("Tuesdays", "Fridays").replace("\n", "\r\n").encode())
    assert "Fridays" in served_document(guarded)  # other line ends say nothing else


def test_a_write_changes_one_section_and_no_other_byte(guarded: Guarded, path: Path) -> None:
    guarded.adopt(TEAM)
    guarded.update(PRODUCTION, "Deploy on any day.\nAsk first.")
    changed = "Deploy on any day.\nAsk first."
    assert path.read_text() == FILE.replace("Deploy on Tuesdays only.", changed)
    lost, won = guarded.sidecar.history(PRODUCTION)
    assert (lost.status, lost.content["text"]) == (Status.SUPERSEDED, "Deploy on Tuesdays only.")
    guarded.revert(PRODUCTION, lost.id, by="ana")
    assert path.read_bytes() == FILE.encode()
    assert won.content["replaces"] == [lost.id]


def test_a_mark_is_written_only_when_asked_and_is_taken_back_to_the_byte(
    path: Path, beside: Callable[[str], Sidecar]
) -> None:
    windows = b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode()[:-2]
    path.write_bytes(windows)
    guarded = Guarded(MarkdownStore(path), beside("CLAUDE.md"), write_back=True)
    guarded.adopt(TEAM)
    guarded.invalidate(PRODUCTION, by="ana", reason="--> any day", ending=Ending.REVOKED)
    line = r'<!-- lapse:lapsed {"by": "ana", "reason": "\u002d\u002d\u003e any day"} -->'
    assert f"### Production\r\n{line}\r\n\r\nDeploy".encode() in path.read_bytes()
    assert "lapse:lapsed" not in served_document(guarded)
    guarded.restore(PRODUCTION, by="ana")
    assert path.read_bytes() == windows


def test_new_sections_go_where_they_are_told(guarded: Guarded, path: Path) -> None:
    rules = guarded.add(
        "Ask Ana.", TEAM, metadata={"titles": ["Shop", "Build", "Who", "First"]}
    ).memory
    assert rules.external_id == '["Shop","Build","Who","First"]'
    guarded.add("Lunch is at noon.\nBring a plate.", TEAM)
    expected = FILE.replace("## Deploy\n", "### Who\n\n#### First\n\nAsk Ana.\n\n## Deploy\n")
    end = "\n## Lunch is at noon.\n\nLunch is at noon.\nBring a plate.\n"
    assert path.read_text() == expected + end
    with pytest.raises(InvalidValue, match="at most 6 levels"):
        guarded.store.add("Deep.", metadata={"titles": list("abcdefg")})


@pytest.mark.parametrize(
    "text",
    ["", " ", "\nblank before", "blank after\n", "# heading", "```\nopen", "a\n---", "<!-- x"],
)
def test_a_text_that_would_not_be_read_back_is_refused(
    text: str, guarded: Guarded, path: Path
) -> None:
    for write in (
        lambda: guarded.store.update(BUILD, text),
        lambda: guarded.store.add(text, metadata={"titles": ["Shop", "Build", "New"]}),
    ):
        with pytest.raises(InvalidValue):
            write()
    assert path.read_bytes() == FILE.encode()


def test_an_open_fence_hides_what_is_added_so_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("# Notes\n\n```\nnever closed\n")
    with pytest.raises(InvalidValue, match="close open fences"):
        MarkdownStore(path).add("text")


def test_a_file_is_replaced_where_a_link_leads_and_keeps_its_mode(
    path: Path, tmp_path: Path
) -> None:
    path.chmod(0o640)
    link = tmp_path / "AGENTS.md"
    link.symlink_to(path)
    MarkdownStore(link).update(BUILD, "Run `ninja`.")
    assert link.is_symlink()
    assert "Run `ninja`." in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(one.name for one in tmp_path.iterdir()) == ["AGENTS.md", "CLAUDE.md"]


class Editor(MarkdownStore):
    """Somebody saves the file while ours is being written, some times."""

    saves = 1

    def _replaced(self, before: bytes, after: bytes) -> bool:
        if self.saves:
            self.saves -= 1
            text = self._path.read_text()
            self._path.write_text(f"{text}\nSaved by hand.\n")
        return super()._replaced(before, after)


def test_what_somebody_saves_meanwhile_is_not_lost(path: Path) -> None:
    editor = Editor(path)
    editor.update(BUILD, "Run `ninja`.")
    expected = FILE.replace(FILE[FILE.index("Run") : FILE.index("## Dep")], "Run `ninja`.\n\n")
    assert path.read_text() == f"{expected}\nSaved by hand.\n"
    editor.saves = 1_000
    with pytest.raises(StoreConflict, match="saved by others"):
        editor.update(BUILD, "Run `make`.")
    assert "Run `make`." not in path.read_text()


def test_writers_of_ours_wait_for_each_other(path: Path) -> None:
    names = [f"Note {number}" for number in range(16)]

    def write(name: str) -> None:
        MarkdownStore(path).add(name, metadata={"titles": ["Notes", name]})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, names))
    found = {one.text for one in MarkdownStore(path).list()}
    assert set(names) <= found
    assert len(found) == 4 + len(names)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_says_so(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        with pytest.raises(StoreReadOnly):
            MarkdownStore(path).update(BUILD, "text")
    finally:
        path.parent.chmod(0o700)
    assert path.read_bytes() == FILE.encode()


def test_a_place_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        MarkdownStore(tmp_path).document()
    with pytest.raises(StoreUnavailable):
        MarkdownStore(tmp_path / "absent" / "MEMORY.md").add("text")
    latin = tmp_path / "latin.md"
    latin.write_bytes("# Café".encode("latin-1"))
    with pytest.raises(StoreCorrupt, match="not UTF-8"):
        MarkdownStore(latin).get("[]")
    assert latin.read_bytes() == "# Café".encode("latin-1")


def test_odd_arguments_are_refused(path: Path, beside: Callable[[str], Sidecar]) -> None:
    store = MarkdownStore(path)
    with pytest.raises(InvalidValue, match="pass 1 to 6"):
        MarkdownStore(path, level=7)
    for titles in ("Shop", ["Shop", 1]):
        with pytest.raises(InvalidValue, match="list of titles"):
            store.add("text", metadata={"titles": titles})
    wrong_ones: list[JsonObject] = [
        {"titles": ["A"]},
        {"text": "a"},
        {"titles": list[str](), "text": "a"},
    ]
    for wrong in wrong_ones:
        with pytest.raises(InvalidValue):
            store.import_([wrong])
    with pytest.raises(InvalidValue, match="MarkdownStore"):
        served_document(Guarded(Notebook(), beside("notebook")))


def test_legacy_sections_may_be_read_and_scopes_are_kept_to(
    path: Path, beside: Callable[[str], Sidecar]
) -> None:
    store = MarkdownStore(path)
    lenient = Guarded(store, beside("CLAUDE.md"), legacy=Legacy.ADMIT)
    lenient.attest(PRODUCTION, Provenance(scope=Scope(role="release")))
    assert "Tuesdays" not in served_document(lenient)
    assert served_document(lenient, who=Scope(role="release")) == FILE


def test_sections_are_candidates_for_a_return(guarded: Guarded, path: Path) -> None:
    guarded.adopt(TEAM)
    path.write_bytes(FILE.replace("Tuesdays", "Fridays").encode())
    statuses = {item.attributes["memory"]: item.status for item in items_of(guarded)}
    assert statuses[PRODUCTION] is Status.SUSPENDED
    assert statuses[BUILD] is Status.ACTIVE
    found = guarded.standing(PRODUCTION)
    assert found is not None
    assert found.standing is Standing.DRIFT
