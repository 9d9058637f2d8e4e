"""What is wrong with a curated file, in words that repeat nothing of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from muniment.agent.curated.calls import Target
from muniment.agent.curated.encoding import FileText
from muniment.agent.curated.entries import count_chars, find_entries
from muniment.agent.curated.screening import ProblemKind, Screen

_PROBLEMS: Mapping[ProblemKind, str] = {
    "instruction": "reads as an instruction, so prompts do not show it; write a fact instead",
    "hidden": "has invisible characters, so prompts do not show it",
    "secret": "has what looks like a secret, which prompts do not show; take it out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProblem:
    """Something wrong with a file, or with its entry of this number, counted from 1."""

    target: Target
    text: str
    entry: int | None = None


def check_file(target: Target, file: FileText, limit: int, screen: Screen) -> Iterator[FileProblem]:
    """Return what is wrong: the encoding, the limit, and entries that are there twice, instruct, hide letters or have a
    secret."""
    if file.bad_byte is not None:
        text = f"is no valid {file.codec.upper()} at byte {file.bad_byte}, so it takes no change; save it as UTF-8"
        yield FileProblem(target=target, text=text)
    texts = [entry.text for entry in find_entries(file.text)]
    used = count_chars(texts)
    if used > limit:
        yield FileProblem(target=target, text=f"has {used:,} of {limit:,} characters, so it takes no new entry")
    places: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        first = places.setdefault(text, number)
        if first != number:
            yield FileProblem(target=target, text=f"says the same as entry {first}", entry=number)
        for problem in screen.screen_entry(text).problems:
            yield FileProblem(target=target, text=_PROBLEMS[problem], entry=number)
