"""The classifier of own statements: its weights, its training text, and how well it tells unseen sentences apart."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import statements
from muniment.memory.rules.extraction import classify

SHARED = Path(__file__).parents[3] / "shared/data"
BENCHMARKS = ("conversation.json", "everyday.json", "everyday_later.json", "strangers.json", "weak_model.jsonl")
FLOORS = {  # the shares of unseen sentences: of own ones above the limit, of others not above it
    (statements.UNSEEN, "en"): (0.9, 0.82),
    (statements.UNSEEN, "zh"): (0.88, 0.78),
    (statements.LONG, "en"): (0.9, 0.9),
    (statements.LONG, "zh"): (0.95, 0.77),
}


def fold(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text.lower().replace("’", "'")))


def list_texts(data: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from list_texts(value)


def list_sentences(file: Path) -> Iterator[str]:
    """The texts of a benchmark's file and the sentences in them, without marks and capitals."""
    lines = file.read_text(encoding="utf-8")
    for data in map(json.loads, lines.splitlines() if file.suffix == ".jsonl" else [lines]):
        for text in list_texts(data):
            yield from map(fold, [text, *re.split(r"(?<=[.!?。！？])\s*", text)])


def test_the_weights_are_those_that_the_script_trains() -> None:
    """Byte by byte, but for one step where two machines round differently."""
    known = statements.read(statements.TRAINING)
    is_own = np.array([sentence.label == statements.OWN for sentence in known])
    matrix = statements.featurize(known)
    model = statements.build(matrix, is_own, statements.score_folds(matrix, is_own))
    content = classify.WEIGHTS.read_bytes()
    header = classify.HEADER
    assert header.unpack_from(content) == pytest.approx((model.step, model.bias, model.limit), rel=1e-3)
    shipped = np.frombuffer(content, np.int8, offset=header.size)
    assert shipped.size == classify.PLACES
    assert np.abs(shipped.astype(int) - model.weights.astype(int)).max() <= 1


@pytest.mark.parametrize(("file", "lang"), FLOORS)
def test_unseen_sentences_are_told_apart(file: Path, lang: str) -> None:
    """By the shipped weights and the shipped limit."""
    unseen = [sentence for sentence in statements.read(file) if sentence.lang == lang]
    limit = classify.get_limit()
    is_kept: dict[bool, list[bool]] = {True: [], False: []}
    for sentence in unseen:
        is_kept[sentence.label == statements.OWN].append(classify.score_statement(sentence.text) > limit)
    assert len(unseen) >= 50
    least_own, least_silent = FLOORS[file, lang]
    assert sum(is_kept[True]) / len(is_kept[True]) >= least_own
    assert 1 - sum(is_kept[False]) / len(is_kept[False]) >= least_silent


def test_no_training_sentence_is_measured() -> None:
    """Neither an unseen file nor a benchmark, here or beside the repository, has one."""
    files = [statements.DATA / name for name in BENCHMARKS]
    files += sorted(SHARED.glob("*.json")) if SHARED.is_dir() else []
    measured = {sentence for file in files for sentence in list_sentences(file)}
    for file in (statements.UNSEEN, statements.LONG):
        measured |= {fold(sentence.text) for sentence in statements.read(file)}
    known = {fold(sentence.text) for sentence in statements.read(statements.TRAINING)} - {""}
    assert known & measured == set()


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ("I keep eleven hens behind the garage", "how many hens fit behind a garage?"),
        ("My knee has been playing up since the marathon", "Write a story about a marathon runner"),
        ("We moved the wedding to August", "If we moved the wedding to August, who would come?"),
        ("我每个周末都去水库钓鱼", "周末去水库钓鱼要带什么？"),
        ("我姐姐在医院当护士", "帮我写一封给护士的感谢信"),
        ("I keep the letters in a tin", "Extract the letters from tin.zip"),
        ("our roof leaks", "our build leaks memory in the parser"),
        ("I knit hats for my nieces", "hat niece knit tin roof"),
    ],
)
def test_who_states_scores_above_who_asks(own: str, other: str) -> None:
    """The same words, asked, ordered or supposed, are less of a statement."""
    assert classify.score_statement(own) > classify.score_statement(other)


@pytest.mark.parametrize(
    ("clause", "is_request"),
    [
        ("what wood should I use?", True),
        ("can you suggest a good smoker", True),
        ("translate this into German", True),
        ("帮我写一封信", True),
        ("这个怎么修", True),
        ("I restore old canoes", False),
        ("我在修一条旧船", False),
    ],
)
def test_a_request_by_its_form(clause: str, is_request: bool) -> None:
    """A question or an order, whatever it is about."""
    assert classify.is_request(clause) is is_request


def test_any_text_has_a_score() -> None:
    """Also none, and one that is longer than is looked at."""
    assert all(np.isfinite(classify.score_statement(text)) for text in ("", "?", "\x00", "wordy " * 5000))
