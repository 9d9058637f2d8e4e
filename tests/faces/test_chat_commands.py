"""What is typed in a chat besides messages, and how its lines are broken."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
from pathlib import Path

from tests.faces.conftest import PROGRAM, Muniment


def test_commands_are_no_messages(muniment: Muniment) -> None:
    """They show and forget what is remembered; `exit` ends the chat, whatever follows."""
    told = muniment("chat", said="I like jazz.\n/memory\n/memory JAZZ\n/memory tea\n/help\nexit\nI like tea.\n")
    assert told.code == 0, told
    assert told.out.count("[preferences] The user likes jazz") == 2
    assert "Nothing with 'tea' is remembered." in told.out
    assert all(name in told.out for name in ("/help", "/memory", "/forget ID", "exit"))
    assert "tea" not in muniment("list").out
    (record,) = muniment("list", "--json").lines
    gone = muniment("chat", said=f"/forget {record['memories'][0]['id'][:8]}\n/memory\n")
    assert gone.out.splitlines() == ["Forgotten: The user likes jazz", "Nothing is remembered yet."]


def test_a_wrong_command_is_an_error_and_the_chat_goes_on(muniment: Muniment) -> None:
    """One line each that says what to do; a path is no command, and with --json every line is a message."""
    told = muniment("chat", said="/nothing\n/forget\n/forget zz\n/help\n")
    assert told.code == 2
    errors = told.err.splitlines()
    assert len(errors) == 3
    assert "/help shows" in errors[0]
    assert "an id is missing" in errors[1]
    assert "Everything else is a message" in told.out
    (turn,) = muniment("chat", "--json", said="exit\n").lines
    assert turn["reply"]


def test_the_plugin_has_its_commands_in_a_chat(muniment: Muniment, tmp_path: Path) -> None:
    """P-20..P-23: with `plugin.enabled`; `off` holds in the next process, too, and the other commands stay."""
    config = tmp_path / "memory.yaml"
    config.write_text("plugin:\n  enabled: true\n", encoding="utf-8")
    settings = {"MUNIMENT_CONFIG": str(config)}
    told = muniment("chat", said="I like jazz.\n/memory\n/memory why\n/memory off\n/help\n", **settings)
    assert told.code == 0, told
    assert "user" in next(line for line in told.out.splitlines() if "jazz" in line and "Noted" not in line)
    assert "exit" in told.out
    assert muniment("chat", said="I like tea.\n", **settings).code == 0
    assert "tea" not in muniment("list", **settings).out
    assert muniment("chat", said="/memory on\nI like tea.\n", **settings).code == 0
    assert "tea" in muniment("list", **settings).out


def test_lines_are_broken_at_words(environment: dict[str, str]) -> None:
    """In a terminal of forty columns no word is cut in two."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    env = {name: value for name, value in environment.items() if name != "COLUMNS"}
    with subprocess.Popen([PROGRAM, "chat"], stdin=slave, stdout=slave, stderr=slave, env=env) as chat:
        os.close(slave)
        try:
            told = ""
            while "you>" not in told:
                told += os.read(master, 65536).decode()
            os.write(master, b"I like jazz.\n")
            told = ""
            while "you>" not in told:
                told += os.read(master, 65536).decode()
            os.write(master, b"exit\n")
            assert chat.wait(20) == 0
        finally:
            chat.kill()
            os.close(master)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told).replace("\r", "").split("\n")
    hint = [line for line in lines if "configured" in line or "MUNIMENT_MODEL" in line]
    assert len(hint) == 2
    assert all(len(line) <= 40 for line in lines)
    assert "Noted: The user likes jazz." in lines
