"""The report as tables for a terminal, as Markdown for the document, and as a picture."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from math import log10
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness, plot

MARKS = ("<!-- peers: begin -->", "<!-- peers: end -->")
TITLE = "Side by side"
TIMES = ("search", "search, embedding", "write", "write, embedding")
Rows = tuple[str, list[str], list[list[object]]]


def list_tables(found: Mapping[str, Any]) -> Iterator[Rows]:
    """Yield title, header and rows of each table."""
    peers = found["peers"]
    given = f"{found['statements']} statements, {found['questions']} questions of {found['file']}"
    yield (
        f"Found, stored: {given}",
        [
            "",
            "recall@5 %",
            "recall@10 %",
            "tokens of ten hits",
            "kept",
            "writes kept",
            "import s",
            "x",
            "KiB on disk",
            "bytes each",
        ],
        [
            [
                name,
                f"{100 * one['recall@5']:.1f}",
                f"{100 * one['recall@10']:.1f}",
                one["tokens"],
                one["kept"],
                one["written"],
                one["import_seconds"],
                one["import_ratio"],
                round(one["bytes"] / 1024),
                one["bytes_a_statement"],
            ]
            for name, one in peers.items()
        ],
    )
    for call in TIMES:
        header = ["", "p50 ms", "p95 ms", "x p50", "x p95"]
        yield f"A {call}", header, [[name, *one[call].values()] for name, one in peers.items()]
    facts = found["facts"]
    yield (
        "What it does, each found out by calls",
        ["", *facts],
        [[probe, *(facts[name][probe]["answer"] for name in facts)] for probe in next(iter(facts.values()))],
    )
    left = {**found["failed"], **found["absent"]}
    yield "Not measured", ["", "why"], [[name, why] for name, why in left.items()]


def show_tables(found: dict[str, Any]) -> Iterator[Table]:
    """Yield the tables for people."""
    for title, header, rows in list_tables(found):
        yield harness.grid(title, header, rows)


def format_markdown(found: Mapping[str, Any], command: str) -> str:
    """Return the tables, the proofs, the versions and the machine as Markdown."""
    parts = [_format_table(*one) for one in list_tables(found)]
    proofs = [
        f"* {name}, {probe}: {fact['proof']}" for name, some in found["facts"].items() for probe, fact in some.items()
    ]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    about = [f"* {harness.line(found['machine'])}", f"* {versions}", f"* again: `{command}`"]
    return "\n\n".join([*parts, "**The calls behind the facts**", "\n".join(proofs), "\n".join(about)])


def list_panels(found: Mapping[str, Any]) -> list[plot.Panel]:
    """Return recall, and the times of a search and a write with known vectors."""
    peers = found["peers"]
    recall = plot.Panel(
        title=f"Evidence recall, percent: {found['questions']} questions, {found['statements']} statements",
        note="inner bar: among the first 5; outer: among the first 10",
        bars=tuple(
            plot.Bar(
                name=name,
                near=one["recall@5"],
                far=one["recall@10"],
                figures=f"{100 * one['recall@5']:.1f} / {100 * one['recall@10']:.1f}",
            )
            for name, one in peers.items()
        ),
    )
    return [recall, *(_make_panel(peers, call) for call in ("search", "write"))]


def write_document(found: Mapping[str, Any], out: Path, doc: Path | None, command: str) -> None:
    """Write the picture, and the tables between the marks of a document. Raises ValueError without marks, OSError."""
    out.write_text(plot.draw(list_panels(found)), encoding="utf-8")
    if doc:
        image = Path(os.path.relpath(out, doc.parent)).as_posix()
        text = plot.captioned(doc.read_text(encoding="utf-8"), image, format_markdown(found, command), MARKS, TITLE)
        doc.write_text(text, encoding="utf-8")


def _make_panel(peers: Mapping[str, Any], call: str) -> plot.Panel:
    longest = max(2.0, *(one[call]["p95_ms"] for one in peers.values()))

    def length(ms: float) -> float:
        return max(0.0, log10(ms) / log10(longest)) if ms > 1 else 0.0

    return plot.Panel(
        title=f"A {call}, milliseconds, vectors known",
        note=f"inner bar: median; outer: 95th percentile; from 1 to {longest:.0f} ms, logarithmic",
        bars=tuple(
            plot.Bar(
                name=name,
                near=length(one[call]["p50_ms"]),
                far=length(one[call]["p95_ms"]),
                figures=f"{one[call]['p50_ms']:.1f} / {one[call]['p95_ms']:.1f}",
            )
            for name, one in peers.items()
        ),
    )


def _format_table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join([f"**{title}**", "", *("| " + " | ".join(map(str, line)) + " |" for line in lines)])
