"""What each ingredient of the score brings: the questions of LoCoMo conversations with all of them, and without each.

python -m benchmarks.ablation FILE [--json] [--limit N]

Every row of the first table is asked through `Memory.query` with settings of its own. The second table is of constants
chosen on all conversations but one and measured on that one: `rank` scores every memory once, and what other constants
make of it is computed from the parts of the score."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from benchmarks import harness, recall
from muniment.memory.client import Memory
from muniment.memory.config.recall import RecallSettings
from muniment.memory.domain.query import Query
from muniment.memory.engine import Engine
from muniment.memory.rules.retrieval import rank

ALL = "all"
PARTS = {
    "semantic": "semantic_weight", "keyword": "keyword_weight", "actor": "actor_boost", "period": "period_boost",
    "dated": "dated_boost", "asking": "asking_penalty", "name": "name_boost", "recency": "recency_weight",
    "own": "own_boost", "hint": "hint_boost", "told": "told_weight", "another": "another_penalty",
    "others": "others_penalty",
}  # fmt: skip
STILL = ("relation_weight", "importance_weight", "pinned_boost")  # the same for every turn of an import
CHANNELS = {
    "meaning alone": {"semantic"},
    "words alone": {"keyword"},
    "meaning and words": {"semantic", "keyword"},
}
# Constants to choose from, as multiples of those in the settings; what meaning loses, words gain.
SHARES = (0.0, -0.1, 0.1)
MULTIPLES = (1.0, 0.0, 0.5, 1.5)
TUNED = ("actor", "period", "dated", "asking", "name")
EVERY = 10**9  # candidates

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """A question's memories, one a row by id, with the parts of their scores; and which rows are evidence."""

    talk: str
    category: int
    names: tuple[str, ...]  # of the parts
    parts: Floats
    evidence: tuple[int, ...]
    wanted: int  # evidence that there is, found by any channel or not


async def measure(file: Path, limit: int | None) -> dict[str, Any]:
    """Import once; then ask all questions once for each variant, and score them once for the constants."""
    async with recall.imported(file, limit) as world:
        house, total = world.memory.engine, sum(len(talk.questions) for talk in world.talks)
        scores: dict[str, list[recall.Score]] = {}
        for name, changed in variants(house.settings.recall).items():
            memory = beside(house, changed)
            with harness.bar(name, total) as tick:
                scores[name] = await harness.together(
                    [(memory, talk, question) for talk in world.talks for question in talk.questions],
                    lambda one: recall.ask(one[0], one[1].scope, one[1].name, one[2]),
                    tick,
                )
        with harness.bar("every memory's signals", total) as tick:
            seen = await harness.together(
                [(talk, question) for talk in world.talks for question in talk.questions],
                lambda one: signals(house, one[0], one[1]),
                tick,
            )
        found = {name: figures(some, scores[ALL]) for name, some in scores.items()}
        chosen = {"left_out": left_out(seen, house.settings.recall)} if len(world.talks) > 1 else {}
        return {"variants": found, **chosen, **world.about}


def variants(all_on: RecallSettings) -> dict[str, RecallSettings]:
    """The settings as they are, with each ingredient off, and with the channels alone."""
    found = {ALL: all_on}
    found |= {f"without {part}": all_on.model_copy(update={key: 0.0}) for part, key in PARTS.items()}
    for name, kept in CHANNELS.items():
        off = [key for part, key in PARTS.items() if part not in kept]
        found[name] = all_on.model_copy(update=dict.fromkeys([*off, *STILL], 0.0))
    return found


def beside(house: Engine, changed: RecallSettings) -> Memory:
    """An engine with other settings on the same database and embedder, which are not its to close."""
    own = house.settings.model_copy(update={"recall": changed})
    return Memory(house.rebuild(settings=own))


async def signals(house: Engine, talk: recall.Talk, question: recall.Question) -> Signals:
    """Every memory of the space, scored by the settings."""
    asked = Query(text=question.text, top_k=1, threshold=0.0, budget_tokens=recall.UNLIMITED)
    reader, search = await house.recall.authorize_query(talk.scope, recall.AGENT, asked)
    reading = await house.recall.retrieve_hits(reader, asked, replace(search, candidates=EVERY))
    hits = sorted(rank.score_hits(reading.snapshot.hits, reading.ranking), key=lambda hit: hit.memory.id)
    return Signals(
        talk=talk.name,
        category=question.category,
        names=rank.WEIGHTED_PARTS,
        parts=np.array([[hit.parts[name] for name in rank.WEIGHTED_PARTS] for hit in hits]),
        evidence=tuple(n for n, hit in enumerate(hits) if recall.turn_of(hit.memory) in question.evidence),
        wanted=len(question.evidence),
    )


def grid(now: RecallSettings, names: Sequence[str]) -> tuple[list[dict[str, float]], Floats]:
    """The constants to choose from, the present ones first, and as multiples of the parts of a score, one a row."""
    points, rows = [], []
    for share, *some in product(SHARES, *[MULTIPLES] * len(TUNED)):
        times = dict(zip(TUNED, some, strict=True))
        times["semantic"] = 1 + share / now.semantic_weight if now.semantic_weight else 1.0
        times["keyword"] = 1 - share / now.keyword_weight if now.keyword_weight else 1.0
        points.append({part: round(getattr(now, PARTS[part]) * many, 4) for part, many in times.items()})
        rows.append([times.get(name, 1.0) for name in names])
    return points, np.array(rows)


