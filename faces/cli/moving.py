"""`import` and `export`: memories in and out of files."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from muniment.faces.cli import screen, session
from muniment.faces.cli.options import ME, AsJson, User
from muniment.faces.locomo import conversations
from muniment.memory.errors import BadInput
from muniment.memory.settings import Settings, load

_ROW = re.compile(r"row (\d+)")


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

    jsonl: what `export` wrote, into a user who has no memories yet; or one object a line with at least a "text",
    perhaps "category", "kind", "importance", "event_time", "tags".

    locomo: conversations in the layout of the LoCoMo data set; every turn becomes an episodic memory with its
    speaker and its own date.

    For example:

      muniment import backup.jsonl --format jsonl --user ana

      muniment import conversations.json --format locomo
    """
    settings = load()
    done = _import_jsonl(settings, file, user or ME, as_json) if layout is Format.jsonl else _import_locomo(
        settings, file, user, as_json)  # fmt: skip
    if as_json:
        screen.show_json({"imported": sum(done.values()), "users": done})
    else:
        for owner, count in done.items():
            screen.say(f"{owner}: {count:,} memories imported")


def _import_jsonl(settings: Settings, file: str, user: str, quiet: bool) -> dict[str, int]:
    scope = session.scope_of(settings, user)

    async def work(source: IO[bytes]) -> int:
        numbers: list[int] = []
        async with session.opened(settings, quiet=quiet) as memory:
            with screen.progress(f"import {file}", None, quiet=quiet) as move:
                try:
                    return await memory.load(scope, _rows(source, file, numbers), move)
                except BadInput as error:
                    raise _by_line(error, file, numbers) from error

    with _reading(file) as source:
        return {scope.owner: session.run(work(source))}


def _rows(source: IO[bytes], file: str, numbers: list[int]) -> Iterator[Mapping[str, Any]]:
    """The objects of a file of lines, one by one; `numbers` gets the line of each."""
    for number, line in enumerate(source, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError:
            raise BadInput(f"{_named(file)}, line {number}: is not UTF-8", line=number) from None
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"{_named(file)}, line {number}: is no JSON ({screen.one_line(_why(error))})", line=number
            ) from None
        if not isinstance(row, dict):
            raise BadInput(f'{file}, line {number}: an object wanted, like {{"text": …}}', line=number)
        numbers.append(number)
        yield row


def _by_line(error: BadInput, file: str, numbers: list[int]) -> BadInput:
    """The engine counts rows; a person counts lines."""
    match = _ROW.match(str(error))
    if not match or int(match[1]) > len(numbers):
        return error
    line = numbers[int(match[1]) - 1]
    return type(error)(f"{_named(file)}, line {line}{str(error)[match.end() :]}", **error.data | {"line": line})


def _import_locomo(settings: Settings, file: str, user: str | None, quiet: bool) -> dict[str, int]:
    with _reading(file) as source:
        raw = source.read()
    try:
        content = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise BadInput(f"{_named(file)}: is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{_named(file)}: is no JSON ({screen.one_line(_why(error))})") from None
    found = [(session.scope_of(settings, user or one.sample_id), one) for one in conversations(content)]

    async def work() -> dict[str, int]:
        done: dict[str, int] = {}
        total = sum(len(one.candidates) for _, one in found)
        async with session.opened(settings, quiet=quiet) as memory:
            with screen.progress(f"import {file}", total, quiet=quiet) as move:
                for scope, one in found:
                    done[scope.owner] = done.get(scope.owner, 0) + await memory.ingest(scope, one.candidates, move)
        return done

    return session.run(work())


def _named(file: str) -> str:
    return "standard input" if file == "-" else file


def _why(error: Exception) -> str:
    """What is wrong with the JSON, without a word of it."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, column {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a value cannot be read"


@contextmanager
def _reading(file: str) -> Iterator[IO[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 - closed below; an error while it is used is not this one
    except (OSError, ValueError) as error:
        raise BadInput(f"{_named(file)}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    with source:
        if Path(file).is_dir():
            raise BadInput(f"{_named(file)}: is a directory; a file is wanted")
        yield source


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
