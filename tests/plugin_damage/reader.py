"""A host of an account that may read the files of its memory, and not write them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path

from tests.plugin.hosts import make_settings
from tests.plugin_damage.talks import open_talk

_NOBODY = 65534


class _Lines(logging.Handler):
    """Keeps the warnings of the host."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


async def talk_there(home: Path) -> list[str]:
    """Return what was added to each prompt, and what was replied to each command."""
    async with open_talk(make_settings(home, recall_seconds=1.5)) as talk:
        texts = ("continue the auth refactor", "Never use tabs.", "We decided to use Redis for the cart.")
        return [await talk.say(text) for text in (*texts, "/memory", "/memory pin 4f2a91bc", "/memory status")]


def main(home: str) -> None:
    """Talk as another account than root, to whom nothing is refused."""
    lines = _Lines()
    logging.getLogger().addHandler(lines)
    if os.getuid() == 0:
        os.setgroups([])
        os.setuid(_NOBODY)
    shown = asyncio.run(talk_there(Path(home)))
    sys.stdout.write(json.dumps({"shown": shown, "log": lines.lines}))


if __name__ == "__main__":
    main(*sys.argv[1:])
