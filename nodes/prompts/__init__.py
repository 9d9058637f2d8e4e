"""The instructions of the agents. The first line of a file is its version, the rest is sent as it is."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from muniment.memory.errors import BadConfig

_COLLEAGUES = "{colleagues}"  # in the supervisor's instructions, where they are listed


def load_prompt(name: str) -> str:
    """The instructions of an agent, without the version line. Raises BadConfig when there are none."""
    try:
        text = (files(__name__) / f"{name}.md").read_text("utf-8")
    except FileNotFoundError:
        raise BadConfig(f"There are no instructions for the agent {name!r}.", agent=name) from None
    return text.partition("\n")[2].strip()


def build_supervisor_prompt(own: str, colleagues: Mapping[str, str]) -> str:
    """The supervisor's instructions: who it is, or `own` in its place; how it uses memory; and what each of its
    colleagues is for."""
    persona, _, rules = load_prompt("supervisor").partition("\n\n")
    paragraphs = [own.strip() or persona, *rules.split("\n\n")]
    lines = "\n".join(f"- {name}: {description}." for name, description in colleagues.items())
    kept = [each.replace(_COLLEAGUES, lines) for each in paragraphs if lines or _COLLEAGUES not in each]
    return "\n\n".join(kept)


def build_subagent_prompt(own: str) -> str:
    """The instructions of a subagent: its own, and how it works for the supervisor."""
    return f"{own.strip()}\n\n{load_prompt('subagent')}"
