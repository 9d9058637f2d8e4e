"""What reports of turns come to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import floor

from muniment.plugin.domain.book import PluginStats, TurnReport


def tally_turns(reports: Iterable[TurnReport]) -> PluginStats:
    """Return what was counted in turns, oldest first, in all and by policy; a policy in shadow is named as that."""
    by_policy: dict[str, list[TurnReport]] = defaultdict(list)
    everything = list(reports)
    for report in everything:
        by_policy[name_policy(report.policy, is_shadow=report.is_shadow)].append(report)
    return replace(_tally(everything), policies={name: _tally(each) for name, each in sorted(by_policy.items())})


def name_policy(policy: str, *, is_shadow: bool) -> str:
    """Return how a policy is called among what was counted."""
    return f"{policy} (shadow)" if is_shadow else policy


def find_percentile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which a share of ordered values lies, between two values in proportion."""
    place = share * (len(ordered) - 1)
    low = floor(place)
    return ordered[low] + (place - low) * (ordered[min(low + 1, len(ordered) - 1)] - ordered[low])


def _tally(reports: Sequence[TurnReport]) -> PluginStats:
    refusals: Counter[str] = Counter()
    durations: dict[str, list[float]] = defaultdict(list)
    for report in reports:
        refusals.update(report.refusals)
        for step, milliseconds in report.milliseconds.items():
            durations[step].append(milliseconds)
    ordered = {step: sorted(values) for step, values in sorted(durations.items())}
    return PluginStats(
        turns=len(reports),
        searched=sum(report.is_hit is not None for report in reports),
        hits=sum(report.is_hit is True for report in reports),
        tokens=sum(report.tokens for report in reports),
        written=sum(report.written for report in reports),
        duplicates=sum(report.duplicates for report in reports),
        refusals=dict(sorted(refusals.items())),
        remote_reads=sum(report.remote_reads for report in reports),
        remote_writes=sum(report.remote_writes for report in reports),
        queue_length=reports[-1].queue_length if reports else 0,
        milliseconds={
            step: (find_percentile(each, 0.5), find_percentile(each, 0.95)) for step, each in ordered.items()
        },
    )
