"""Whether the rules alone know a decision, a rule, a discovery, a fix and a task, and leave what only looks like one.

python -m benchmarks.kinds [--json] [--misses]

`data/kinds.tsv` and `data/kinds_heldout.tsv` have a kind, a language and a statement in each line, `-` for one that is
to be left: a question, a condition, a quotation, somebody else's rule, an instruction of the moment, an ordinary fact.
The signs of the rules were written with the first file and `data/kinds_independent.tsv` at hand; that one is by
somebody who had seen neither rules nor lists, about any kind of work. The held-out file was never used to change them,
and neither was `data/kinds_fresh.tsv`, which is by another such writer.
Precision is the share of the kinds given that are right, found the share of the statements to keep that have theirs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.statements import DATA, Sentence, read
from muniment.memory.domain.memory import FactKind
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.extraction.work.read import PREDICATES

FILES = {
    "known": DATA / "kinds.tsv",
    "unseen": DATA / "kinds_heldout.tsv",
    "independent": DATA / "kinds_independent.tsv",
    "fresh": DATA / "kinds_fresh.tsv",
}
LEFT = "-"
_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_MIN_PRECISION = 0.95


def find_kinds(text: str) -> frozenset[str]:
    """The new kinds that a message gets as the product reads it."""
    if gate.find_skip_reason(text, "user"):
        return frozenset()
    turn = Turn.make(session="kinds", key="1", role="user", text=text, at=_AT)
    facts = (one.fact for one in extract_statements(turn).candidates if not one.is_correction)
    return frozenset(fact.kind for fact in facts if fact and fact.kind in PREDICATES)


def measure() -> dict[str, Any]:
    """The figures of both files, by language and by kind, and what is wrong or missing."""
    found: dict[str, Any] = {}
    misses: list[dict[str, Any]] = []
    for name, file in FILES.items():
        sentences = read(file)
        unknown = {one.label for one in sentences} - {LEFT, *get_args(FactKind)}
        if unknown:
            raise BadInput(f"{file.name}: {', '.join(sorted(unknown))}: no kind")
        given = {one.text: find_kinds(one.text) for one in sentences}
        groups = {f"{name}, {lang}": [one for one in sentences if one.lang == lang] for lang in ("en", "zh")}
        groups |= {f"{name}, {kind}": [one for one in sentences if one.label == kind] for kind in PREDICATES}
        groups[name] = sentences
        found |= {group: count(part, given) for group, part in groups.items()}
        misses += [
            {"file": name, "statement": one.text, "kind": one.label, "found": sorted(given[one.text])}
            for one in sentences
            if given[one.text] != wanted(one)
        ]
    return {"figures": found, "misses": misses}


def wanted(sentence: Sentence) -> frozenset[str]:
    """The kinds that a sentence should get."""
    return frozenset() if sentence.label == LEFT else frozenset({sentence.label})


def count(sentences: Sequence[Sentence], given: dict[str, frozenset[str]]) -> dict[str, float | int | None]:
    """Precision and share found; None of nothing."""
    right = sum(one.label in given[one.text] for one in sentences)
    all_given = sum(len(given[one.text]) for one in sentences)
    kept = sum(one.label != LEFT for one in sentences)
    return {
        "statements": len(sentences),
        "precision": round(right / all_given, 4) if all_given else None,
        "found": round(right / kept, 4) if kept else None,
    }


def tables(found: dict[str, Any], *, misses: bool) -> Iterator[Table]:
    """The report for people."""
    rows = [[name, *values.values()] for name, values in found["figures"].items()]
    yield harness.grid("kinds", ["", "statements", "precision", "found"], rows)
    if misses:
        header = ["file", "statement", "kind", "found"]
        yield harness.grid(
            "misses", header, [[*list(one.values())[:3], ", ".join(one["found"])] for one in found["misses"]]
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 measured, 1 failed in one line or less precise than wanted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kinds", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--misses", action="store_true", help="also list the statements with a wrong kind or without theirs"
    )
    given = parser.parse_args(arguments)
    try:
        found = measure()
    except (BadInput, OSError) as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        for table in tables(found, misses=given.misses):
            Console().print(table)
    return 0 if all((found["figures"][name]["precision"] or 0) >= _MIN_PRECISION for name in FILES) else 1


if __name__ == "__main__":
    sys.exit(main())
