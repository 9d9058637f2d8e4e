"""Recall and latency as one picture, from what the benchmarks print with `--json`.

python -m benchmarks.plot FILES... --out docs/benchmarks.svg [--doc docs/benchmarks.md]
python -m benchmarks.plot --measure LOCOMO --out docs/benchmarks.svg [--doc docs/benchmarks.md]

FILES are reports of recall, latency and ablation, in any order; `--measure` makes those of recall and latency first.
The caption (machine, versions, dates, command) goes between the two marks in the `--doc`, or to the terminal. The same
reports give the same bytes."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from math import log10
from pathlib import Path
from typing import Any

from benchmarks import harness

WIDTH, LEFT, RIGHT = 760, 190, 110  # of the picture, of the names, of the figures behind the longest bar
BAR, GAP, HEAD, FOOT = 18, 6, 44, 22
BEGIN, END = "<!-- plot: begin -->", "<!-- plot: end -->"
MEASURED = ("recall", "latency")
# Two schemes: a picture in a page follows the reader's, and brings its own ground.
STYLE = """
  .ground { fill: #ffffff } text { fill: #1f2328; font: 13px system-ui, sans-serif } .title { font-weight: 600 }
  .small { font-size: 11px; fill: #59636e } .near { fill: #0969da } .far { fill: #9cc7f5 } .less { fill: #cf222e }
  .axis { stroke: #59636e; stroke-width: 1 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } text { fill: #e6edf3 } .small { fill: #9198a1 } .near { fill: #58a6ff }
    .far { fill: #1f4a7d }
    .less { fill: #ff7b72 } .axis { stroke: #9198a1 }
  }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One line of a panel: two lengths in [0, 1], the nearer over the further, and the figures behind them."""

    name: str
    near: float
    far: float
    figures: str
    less: bool = False  # drawn as a loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Bars under a title; `note` says what the two lengths are."""

    title: str
    note: str
    bars: tuple[Bar, ...]

    @property
    def height(self) -> int:
        return HEAD + len(self.bars) * (BAR + GAP) + FOOT


def recall(report: Mapping[str, Any]) -> list[Panel]:
    """Recall by category, 5 over 10, from 0 to 100 %."""
    rows = {**report["by_category"], "all": report}
    return [
        Panel(
            title=f"Evidence recall, percent: {report['questions']} questions, {report['memories']} memories",
            note="inner bar: among the first 5; outer: among the first 10",
            bars=tuple(
                Bar(
                    name=name,
                    near=row["recall@5"],
                    far=row["recall@10"],
                    figures=f"{100 * row['recall@5']:.1f} / {100 * row['recall@10']:.1f}",
                )
                for name, row in rows.items()
            ),
        )
    ]


def latencies(report: Mapping[str, Any]) -> list[Panel]:
    """A panel for each number of clients."""
    return [latency(report, clients) for clients in report["clients"]]


def latency(report: Mapping[str, Any], clients: str) -> Panel:
    """Latency of each contestant, the median over the 95th percentile, from 1 ms to the longest by its logarithm."""
    rows = report["clients"][clients]
    longest = max(2.0, *(row["p95_ms"] for some in report["clients"].values() for row in some.values()))

    def length(ms: float) -> float:
        return max(0.0, log10(ms) / log10(longest)) if ms > 1 else 0.0

    several = f"{clients} clients at once" if clients != "1" else "one client"
    return Panel(
        title=f"A query of {report['users']} spaces of {report['memories']} memories, milliseconds: {several}",
        note=f"inner bar: median; outer: 95th percentile; from 1 to {longest:.0f} ms, logarithmic",
        bars=tuple(
            Bar(
                name=name.replace("_", ", with "),
                near=length(row["p50_ms"]),
                far=length(row["p95_ms"]),
                figures=f"{row['p50_ms']:.1f} / {row['p95_ms']:.1f}",
            )
            for name, row in rows.items()
        ),
    )


def ablation(report: Mapping[str, Any]) -> list[Panel]:
    """What recall@10 loses without each ingredient, the most first."""
    gains = {name: row["gain@10"] for name, row in report["variants"].items() if name.startswith("without ")}
    most = max(0.001, *map(abs, gains.values()))
    bars = [
        Bar(name=name, near=abs(gain) / most, far=0.0, figures=f"{100 * gain:+.1f}", less=gain < 0)
        for name, gain in sorted(gains.items(), key=lambda one: one[1])
    ]
    return [
        Panel(
            title="What recall@10 changes by without each ingredient, points",
            note="red: it is lost; blue: it is won",
            bars=tuple(bars),
        )
    ]


# The key that only the reports of a benchmark have, the benchmark, and its panels; in the order of the picture.
KINDS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], list[Panel]]], ...] = (
    ("by_category", "recall", recall),
    ("clients", "latency", latencies),
    ("variants", "ablation", ablation),
)


