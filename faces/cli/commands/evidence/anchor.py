"""`anchor`: where journals end, signed, to be kept elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from muniment.faces.cli import session
from muniment.faces.cli.commands.evidence.anchor_files import open_anchor_files, read_file, write_file
from muniment.faces.cli.commands.evidence.spaces import All, OnlyUser, list_scopes
from muniment.faces.cli.options import AsJson
from muniment.faces.cli.output import screen, terminal
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.evidence.seals import AnchorFile
from muniment.memory.errors import NotFound

FOUND_CODE = 1  # the exit code where something is not as it should be
Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", help="The public key of the signature; without it that of this installation."),
]
app = typer.Typer(
    help="Where the journals end, signed: a file to keep elsewhere, which shows a journal that was cut or replaced.",
    no_args_is_help=True,
)


@app.command("export")
def export_anchors(
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Where to; an existing file is replaced whole.")],
    user: OnlyUser = None,
    is_all: All = False,
    as_json: AsJson = False,
) -> None:
    """Write the revision and the digest at which each journal ends, signed by the key of this installation.

    Keep the file where the database's administrators cannot change it. It names no user. `muniment verify --anchor
    FILE` compares a journal with it.

    For example:

      muniment anchor export --all --out anchors-2026-11-28.json
    """
    settings = load_settings()

    async def work() -> AnchorFile:
        async with session.open_memory(settings, quiet=as_json) as memory:
            scopes = await list_scopes(memory, settings, user, is_all=is_all)
            with terminal.show_spinner("reading…", quiet=as_json):
                signed = await memory.admin.sign_anchors(scopes)
            if not signed.anchors and not is_all:
                raise NotFound(
                    f"there is no journal of {scopes[0].owner!r}; `muniment verify --all` shows whose there are"
                )
            return signed

    file = session.run_async(work())
    files = open_anchor_files(settings)
    write_file(Path(out), files.format_file(file))
    key_id = files.make_key_id(file.signature.public_key)
    if as_json:
        screen.print_json({"file": out, "anchors": len(file.anchors), "key_id": key_id})
    else:
        count = screen.format_count(len(file.anchors), "anchor")
        screen.print_line(f"{count} written to {out}, signed by the key {key_id}")


@app.command("check")
def check_anchors(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, as `anchor export` wrote it.")],
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Check the signature of a file of anchors. No database is needed.

    Without --key it is compared with the key of this installation, where it has one. With something wrong the exit
    code is 1.

    For example:

      muniment anchor check anchors-2026-11-28.json --key ed25519:6f2c…
    """
    files = open_anchor_files(load_settings())
    expected = None if key is None else files.parse_key(key)
    check = session.run_async(files.check_file(read_file(file), expected))
    key_id = files.make_key_id(check.file.signature.public_key)
    if as_json:
        screen.print_json(
            {
                "file": file,
                "anchors": len(check.file.anchors),
                "at": check.file.at.isoformat(),
                "key_id": key_id,
                "signed": check.is_signed,
                "expected_key": check.is_expected,
            }
        )
    elif not check.is_signed:
        screen.print_line("The signature is not of this file: it was changed after it was signed.")
    elif check.is_expected is False:
        screen.print_line(f"The signature is of this file, by the key {key_id}, which is not the expected one.")
    else:
        by = "the expected key" if check.is_expected else "a key that is compared with none (--key)"
        count = screen.format_count(len(check.file.anchors), "anchor")
        screen.print_line(f"{count} of {check.file.at:%Y-%m-%d %H:%M} UTC, signed by {by} {key_id}")
    if not check.is_signed or check.is_expected is False:
        raise typer.Exit(FOUND_CODE)


@app.command("key")
def show_key(as_json: AsJson = False) -> None:
    """Show the public key of this installation's signatures; the first call makes the key file of the home.

    For example:

      muniment anchor key > muniment.pub
    """
    files = open_anchor_files(load_settings())
    public_key = session.run_async(files.read_public_key())
    if as_json:
        screen.print_json({"key": files.format_key(public_key), "key_id": files.make_key_id(public_key)})
    else:
        screen.print_line(files.format_key(public_key))
