"""The outputs of the product are those of tests/golden/outputs, to the byte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.golden import areas, inputs

OUTPUTS = inputs.HERE / "outputs"
SHOWN = 5  # differing lines
WIDTH = 600


def differences(name: str, known: str, made: str) -> str:
    """The first lines that differ, with the input of each, and how the file is written anew; empty where none does."""
    told = list(_differing(known, made))
    if not told:
        return ""
    shown = "\n".join(told[:SHOWN])
    return (
        f"{name}: {len(told):,} lines differ from tests/golden/outputs/{name}. The first of them:\n{shown}\n"
        f"If this is what is wanted, write it anew: python -m tests.golden {name}"
    )


def _differing(known: str, made: str) -> Iterator[str]:
    before, after = _by_place(known), _by_place(made)
    for place in dict.fromkeys([*before, *after]):
        old, new = before.get(place), after.get(place)
        if old != new:
            yield f"@@ {place}\n- {_cut(old)}\n+ {_cut(new)}"


def _by_place(text: str) -> dict[str, str]:
    """The lines by the input that each is about, or by their number."""
    return {_place(line, number): line for number, line in enumerate(text.splitlines(), 1)}


def _place(line: str, number: int) -> str:
    return f"input {json.loads(line)['#']}" if line.startswith('{"#":') else f"line {number}"


def _cut(line: str | None) -> str:
    return "(no line)" if line is None else line[:WIDTH]


def compared(name: str, made: str) -> None:
    known = (OUTPUTS / name).read_text(encoding="utf-8")
    if complaint := differences(name, known, made):
        pytest.fail(complaint, pytrace=False)
    assert made == known


@pytest.mark.parametrize("name", areas.PURE)
def test_outputs_are_the_same(name: str) -> None:
    """What needs no database."""
    compared(name, areas.PURE[name]())


@pytest.mark.parametrize("name", areas.STORED)
def test_outputs_over_a_database_are_the_same(name: str, database_url: str) -> None:
    """A whole engine, and the schema."""
    compared(name, areas.STORED[name](database_url))


def test_every_output_has_a_test() -> None:
    assert {path.name for path in OUTPUTS.iterdir()} == {*areas.PURE, *areas.STORED}


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ('{"#":1,"a":2}\n{"#":3}\n', ""),
        ('{"#":1,"a":3}\n{"#":3}\n', '@@ input 1\n- {"#":1,"a":2}\n+ {"#":1,"a":3}'),
        ('{"#":3}\n', '@@ input 1\n- {"#":1,"a":2}\n+ (no line)'),
        ('{"#":1,"a":2}\n{"#":2}\n{"#":3}\n', '@@ input 2\n- (no line)\n+ {"#":2}'),
    ],
)
def test_a_difference_is_named(made: str, told: str) -> None:
    """By the file, the input, both lines, and the command that writes the file anew."""
    found = differences("x.jsonl", '{"#":1,"a":2}\n{"#":3}\n', made)
    assert found == "" if not told else told in found
    assert found == "" or ("x.jsonl: 1 lines differ" in found and "python -m tests.golden x.jsonl" in found)
