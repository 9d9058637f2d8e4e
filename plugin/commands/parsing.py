"""What of a message is a command: `/memory` and what follows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args
from unicodedata import normalize

CommandName: TypeAlias = Literal["list", "pin", "unpin", "forget", "off", "on", "why", "status", "help"]
_NAMES: dict[str, CommandName] = {name: name for name in get_args(CommandName)}
_WITH_ID = frozenset({"pin", "unpin", "forget"})
_MAX_CHARS = 400  # of a command; a longer message is refused as one, with the help
_FIRST_WORD = re.compile(r"\s*/memory(?:\s+|\Z)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a person. `argument` is the beginning of an id where the command has one; `problem` is what was
    typed that is no command."""

    name: CommandName
    argument: str = ""
    problem: str = ""


def parse_command(text: str) -> Command | None:
    """Return the command that a message is, or None for any other message.

    A message is one when `/memory` is its first word, in letters of any case or width. What cannot be understood after
    that word is the command `help` with a problem: it is answered, and never goes to a model."""
    if _FIRST_WORD.match(start := normalize("NFKC", text[:_MAX_CHARS])) is None:
        return None
    words = start.split()[1:]
    if len(text) > _MAX_CHARS or "\n" in text.strip():
        return Command(name="help", problem=" ".join(words)[:_MAX_CHARS])
    if not words:
        return Command(name="list")
    name = _NAMES.get(words[0].casefold())
    wanted = 1 if name in _WITH_ID else 0
    if name is None or len(words) - 1 > wanted:
        return Command(name="help", problem=" ".join(words))
    return Command(name=name, argument=words[1] if len(words) > 1 else "")
