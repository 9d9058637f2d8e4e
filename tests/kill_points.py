"""The points of a program at which it is killed: each statement of SQLite is one, and whatever it counts besides."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
from collections.abc import Sequence
from typing import Any

_VALUES = re.compile(r"x'[0-9a-f]*'|'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b", re.IGNORECASE)
_LABEL_CHARS = 200
_REACHED = 0.95  # of the steps of a whole run, which are not always as many


class Switch:
    """Counts the steps of a program, and ends it at the step with a number. `labels` say what each step is."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.labels: list[str] = []

    def step(self, label: str, *_: object) -> None:
        """Count one more. Statements that differ in their values alone have one label."""
        self.labels.append(" ".join(_VALUES.sub("?", label[: 10 * _LABEL_CHARS]).split())[:_LABEL_CHARS])
        if len(self.labels) == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def count_statements(self) -> None:
        """Let each statement of each connection that is made from now on be a step."""
        connect = sqlite3.connect

        def connect_counted(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*arguments, **options)
            connection.set_trace_callback(self.step)
            return connection

        sqlite3.connect = connect_counted  # type: ignore[assignment] # of one overload


def choose_points(labels: Sequence[str], most: int) -> list[int]:
    """Return the numbers of the steps at which a program is killed, rising: one for each different label, then others
    spread over the whole run, `most` in all. Of more labels than that, those are taken that are spread over them."""
    reached = labels[: int(len(labels) * _REACHED)]
    places: dict[str, list[int]] = {}
    for number, label in enumerate(reached, 1):
        places.setdefault(label, []).append(number)
    first = [numbers[len(numbers) // 2] for numbers in places.values()]
    chosen = set(_spread(sorted(first), most))
    others = [number for number in range(1, len(reached) + 1) if number not in chosen]
    return sorted(chosen | set(_spread(others, most - len(chosen))))


def _spread(numbers: Sequence[int], most: int) -> list[int]:
    """So many of the numbers at most, at even distances."""
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[(2 * at + 1) * len(numbers) // (2 * most)] for at in range(most)]
