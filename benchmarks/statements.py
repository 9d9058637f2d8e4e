"""Train the classifier of own statements, and measure it on sentences that it has not seen.

python -m benchmarks.statements [--write] [--json]

`data/statements.tsv` has a label, a language and a sentence in each line, written for this purpose; `own` is
what memory should keep. The limit above which the product keeps a sentence is found in folds of that file, by the share
of own statements that are to be kept. With `--write` the weights and the limit that the product reads are written
anew."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks import harness
from muniment.memory.errors import BadInput
from muniment.memory.rules.extraction import classify

DATA = Path(__file__).parent / "data"
TRAINING = DATA / "statements.tsv"
UNSEEN = DATA / "statements_heldout.tsv"
LONG = DATA / "statements_long.tsv"  # unseen, too: sentences as in a long message
OWN = "own"
KEPT = 0.92  # the share of own statements above the limit, in the folds
_RIDGE = 0.2
_STEPS = 200
_FOLDS = 5

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its label and language."""

    label: str
    lang: str
    text: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Features of sentences as three columns of equal length: the sentence, the place of a feature and its value."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    values: Floats
    size: int

    def select(self, inside: NDArray[np.bool_]) -> Matrix:
        """The features of some of the sentences."""
        row_of, here = np.cumsum(inside) - 1, inside[self.rows]
        return Matrix(row_of[self.rows[here]], self.places[here], self.values[here], int(inside.sum()))


@dataclass(frozen=True, slots=True)
class Model:
    """What is written for the product: weights as bytes, the weight of one step, the bias, and the limit."""

    weights: NDArray[np.int8]
    step: float
    bias: float
    limit: float


def read(file: Path) -> list[Sentence]:
    """The sentences of a file. Raises BadInput."""
    sentences = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        parts = line.split("\t")
        if len(parts) != 3:
            raise BadInput(f"{file.name}, line {number}: {len(parts)} columns, three wanted: label, language, sentence")
        sentences.append(Sentence(*parts))
    return sentences


def featurize(sentences: Sequence[Sentence]) -> Matrix:
    """The features that the product computes."""
    groups = [classify.list_features(sentence.text) for sentence in sentences]
    found = [[(place, value) for places, value in group for place in places] for group in groups]
    rows = np.repeat(np.arange(len(found)), [len(features) for features in found])
    places = np.array([place for features in found for place, _ in features])
    values = np.array([value for features in found for _, value in features])
    return Matrix(rows, places, values, len(found))


def train(matrix: Matrix, is_own: NDArray[np.bool_]) -> tuple[Floats, float]:
    """Weights and bias of the logistic regression with a ridge penalty, by AdaGrad (Duchi et al. 2011)."""
    weights, bias = np.zeros(classify.PLACES), 0.0
    squares, bias_square = np.full(classify.PLACES, 1e-8), 1e-8
    for _ in range(_STEPS):
        errors = 1 / (1 + np.exp(-score(matrix, weights, bias))) - is_own
        slope = np.bincount(matrix.places, matrix.values * errors[matrix.rows], classify.PLACES) + _RIDGE * weights
        squares += slope**2
        bias_square += float(errors.sum()) ** 2
        weights -= 0.5 * slope / np.sqrt(squares)
        bias -= 0.5 * float(errors.sum()) / bias_square**0.5
    return weights, bias


def score(matrix: Matrix, weights: Floats, bias: float) -> Floats:
    """The log odds of every sentence."""
    return np.asarray(np.bincount(matrix.rows, matrix.values * weights[matrix.places], matrix.size) + bias, np.float64)


def quantize(weights: Floats) -> tuple[NDArray[np.int8], float]:
    """The weights as bytes, and the weight of one step."""
    step = float(np.abs(weights).max()) / 127
    return np.round(weights / step).astype(np.int8), step


def score_folds(matrix: Matrix, is_own: NDArray[np.bool_]) -> Floats:
    """The log odds of every sentence by weights that were trained on the others."""
    folds = np.arange(matrix.size) % _FOLDS
    scores = np.zeros(matrix.size)
    for fold in range(_FOLDS):
        outside = folds == fold
        scores[outside] = score(matrix.select(outside), *train(matrix.select(~outside), is_own[~outside]))
    return scores


def build(matrix: Matrix, is_own: NDArray[np.bool_], fold_scores: Floats) -> Model:
    """The model of all sentences, with the limit that keeps `KEPT` of the own statements in the folds."""
    weights, bias = train(matrix, is_own)
    return Model(*quantize(weights), bias, float(np.quantile(fold_scores[is_own], 1 - KEPT)))


def measure(*, write: bool) -> dict[str, Any]:
    """Train on all sentences of the training file, and report on folds of it and on the unseen files."""
    known = read(TRAINING)
    matrix, is_own = featurize(known), np.array([sentence.label == OWN for sentence in known])
    fold_scores = score_folds(matrix, is_own)
    model = build(matrix, is_own, fold_scores)
    if write:
        header = classify.HEADER.pack(model.step, model.bias, model.limit)
        classify.WEIGHTS.write_bytes(header + model.weights.tobytes())
    found = {"sentences": len(known), "limit": round(model.limit, 3), "folds": figures(known, fold_scores, model.limit)}
    for part, file in (("unseen", UNSEEN), ("long", LONG)):
        sentences = read(file)
        scores = score(featurize(sentences), np.asarray(model.weights * model.step, np.float64), model.bias)
        found[part] = figures(sentences, scores, model.limit)
    return found


def figures(sentences: Sequence[Sentence], scores: Floats, limit: float) -> dict[str, dict[str, float]]:
    """For each language: accuracy at 0, and the shares of the own statements and of the others above the limit."""
    found = {}
    for lang in sorted({sentence.lang for sentence in sentences}):
        here = np.array([sentence.lang == lang for sentence in sentences])
        own = np.array([sentence.label == OWN for sentence in sentences])
        found[lang] = {
            "accuracy": round(float(((scores > 0) == own)[here].mean()), 4),
            "kept": round(float((scores[here & own] > limit).mean()), 4),
            "others": round(float((scores[here & ~own] > limit).mean()), 4),
        }
    return found


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    rows = [
        [f"{part}, {lang}", *values.values()]
        for part in ("folds", "unseen", "long")
        for lang, values in found[part].items()
    ]
    title = f"{found['sentences']} sentences, limit {found['limit']}"
    yield harness.grid(title, ["", "accuracy", "kept", "others"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 trained, 1 failed in one line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the weights and the limit that the product reads")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        found = measure(write=given.write)
    except (BadInput, OSError) as error:
        print(f"benchmark: {error}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(found))
    else:
        for table in tables(found):
            Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
