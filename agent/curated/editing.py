"""A whole file as a person has edited it, on its way back."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.agent.curated.encoding import decode_text
from muniment.agent.curated.entries import count_chars, find_entries, replace_entry
from muniment.agent.curated.screening import BLOCKED, Screen, check_characters, name_secrets
from muniment.memory.errors import BadInput


@dataclass(frozen=True, slots=True)
class PreparedEdit:
    """The bytes to write, and what a person is told about them."""

    data: bytes
    notes: tuple[str, ...] = ()


def prepare_edit(name: str, former: bytes, edited: bytes, limit: int, screen: Screen) -> PreparedEdit:
    """Return an edited file as it is written: secrets redacted, all else to the byte.

    Raises BadInput for what is no text, and for more characters than the limit unless there are fewer than before."""
    file = decode_text(edited)
    if file.bad_byte is not None:
        raise BadInput(f"{name}: is no valid {file.codec.upper()} at byte {file.bad_byte}; save it as UTF-8")
    text, notes = check_characters(file.text, name), []
    for entry in reversed(find_entries(text)):  # from the end, so that the places of the others stay
        redacted = screen.redact_secrets(entry.text)
        if redacted != entry.text:
            text = replace_entry(text, entry, redacted)
            notes.append(f"What looks like a secret was redacted: {name_secrets(redacted)}.")
        if screen.screen_entry(redacted).is_blocked:
            notes.append(f"An entry instructs or has invisible characters; prompts show {BLOCKED} in its place.")
    used, before = (
        count_chars([entry.text for entry in find_entries(each)]) for each in (text, decode_text(former).text)
    )
    if used > limit and used >= before:
        raise BadInput(f"{name}: has {used:,} characters; allowed: {limit:,}")
    return PreparedEdit(edited if text == file.text else file.encode_text(text), tuple(dict.fromkeys(notes)))