def draw(shown: Sequence[Panel]) -> str:
    """The picture as SVG."""
    tops = list(accumulate((panel.height for panel in shown), initial=10))
    size = f'viewBox="0 0 {WIDTH} {tops[-1]}" width="{WIDTH}" height="{tops[-1]}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape('; '.join(panel.title for panel in shown))}</title><style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{tops[-1]}"/>',
    ]
    for panel, top in zip(shown, tops, strict=False):
        parts.extend(lines(panel, top))
    return "\n".join([*parts, "</svg>", ""])


def lines(panel: Panel, top: int) -> Iterator[str]:
    """A panel's elements, from `top` pixels on."""
    room = WIDTH - LEFT - RIGHT
    first = top + HEAD
    yield f'<text class="title" x="12" y="{top + 16}">{escape(panel.title)}</text>'
    yield f'<text class="small" x="12" y="{top + 34}">{escape(panel.note)}</text>'
    for n, bar in enumerate(panel.bars):
        y = first + n * (BAR + GAP)
        yield f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(bar.name)}</text>'
        for kind, length in (("far", bar.far), ("less" if bar.less else "near", bar.near)):
            yield f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{room * length:.1f}" height="{BAR}"/>'
        end = LEFT + room * max(bar.near, bar.far)
        yield f'<text class="small" x="{end + 6:.1f}" y="{y + 13}">{escape(bar.figures)}</text>'
    bottom = first + len(panel.bars) * (BAR + GAP) - GAP / 2
    yield f'<line class="axis" x1="{LEFT}" x2="{LEFT}" y1="{first - GAP / 2:.0f}" y2="{bottom:.0f}"/>'


def caption(reports: Sequence[Mapping[str, Any]], command: str) -> str:
    """Where, when and with what the reports were measured, and how to do it again, as points of a Markdown list."""
    told: dict[str, list[str]] = {}
    for report in reports:
        told.setdefault(harness.line(report["machine"]), []).append(_kind(report)[1])
    return "\n".join([*(f"* {' and '.join(names)}: {where}" for where, names in told.items()), f"* again: `{command}`"])


def captioned(
    doc: str, image: str, text: str, marks: tuple[str, str] = (BEGIN, END), title: str = "Recall and latency"
) -> str:
    """A document with the picture and its caption between the marks. Raises ValueError when it has none."""
    before, begin, rest = doc.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not begin or not end:
        raise ValueError(f"the marks {marks[0]} and {marks[1]} are wanted")
    return f"{before}{begin}\n![{title}]({image})\n\n{text}\n{end}{after}"


def measured(file: Path) -> Iterator[str]:
    """The reports of recall and latency, each from a process of its own. Raises CalledProcessError."""
    for name in MEASURED:
        command = [sys.executable, "-m", f"benchmarks.{name}", *([str(file)] if name == "recall" else []), "--json"]
        yield subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def write(texts: Sequence[str], out: Path, doc: Path | None) -> None:
    """The picture of these reports, and its caption. Raises ValueError for what is no such report, OSError."""
    found = sorted(map(json.loads, texts), key=lambda report: KINDS.index(_kind(report)))
    more = "".join(f" {_kind(report)[1].upper()}.json" for report in found if _kind(report)[1] not in MEASURED)
    told = f" --doc docs/{doc.name}" if doc else ""
    text = caption(found, f"python -m benchmarks.plot{more} --measure FILE --out docs/{out.name}{told}")
    out.write_text(draw([panel for report in found for panel in _kind(report)[2](report)]), encoding="utf-8")
    if doc:
        image = Path(os.path.relpath(out, doc.parent)).as_posix()
        doc.write_text(captioned(doc.read_text(encoding="utf-8"), image, text), encoding="utf-8")
    else:
        print(text)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*", metavar="FILES", help="reports, as --json prints them")
    parser.add_argument("--measure", type=Path, metavar="LOCOMO", help="make the reports of recall and latency first")
    parser.add_argument("--out", type=Path, required=True, metavar="SVG")
    parser.add_argument("--doc", type=Path, metavar="MD", help="the document that gets the caption")
    args = parser.parse_args(argv)
    if not args.files and not args.measure:
        parser.error("FILES or --measure wanted")
    try:
        texts = [file.read_text(encoding="utf-8") for file in args.files]
        write([*texts, *(measured(args.measure) if args.measure else ())], args.out, args.doc)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0


def _kind(report: Any) -> tuple[str, str, Callable[[Mapping[str, Any]], list[Panel]]]:
    for one in KINDS:
        if isinstance(report, Mapping) and one[0] in report:
            return one
    raise ValueError(f"a report of {', '.join(name for _, name, _ in KINDS)} wanted")


if __name__ == "__main__":
    sys.exit(main())
