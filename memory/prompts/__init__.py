"""The prompts of the flows: a file each, the first line is its version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt and its version."""

    version: str
    text: str


@cache
def load_prompt(name: str) -> Prompt:
    """Return the prompt of a name: consolidate, extract, insight or path."""
    version, _, text = (files(__package__) / f"{name}.md").read_text(encoding="utf-8").partition("\n")
    return Prompt(version.strip(), text.strip())
