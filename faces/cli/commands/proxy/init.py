"""`proxy init`: make the folder of a proxy."""

from __future__ import annotations

from pathlib import Path

from muniment.faces.cli import session
from muniment.faces.cli.commands.proxy.extra import Folder, require_extra
from muniment.faces.cli.output import screen, terminal


def initialize_proxy(folder: Folder = Path()) -> None:
    """Make the folder of a proxy: its settings, its templates, its database, and an administrator's token.

    The token is shown once, on standard output. The settings (.env) have no secret and may be committed. What is there
    already stays as it is. Where it was interrupted, run it again; until then `start` refuses with exit code 8.

    For example:

      muniment proxy init

      muniment proxy init agents/proxy
    """
    with require_extra():
        # The extra brings the protocol's libraries: nothing for the other commands to wait for, or to need.
        from muniment.faces.proxy.host.init import initialize_folder  # noqa: PLC0415 - slow to import, and in an extra
    with terminal.show_spinner("making the database…", quiet=False):
        token = session.run_async(initialize_folder(folder))
    screen.print_stderr("muniment: the administrator's token, which is shown only now:")
    screen.print_line(token.get_secret_value())
    screen.print_stderr("muniment: next: `muniment proxy start`, then `muniment proxy token create`")
