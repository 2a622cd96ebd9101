"""What every adapter of a memory store has to do, as cases that any test runner can run.

A case takes a *place*: a function that opens the same store each time it is called, empty at first.
A store that is not persistent is opened once per case. What a store does not declare is not asked
of it, but for one thing: that it says so.

::

    @pytest.mark.parametrize("case", MEMORY_STORE_CASES, ids=lambda case: case.__name__)
    def test_my_adapter(case, tmp_path):
        case(lambda: MyAdapter(tmp_path / "memories"))

A case raises AssertionError with the promise that was broken. The cases of `guard_cases` are among
them: what a guard over the adapter promises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from lapse.errors import Incapable, InvalidValue
from lapse.stores import Capabilities, text_digest
from lapse.testing.guard_cases import GUARD_CASES, TEXTS, Place, guard, same_memory
from lapse.testing.promises import holds, refuses, same

__all__ = ["MEMORY_STORE_CASES", "Place", "guard"]


def it_says_what_it_is(place: Place) -> None:
    """A store has a name and declares what it can do."""
    store = place()
    holds(store.name, "a store has a name")
    declared = {
        field.name: getattr(store.capabilities, field.name) for field in fields(Capabilities)
    }
    holds(set(declared.values()) <= {True, False}, "a store declares what it can do")


def what_is_not_declared_is_refused(place: Place) -> None:
    """Asking for what is not declared is an error that says so, and nothing else."""
    store = place()
    memory = store.add(TEXTS[0])
    can, name = store.capabilities, memory.external_id
    calls: dict[str, tuple[Callable[[], object], ...]] = {
        "list_all": (lambda: list(store.list()), store.export),
        "text_search": (lambda: store.search("tea", limit=1),),
        "soft_invalidate": (
            lambda: store.invalidate(name, reason="over", by="test"),
            lambda: store.restore(name),
        ),
    }
    for capability, refused in calls.items():
        for call in () if getattr(can, capability) else refused:
            refuses(Incapable, call, f"{capability} is not declared, so it is refused")


def what_was_added_is_read_back(place: Place) -> None:
    """A text comes back as it was given, under a name of its own, with its digest."""
    store = place()
    added = [store.add(text) for text in TEXTS]
    same(len({one.external_id for one in added}), len(TEXTS), "each memory has its own name")
    for text, one in zip(TEXTS, added, strict=True):
        same(one.text, text, "the text is kept as it is")
        same(one.text_sha256, text_digest(text), "the digest is the text's")
        same_memory(store.get(one.external_id), one, "a memory is got by its name")
    same(store.get("nobody/has:this"), None, "a name that nobody gave is None")


def another_text_takes_its_place(place: Place) -> None:
    """Updating changes the text of one memory and nothing of the others."""
    store = place()
    one, other = store.add(TEXTS[0]), store.add(TEXTS[1])
    moved = store.update(one.external_id, TEXTS[2])
    same((moved.external_id, moved.text), (one.external_id, TEXTS[2]), "the name stays")
    same_memory(store.get(one.external_id), moved, "the new text is read back")
    same_memory(store.get(other.external_id), other, "another memory is left alone")
    if store.capabilities.versions:
        holds(moved.revision not in ("", one.revision), "another text is another revision")
    refuses(
        InvalidValue,
        lambda: store.update("nobody/has:this", "text"),
        "a memory that is not there cannot be updated",
    )


def everything_is_listed_once(place: Place) -> None:
    """A listing has every memory once, as `get` gives it, lapsed ones too."""
    store = place()
    if not store.capabilities.list_all:
        return
    same(list(store.list()), [], "an empty store lists nothing")
    added = [store.add(text) for text in TEXTS]
    if store.capabilities.soft_invalidate:
        store.invalidate(added[1].external_id, reason="over", by="test")
    listed = {one.external_id: one for one in store.list()}
    same(sorted(listed), sorted(one.external_id for one in added), "each memory is listed once")
    for one in added:
        same_memory(listed[one.external_id], one, "it is listed as it was added")


def a_search_finds_words_that_were_said(place: Place) -> None:
    """A text finds itself; a greater limit begins with the same memories."""
    store = place()
    if not store.capabilities.text_search:
        return
    same(list(store.search("tea", limit=3)), [], "an empty store finds nothing")
    added = [store.add(text) for text in TEXTS]
    for one in added:
        found = [memory.external_id for memory in store.search(one.text, limit=len(added))]
        holds(one.external_id in found, "a text finds itself")
        holds(len(found) == len(set(found)), "each memory is found once")
        for limit in range(1, len(added)):
            fewer = [m.external_id for m in store.search(one.text, limit=limit)]
            same(fewer, found[:limit], "a smaller limit gives the beginning of the same")


def a_mark_leaves_text_and_revision(place: Place) -> None:
    """Invalidating and restoring in the store never changes what a memory says."""
    store = place()
    if not store.capabilities.soft_invalidate:
        return
    one, other = store.add(TEXTS[0]), store.add(TEXTS[1])
    store.invalidate(one.external_id, reason="over", by="test")
    marked = store.get(one.external_id)
    same_memory(marked, one, "a marked memory is still there and says the same")
    store.invalidate(one.external_id, reason="over again", by="test")
    store.restore(one.external_id)
    store.restore(one.external_id)
    same_memory(store.get(one.external_id), one, "a restored memory says the same")
    same_memory(store.get(other.external_id), other, "the others were not touched")


def opened_again_it_holds_the_same(place: Place) -> None:
    """A persistent store holds what it held."""
    store = place()
    if not store.capabilities.persistent:
        return
    added = [store.add(text) for text in TEXTS]
    again = place()
    for one in added:
        same_memory(again.get(one.external_id), one, "opened again it is the same")


def exported_memories_are_imported(place: Place) -> None:
    """Importing what is there changes nothing; a memory that was changed is put back."""
    store = place()
    if not store.capabilities.list_all:
        return
    added = [store.add(text) for text in TEXTS[:2]]
    exported = store.export()
    same(len(exported), 2, "every memory is exported")
    store.import_(exported)
    listed = {one.external_id: one for one in store.list()}
    same(len(listed), 2, "importing what is there adds nothing")
    for one in added:
        same_memory(listed[one.external_id], one, "importing what is there changes nothing")
    store.update(added[0].external_id, TEXTS[3])
    store.import_(exported)
    texts = {one.text for one in store.list()}
    holds({TEXTS[0], TEXTS[1]} <= texts, "what was exported is there after an import")


MEMORY_STORE_CASES: tuple[Callable[[Place], None], ...] = (
    it_says_what_it_is,
    what_is_not_declared_is_refused,
    what_was_added_is_read_back,
    another_text_takes_its_place,
    everything_is_listed_once,
    a_search_finds_words_that_were_said,
    a_mark_leaves_text_and_revision,
    opened_again_it_holds_the_same,
    exported_memories_are_imported,
    *GUARD_CASES,
)
"""Every case; each needs a place of its own."""
