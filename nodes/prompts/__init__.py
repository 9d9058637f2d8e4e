"""The instructions of the agents. The first line of a file is its version, the rest is sent as it is."""

from __future__ import annotations

from importlib.resources import files

from muniment.memory.errors import BadConfig


def load_prompt(name: str) -> str:
    """The instructions of an agent, without the version line. Raises BadConfig when there are none."""
    try:
        text = (files(__name__) / f"{name}.md").read_text("utf-8")
    except FileNotFoundError:
        raise BadConfig(f"There are no instructions for the agent {name!r}.", agent=name) from None
    return text.partition("\n")[2].strip()
