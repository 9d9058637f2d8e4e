"""What a person types in a chat that is no message: `/help`, `/memory`, `/forget ID` and `exit`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from muniment.faces.cli.output import screen, terminal
from muniment.memory.domain.query import ListRequest
from muniment.memory.errors import BadInput

if TYPE_CHECKING:
    from muniment.faces.cli.conversation import ChatSession

HELP = """\
/help          shows this
/memory        shows what is remembered of you, the newest first; /memory WORD only what has this word
/forget ID     forgets a memory: four or more characters of the id that /memory shows (muniment restore brings it back)
exit           leaves, as do quit and Ctrl-D
Everything else is a message."""
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)
_LEAVING = frozenset({"exit", "quit", "/exit", "/quit", ":q"})
_MAX_LISTED = 20


def is_leaving(line: str) -> bool:
    """Whether a line ends the chat."""
    return line.strip().casefold() in _LEAVING


def is_command(line: str) -> bool:
    """Whether a line is a command, known or not. A path such as `/etc/hosts` is none."""
    return _COMMAND.fullmatch(line.strip()) is not None


async def run_command(chat: ChatSession, line: str) -> None:
    """Do what a command says and print the outcome. Raises BadInput for an unknown command or id, NotFound,
    StoreError."""
    match = _COMMAND.fullmatch(line.strip())
    name, argument = (match[1], (match[2] or "").strip()) if match else ("", "")
    if name == "help":
        terminal.print_wrapped(HELP)
    elif name == "memory":
        await _show_memories(chat, argument)
    elif name == "forget":
        await _forget_memory(chat, argument)
    else:
        raise BadInput(f"there is no command /{name}; /help shows those that there are")


async def _show_memories(chat: ChatSession, word: str) -> None:
    page = await chat.memory.list_page(chat.scope, ListRequest(contains=word or None, limit=_MAX_LISTED))
    for record in page.memories:
        terminal.print_wrapped(f"{screen.shorten_id(record.id)} [{record.category}] {screen.join_lines(record.text)}")
    if not page.memories:
        screen.print_line(f"Nothing with {word!r} is remembered." if word else "Nothing is remembered yet.")
    elif page.total > len(page.memories):
        screen.print_line(f"{page.total - len(page.memories):,} more: muniment list")


async def _forget_memory(chat: ChatSession, prefix: str) -> None:
    if not prefix:
        raise BadInput("/forget: an id is missing; /memory shows them")
    id_ = await chat.memory.find_id(chat.scope, prefix)
    receipt = await chat.memory.forget(chat.scope, id_)
    for change in receipt.changes:
        terminal.print_wrapped(f"Forgotten: {screen.join_lines(change.after.text)}")
    if not receipt.changes:
        screen.print_line("Forgotten already.")
