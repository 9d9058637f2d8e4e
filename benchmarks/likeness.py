"""What a cosine of the configured embedder means in each writing: the profile that its texts propose.

    python -m benchmarks.likeness [FILE] [--json]

The file has the same fourteen statements in thirteen languages, each with a restatement and a question that it
answers. They were written for this file, and no other benchmark has them. A pair of the same number is related, every
other pair is not. `floor` and `ceiling` give the middle unrelated and the middle related pair of a question and a
statement the meaning that the default embedder gives them in English. `check` and the other bands are the embedder's
own in English, moved by as much as unrelated statements are nearer to 1.0 than English ones are."""

from __future__ import annotations

import argparse
import asyncio
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from benchmarks import harness
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.rules.language.stop_words import LANGUAGES
from muniment.memory.rules.language.writing import ENGLISH, LATIN, MIXED

TEXTS = Path(__file__).parent / "data" / "likeness.tsv"
WRITINGS = {"zh": "han", "ja": "kana", "ko": "hangul", "ru": "cyrillic", "ar": "other", "hi": "other"}
BANDS = ("auto", "check", "fallback", "link")
Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts of one language as vectors, in the order of their numbers."""

    statements: Numbers
    restatements: Numbers
    questions: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """The middle cosines of pairs: asked (a question and a statement) and stated (two statements)."""

    unrelated: float
    related: float
    separation: float  # the share of pairs of a related and an unrelated pair in which the related one is nearer
    apart: float
    same: float


async def measure(file: Path) -> dict[str, Any]:
    """Embed all texts by the configured embedder and by the default one, and compare."""
    own = settings.load_settings()
    rows = list(
        csv.DictReader((await asyncio.to_thread(file.read_text, encoding="utf-8")).splitlines(), delimiter="\t")
    )
    plain = own.find_profile(settings.DEFAULT_EMBEDDER)
    english = [row for row in rows if row["language"] == ENGLISH]
    usual = await embed(own.model_copy(update={"embedder": settings.DEFAULT_EMBEDDER}), english)
    [at] = compare(usual).values()
    meant = [(cosine - plain.floor) / (plain.ceiling - plain.floor) for cosine in (at.unrelated, at.related)]
    found = compare(await embed(own, rows))
    profile = own.find_profile(own.embedder)
    return {
        "file": file.name,
        "embedder": own.embedder,
        "meaning": {"unrelated": round(meant[0], 3), "related": round(meant[1], 3)},
        "writings": {
            name: {
                **{key: round(getattr(one, key), 3) for key in Cosines.__dataclass_fields__},
                "proposed": propose(one, found[ENGLISH], meant, profile),
            }
            for name, one in found.items()
        },
    }


async def embed(own: settings.Settings, rows: Sequence[Mapping[str, str]]) -> dict[str, Texts]:
    """Return the texts of each language."""
    embedder = bootstrap.make_embedder(own)
    try:
        with harness.bar(own.embedder, len(rows)) as tick:
            languages: dict[str, Texts] = {}
            for language in dict.fromkeys(row["language"] for row in rows):
                some = [row for row in rows if row["language"] == language]
                languages[language] = Texts(
                    statements=np.array(await embedder.embed_documents([row["statement"] for row in some])),
                    restatements=np.array(await embedder.embed_documents([row["restatement"] for row in some])),
                    questions=np.array([await embedder.embed_query(row["question"]) for row in some]),
                )
                tick(len(some))
    finally:
        await embedder.close()
    return languages


def compare(languages: Mapping[str, Texts]) -> dict[str, Cosines]:
    """Return the cosines within each writing, and between texts of two of them."""
    pairs: dict[str, list[tuple[Texts, Texts]]] = defaultdict(list)
    for name, one in languages.items():
        for other_name, other in languages.items():
            writings = {WRITINGS.get(name, name), WRITINGS.get(other_name, other_name)}
            pairs[min(writings) if name == other_name else MIXED].append((one, other))
            if name == other_name in LANGUAGES:
                pairs[LATIN].append((one, other))
    return {name: _compare_pairs(some) for name, some in pairs.items()}


def _compare_pairs(pairs: Sequence[tuple[Texts, Texts]]) -> Cosines:
    asked = [one.questions @ said.T for one, other in pairs for said in (other.statements, other.restatements)]
    stated = [one.statements @ other.restatements.T for one, other in pairs]
    related, unrelated = _split_pairs(asked)
    same, apart = _split_pairs(stated)
    return Cosines(
        unrelated=float(np.median(unrelated)),
        related=float(np.median(related)),
        separation=float((np.searchsorted(np.sort(unrelated), related) / len(unrelated)).mean()),
        apart=float(np.median(apart)),
        same=float(np.median(same)),
    )


def _split_pairs(tables: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """Return the cosines of equal numbers, and all others."""
    related = [table.diagonal() for table in tables]
    others = [table[~np.eye(len(table), dtype=bool)] for table in tables]
    return np.concatenate(related), np.concatenate(others)


def propose(one: Cosines, english: Cosines, meant: Sequence[float], profile: EmbedderProfile) -> dict[str, float]:
    """Return the values of a writing for the embedder's profile."""
    low, high = meant
    scale = (one.related - one.unrelated) / (high - low)
    floor = one.unrelated - low * scale
    stretch = (1 - one.apart) / (1 - english.apart)
    bands = {name: round(1 - (1 - getattr(profile, name)) * stretch, 2) for name in BANDS}
    return bands | {"floor": round(floor, 3), "ceiling": round(floor + scale, 3)}


def tables(report: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    columns = ["unrelated", "related", "separation", "apart", "same", *BANDS, "floor", "ceiling"]
    rows = []
    for name, one in report["writings"].items():
        values = one | one["proposed"]
        rows.append([name, *(f"{values[key]:.3f}" for key in columns)])
    yield harness.grid(f"Middle cosines by {report['embedder']}, and its profile", ["", *columns], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.likeness", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=TEXTS, metavar="FILE", help="texts (tab-separated)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.file), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
