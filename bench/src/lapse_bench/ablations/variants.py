"""The variants: the whole of admission, and four times all but one mechanism (appendix H)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from lapse.admission import Blocked, Captured
from lapse.signing import HmacKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lapse.admission import Checkpoint, Policy, Selected, WorkItem
    from lapse.runtime import Looked

__all__ = ["VARIANTS", "Return", "Shown", "Variant", "shown_by"]

_KEYS: Final = HmacKeys({"k1": b"the ablations' key, public: 32 bytes"}, sign_with="k1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """One return that every variant decides.

    Attributes:
        id: names it.
        block: the part of the data set that it belongs to.
        checkpoint: the state.
        policy: the whole of admission, for these data.
        relevance: how much each item's words have to do with the workload's.
        needed: for each fact that the work needs, the ids of the items that state it.
        stale: for each fact that ceased to hold, the ids of the items that state it, private
            experience among them.
        narrowed: the state where these dependencies are not owed, for an agent that asks again for
            less when it is blocked; None: it waits.
    """

    id: str
    block: str
    checkpoint: Checkpoint
    policy: Policy
    relevance: Mapping[str, float]
    needed: Mapping[str, frozenset[str]]
    stale: Mapping[str, frozenset[str]]
    narrowed: Callable[[frozenset[str]], Checkpoint] | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One configuration.

    Attributes:
        name: what tables call it.
        source: how the source text calls it (Table 15).
        without: what is left out, in words; empty: nothing.
    """

    name: str
    source: str
    without: str = ""

    def policy(self, one: Return) -> Policy:
        """The policy that it decides a return by."""
        changed: dict[str, dict[str, Any]] = {
            "full": {},
            "no-inference": {"unsafe_without_inference": True},
            "by-relevance": {"unsafe_relevance": one.relevance},
            "incomplete-views": {"unsafe_incomplete_views": True},
            "unbound-experience": {"unsafe_unbound_experience": True},
        }
        return replace(one.policy, **changed[self.name])


VARIANTS: Final = (
    Variant("full", "Full TRACE"),
    Variant("no-inference", "w/o I", "the implicit step: nobody is asked what later events break"),
    Variant("by-relevance", "w/o OAS", "selection by what is owed: evidence by relevance instead"),
    Variant("incomplete-views", "w/o CVG", "the complete-view gate: what there is, is shown"),
    Variant("unbound-experience", "w/o SBPR", "the binding of private experience to its sources"),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a return came to.

    Attributes:
        items: the ids in the view; None when there is none.
        experience: the ids of the private experience that came back.
        incomplete: whether the view lacks some of what is owed.
    """

    items: frozenset[str] | None
    experience: frozenset[str] = frozenset()
    incomplete: bool = False

    def states(self, ids: frozenset[str]) -> bool:
        """Whether the view has one of these."""
        return self.items is not None and not self.items.isdisjoint(ids)

    def leaks(self, ids: frozenset[str]) -> bool:
        """Whether the view or the experience has one of these."""
        return self.states(ids) or not self.experience.isdisjoint(ids)


def shown_by(variant: Variant, one: Return, looked: Looked) -> Shown:
    """Decide a return by a variant, with the answers that all of them share."""
    policy = variant.policy(one)

    def decided(checkpoint: Checkpoint) -> Selected | Blocked:
        return Captured(checkpoint, policy).next().next(*told).next().next()

    told = (looked.scanned, looked.answers)
    state = decided(one.checkpoint)
    if isinstance(state, Blocked) and one.narrowed is not None:
        state = decided(one.narrowed(frozenset(lack.dependency for lack in state.missing)))
    if isinstance(state, Blocked):
        return Shown(None)
    sealed = state.next(_KEYS)
    return Shown(
        items=_ids(sealed.view.items),
        experience=_ids(sealed.experience),
        incomplete=bool(sealed.failures),
    )


def _ids(items: tuple[WorkItem, ...]) -> frozenset[str]:
    return frozenset(item.id for item in items)
