"""A return that is decided again and again: a few changes cost what they touch, and no more.

Everything that a cycle found out is kept, and a further delta re-judges what the rules connect with
it: versions of its slots, what rests on it, what was asked about it, whose time came. What comes
out is what a whole cycle over the same items and answers gives, to the last byte of the view.

::

    again = Readmission(checkpoint, policy)      # as a whole, once
    again.look(answers_to(again.scans()))
    again.answer(verdicts_on(again.questions()))
    outcome = again.next(signer)

    again.take(further(again.checkpoint, now, epoch=8), returning)      # a few changes later
    again.look(answers_to(again.scans()))        # only about what came since
    again.answer(verdicts_on(again.questions()))
    outcome = again.next(signer)

A scan that goes unanswered leaves its item out, as ever. An item whose scan was answered before is
asked about what came since alone, and is out until that is answered too: by a scan, or by one look
at each new item (`came`, `sweep`).

It is one object that changes; it belongs to one thread. What it gives is frozen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from lapse.admission.checkpoint import Checkpoint, same_record
from lapse.admission.cycle import Blocked, Eligible, Sealed, block, seal
from lapse.admission.disputes import disputes_in
from lapse.admission.gates import weigh
from lapse.admission.lifecycle import History, cascade, chain_end, explicit, unknown_current
from lapse.admission.links import Links
from lapse.admission.looked import Looked
from lapse.admission.premises import settle
from lapse.admission.standing import Due, Standing
from lapse.errors import InvalidValue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from lapse.admission.checkpoint import Delta, Returning
    from lapse.admission.disputes import Dispute
    from lapse.admission.items import WorkItem
    from lapse.admission.lifecycle import UnknownCurrent
    from lapse.admission.policy import Policy
    from lapse.admission.questions import Pair, Question, Scan
    from lapse.admission.reasons import Fallen
    from lapse.ledger import Signer

__all__ = ["Readmission"]

_Value = TypeVar("_Value")


class Readmission:
    """What is known about a return, kept up with the workspace.

    Args:
        checkpoint: the state to begin with; judged as a whole.
        policy: how every return is decided.
    """

    def __init__(self, checkpoint: Checkpoint, policy: Policy) -> None:
        self._policy = policy
        self._checkpoint = checkpoint
        self._items: dict[str, WorkItem] = {}
        self._links = Links(self._items)
        self._looked = Looked(self._items, self._links, departed=checkpoint.departed)
        self._due = Due()
        # The rules, one after the other: what they let fall, by id.
        self._told: dict[str, Fallen] = {}
        self._restated: dict[str, str] = {}
        self._screened: dict[str, Fallen] = {}
        self._fallen: dict[str, Fallen] = {}
        self._unknown: dict[str, UnknownCurrent] = {}
        self._disputes: dict[str, Dispute] = {}
        # What has to be judged again before the next decision.
        self._pending: set[str] = set()
        self._slots: set[str] = set()
        self._standing = Standing()
        self._renew((), checkpoint.items, (), checkpoint.returning)

    @property
    def checkpoint(self) -> Checkpoint:
        """The state that the next decision is about."""
        return self._checkpoint

    @property
    def scanned(self) -> Mapping[str, object]:
        """The answers that reach as far as what came, as `admit` takes them; a copy."""
        return self._looked.told()

    @property
    def answers(self) -> Mapping[Pair, object]:
        """The answers to all questions so far, as `admit` takes them."""
        return self._looked.answers

    def take(self, delta: Delta, returning: Returning) -> None:
        """Take in what happened since, for the next return; see `further`.

        Raises:
            InvalidValue: the delta does not start from the state at hand, or the return is not the
                same member's, or leads back. Nothing is taken in then.
        """
        was = self._checkpoint
        self._check(delta, returning)
        gone = [self._items[name] for name in delta.gone]
        changed = [self._items[item.id] for item in delta.changed]
        root = was.root.changed(less=[*gone, *changed], more=[*delta.added, *delta.changed])
        self._renew(gone, delta.added, delta.changed, returning)
        self._checkpoint = Checkpoint.under(
            root,
            returning=returning,
            departure=was.departure,
            departed=was.departed,
            items=self._standing.items(),
        )

    def scans(self) -> Iterator[Scan]:
        """What has to be looked at now; none where the policy shows items nobody looked at."""
        if not self._policy.unsafe_without_inference:
            yield from self._looked.scans(self._screened)

    def look(self, scanned: Mapping[str, object]) -> None:
        """Take in the answers to `scans`, by the id of the older item."""
        self._pending |= self._looked.look(scanned, self._screened)

    def came(self) -> tuple[WorkItem, ...]:
        """What came since somebody looked: why the items before it are asked about again."""
        return () if self._policy.unsafe_without_inference else self._looked.came()

    def sweep(self, named: Mapping[str, object]) -> None:
        """Take in what each item of `came` may break, in place of an answer to every scan.

        One look at each new item, over all that was there before, whether it stands or not. What
        it may break is named, and nothing else is touched; that is what makes a return fast when
        little came.

        Args:
            named: by the id of the new item, a list, tuple or set of the ids of earlier facts and
                constraints in other slots. A new item that is missing, or whose answer cannot be
                read, is left to `scans`.
        """
        self._pending |= self._looked.sweep(named)

    def questions(self) -> tuple[Question, ...]:
        """The pairs that were named and have no verdict yet."""
        return self._looked.questions(self._screened)

    def answer(self, answers: Mapping[Pair, object]) -> None:
        """Take in what a verifier answered."""
        self._pending |= self._looked.answer(answers)

    def next(self, signer: Signer) -> Sealed | Blocked:
        """Decide: what `admit` gives for this checkpoint and these answers.

        Raises:
            InvalidValue: the view holds something that has no canonical form.
        """
        if self._looked.is_behind:
            self.look({})
        if self._pending or self._slots:
            self._judge()
        eligible = Eligible(
            checkpoint=self._checkpoint,
            policy=self._policy,
            unknown=tuple(self._unknown[slot] for slot in sorted(self._unknown)),
            judgements=self._standing.judgements(),
            disputes=tuple(self._disputes[slot] for slot in sorted(self._disputes)),
        )
        selection = self._standing.choose(self._policy)
        if self._policy.suffices(selection.failures):
            by_score = self._policy.unsafe_relevance is not None
            left = self._standing.left(selection, by_score=by_score)
            return seal(eligible, selection, signer, left=left, private=self._standing.private())
        return block(eligible, selection, self._standing.about(selection.lacking))

    def _check(self, delta: Delta, returning: Returning) -> None:
        was = self._checkpoint
        if delta.departure != was.departure:
            raise InvalidValue("departure", delta.departure, "pass a delta from this departure")
        if delta.since != was.returning.epoch:
            remedy = f"pass a delta since the revision {was.returning.epoch}"
            raise InvalidValue("since", delta.since, remedy)
        if returning.epoch != delta.until or returning.epoch < delta.since:
            raise InvalidValue("epoch", returning.epoch, f"return into the revision {delta.until}")
        if returning.who != was.returning.who:
            raise InvalidValue("who", returning.who, "return as the same, for the same purpose")
        if returning.at < was.returning.at:
            remedy = "time does not run back; begin another Readmission"
            raise InvalidValue("at", returning.at, remedy)
        seen: set[str] = set()
        for name, there in (
            *((item.id, False) for item in delta.added),
            *((item.id, True) for item in delta.changed),
            *((name, True) for name in delta.gone),
        ):
            if (name in self._items) is not there or name in seen:
                raise InvalidValue("delta", name, "pass what further() gave: each item once")
            seen.add(name)
        for item in delta.changed:
            same_record(self._items[item.id], item)

    def _renew(
        self,
        gone: Sequence[WorkItem],
        added: Sequence[WorkItem],
        changed: Sequence[WorkItem],
        returning: Returning,
    ) -> None:
        """Follow the items, and apply every rule that asks nobody."""
        for item in gone:
            del self._items[item.id]
            self._links.remove(item)
            for known in (self._told, self._restated, self._screened, self._fallen):
                known.pop(item.id, None)
        for item in (*added, *changed):
            self._items[item.id] = item
        for item in added:
            self._links.add(item)
        crossing = self._due.reached(returning) | {item.id for item in changed}
        self._due.add((*added, *changed), returning)
        touched = [self._items[name] for name in crossing if name in self._items]
        self._standing.renew(gone, added, changed)
        self._slots.update(item.slot for item in gone)

        versions = self._links.versions((*gone, *added, *touched))
        items = self._by_id(versions)
        history = explicit(
            Checkpoint(
                returning=returning,
                departure=self._checkpoint.departure,
                departed=self._checkpoint.departed,
                items=items,
            ),
            self._policy.ranks,
        )
        for name in versions:
            _put(self._told, name, history.fallen.get(name))
            _put(self._restated, name, history.restated.get(name))
        region = self._region((*gone, *items))
        self._settle(region, self._told, self._screened)
        self._pending |= region
        self._pending |= self._looked.renew(gone, added, touched, returning)

    def _judge(self) -> None:
        """Apply the answers, and ask the gates, about all that may have become otherwise."""
        region = self._region(self._items[name] for name in self._pending if name in self._items)
        before = {name: self._screened[name] for name in region if name in self._screened}
        if not self._policy.unsafe_without_inference:
            for name in region - before.keys():
                fallen = self._looked.inferred(self._items[name])
                if fallen is not None:
                    before[name] = fallen
        self._settle(region, before, self._fallen)
        for slot in self._slots | {self._items[name].slot for name in region}:
            versions = self._links.in_slot(slot)
            fallen = {i.id: self._fallen[i.id] for i in versions if i.id in self._fallen}
            _put(self._unknown, slot, next(iter(unknown_current(versions, fallen)), None))
            _put(self._disputes, slot, next(iter(disputes_in(versions, fallen)), None))
        if any(gate.looks_around for gate in self._policy.gates):
            region = set(self._items)
        situation = self._policy.situation(self._checkpoint.returning, self._items, self._fallen)
        self._standing.put(weigh(self._by_id(region), situation, self._policy.gates))
        self._pending.clear()
        self._slots.clear()

    def _region(self, items: Iterable[WorkItem]) -> set[str]:
        """What may stand or fall otherwise when these do; see `Links`."""
        seeds = tuple(items)
        below = self._links.below(seeds)
        if any(self._goes_in_circles(self._items[name]) for name in below):
            return self._links.around(seeds)
        return below

    def _goes_in_circles(self, item: WorkItem) -> bool:
        if not item.stamps:
            return False
        return bool(item.assumes) or not self._restated.keys().isdisjoint(item.rests_on)

    def _settle(
        self, region: set[str], before: Mapping[str, Fallen], after: dict[str, Fallen]
    ) -> None:
        """Let fall what rests on the fallen, within a region and for all that leads into it."""
        fallen = {name: before[name] for name in region if name in before}
        history = History(fallen, self._restated)
        items = self._by_id(region)
        if any(self._goes_in_circles(item) for item in items):
            settle(items, history)
        else:
            needed = {name for item in items if item.stamps for name in item.rests_on}
            ends = {chain_end(self._restated, name) for name in needed}
            edge = {name for name in ends - region if name in self._items}
            fallen.update((name, after[name]) for name in edge if name in after)
            cascade(self._by_id(region | edge), history, settled=edge)
        for name in region:
            _put(after, name, history.fallen.get(name))

    def _by_id(self, names: Collection[str]) -> tuple[WorkItem, ...]:
        return tuple(self._items[name] for name in sorted(names))


def _put(known: dict[str, _Value], name: str, value: _Value | None) -> None:
    if value is None:
        known.pop(name, None)
    else:
        known[name] = value
