"""What a new statement comes to beside a known one: bands, verdicts and their errors on labelled pairs.

    python -m benchmarks.bands [FILE] [--half held-out|tune|both] [--json]

Each pair has a known statement (a), a new one (b) and a label: b says the same, supersedes a, or speaks of something
else. Both are embedded by the configured embedder and given to the rule that every write goes through."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.config.schema import EmbedderProfile, WritingSettings
from muniment.memory.domain.ids import MemoryId, Vector
from muniment.memory.domain.journal import Band
from muniment.memory.domain.memory import Fact, Neighbour
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, make_memory
from muniment.memory.errors import BadInput
from muniment.memory.rules.merging.merge import IncomingCandidate, merge_candidates
from muniment.memory.rules.merging.restatements import measure_similarity
from muniment.memory.rules.statements.predicates import CATEGORIES

PAIRS = Path(__file__).parent / "data" / "pairs.jsonl"
BANDS: tuple[Band, ...] = ("auto", "check", "fallback", "new")
HALVES = ("tune", "held-out")
NOW = datetime(2026, 5, 4, tzinfo=UTC)
KNOWN, NEW = MemoryId(UUID(int=1)), MemoryId(UUID(int=2))
SCOPE = Scope(owner="bands")
Label = Literal["same", "supersedes", "different"]
LABELS: tuple[Label, ...] = ("same", "supersedes", "different")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A known statement and a new one, and what the new one is."""

    id: str
    lang: str
    half: str
    theme: str
    label: Label
    known: Candidate
    new: Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A pair and what the rules made of it. `kept`: the new words are in the memory afterwards."""

    pair: Pair
    cosine: float
    sim: float
    band: Band
    verdict: Label
    kept: bool

    @property
    def worst(self) -> str | None:
        """The error that must not happen, or None: two people in one memory, or a correction without effect."""
        if self.pair.label == "supersedes" and (self.verdict == "different" or not self.kept):
            return "a correction lost"
        if self.pair.label == "different" and self.verdict != "different":
            return "two people merged" if self.pair.theme == "near-miss-person" else "two things merged"
        return None


def read(file: Path) -> list[Pair]:
    """The pairs of a JSON Lines file. Raises BadInput with the line that is none."""
    pairs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            pairs.append(
                Pair(
                    id=row["id"],
                    lang=row["lang"],
                    half=row["half"],
                    theme=row["theme"],
                    label=row["label"],
                    known=_candidate(row["a"]),
                    new=_candidate(row["b"]),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{file.name}: line {number} is no pair ({type(error).__name__}: {error})") from None
    return pairs


def _candidate(row: dict[str, Any]) -> Candidate:
    when = datetime.fromisoformat(row["event_time"]).replace(tzinfo=UTC) if "event_time" in row else None
    if "predicate" not in row:
        return Candidate(
            text=row["statement"], category=row.get("category", "activity"), kind="episodic", event_time=when
        )
    fact = Fact(
        kind=row["kind"],
        predicate=row["predicate"],
        object=row["object"],
        subject=row.get("subject", "user"),
        persons=tuple(row.get("persons", ())),
        single=row.get("single", False),
        negated=row.get("negated", False),
    )
    return Candidate(
        text=row["statement"], category=row.get("category", CATEGORIES[fact.kind]), fact=fact, event_time=when
    )


def judged(pair: Pair, known: Vector, new: Vector, profile: EmbedderProfile, writing: WritingSettings) -> Judged:
    """What a write of the new statement does to a space that holds the known one."""
    memory = make_memory(pair.known, KNOWN, SCOPE, NOW)
    key = pair.new.fact.key if pair.new.fact else None
    cosine = float(known @ new)
    near = Neighbour(memory=memory, sim=1.0 if key and key == memory.stable_key else cosine)
    one = IncomingCandidate(candidate=pair.new, vector=new, neighbours=(near,), id=NEW)
    changes = merge_candidates([one], scope=SCOPE, at=NOW, profile=profile, writing=writing).changes
    sim, band = measure_similarity(pair.new.text, key, near, profile)
    return Judged(
        pair=pair,
        cosine=cosine,
        sim=sim,
        band=band,
        verdict=_verdict(changes[0].action if changes else None),
        kept=bool(changes),
    )


def _verdict(action: str | None) -> Label:
    return "different" if action == "ADD" else "supersedes" if action == "UPDATE" else "same"


async def measure(file: Path, half: str) -> dict[str, Any]:
    """Embed the pairs and judge them; the sweep is over the tune half alone."""
    pairs = read(file)
    wanted = [pair for pair in pairs if half in ("both", pair.half)]
    if not wanted:
        raise BadInput(f"{file.name}: no pairs of this half")
    own = settings.load_settings()
    embedder = bootstrap.make_embedder(own)
    try:
        profile, name = own.find_profile(embedder.name), embedder.name
        texts = sorted({text for pair in pairs for text in (pair.known.text, pair.new.text)})
        with harness.bar("embedding", len(texts)) as tick:
            vectors = dict(zip(texts, await embedder.embed_documents(texts), strict=True))
            tick(len(texts))
    finally:
        await embedder.close()

    def all_of(some: Sequence[Pair], by: EmbedderProfile) -> list[Judged]:
        return [judged(one, vectors[one.known.text], vectors[one.new.text], by, own.write) for one in some]

    tune = [pair for pair in pairs if pair.half == "tune"]
    proposed = sweep(lambda by: all_of(tune, by), profile) if tune and half != "held-out" else None
    by_half = {
        one: report(all_of([p for p in wanted if p.half == one], profile)) for one in HALVES if half in ("both", one)
    }
    return {
        "file": file.name,
        "embedder": name,
        "profile": profile.model_dump(),
        "halves": by_half,
        "proposed": proposed,
    }


def report(found: Sequence[Judged]) -> dict[str, Any]:
    """The figures of one half: per band, over all, and the worst errors with their statements."""
    worst = [one for one in found if one.worst]
    return {
        "pairs": len(found),
        "bands": {band: _figures([one for one in found if one.band == band]) for band in BANDS},
        "languages": {lang: _figures([one for one in found if one.pair.lang == lang]) for lang in ("en", "zh")},
        "all": _figures(found),
        "worst": [_told(one) for one in worst],
        "other_errors": [_told(one) for one in found if not one.worst and one.verdict != one.pair.label],
    }


def _told(one: Judged) -> dict[str, Any]:
    return {
        "id": one.pair.id,
        "lang": one.pair.lang,
        "theme": one.pair.theme,
        "band": one.band,
        "sim": round(one.sim, 3),
        "error": one.worst or "neither",
        "label": one.pair.label,
        "verdict": one.verdict,
        "known": one.pair.known.text,
        "new": one.pair.new.text,
    }


def _figures(found: Sequence[Judged]) -> dict[str, Any]:
    confusion = Counter((one.pair.label, one.verdict) for one in found)
    figures: dict[str, Any] = {
        "pairs": len(found),
        "right": sum(one.pair.label == one.verdict for one in found),
        "worst": sum(one.worst is not None for one in found),
        "confusion": {label: {said: confusion[label, said] for said in LABELS} for label in LABELS},
    }
    for label in LABELS:
        said = sum(confusion[other, label] for other in LABELS)
        meant = sum(confusion[label, other] for other in LABELS)
        figures[label] = {
            "precision": round(confusion[label, label] / said, 3) if said else None,
            "recall": round(confusion[label, label] / meant, 3) if meant else None,
        }
    return figures


def sweep(judge: Callable[[EmbedderProfile], list[Judged]], profile: EmbedderProfile) -> dict[str, Any]:
    """The thresholds that the pairs propose, and what each one that was tried came to.

    `auto`: a hundredth below the highest that has the fewest worst errors and of those the fewest errors: it is sure as
    seldom as it may be. `fallback`: a hundredth below the highest up to which there are no more. `check`: what nine in
    ten of the pairs that say the same or supersede reach, by likeness alone; the pairs cannot tell it from `fallback`,
    whose limits are the age and number of the known ones."""
    low = [{"at": step / 100} | _errors_at(judge, profile, auto=step / 100) for step in range(70, 100)]
    least = min((row["worst"], row["wrong"]) for row in low)
    auto = max(row["at"] for row in low if (row["worst"], row["wrong"]) == least) - 0.01
    profile = profile.model_copy(update={"auto": round(auto, 2)})
    high = [{"at": step / 100} | _errors_at(judge, profile, fallback=step / 100) for step in range(round(auto * 100))]
    worst = min(row["worst"] for row in high)
    fallback = min((row["at"] for row in high if row["worst"] > worst), default=auto) - 0.02
    related = sorted(one.cosine for one in judge(profile) if one.pair.label != "different" and one.pair.lang == "en")
    check = related[len(related) // 10] if related else auto
    return {
        "auto": profile.auto,
        "check": round(min(max(check, fallback), auto), 2),
        "fallback": round(max(fallback, 0.0), 2),
        "tried": {"auto": low, "fallback": high},
    }


def _errors_at(
    judge: Callable[[EmbedderProfile], list[Judged]], profile: EmbedderProfile, **edge: float
) -> dict[str, int]:
    found = judge(profile.model_copy(update=edge))
    return {
        "worst": sum(one.worst is not None for one in found),
        "wrong": sum(one.verdict != one.pair.label for one in found),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    for half, part in found["halves"].items():
        header = ["", "pairs", "right", "worst", *(f"{label} p/r" for label in LABELS)]
        rows = [(name, figures) for name, figures in (*part["bands"].items(), *part["languages"].items())]
        yield harness.grid(
            f"{half}: {part['pairs']} pairs, {found['embedder']}",
            header,
            [[name, *_row(figures)] for name, figures in [*rows, ("all", part["all"])]],
        )
        confusion = part["all"]["confusion"]
        yield harness.grid(
            f"{half}: label by verdict", ["", *LABELS], [[label, *confusion[label].values()] for label in LABELS]
        )
        if part["worst"]:
            yield _errors(f"{half}: the worst errors", part["worst"])
    if found["proposed"]:
        now, then = found["profile"], found["proposed"]
        edges = [[name, now[name], then[name]] for name in ("auto", "check", "fallback")]
        yield harness.grid("Thresholds by the tune half", ["", "configured", "proposed"], edges)


def _errors(title: str, errors: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("id", "band", "sim", "error", "verdict", "known", "new"):
        table.add_column(name)
    for one in errors:
        table.add_row(*(str(one[name]) for name in ("id", "band", "sim", "error", "verdict", "known", "new")))
    return table


def _row(figures: dict[str, Any]) -> list[object]:
    shares = [f"{_share(figures[label]['precision'])}/{_share(figures[label]['recall'])}" for label in LABELS]
    return [figures["pairs"], figures["right"], figures["worst"], *shares]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bands", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=PAIRS, metavar="FILE", help="labelled pairs (JSON Lines)")
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.file, args.half), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
