"""`dossier`: everything that is known of a person, in a file for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.faces.dossier.files import DossierForm, choose_form, write_dossier
from muniment.faces.dossier.letters import LetterFaults, name_script
from muniment.faces.transfer.files import open_replacement
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput

_MAX_LETTERS = 40  # that cannot be drawn and are named


class Language(StrEnum):
    """The languages of a dossier."""

    en = "en"
    zh = "zh"


def write_person_file(
    user: Annotated[str, typer.Option("--user", "-u", metavar="NAME", help="Of whom; there is no default.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where to: a .html, .pdf or .json file.")],
    language: Annotated[Language, typer.Option("--language", "-l", help="In which language.")] = Language.en,
    font: Annotated[
        str | None,
        typer.Option("--font", metavar="FILE", help="A TrueType font to embed into a PDF, for letters it lacks."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write everything known of a person, in plain words: an answer to a request for access as it stands.

    What is known by category, where each thing came from, since when, who may read it, and when it was put before a
    model; what waits, what was forgotten and when; consents given and refused; how long things are kept; receipts of
    erasures; what was said word for word; and every other record, counted.

    A page of HTML stands alone: it loads nothing and can be printed. JSON has every row. A PDF wants the extra pdf; its
    text can be selected, Chinese included; --font names a TrueType file for other letters, such as DejaVuSans.ttf for
    Polish, Greek and Cyrillic, and what cannot be drawn is named. An existing FILE is replaced only when the new one
    is complete.

    For example:

      muniment dossier --user ana --out ana.html

      muniment dossier --user ana --out ana.pdf --language zh

      muniment dossier --user ana --out ana.json --json
    """
    form = choose_form(out)
    if font is not None and form is not DossierForm.pdf:
        raise BadInput("--font: is for a .pdf")
    settings = load_settings()
    scope = session.make_scope(settings, user)
    with (
        open_replacement(Path(out)) as file,
        terminal.show_progress(f"dossier {user}", None, quiet=as_json) as move,
    ):
        own = Path(font) if font is not None else None
        faults = session.run_async(_write(settings, scope, form, language, file, own, move, quiet=as_json))
    size = Path(out).stat().st_size
    if as_json:
        told = {
            "not_drawn": faults.missing.total(),
            "not_joined": faults.unjoined.total(),
            "letters": faults.list_missing(),
        }
        screen.print_json({"user": scope.owner, "file": out, "bytes": size, **told})
        return
    screen.print_line(f"{size:,} bytes written to {out}")
    for line in _describe_faults(faults):
        screen.print_stderr(f"muniment: {out}: {line}")


def _describe_faults(faults: LetterFaults) -> Iterator[str]:
    if faults.missing:
        letters = " ".join(faults.list_missing()[:_MAX_LETTERS])
        more = max(len(faults.missing) - _MAX_LETTERS, 0)
        yield (
            f"{_count_letters(faults.missing.total())} in its text and cannot be drawn by its fonts: {letters}"
            f"{f' and {more:,} others' if more else ''}; give a TrueType font that has them with --font, or take .html"
        )
    if faults.unjoined:
        scripts = ", ".join(sorted({name_script(each).title() for each in faults.unjoined}))
        yield (
            f"{_count_letters(faults.unjoined.total())} of {scripts} and drawn one by one from left to right, not as "
            "in writing; .html shows the text rightly"
        )


def _count_letters(count: int) -> str:
    return "1 character is" if count == 1 else f"{count:,} characters are"


async def _write(
    settings: Settings,
    scope: Scope,
    form: DossierForm,
    language: str,
    file: IO[bytes],
    font: Path | None,
    move: Callable[[int], None],
    *,
    quiet: bool,
) -> LetterFaults:
    async with session.open_memory(settings, quiet=quiet) as memory:
        return await write_dossier(memory, scope, form, language, file, font=font, on_progress=move)
