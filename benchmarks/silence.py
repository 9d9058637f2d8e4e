"""Nothing relevant, nothing injected: questions of LoCoMo conversations in their own space and in every other one.

python -m benchmarks.silence FILE [--json] [--limit N]

Every question is asked as the supervisor asks by default, eight hits, in every space, and in those of the others once
more with the names of its speakers replaced by those of the space. What is in the answer although the question is of
another conversation, and what is missing although it is of this one, is counted; then the same with other gates."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import harness, recall
from muniment.memory.domain.query import Hit, Query
from muniment.memory.engine import Engine
from muniment.memory.errors import BadInput
from muniment.memory.rules.language import tokens
from muniment.memory.rules.retrieval import rank
from muniment.memory.rules.retrieval.rank import RankingContext

SILENT, LOST = 0.90, 0.03  # wanted: at least so many foreign questions without a hit, at most so many answers lost
GATES = (0.0, 0.25, 0.30, 0.35, 0.40, 0.44, 0.50)
TOP = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question in a space. `told` says for each gate whether anything is injected; of an own one, any evidence."""

    space: str
    own: bool
    named: bool  # it names somebody who speaks in the space
    answerable: bool  # evidence is among the first eight without threshold and gate
    told: tuple[bool, ...]
    renamed: bool  # the names in it were replaced by those who speak in the space
    unnamed: tuple[bool, ...]  # the same if the names in the question were words like others


async def measure(file: Path, limit: int | None) -> dict[str, Any]:
    """Ask every question in every space: at most `limit` of each conversation."""
    async with recall.imported(file, limit) as world:
        if len(world.talks) < 2:
            raise BadInput(f"{file.name}: a second conversation is wanted, whose questions are foreign to the first")
        house = world.memory.engine
        gates = tuple(sorted({*GATES, house.settings.recall.gate}))
        todo = [
            (here, question, here is there, False)
            for here in world.talks
            for there in world.talks
            for question in there.questions
        ]
        todo += [
            (here, rename(question, there, here), False, True)
            for here in world.talks
            for there in world.talks
            for question in there.questions
            if here is not there
        ]
        with harness.bar("asking", len(todo)) as tick:
            asked = await harness.together(todo, lambda one: ask(house, *one, gates), tick)
    present = gates.index(house.settings.recall.gate)
    return {
        **shares(asked, present),
        "by_conversation": {
            talk.name: shares([one for one in asked if one.space == talk.name], present) for talk in world.talks
        },
        "curve": [{"gate": gate, **shares(asked, at)} for at, gate in enumerate(gates)],
        "gate": house.settings.recall.gate,
        "threshold": house.settings.recall.threshold,
        "wanted": {"silent": SILENT, "lost": LOST},
        **world.about,
    }


def rename(question: recall.Question, there: recall.Talk, here: recall.Talk) -> recall.Question:
    """A question with the names of those who speak in its conversation replaced by those of another one."""
    names = dict(zip(sorted(there.speakers), map(str.title, sorted(here.speakers)), strict=True))
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b", re.IGNORECASE)
    return replace(question, text=pattern.sub(lambda found: names[found[0].lower()], question.text))


async def ask(
    house: Engine, here: recall.Talk, question: recall.Question, own: bool, renamed: bool, gates: Sequence[float]
) -> Asked:
    """Read once as a query does, without a limit of tokens, and judge what was found by each gate."""
    request = Query(text=question.text, top_k=TOP, budget_tokens=recall.UNLIMITED)
    reader, search = await house.recall.authorize_query(here.scope, recall.AGENT, request)
    reading = await house.recall.retrieve_hits(reader, request, search)

    def told(lens: RankingContext) -> bool:
        judged = rank.rank_hits(reading.snapshot.hits, lens)
        hits = list(islice((one for one in judged if isinstance(one, Hit)), TOP))
        return any(recall.turn_of(hit.memory) in question.evidence for hit in hits) if own else bool(hits)

    lenses = [replace(reading.ranking, gate=gate) for gate in gates]
    return Asked(
        space=here.name,
        own=own,
        named=bool(here.speakers & set(tokens.extract_speaker_terms(question.text))),
        answerable=own and told(replace(reading.ranking, threshold=0.0, gate=0.0)),
        told=tuple(map(told, lenses)),
        renamed=renamed,
        unnamed=tuple(told(replace(lens, unknown_name_ratio=0.0)) for lens in lenses),
    )


def shares(asked: Sequence[Asked], gate: int) -> dict[str, Any]:
    """Shares in [0, 1] at one of the gates, each question in a space counting the same; None of no question."""
    foreign = [one for one in asked if not one.own and not one.renamed]
    answerable = [one for one in asked if one.answerable]
    groups = {
        "silent": foreign,
        "silent_no_shared_name": [one for one in foreign if not one.named],
        "silent_shared_name": [one for one in foreign if one.named],
        "silent_renamed": [one for one in asked if one.renamed],
        "lost": answerable,
    }
    found: dict[str, Any] = {
        name: round(sum(not one.told[gate] for one in some) / len(some), 4) if some else None
        for name, some in groups.items()
    }
    return found | {
        "silent_names_unused": round(sum(not one.unnamed[gate] for one in foreign) / len(foreign), 4)
        if foreign
        else None,
        "foreign": len(foreign),
        "foreign_shared_name": len(groups["silent_shared_name"]),
        "answerable": len(answerable),
    }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people, in percent."""
    header = ["", "foreign", "silent", "no shared name", "shared name", "renamed", "names unused", "answerable", "lost"]
    rows = [[name, *_cells(part)] for name, part in found["by_conversation"].items()]
    title = (
        f"Gate {found['gate']}, threshold {found['threshold']}; wanted: silent {100 * SILENT:.0f} % or more, "
        f"lost {100 * LOST:.0f} % or less"
    )
    yield harness.grid(title, header, [*rows, ["all", *_cells(found)]])
    yield harness.grid("Gates", ["gate", *header[1:]], [[part["gate"], *_cells(part)] for part in found["curve"]])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    args = recall.command("silence", __doc__).parse_args(argv)
    return harness.run(measure(args.file, args.limit), tables, as_json=args.json)


def _cells(part: dict[str, Any]) -> list[object]:
    kinds = ("silent", "silent_no_shared_name", "silent_shared_name", "silent_renamed", "silent_names_unused", "lost")
    *silent, lost = (None if part[kind] is None else f"{100 * part[kind]:.1f}" for kind in kinds)
    return [part["foreign"], *silent, part["answerable"], lost]


if __name__ == "__main__":
    sys.exit(main())
