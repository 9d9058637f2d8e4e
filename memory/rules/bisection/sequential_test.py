"""Whether a reply made with some statements has a property, from as many replies as that takes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from math import log, sqrt
from typing import TypeAlias

Subset: TypeAlias = frozenset[int]
Decision: TypeAlias = Generator[Subset, bool, bool]  # yields the subset of each reply, is sent whether it holds
_UNIT = log(3)  # of evidence: what one reply gives that is right three times of four
_LOWEST, _HIGHEST = (
    0.15,
    0.85,
)  # no reply is believed more: two shares that were counted in few replies are no more exact
_LEAST_DISTANCE = 0.2  # between the shares of replies that hold with all and with none
_CALIBRATION, _PATIENCE = 8, 24  # replies for each of `runs`: to count a share, and to decide a subset
# Replies for each of `runs` after which it is believed that all hold with everything and none with nothing, or that the
# statements decide nothing. Of a model that answers by chance half of the time, 15 of 15 are once in 30,000 cases.
_CLEAR, _SETTLED = 2, 3


class NotCertain(Exception):
    """The replies differ so much that nothing follows from them."""


@dataclass(frozen=True, slots=True)
class ReplyNoise:
    """How often a reply holds where it should (`with_all`) and where it should not (`with_none`), and how sure a
    decision has to be.

    With `runs` 1 the model is taken to be deterministic, and one reply decides. Otherwise a subset is decided by Wald's
    sequential probability ratio test: a reply that holds adds ln(with_all / with_none) to the evidence, another one
    adds ln((1 - with_all) / (1 - with_none)), and the subset is decided when the evidence is beyond +A or -A with
    A = runs · ln 3. A decision is then wrong with a probability of at most exp(-A) = 3^-runs, which is .004 for 5."""

    runs: int
    with_all: float = _HIGHEST
    with_none: float = _LOWEST

    def decide_subset(self, subset: Subset) -> Decision:
        """Return whether replies with a subset hold. Raises NotCertain after 24 replies for each of `runs`."""
        if self.runs == 1:
            return (yield subset)
        evidence, needed = 0.0, self.runs * _UNIT
        held, failed = log(self.with_all / self.with_none), log((1 - self.with_all) / (1 - self.with_none))
        for _ in range(_PATIENCE * self.runs):
            evidence += held if (yield subset) else failed
            if abs(evidence) >= needed:
                return evidence > 0
        raise NotCertain


@dataclass(frozen=True, slots=True)
class Calibration:
    """The counts of replies that hold with all statements and with none, each of `made` replies."""

    made: int
    with_all: int
    with_none: int

    @property
    def is_clear(self) -> bool:
        """Whether no reply contradicts that all statements make the property, and none do not."""
        return self.with_all == self.made and not self.with_none

    def compute_noise(self, runs: int) -> ReplyNoise:
        """Return the shares that the counts give, each nearer to the other by its standard error: a test whose shares
        lie too far apart is wrong more often than it says. Raises NotCertain where they are nearer than .2."""
        if self.is_clear:
            return ReplyNoise(runs)
        high, low = ((count + 0.5) / (self.made + 1) for count in (self.with_all, self.with_none))
        if high - low < _LEAST_DISTANCE:
            raise NotCertain
        errors = [sqrt(share * (1 - share) / (self.made + 1)) for share in (high, low)]
        room = min(1.0, (high - low - _LEAST_DISTANCE / 2) / sum(errors))  # so that they do not meet
        high, low = high - room * errors[0], low + room * errors[1]
        return ReplyNoise(runs, min(high, _HIGHEST), max(low, _LOWEST))


def measure_shares(everything: Subset, runs: int) -> Generator[Subset, bool, Calibration]:
    """Return how often replies hold with all statements and with none: one reply of each with `runs` 1, otherwise
    two or three times `runs` of each where they are of one mind, and up to eight times `runs`."""
    made, with_all, with_none = 0, 0, 0
    while True:
        with_all += yield everything
        with_none += yield Subset()
        made += 1
        found = Calibration(made, with_all, with_none)
        is_clear = found.is_clear and made >= _CLEAR * runs
        is_settled = (not with_all or with_none == made) and made >= _SETTLED * runs
        if runs == 1 or is_clear or is_settled or made >= _CALIBRATION * runs:
            return found
