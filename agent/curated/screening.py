"""What of an entry is shown to a model and what is written: secrets, instructions, and characters that nobody sees."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from muniment.agent.curated.entries import has_separator, unify_line_ends
from muniment.memory.config.schema import RedactionSettings
from muniment.memory.errors import BadInput
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.provenance.requests import has_commands
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.redaction.secret_names import describe_redactions

BLOCKED = "[BLOCKED]"
ProblemKind: TypeAlias = Literal["instruction", "hidden", "secret"]
_HALVES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Letters that a model reads and a person does not see, or that turn the order of what is seen. The joiners of emoji and
# of Persian are none of them, nor the flag of a region: a black flag, its letters as tags, and their end.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,8}\U000e007f")
_HIDDEN = re.compile("[\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


@dataclass(frozen=True, slots=True)
class ScreenedEntry:
    """An entry as it stands in the file, without secrets as its owner may see it, as a model is shown it, and what is
    wrong with it."""

    text: str
    redacted: str
    shown: str
    problems: tuple[ProblemKind, ...] = ()

    @property
    def is_blocked(self) -> bool:
        """Whether a model is shown that there is an entry, and not what it says."""
        return self.shown != _replace_unprintable(self.redacted)


class Screen:
    """Looks at entries with the redactor of these settings; without settings it takes out what is always a secret."""

    def __init__(self, redaction: RedactionSettings | None = None) -> None:
        self._redactor = Redactor(redaction)

    def screen_entry(self, text: str) -> ScreenedEntry:
        """Return what is shown of an entry: without secrets, and nothing of one that instructs or hides letters."""
        redacted = self.redact_secrets(text)
        problems: list[ProblemKind] = []
        if redacted != text:
            problems.append("secret")
        if _HIDDEN.search(_FLAG.sub("", text)):
            problems.append("hidden")
        if has_commands(normalize_text(_HIDDEN.sub("", text))):
            problems.append("instruction")
        is_blocked = "hidden" in problems or "instruction" in problems
        return ScreenedEntry(text, redacted, BLOCKED if is_blocked else _replace_unprintable(redacted), tuple(problems))

    def redact_secrets(self, text: str) -> str:
        """Return the text with `[redacted:kind]` for each secret, unchanged where it has none."""
        return self._redactor.redact_text(text)


def name_secrets(redacted: str) -> str:
    """Return what was taken out of a redacted text, in words."""
    return ", ".join(describe_redactions(redacted))


def check_content(text: str, field: str) -> str:
    """Return the text of an entry as it is written: line feeds alone, no blanks around it.

    Raises BadInput that names the field: an empty text, half a character, a control, a hidden letter, a separator."""
    refuse = partial(_refuse, field)
    unified = unify_line_ends(check_characters(text, field)).strip()
    if not unified:
        raise refuse("is empty; allowed: the text of an entry")
    if bad := _CONTROLS.search(unified):
        raise refuse(f"has the control character U+{ord(bad.group()):04X}; allowed: text, tabs and line ends")
    if bad := _HIDDEN.search(_FLAG.sub("", unified)):
        raise refuse(f"has the invisible character U+{ord(bad.group()):04X}; leave it out")
    if has_separator(unified):
        raise refuse("has a line with § alone, which ends an entry; make it two entries, or write the line otherwise")
    return unified


def check_characters(text: str, field: str) -> str:
    """Return the text. Raises BadInput that names the field for half a character and for NUL."""
    if _HALVES.search(text):
        raise _refuse(field, "has half a character (a lone surrogate); send whole characters")
    if "\0" in text:
        raise _refuse(field, "has the control character U+0000; allowed: text, tabs and line ends")
    return text


def _refuse(field: str, problem: str) -> BadInput:
    return BadInput(f"{field}: {problem}", field=field)


def _replace_unprintable(text: str) -> str:
    return _CONTROLS.sub("\ufffd", text)
