"""Delta debugging: the smallest sets of statements that make a reply have a property."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from muniment.memory.rules.bisection.sequential_test import Decision, NotCertain, ReplyNoise, Subset, measure_shares

_Result = TypeVar("_Result")
Search: TypeAlias = Generator[Subset, bool, _Result]  # yields the subset of the next reply, is sent whether it holds
SearchOutcome = Literal["found", "unaided", "not reproduced", "not certain"]
_TRIES = 5  # of a search whose decisions contradict each other
_MOST_SETS = 5


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search has found, statements by their numbers.

    `sets` are the minimal sets, each of which suffices, and without all of which the property is gone. `unaided`: it is
    there without any statement; `not reproduced`: it is not there with all of them."""

    outcome: SearchOutcome
    sets: tuple[tuple[int, ...], ...] = ()


def find_causes(count: int, runs: int) -> Search[SearchResult]:
    """Return the minimal sets of the statements 0 to `count` - 1 that make the property.

    Each statement of a set costs log2(count) + 1 decisions: the shortest beginning of the statements with which the
    property is there ends with one that is needed. A set of one thus takes log2(count) + 4 decisions in all. With
    `runs` above 1 a set is decided twice, and so is each set without one of its statements, so that one wrong decision
    cannot make a wrong set: that takes two, each of a probability of at most 3^-runs (see `ReplyNoise`)."""
    everything = Subset(range(count))
    measured = yield from measure_shares(everything, runs)
    if measured.with_none == measured.made:
        return SearchResult("unaided")
    if not measured.with_all or not count:
        return SearchResult("not reproduced")
    try:
        oracle = _Oracle(measured.compute_noise(runs), {everything: True, Subset(): False})
        return SearchResult("found", (yield from _find_sets(oracle, everything)))
    except NotCertain:
        return SearchResult("not certain")


@dataclass(frozen=True, slots=True)
class _Oracle:
    """Decides subsets, each once unless it is asked to do so again."""

    noise: ReplyNoise
    decided: dict[Subset, bool] = field(default_factory=dict)

    def ask(self, subset: Subset) -> Decision:
        if subset not in self.decided:
            self.decided[subset] = yield from self.noise.decide_subset(subset)
        return self.decided[subset]

    def ask_again(self, subset: Subset) -> Decision:
        """Decide anew, where another decision could differ."""
        if self.noise.runs > 1 and subset:
            self.decided.pop(subset, None)
        return (yield from self.ask(subset))


def _find_sets(oracle: _Oracle, everything: Subset) -> Search[tuple[tuple[int, ...], ...]]:
    """Return a minimal set, then one of what is left, until the property is gone."""
    sets = list[tuple[int, ...]]()
    left = everything
    while len(sets) < _MOST_SETS:
        found = yield from _find_set(oracle, left)
        sets.append(tuple(sorted(found)))
        left -= found
        if not (yield from oracle.ask(left)) or not (yield from oracle.ask_again(left)):
            break
    return tuple(sets)


def _find_set(oracle: _Oracle, among: Subset) -> Search[Subset]:
    """Return a minimal set of statements with which the property is there as it is with all of `among`. Raises
    NotCertain where the decisions contradict each other again and again."""
    for _ in range(_TRIES):
        found = yield from _narrow_down(oracle, sorted(among))
        if found is not None and (found := (yield from _drop_needless(oracle, found))):
            return found
        # Some decision was wrong; what all and none do is known.
        known = {subset: holds for subset, holds in oracle.decided.items() if not subset or subset == among}
        oracle.decided.clear()
        oracle.decided.update(known)
    raise NotCertain


def _narrow_down(oracle: _Oracle, rest: Sequence[int]) -> Search[Subset | None]:
    """Return statements that suffice, found from last to first; None where all together do not."""
    found = Subset()
    while not found or not (yield from oracle.ask(found)):
        if not rest:
            return None
        low, high = 0, len(rest)  # with so many of the rest the property is not there, and is there
        while high - low > 1:
            middle = (low + high) // 2
            if (yield from oracle.ask(found.union(rest[:middle]))):
                high = middle
            else:
                low = middle
        found |= {rest[high - 1]}
        rest = rest[: high - 1]
    return found


def _drop_needless(oracle: _Oracle, found: Subset) -> Search[Subset | None]:
    """Return a set without the statements that it does not need; None where it does not suffice when asked again."""
    is_smaller = True
    while is_smaller:  # without one statement another one may be needless, too
        is_smaller = False
        for number in sorted(found):
            if len(found) > 1 and (yield from oracle.ask_again(found - {number})):
                found -= {number}
                is_smaller = True
    return found if (yield from oracle.ask_again(found)) else None
