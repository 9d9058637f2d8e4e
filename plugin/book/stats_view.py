"""What was counted, as JSON and as rows for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muniment.plugin.domain.book import PluginStats

COLUMNS = (
    "policy", "turns", "searched", "hits", "hit share", "tokens", "written", "known", "known share", "remote calls",
    "per 100 turns", "queue",
)  # fmt: skip


def encode_stats(stats: PluginStats) -> dict[str, Any]:
    """Return what was counted as JSON values: counts, shares, refusals by reason, latency by step, and policies."""
    encoded = {
        "turns": stats.turns,
        "recall": {"searched": stats.searched, "hits": stats.hits, "misses": stats.searched - stats.hits},
        "hit_share": stats.hit_share,
        "tokens_added": stats.tokens,
        "written": stats.written,
        "duplicates": stats.duplicates,
        "duplicate_share": stats.duplicate_share,
        "refusals": dict(stats.refusals),
        "remote_reads": stats.remote_reads,
        "remote_writes": stats.remote_writes,
        "remote_calls_per_100_turns": stats.remote_calls_per_100_turns,
        "queue_length": stats.queue_length,
        "latency_ms": {step: {"median": each[0], "p95": each[1]} for step, each in stats.milliseconds.items()},
    }
    policies = {name: encode_stats(each) for name, each in stats.policies.items()}
    return encoded | ({"policies": policies} if policies else {})


def list_policy_rows(stats: PluginStats) -> list[list[str]]:
    """Return a row of `COLUMNS` for each policy, and where there are several one for all."""
    rows = [_format_row(name, each) for name, each in stats.policies.items()]
    return [*rows, _format_row("all", stats)] if len(rows) != 1 else rows


def list_latency_rows(stats: PluginStats) -> list[list[str]]:
    """Return a row for each store and step: its name, the median and the 95th percentile in milliseconds."""
    return [[step, f"{median:.1f}", f"{p95:.1f}"] for step, (median, p95) in stats.milliseconds.items()]


def list_refusal_rows(refusals: Mapping[str, int]) -> list[list[str]]:
    """Return a row for each reason and how often it was given, the most frequent first."""
    ordered = sorted(refusals.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[reason.replace("_", " "), f"{count:,}"] for reason, count in ordered]


def _format_row(name: str, stats: PluginStats) -> list[str]:
    calls = stats.remote_reads + stats.remote_writes
    per_100 = stats.remote_calls_per_100_turns
    counts = [
        f"{stats.turns:,}", f"{stats.searched:,}", f"{stats.hits:,}", _format_share(stats.hit_share),
        f"{stats.tokens:,}", f"{stats.written:,}", f"{stats.duplicates:,}", _format_share(stats.duplicate_share),
        f"{calls:,}", "" if per_100 is None else f"{per_100:.1f}", f"{stats.queue_length:,}",
    ]  # fmt: skip
    return [name, *counts]


def _format_share(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"