def recalls(one: Signals, multiples: Floats) -> Floats:
    """A question's recall with each row of multiples, at each depth: (rows, depths), in [0, 1]."""
    scores = np.maximum(0.0, multiples @ one.parts.T)
    found = np.zeros((len(multiples), len(recall.DEPTHS)))
    for row in one.evidence:
        mine = scores[:, row : row + 1]
        # Of equals the smaller id is first, as `rank` has it.
        before = (scores > mine).sum(axis=1) + (scores[:, :row] == mine).sum(axis=1)
        found += before[:, None] < np.array(recall.DEPTHS)
    return found / one.wanted


def left_out(seen: Sequence[Signals], now: RecallSettings) -> dict[str, Any]:
    """Constants chosen on all conversations but one and measured on that one, with all ingredients and without each."""
    points, multiples = grid(now, seen[0].names)
    each = np.stack([recalls(one, multiples) for one in seen])  # (questions, points, depths)
    on = {part: multiples[:, seen[0].names.index(part)] > 0 for part in TUNED}
    measured, chosen = held(each, seen, np.ones(len(points), dtype=bool))
    means = each[:, np.logical_and.reduce(list(on.values()))].mean(axis=0)
    return {
        "points": len(points),
        "present": means_of(each[:, 0], seen),
        "measured": means_of(measured, seen),
        "chosen": {name: points[at] for name, at in chosen.items()},
        "without": {part: means_of(held(each, seen, ~some)[0], seen) for part, some in on.items()},
        "spread": {
            label: [round(float(np.quantile(means[:, depth], share)), 4) for depth in range(len(recall.DEPTHS))]
            for label, share in (("worst", 0.0), ("tenth", 0.1), ("median", 0.5), ("best", 1.0))
        },
    }


def held(each: Floats, seen: Sequence[Signals], allowed: npt.NDArray[np.bool_]) -> tuple[Floats, dict[str, int]]:
    """Every question's recall with the constants that are best for the other conversations; and which these are."""
    talks = np.array([one.talk for one in seen])
    chosen = {}
    found = np.empty_like(each[:, 0])
    for name in dict.fromkeys(talks.tolist()):
        others = each[talks != name].mean(axis=(0, 2))
        chosen[name] = int(np.where(allowed, others, -1.0).argmax())
        found[talks == name] = each[talks == name, chosen[name]]
    return found, chosen


def means_of(shares: Floats, seen: Sequence[recall.Score | Signals]) -> dict[str, Any]:
    """Of one recall for each question and depth: the means, and those of the categories at the greatest depth."""
    kinds = np.array([one.category for one in seen])
    return {f"recall@{depth}": round(float(shares[:, at].mean()), 4) for at, depth in enumerate(recall.DEPTHS)} | {
        "by_category": {
            name: round(float(shares[kinds == number, -1].mean()), 4)
            for number, name in recall.CATEGORIES.items()
            if (kinds == number).any()
        },
        "questions": len(seen),
    }


def figures(some: Sequence[recall.Score], first: Sequence[recall.Score]) -> dict[str, Any]:
    """A variant's recall, what it has more than the first at each depth, and the standard error of that at the
    greatest."""
    shares = np.array([score.recall for score in some])
    gains = shares - np.array([score.recall for score in first])
    return means_of(shares, some) | {
        **{f"gain@{depth}": round(float(gains[:, at].mean()), 4) for at, depth in enumerate(recall.DEPTHS)},
        f"gain_error@{recall.DEPTHS[-1]}": round(float(gains[:, -1].std() / len(gains) ** 0.5), 4),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people: percent and points."""
    header = ["", *(f"recall@{depth}" for depth in recall.DEPTHS), *recall.CATEGORIES.values()]
    gains = [f"gain@{depth}" for depth in recall.DEPTHS]
    error = f"gain_error@{recall.DEPTHS[-1]}"
    rows = [
        [name, *_cells(part), *(f"{100 * part[gain]:+.1f}" for gain in gains), f"{100 * part[error]:.1f}"]
        for name, part in found["variants"].items()
    ]
    yield harness.grid("What brings how much, percent", [*header, *gains, "error"], rows)
    if "left_out" in found:
        chosen = found["left_out"]
        rows = [
            ["as in the settings", *_cells(chosen["present"])],
            ["chosen on the others", *_cells(chosen["measured"])],
        ]
        rows += [[f"… without {part}", *_cells(some)] for part, some in chosen["without"].items()]
        yield harness.grid(
            f"Each conversation with the best of {chosen['points']} constants of the others", header, rows
        )
        names = list(next(iter(chosen["chosen"].values())))
        rows = [[name, *point.values()] for name, point in chosen["chosen"].items()]
        yield harness.grid("The constants that the others chose", ["", *names], rows)
        spread = [[label, *(f"{100 * share:.1f}" for share in some)] for label, some in chosen["spread"].items()]
        yield harness.grid("All constants with every ingredient on", header[: 1 + len(recall.DEPTHS)], spread)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    args = recall.command("ablation", __doc__).parse_args(argv)
    return harness.run(measure(args.file, args.limit), tables, as_json=args.json)


def _cells(part: dict[str, Any]) -> list[str | None]:
    whole = [f"{100 * part[f'recall@{depth}']:.1f}" for depth in recall.DEPTHS]
    kinds = part["by_category"]
    return [*whole, *(f"{100 * kinds[name]:.1f}" if name in kinds else None for name in recall.CATEGORIES.values())]


if __name__ == "__main__":
    sys.exit(main())
