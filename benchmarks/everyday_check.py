"""The everyday questions as a check file, for `muniment check`.

python -m benchmarks.everyday_check [FILE] [--half tune|held-out|later] > everyday.memory.yaml

A case for each user: the memories as they are, and for each question that they answer whether it is `found`, and
whether it comes `first`; for each other question whether memory is `silent`. `data/everyday.memory.yaml` is the half
that may be looked at. The shares of the benchmark are the shares of the assertions with these names that pass."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmarks import everyday
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.gate import validate_candidate

ASKED_AT = "2026-11-23T10:00:00Z"
WIDTH = 120


def build_check(file: Path, halves: Sequence[str]) -> dict[str, Any]:
    """Return the check file of the users of these halves."""
    cases = [
        {
            "name": user.id,
            "now": ASKED_AT,
            "given": {"memories": [describe_memory(memory) for memory in user.memories]},
            "expect": [each for question in user.questions for each in list_assertions(question)],
        }
        for user in everyday.read(file, halves)
    ]
    return {"muniment_check": 1, "name": f"everyday questions, {', '.join(halves)}", "cases": cases}


def describe_memory(memory: Candidate) -> dict[str, str]:
    """Return a memory as a row of an import. One that names a day by another, such as "on Mondays", is no fact there,
    and is kept word for word as an episode."""
    checked, _ = validate_candidate(memory, categories=frozenset([memory.category]), max_chars=len(memory.text))
    return {"text": memory.text, "category": memory.category, "kind": "episodic" if checked is None else "semantic"}


def list_assertions(question: everyday.Question) -> Iterator[dict[str, Any]]:
    """Yield what the benchmark counts of a question, each as an assertion."""
    if not question.evidence:
        yield {"name": f"silent: {question.text}", "query": question.text, "silent": True}
        return
    texts = sorted(question.evidence)
    yield {"name": f"found: {question.text}", "query": question.text, "has": {"any": [*texts]}}
    first = {"any": texts, "position": 1}
    yield {"name": f"first: {question.text}", "query": question.text, "has": first}


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday_check", description=about)
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="users and what they ask")
    parser.add_argument("--half", choices=(*everyday.HALVES, *everyday.FURTHER), default=everyday.OPEN)
    args = parser.parse_args(argv)
    file = args.file or everyday.FURTHER.get(args.half, everyday.DATA)
    yaml.safe_dump(build_check(file, (args.half,)), sys.stdout, allow_unicode=True, sort_keys=False, width=WIDTH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
