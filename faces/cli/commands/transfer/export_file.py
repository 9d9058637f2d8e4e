"""`export`: all of a user's memory is written as JSON lines."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import DEFAULT_USER, AsJson, User
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadInput


def export_file(
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="Where to; - or nothing for standard output.")] = "-",
    user: User = DEFAULT_USER,
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
    settings = load_settings()
    scope = session.make_scope(settings, user)

    async def work() -> Iterable[Mapping[str, Any]]:
        async with session.open_memory(settings, quiet=as_json) as memory:
            return await memory.export(scope, content=content)

    with terminal.show_spinner("reading…", quiet=as_json or file == "-"):
        rows = session.run_async(work())
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    if file == "-":
        for line in lines:
            sys.stdout.write(f"{line}\n")
        return
    count = _write_file(Path(file), lines)
    if as_json:
        screen.print_json({"user": scope.owner, "rows": count, "file": file})
    else:
        screen.print_line(f"{count:,} rows written to {file}")


def _write_file(path: Path, lines: Iterable[str]) -> int:
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
