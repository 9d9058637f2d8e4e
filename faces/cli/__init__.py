"""The command line `muniment`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command of `sys.argv` and exit with its code."""
    try:
        # Not at the top: Ctrl-C while these load must end in its exit code too, not in a traceback.
        from muniment.faces.cli.app import run_command  # noqa: PLC0415
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run_command(sys.argv[1:]))
