"""What every memory is given and asked: statements, questions with the statements that answer them, later writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.peer import Item
from benchmarks.recall import Evidence, questions, turn_of_tags
from muniment.faces import locomo
from muniment.memory.errors import BadInput

_ROOT = Path(__file__).parents[2]
LOCOMO = _ROOT.parent / "shared" / "data" / "locomo-dev.json"
EVERYDAY = _ROOT / "benchmarks" / "data" / "everyday.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a user, and the keys of the statements that answer it; never empty."""

    user: str
    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Workload:
    """One run's material; `writes` are of the last user, after all that was loaded."""

    file: str
    loads: tuple[tuple[str, tuple[Item, ...]], ...]
    asked: tuple[Asked, ...]
    writes: tuple[Item, ...]

    @property
    def statements(self) -> int:
        """How many are loaded."""
        return sum(len(items) for _, items in self.loads)

    def list_texts(self) -> Iterator[str]:
        """Yield every text that is loaded or written."""
        yield from (item.text for _, items in self.loads for item in items)
        yield from (item.text for item in self.writes)


def find_file() -> Path:
    """Return LoCoMo's conversations beside the repository, or the everyday questions that are in it."""
    return LOCOMO if LOCOMO.exists() else EVERYDAY


def read_workload(file: Path, statements: int, asked: int, writes: int) -> Workload:
    """Return the first so many statements of a file, the first questions that these answer, and the texts after them.

    Raises BadInput for a file that has not enough, OSError, JSONDecodeError."""
    content = json.loads(file.read_text(encoding="utf-8"))
    talks = [*_read_everyday(content)] if isinstance(content, dict) and "users" in content else [*_read_locomo(content)]
    loads: list[tuple[str, tuple[Item, ...]]] = []
    found: list[Asked] = []
    rest: list[Item] = []
    left = statements
    for user, items, ask in talks:
        taken, after = items[:left], items[left:]
        left -= len(taken)
        rest.extend(after)
        if taken:
            loads.append((user, tuple(taken)))
            known = {item.key for item in taken}
            found.extend(one for one in ask if one.evidence <= known)
    known_texts = {item.text for _, items in loads for item in items}
    new = {item.text: item for item in rest if item.text not in known_texts}
    if left or not found or len(new) < writes:
        raise BadInput(
            f"{file.name}: {statements - left} statements, {len(found)} questions and {len(new)} texts to write; "
            f"{statements}, 1 and {writes} wanted"
        )
    return Workload(file.name, tuple(loads), tuple(found[:asked]), tuple(new.values())[:writes])


def _read_locomo(content: Any) -> Iterator[tuple[str, list[Item], list[Asked]]]:
    """Each conversation as a user; a turn is a statement."""
    raws: Sequence[Mapping[str, Any]] = content if isinstance(content, list) else [content]
    for raw, talk in zip(raws, locomo.parse_conversations(content), strict=True):
        items = [Item(turn_of_tags(one.tags), one.text) for one in talk.candidates]
        known = frozenset(item.key for item in items)
        asked = [Asked(talk.sample_id, one.text, one.evidence) for one in questions(dict(raw), known, Evidence())]
        yield talk.sample_id, items, asked


def _read_everyday(content: Mapping[str, Any]) -> Iterator[tuple[str, list[Item], list[Asked]]]:
    """Each user with their memories as statements."""
    for user in content["users"]:
        items = [Item(f"{user['id']}:{n}", one["text"]) for n, one in enumerate(user["memories"])]
        asked = [
            Asked(user["id"], one["text"], frozenset(f"{user['id']}:{n}" for n in one["evidence"]))
            for one in user["questions"]
            if one["evidence"]
        ]
        yield user["id"], items, asked
