"""How well a note finds its category: sentences with the category that a reader would look for them under.

python -m benchmarks.notes [--json] [--misses]

`data/notes.tsv` has a category, a language and a sentence in each line, and the words of the rules were chosen with it
at hand; `data/notes_heldout.tsv` was written afterwards. Both are by one writer, so that other people's sentences are
filed less well."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import harness
from benchmarks.statements import DATA, Sentence, read
from muniment.memory.errors import BadInput
from muniment.memory.rules.extraction.classify import choose_category

FILES = {"known": DATA / "notes.tsv", "unseen": DATA / "notes_heldout.tsv"}
_IN_CONTEXT = ("profile", "constraints")
_DOUBTFUL = "activity"


def measure() -> dict[str, Any]:
    """The figures of both files, by language, and the misses of the unseen one."""
    found: dict[str, Any] = {}
    for name, file in FILES.items():
        sentences = read(file)
        found[name] = {
            lang: figures([sentence for sentence in sentences if sentence.lang == lang])
            for lang in sorted({sentence.lang for sentence in sentences})
        }
    found["misses"] = [
        {"text": sentence.text, "category": sentence.label, "found": choice}
        for sentence in read(FILES["unseen"])
        if (choice := choose_category(sentence.text)) != sentence.label
    ]
    return found


def figures(sentences: Sequence[Sentence]) -> dict[str, float]:
    """Shares: in the right category, left in doubt, and wrongly in a category that is always in context."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        choice = choose_category(sentence.text)
        counts["right"] += choice == sentence.label
        counts["doubtful"] += choice == _DOUBTFUL != sentence.label
        counts["in_context"] += choice in _IN_CONTEXT and choice != sentence.label
    return {name: round(counts[name] / len(sentences), 4) for name in ("right", "doubtful", "in_context")}


def tables(found: dict[str, Any], *, misses: bool) -> Iterator[Table]:
    """The report for people."""
    rows = [[f"{name}, {lang}", *values.values()] for name in FILES for lang, values in found[name].items()]
    yield harness.grid("notes", ["", "right", "doubtful", "in context"], rows)
    if misses:
        yield harness.grid("misses", ["text", "category", "found"], [list(miss.values()) for miss in found["misses"]])


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 measured, 1 failed in one line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.notes", description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--misses", action="store_true", help="also list the unseen sentences that were filed wrongly")
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
