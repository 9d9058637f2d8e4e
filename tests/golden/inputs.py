"""What the golden outputs are made from: texts, pairs, memories, questions and turns, frozen in `inputs.jsonl`."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
FROZEN = HERE / "inputs.jsonl"
ROOT = HERE.parents[1]
DATA = ROOT / "benchmarks" / "data"
TESTS = ("unit", "integration", "graph", "contract")
LENGTHS = range(2, 2001)
USERS = 6  # of each file and language, with their memories and questions
TURNS = 120  # of a conversation of strangers
EVERY_PHRASE = 12  # of the phrases of doubles.yaml one in so many is a text
WORLD = 700  # statements of generated doubles, of each half
Record = dict[str, Any]


def load() -> dict[str, list[Record]]:
    """The frozen inputs by sort, in the order of the file."""
    found: dict[str, list[Record]] = {}
    for line in FROZEN.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        found.setdefault(record.pop("sort"), []).append(record)
    return found


def freeze() -> None:
    """Collect the inputs anew from the tests and the data of the benchmarks."""
    lines = [json.dumps(record, ensure_ascii=True, separators=(",", ":")) for record in _records()]
    FROZEN.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _records() -> Iterator[Record]:
    texts = dict.fromkeys(one for one in (*_of_tests(), *_of_data()) if _is_text(one))
    yield from ({"sort": "text", "text": text} for text in texts)
    yield from ({"sort": "pair"} | pair for pair in (*_pairs(), *_doubles()))
    yield from _users()
    yield from _strangers()
    for turn in json.loads((DATA / "conversation.json").read_text(encoding="utf-8"))["turns"]:
        yield {"sort": "turn"} | turn


def _is_text(value: str) -> bool:
    return len(value) in LENGTHS and any(char.isalpha() for char in value) and value.isprintable() | ("\n" in value)


def _of_tests() -> Iterator[str]:
    """The string literals of the tests, docstrings left out; those of one word only where the rules are tested."""
    for folder in TESTS:
        for path in sorted((ROOT / "tests" / folder).glob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docs:
                    words = len(node.value.split())
                    if words > 1 or folder == "unit" or not node.value.isascii():
                        yield node.value


_DOCUMENTED = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _of_data() -> Iterator[str]:
    for name in ("conversation.json", "everyday.json", "everyday_later.json", "strangers.json"):
        yield from _strings(json.loads((DATA / name).read_text(encoding="utf-8")))
    for line in (DATA / "pairs.jsonl").read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        yield from (pair["a"]["statement"], pair["b"]["statement"])
    phrases = list(_strings(yaml.safe_load((DATA / "doubles.yaml").read_text(encoding="utf-8"))))
    yield from (one.replace("{p}", "The user") for one in phrases[::EVERY_PHRASE] if len(one.split()) > 1)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def _pairs() -> Iterator[Record]:
    for line in (DATA / "pairs.jsonl").read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        yield {"a": pair["a"], "b": pair["b"]}


def _doubles() -> Iterator[Record]:
    """Generated statements, each later one beside the earlier one that shares most of its words."""
    from benchmarks import doubles  # needs the product, which the frozen inputs must not

    for half in ("tune", "held-out"):
        world = doubles.world(half, WORLD, seed=1)
        bases = [(one, frozenset(one.text.split())) for one in world.earlier]
        for later in world.later:
            said = frozenset(later.text.split())
            base = max(bases, key=lambda pair: (len(pair[1] & said), pair[0].text))[0]
            yield {"a": _statement(base.candidate), "b": _statement(later.candidate)}


def _statement(candidate: Any) -> Record:
    fact = candidate.fact
    told: Record = {"statement": candidate.text, "category": candidate.category, "sort_of_memory": candidate.kind}
    if fact is None:
        return told
    return told | {
        "kind": fact.kind, "predicate": fact.predicate, "object": fact.object, "subject": fact.subject,
        "persons": list(fact.persons), "single": fact.single, "negated": fact.negated,
    }  # fmt: skip


def _users() -> Iterator[Record]:
    for name in ("everyday.json", "everyday_later.json"):
        users = json.loads((DATA / name).read_text(encoding="utf-8"))["users"]
        for language in ("en", "zh"):
            for user in [one for one in users if one["language"] == language][:USERS]:
                yield from _user(user)


def _user(user: Mapping[str, Any]) -> Iterator[Record]:
    for one in user["memories"]:
        yield {"sort": "memory", "owner": user["id"], "text": one["text"], "category": one["category"]}
    questions: Iterable[str] = (*(one["text"] for one in user["questions"]), *user["unanswerable"])
    yield from ({"sort": "question", "owner": user["id"], "text": text} for text in questions)


def _strangers() -> Iterator[Record]:
    """The first turns of the first conversation, in one space, and what is asked about it."""
    one = json.loads((DATA / "strangers.json").read_text(encoding="utf-8"))[0]
    turns = [turn for session in one["conversation"].values() if isinstance(session, list) for turn in session]
    for turn in turns[:TURNS]:
        yield {
            "sort": "memory", "owner": "strangers", "text": turn["text"], "category": "activity",
            "actor": turn["speaker"],
        }  # fmt: skip
    for question in one["qa"][:20]:
        yield {"sort": "question", "owner": "strangers", "text": question["question"]}
