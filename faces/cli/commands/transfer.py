"""`import` and `export`: memories in and out of files."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.import_source import Source
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.cli.output import screen
from muniment.faces.locomo import conversations
from muniment.memory.config.settings import Settings, load
from muniment.memory.errors import BadInput, MunimentError


class Format(StrEnum):
    jsonl = "jsonl"
    locomo = "locomo"


def import_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; - for standard input.")],
    layout: Annotated[Format, typer.Option("--format", "-f", help="How the file is written.")],
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="NAME", help="Whose memory; else me, or for locomo the conversation's id."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read memories from a file. What is there already is not added again.

    All of the file is looked at before the first memory is written: where a line is not right nothing is imported. What was
    interrupted goes on by the same command.

    jsonl: what `export` wrote, into a user who has no memories yet; or one object a line with at least a "text",
    perhaps "category", "kind", "importance", "event_time", "tags", "pinned", "actor_id", "fact". Without category, kind and
    fact a line is read as a message of the user's: "User lives in Rome" is a fact, and corrected by "I live in Berlin now".
    Of two lines that contradict each other the later "event_time" holds, and one without it is so now.

    locomo: conversations in the layout of the LoCoMo data set; every turn becomes an episodic memory with its
    speaker and its own date.

    For example:

      muniment import backup.jsonl --format jsonl --user ana

      muniment import conversations.json --format locomo
    """
    settings = load()
    source = Source(file)
    try:
        done = _import_jsonl(settings, source, user or ME, as_json) if layout is Format.jsonl else _import_locomo(
            settings, source, user, as_json)  # fmt: skip
    except KeyboardInterrupt:
        _state(source, quiet=as_json)
        raise
    except MunimentError as error:
        if not isinstance(error, BadInput):
            _state(source, quiet=as_json)
        raise source.told(error) from error
    if as_json:
        screen.show_json({"imported": sum(done.values()), "users": done} | _unread(source))
        return
    for owner, count in (done or {source.name: 0}).items():
        screen.say(f"{owner}: {count:,} {'memory' if count == 1 else 'memories'} imported")
    if idle := source.idle(sum(done.values())):
        screen.aside(idle)
    if source.unread:
        screen.aside(source.not_read())


def _import_jsonl(settings: Settings, file: Source, user: str, quiet: bool) -> dict[str, int]:
    scope = session.scope_of(settings, user)

    async def work(source: IO[bytes]) -> int:
        async with session.opened(settings, quiet=quiet) as memory:
            with screen.progress(f"import {file.file}", None, quiet=quiet) as move:
                return await memory.load(scope, file.rows(source), file.moving(move))

    with file.opened() as source:
        return {scope.owner: session.run(work(source))}


def _import_locomo(settings: Settings, file: Source, user: str | None, quiet: bool) -> dict[str, int]:
    content = file.content()
    try:
        talks = conversations(content)
    except BadInput as error:
        raise file.malformed(error) from None
    found = [(session.scope_of(settings, user or one.sample_id), one) for one in talks]

    async def work() -> dict[str, int]:
        done: dict[str, int] = {}
        total = sum(len(one.candidates) for _, one in found)
        async with session.opened(settings, quiet=quiet) as memory:
            with screen.progress(f"import {file.file}", total, quiet=quiet) as bar:
                move = file.moving(bar)
                for scope, one in found:
                    done[scope.owner] = done.get(scope.owner, 0) + await memory.ingest(scope, one.candidates, move)
        return done

    return session.run(work())


def _state(source: Source, *, quiet: bool) -> None:
    if not quiet:
        screen.aside(f"muniment: {source.name}: {source.state()}")


def _unread(source: Source) -> dict[str, Any]:
    return {"not_read": dict(source.unread)} if source.unread else {}


def export(
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; - or nothing for standard output.")] = "-",
    user: User = ME,
    content: Annotated[
        bool, typer.Option("--content", help="Memories and relations alone, without revisions: to compare two moments.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write all of a user's memory as JSON lines: memories, former versions, history, relations, what was said.

    `import --format jsonl` into a user without memories restores it exactly; the vectors are made anew. --content is
    for comparing: the same bytes as long as the same is known, such as before a consolidation and after its undo.
    An existing FILE is replaced only when the new one is complete.

    For example:

      muniment export --user ana backup.jsonl

      muniment export | gzip > backup.jsonl.gz

      muniment export --user ana --content before.jsonl
    """
    settings = load()
    scope = session.scope_of(settings, user)

    async def work() -> Iterable[Mapping[str, Any]]:
        async with session.opened(settings, quiet=as_json) as memory:
            return await memory.export(scope, content=content)

    with screen.waiting("reading…", quiet=as_json or file == "-"):
        rows = session.run(work())
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    if file == "-":
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    count = _write(Path(file), lines)
    if as_json:
        screen.show_json({"user": scope.owner, "rows": count, "file": file})
    else:
        screen.say(f"{count:,} rows written to {file}")


def _write(path: Path, lines: Iterable[str]) -> int:
    """Write a file beside the old one and put it in its place whole; readable by its owner only."""
    count = 0
    draft = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            draft = Path(file.name)
            for line in lines:
                file.write(f"{line}\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
    return count
