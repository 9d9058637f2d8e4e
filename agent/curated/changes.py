"""A change of a curated file's text: which entry it means, whether it fits the limit, and the text after it.

Pure: text in, text out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muniment.agent.curated.calls import CuratedCall
from muniment.agent.curated.entries import (
    Entry,
    append_entry,
    count_chars,
    find_entries,
    remove_entries,
    replace_entry,
    unify_line_ends,
)
from muniment.agent.curated.screening import BLOCKED, Screen, check_characters, check_content, name_secrets
from muniment.memory.errors import BadInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a change comes to: the text of the file after it, None where it stays as it is."""

    ok: bool
    message: str
    text: str | None = None
    candidates: tuple[str, ...] = ()


def change_text(call: CuratedCall, text: str, limit: int, screen: Screen) -> Outcome:
    """Return what the call makes of a file's text. Raises BadInput for a content or an old_text that cannot be one."""
    entries = find_entries(text)
    used = count_chars([entry.text for entry in entries])
    content, note = ("", "") if call.action == "remove" else _prepare_content(call.content or "", limit, screen)
    if call.action == "add":
        if any(entry.text == content for entry in entries):
            return Outcome(ok=True, message=f"The entry is there already; nothing was changed.{note}")
        return _fit_limit(append_entry(text, content), f"Added.{note}", used, limit)
    found = _find_meant(call.old_text or "", entries, screen)
    if isinstance(found, Outcome):
        return found
    if call.action == "remove":
        return Outcome(ok=True, message=f"Removed.{_count_copies(found)}", text=remove_entries(text, found))
    if found[0].text == content and len(found) == 1:
        return Outcome(ok=True, message=f"The entry says so already; nothing was changed.{note}")
    if content in {entry.text for entry in entries} - {found[0].text}:
        return Outcome(ok=False, message="content: another entry says the same; remove this one instead")
    rest = remove_entries(text, found[1:])  # the first one stands before them, so that its place stays
    return _fit_limit(replace_entry(rest, found[0], content), f"Replaced.{_count_copies(found)}{note}", used, limit)


def _prepare_content(given: str, limit: int, screen: Screen) -> tuple[str, str]:
    """The content as it is written, and what there is to say of it."""
    if len(given) > limit:
        raise BadInput(
            f"content: has {len(given):,} characters; at most {limit:,} are allowed in the whole file", field="content"
        )
    content = check_content(given, "content")
    redacted = screen.redact_secrets(content)
    note = f" What looks like a secret was redacted: {name_secrets(redacted)}." if redacted != content else ""
    if screen.screen_entry(redacted).is_blocked:
        note += f" It reads as an instruction, so prompts show {BLOCKED} in its place; write a fact instead."
    return redacted.strip(), note


def _find_meant(given: str, entries: Sequence[Entry], screen: Screen) -> list[Entry] | Outcome:
    """The entries that `old_text` means: one, or several that say the same. Else why none is meant.

    The text of an entry counts, and what a model is shown of it."""
    part = unify_line_ends(check_characters(given, "old_text")).strip()
    if not part:
        raise BadInput("old_text: is empty; give a part of the entry that no other has", field="old_text")
    shown = {entry.text: screen.screen_entry(entry.text) for entry in entries}
    whole = [entry for entry in entries if part in {entry.text, shown[entry.text].shown}]
    found = whole or [entry for entry in entries if part in entry.text or part in shown[entry.text].shown]
    if not found:
        return Outcome(ok=False, message="old_text: is in no entry; nothing was changed")
    if len({entry.text for entry in found}) > 1:
        candidates = tuple(shown[entry.text].shown for entry in found)
        message = f"old_text: is in {len(found)} entries; give a part that only one has"
        return Outcome(ok=False, message=message, candidates=candidates)
    return found


def _count_copies(found: Sequence[Entry]) -> str:
    return f" It was there {len(found)} times." if len(found) > 1 else ""


def _fit_limit(text: str, message: str, used: int, limit: int) -> Outcome:
    """The change, or why it is refused: a file over its limit may only become smaller."""
    after = count_chars([entry.text for entry in find_entries(text)])
    if after > limit and after >= used:
        return Outcome(
            ok=False,
            message=(
                f"over the limit: the file would have {after:,} of {limit:,} characters, it has {used:,}; nothing was"
                " changed. Remove or shorten entries first"
            ),
        )
    return Outcome(ok=True, message=message, text=text)
