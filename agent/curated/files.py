"""The two curated files of a folder: a frozen snapshot for a run, and changes one at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import chain
from pathlib import Path

from muniment.agent.curated.calls import FILE_NAMES, TARGETS, CuratedCall, CuratedResult, Target
from muniment.agent.curated.changes import Outcome, change_text
from muniment.agent.curated.checking import FileProblem, check_file
from muniment.agent.curated.editing import prepare_edit
from muniment.agent.curated.encoding import FileText, decode_text
from muniment.agent.curated.entries import count_chars, find_entries
from muniment.agent.curated.screening import Screen
from muniment.agent.curated.snapshot import CuratedSnapshot, FileSnapshot, count_shown
from muniment.agent.curated.storage import StoredFile
from muniment.memory.config.schema import RedactionSettings
from muniment.memory.config.settings import Settings
from muniment.memory.errors import BadInput, CuratedFileError, FileChanged

MEMORY_CHARS, USER_CHARS = 2_200, 1_375


class CuratedFiles:
    """`MEMORY.md` and `USER.md` of a folder, which the first write makes.

    A limit is in characters: code points of the entries and of the lines `§` between them, each line end one. What is
    redacted besides secrets, the settings say. Several processes and an editor may use the same files."""

    def __init__(
        self,
        folder: Path,
        *,
        memory_chars: int = MEMORY_CHARS,
        user_chars: int = USER_CHARS,
        redaction: RedactionSettings | None = None,
    ) -> None:
        self.folder = folder
        self._limits: dict[Target, int] = {"memory": memory_chars, "user": user_chars}
        self._screen = Screen(redaction)

    async def take_snapshot(self) -> CuratedSnapshot:
        """Return both files as they are now. Raises nothing: a file that cannot be read says so in its block."""
        memory, user = await asyncio.to_thread(lambda: [self._take_file(target) for target in TARGETS])
        return CuratedSnapshot(memory, user)

    async def apply(self, call: CuratedCall) -> CuratedResult:
        """Change a file, or say why not: over the limit, an ambiguous or unknown `old_text`. A change that is refused,
        and one whose writing fails, leaves the file to the byte.

        Raises BadInput for a content or an old_text that cannot be one, CuratedFileError for a file that cannot be read
        or written, FileChanged where somebody saves it at the same moment, Busy where another process holds it."""
        return await asyncio.to_thread(self._apply, call)

    async def read_file(self, target: Target) -> bytes:
        """Return a file as it is, for somebody who edits it as a whole; nothing where there is none.

        Raises CuratedFileError."""
        return await asyncio.to_thread(self._open_file(target).read_bytes)

    async def write_edit(self, target: Target, former: bytes, edited: bytes) -> tuple[str, ...]:
        """Write a file that somebody has edited as a whole, with secrets redacted; what is to be said about it.

        Raises FileChanged where it is not what it was before the edit; BadInput, CuratedFileError and Busy as `apply`.
        """
        name = FILE_NAMES[target]
        prepared = await asyncio.to_thread(prepare_edit, name, former, edited, self._limits[target], self._screen)

        def change(data: bytes) -> bytes | None:
            if data != former:
                raise FileChanged(f"{name}: was changed by somebody else meanwhile; nothing was written", file=name)
            return None if prepared.data == data else prepared.data

        await asyncio.to_thread(self._open_file(target).change_bytes, change)
        return prepared.notes

    async def check_files(self) -> tuple[FileProblem, ...]:
        """Return what is wrong with the files. Raises nothing: a file that cannot be read is a problem."""
        return await asyncio.to_thread(lambda: tuple(chain.from_iterable(map(self._check_file, TARGETS))))

    def _open_file(self, target: Target) -> StoredFile:
        return StoredFile(self.folder / FILE_NAMES[target])

    def _check_file(self, target: Target) -> list[FileProblem]:
        try:
            file = decode_text(self._open_file(target).read_bytes())
        except CuratedFileError as error:
            return [FileProblem(target=target, text=str(error))]
        return [*check_file(target, file, self._limits[target], self._screen)]

    def _apply(self, call: CuratedCall) -> CuratedResult:
        outcome, file, is_changed = Outcome(ok=False, message=""), FileText(), False

        def change(data: bytes) -> bytes | None:
            nonlocal outcome, file, is_changed
            file = _decode(FILE_NAMES[call.target], data)
            outcome = change_text(call, file.text, self._limits[call.target], self._screen)
            is_changed = outcome.text is not None and outcome.text != file.text
            if outcome.text is None or not is_changed:
                return None
            changed = file.encode_text(outcome.text)
            file = replace(file, text=outcome.text)
            return changed

        self._open_file(call.target).change_bytes(change)
        seen = self._describe(call.target, file)
        message = f"{outcome.message} ({seen.problem})" if seen.problem else outcome.message
        return CuratedResult(
            ok=outcome.ok,
            message=message,
            target=call.target,
            entries=tuple(entry.shown for entry in seen.entries),
            used=seen.used,
            limit=seen.limit,
            candidates=outcome.candidates,
            is_changed=is_changed,
        )

    def _take_file(self, target: Target) -> FileSnapshot:
        try:
            file = decode_text(self._open_file(target).read_bytes())
        except CuratedFileError as error:
            return FileSnapshot(target=target, limit=self._limits[target], problem=str(error))
        return self._describe(target, file)

    def _describe(self, target: Target, file: FileText) -> FileSnapshot:
        texts = [entry.text for entry in find_entries(file.text)]
        limit, used = self._limits[target], count_chars(texts)
        shown = count_shown(texts, limit)
        problems = []
        if file.bad_byte is not None:
            problems.append(f"{FILE_NAMES[target]} is no valid {file.codec.upper()}: it is shown as well as it can be")
        if shown < len(texts):
            problems.append(f"of {len(texts):,} entries the first {shown:,} are shown")
        return FileSnapshot(
            target=target,
            limit=limit,
            used=used,
            entries=tuple(map(self._screen.screen_entry, texts[:shown])),
            problem="; ".join(problems),
        )


def make_curated_files(settings: Settings, folder: Path | None = None) -> CuratedFiles:
    """Return the curated files of these settings; a given folder replaces theirs."""
    named = settings.curated.folder
    own = Path(named).expanduser() if named else settings.home / "curated"
    return CuratedFiles(
        folder or own,
        memory_chars=settings.curated.memory_chars,
        user_chars=settings.curated.user_chars,
        redaction=settings.redact,
    )


def _decode(name: str, data: bytes) -> FileText:
    """The text of a file that is going to be changed. Raises BadInput where a change could lose a character."""
    file = decode_text(data)
    if file.bad_byte is not None:
        raise BadInput(
            f"{name}: is no valid {file.codec.upper()} at byte {file.bad_byte}, so it is not changed; save it as UTF-8,"
            " by an editor or `iconv -t UTF-8`",
            file=name,
        )
    return file
