"""Reports of verifications, for people and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from muniment.faces.cli.output import screen
from muniment.memory.domain.evidence.seals import VerificationReport


def report_to_json(report: VerificationReport) -> dict[str, Any]:
    """The report as JSON; the digest is that of the latest line, as an anchor has it."""
    return {
        "space": str(report.space),
        "user": None if report.scope is None else report.scope.owner,
        "tenant": None if report.scope is None else report.scope.tenant,
        "intact": report.is_intact,
        "rev": report.rev,
        "since": report.since,
        "sealed_from": report.sealed_from,
        "lines": report.lines,
        "memories": report.memories,
        "versions": report.versions,
        "erased": report.erased,
        "digest": None if report.digest is None else report.digest.hex(),
        "anchored": report.anchored,
        "erased_at": None if report.erased_at is None else report.erased_at.isoformat(),
        "first": None if report.first is None else report.first.rev,
        "findings": [asdict(finding) for finding in report.findings],
        "more": report.more,
    }


def print_report(report: VerificationReport, *, with_anchors: bool = False) -> None:
    """Print what was checked, `with_anchors` also where none of them is of this space, and each finding on a line."""
    name = f"space {report.space}" if report.scope is None else report.scope.owner
    if report.erased_at is not None:
        screen.print_line(f"{name}: was erased at {report.erased_at:%Y-%m-%d %H:%M} UTC, after its anchor was made.")
    if report.scope is not None and report.rev:
        screen.print_line(
            f"{name}: {'whole' if report.is_intact else 'NOT as it was written'}; {_count(report, with_anchors)}"
        )
    if report.first is not None:
        screen.print_line(f"{name}: the first revision that was {report.first.kind}: {report.first.rev}")
    for finding in report.findings:
        memory = f" (memory {finding.memory_id})" if finding.memory_id else ""
        screen.print_line(f"  revision {finding.rev}: {finding.kind}: {finding.what}{memory}")
    if report.more:
        screen.print_line(f"  and {report.more:,} more")


def _count(report: VerificationReport, with_anchors: bool) -> str:
    numbers = (
        screen.format_count(report.lines, "line"),
        f"{report.memories:,} {'memory' if report.memories == 1 else 'memories'}",
        screen.format_count(report.versions, "former version"),
    )
    counts = [
        f"revision {report.rev}",
        ", ".join(numbers) + (f" after revision {report.since}" if report.since else ""),
    ]
    if report.erased:
        counts.append(f"{screen.format_count(report.erased, 'line')} whose content was erased")
    if report.sealed_from:
        counts.append(f"sealed line by line from revision {report.sealed_from + 1} on")
    if report.anchored:
        counts.append(f"anchored at revision {report.anchored}")
    elif with_anchors:
        counts.append("no anchor of it was compared")
    return "; ".join(counts)
