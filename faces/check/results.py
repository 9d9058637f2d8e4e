"""What became of the cases of a check file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "error"]
_WORST_FIRST: tuple[Outcome, ...] = ("error", "failed", "passed")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionResult:
    """What became of one assertion; `found` says what was there instead, where it failed."""

    line: int
    name: str
    outcome: Outcome
    seconds: float = 0.0
    found: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What became of a case; `calls` is how much of its seconds the memory's own calls took.

    An `error` says why the space could not be brought to where the case begins: then nothing was looked at."""

    file: str
    line: int
    name: str
    assertions: tuple[AssertionResult, ...]
    seconds: float
    calls_seconds: float
    error: str = ""

    @property
    def outcome(self) -> Outcome:
        """Return the worst that became of an assertion."""
        outcomes = {each.outcome for each in self.assertions}
        return next(each for each in _WORST_FIRST if each in outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An assertion with its outcome under the own configuration, and under the other one."""

    case: CaseResult
    own: AssertionResult
    other: AssertionResult


def count_outcomes(results: Sequence[CaseResult]) -> dict[str, int]:
    """Return how many assertions passed, failed, and could not be looked at."""
    counts = dict.fromkeys(("passed", "failed", "error"), 0)
    for case in results:
        for each in case.assertions:
            counts[each.outcome] += 1
    return counts


def compare_results(own: Sequence[CaseResult], other: Sequence[CaseResult]) -> Iterator[Difference]:
    """Yield the assertions that pass under one of two configurations and not under the other."""
    for case, other_case in zip(own, other, strict=True):
        for each, other_each in zip(case.assertions, other_case.assertions, strict=True):
            if (each.outcome == "passed") != (other_each.outcome == "passed"):
                yield Difference(case=case, own=each, other=other_each)
