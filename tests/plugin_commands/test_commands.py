"""The commands of a chat, through a real chain over real SQLite files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from muniment.chain import Message
from muniment.memory.errors import StoreDown
from muniment.plugin.commands.handler import PluginState
from muniment.plugin.commands.parsing import Command, parse_command
from muniment.plugin.commands.phrases import flatten_words
from muniment.plugin.problems import Problem
from tests.plugin_commands.host import ANA, AT, make_item, open_chat

PNPM = make_item("4f2a91bc", "Use pnpm", days=3)
COMMITS = make_item("4f2b", "Conventional commits", type="decision", scope="project", project_id="web", days=1)
SHORT = make_item("90aa", "Short answers", type="preference", days=0.5)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/memory", Command(name="list")),
        ("  /Memory PIN 4f2a\n", Command(name="pin", argument="4f2a")),
        ("／memory off", Command(name="off")),
        ("/memory forget", Command(name="forget")),
        ("/memory is great", Command(name="help", problem="is great")),
        ("/memory off now", Command(name="help", problem="off now")),
        ("/memory\nforget 4f2a", Command(name="help", problem="forget 4f2a")),
        ("please run /memory off", None),
        ("hello\n/memory off", None),
        ("/memory-bank/notes.md", None),
        ("/memoryless", None),
        ("memory off", None),
        ("", None),
    ],
)
def test_what_is_a_command(text: str, command: Command | None) -> None:
    """P-20, P-108: the first word of a message makes it a command; a message that mentions one is none."""
    assert parse_command(text) == command


def test_a_long_message_is_read_in_no_time() -> None:
    """What begins as a command and never ends is answered with help; the rest of it is not looked at."""
    command = parse_command("/memory " + "x " * 1_000_000)
    assert command is not None
    assert (command.name, len(command.problem) < 500) == ("help", True)
    assert parse_command(" " * 1_000_000) is None


async def test_the_list_has_active_and_recent_items(tmp_path: Path) -> None:
    """P-20, P-108: id, type, scope, source and age, what the model was shown last first; no model is asked."""
    async with open_chat(tmp_path) as chat:
        assert await chat.say("/memory") == "Nothing is remembered yet."
        await chat.put(PNPM, COMMITS, SHORT)
        await chat.report(COMMITS.id)
        assert (await chat.say("/memory")).splitlines() == [
            "Active (before the model in the last turn):",
            "4f2b  [decision · project · user · 1 day ago] Conventional commits",
            "Recent:",
            "90aa  [preference · global · user · 12 hours ago] Short answers",
            "4f2a  [rule · global · user · 3 days ago] Use pnpm",
        ]
        assert await chat.say("what is /memory?") == "model"
        assert chat.shown == ["what is /memory?"]


async def test_an_item_is_pinned_and_unpinned(tmp_path: Path) -> None:
    """P-21, P-88: by the beginning of its id, with an audit line for each change."""
    async with open_chat(tmp_path) as chat:
        await chat.put(PNPM, COMMITS)
        assert await chat.say("/memory pin 4F2A") == "Pinned: 4f2a  Use pnpm"
        assert "pinned] Use pnpm" in await chat.say("/memory")
        assert await chat.say("/memory unpin 4f2a91bc0") == "Unpinned: 4f2a  Use pnpm"
        lines = await chat.book.read_audit(ANA)
    assert [(line.action, line.item_id, line.owner, line.at) for line in lines] == [
        ("unpin", PNPM.id, ANA, AT),
        ("pin", PNPM.id, ANA, AT),
    ]


async def test_an_item_is_forgotten(tmp_path: Path) -> None:
    """P-22, P-88: it is in no list any more; that it is unknown afterwards is a line, and no change."""
    async with open_chat(tmp_path) as chat:
        await chat.put(PNPM)
        assert await chat.say("/memory forget 4f2a") == "Forgotten: 4f2a  Use pnpm"
        assert await chat.say("/memory") == "Nothing is remembered yet."
        assert await chat.say("/memory forget 4f2a") == "No item begins with “4f2a”; /memory shows the ids."
        assert [line.action for line in await chat.book.read_audit(ANA)] == ["forget"]


async def test_ids_that_name_no_item(tmp_path: Path) -> None:
    """P-108: what is missing, too short, unknown or the beginning of two is said, and nothing is changed."""
    twins = [make_item(id_, text) for id_, text in (("4f2a9a", "Use pnpm"), ("4f2a9b", "Never npm"))]
    async with open_chat(tmp_path) as chat:
        await chat.put(*twins)
        assert await chat.say("/memory pin") == "/memory pin: an id is missing; /memory shows them."
        for typed in ("4f2", "pnpm", "4f2%", "zzzzzz"):
            assert f"“{typed}” is no id: give 4 or more characters" in await chat.say(f"/memory forget {typed}")
        assert (await chat.say("/memory forget 4f2a")).splitlines() == [
            "“4f2a” is the beginning of more than one id; nothing was changed. Give more of it:",
            "4f2a9a  [rule · global · user · just now] Use pnpm",
            "4f2a9b  [rule · global · user · just now] Never npm",
        ]
        assert (await chat.say("/memory fnord")).startswith("There is no “/memory fnord”.\n/memory   ")
        assert await chat.say("/memory forget 4f2a9b") == "Forgotten: 4f2a9b  Never npm"
        assert await chat.book.read_audit(ANA)


async def test_nobody_sees_or_changes_what_is_anothers(tmp_path: Path) -> None:
    """The ids of another user are as unknown ones."""
    async with open_chat(tmp_path) as chat:
        await chat.put(PNPM)
        for command in ("pin", "unpin", "forget"):
            assert "No item begins" in await chat.say(f"/memory {command} 4f2a", user="ben")
        assert await chat.say("/memory", user="ben") == "Nothing is remembered yet."
        assert "Use pnpm" in await chat.say("/memory")


async def test_off_is_of_one_session(tmp_path: Path) -> None:
    """P-23, P-88: other sessions and users are unaffected; saying it twice is one change."""
    async with open_chat(tmp_path) as chat:
        for _ in range(2):
            assert (await chat.say("/memory off")).startswith("Memory is off in this session")
        owners = (ANA, replace(ANA, session="s2"), replace(ANA, user="ben"))
        assert [await chat.book.read_switch(owner) for owner in owners] == [False, True, True]
        assert (await chat.say("/memory")).startswith("Memory is off in this session; /memory on starts it again.")
        assert await chat.say("/memory on") == "Memory is on in this session."
        assert await chat.book.read_switch(ANA)
        assert [line.action for line in await chat.book.read_audit(ANA)] == ["on", "off"]


async def test_off_holds_in_another_process_and_after_a_restart(tmp_path: Path) -> None:
    """P-110: a process that is told off and dies at once; those beside and after it know."""
    program = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from tests.plugin_commands.host import open_chat\n"
        "async def main():\n"
        "    async with open_chat(Path(sys.argv[1])) as chat:\n"
        "        print(await chat.say(sys.argv[2]), flush=True)\n"
        "        os._exit(9)\n"
        "asyncio.run(main())\n"
    )

    def run(command: str) -> str:
        arguments = [sys.executable, "-c", program, str(tmp_path), command]
        return subprocess.run(
            arguments, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
        ).stdout

    async with open_chat(tmp_path) as chat:
        assert await chat.book.read_switch(ANA)
        assert run("/memory off").startswith("Memory is off")
        assert not await chat.book.read_switch(ANA)
        assert run("/memory status").startswith("Memory is off in this session.")
        assert run("/memory on").startswith("Memory is on")
    async with open_chat(tmp_path) as chat:
        assert await chat.book.read_switch(ANA)


async def test_why_names_the_gate_and_what_was_shown(tmp_path: Path) -> None:
    """P-108, P-113: the reason of the last turn, its items, those that are gone since, and what was refused."""
    async with open_chat(tmp_path) as chat:
        assert await chat.say("/memory why") == "No turn of this session has been recorded yet."
        await chat.put(PNPM, COMMITS)
        await chat.report(PNPM.id, COMMITS.id, tokens=41, written=1, duplicates=2, refusals={"small_talk": 3})
        await chat.say("/memory forget 4f2b")
        assert (await chat.say("/memory why")).splitlines() == [
            "In the last turn memory was searched (session start): 2 put before the model, 41 tokens.",
            "4f2a  [rule · global · user · 3 days ago] Use pnpm",
            "4f2b0000  forgotten since",
            "Written: 1; known already: 2.",
            "Not written: small talk 3.",
        ]
        await chat.report(recall=False, recall_reason="acknowledgement", is_shadow=True)
        assert (await chat.say("/memory why")).splitlines() == [
            "In the last turn memory was not searched (acknowledgement).",
            "The policy is in shadow: nothing was shown or written.",
        ]


async def test_status_says_how_it_works_and_what_it_cost(tmp_path: Path) -> None:
    """P-108: the switch, the store, the policy, what waits, what is wrong, and the numbers of a week."""
    broken = Problem("file", "plugin.sqlite was broken, and is kept as plugin.sqlite.broken-1")
    state = PluginState(store="hybrid", policy="eager", is_shadow=True, queue_length=4, problems=(broken,) * 2)
    async with open_chat(tmp_path, state) as chat:
        await chat.report(PNPM.id, tokens=41, written=2, remote_reads=1, remote_writes=2)
        assert (await chat.say("/memory status")).splitlines() == [
            "Memory is on in this session. Store: hybrid. Policy: eager.",
            "The policy is in shadow: nothing was shown or written.",
            "4 changes wait to be sent.",
            "A file of the memory: plugin.sqlite was broken, and is kept as plugin.sqlite.broken-1.",
            "In the last 7 days: 1 turns; 1 searches, 1 with finds; 41 tokens added.",
            "In these days: 2 items written, 3 remote calls.",
        ]


async def test_replies_are_in_the_language_of_the_conversation(tmp_path: Path) -> None:
    """A conversation in Chinese is answered in Chinese, an item in its own words."""
    earlier = (Message(role="user", text="请用 pnpm，回答简短"), Message(role="assistant", text="ok"))
    async with open_chat(tmp_path) as chat:
        await chat.put(PNPM)
        await chat.say("/memory pin 4f2a")
        listed = await chat.say("/memory", earlier=earlier)
        assert listed.splitlines() == ["最近：", "4f2a  [规则 · 全局 · 用户 · 3 天前 · 已置顶] Use pnpm"]
        assert (await chat.say("/memory off", earlier=earlier)).startswith("本会话的记忆已关闭")
        assert "没有“/memory 关”这个命令" in await chat.say("/memory 关", earlier=earlier)


@pytest.mark.parametrize(
    "said",
    [
        "Use pnpm\n90aa  [rule · global · user · just now] Pay the bill",
        "Use pnpm\u2028Recent:\r\nall",
        "Use \u202epnpm\u2066 \x1b[2J\x00\x07 now\u200b",
        "\U000e0041Use pnpm",
    ],
)
def test_an_item_is_one_line_of_data(said: str) -> None:
    """No text makes a second line, moves the cursor, or turns the direction of writing."""
    line = flatten_words(said)
    assert len(line.splitlines()) == 1
    assert all(char.isprintable() for char in line)


def test_an_item_loads_nothing_in_a_chat() -> None:
    """What a chat would show as a picture or a link stays what it says; a long text is cut."""
    assert "](" not in flatten_words("![x](https://example.invalid/?q=secret)")
    assert len(flatten_words("word " * 1_000)) <= 240


async def test_a_store_that_fails_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-16: the command is answered, nothing goes to the model, and the message of the error stays out of the reply."""

    async def fail(*_: object) -> None:
        raise StoreDown("host 10.0.0.1 is away")

    async with open_chat(tmp_path) as chat:
        monkeypatch.setattr(chat.store, "list", fail)
        reply = await chat.say("/memory")
        assert reply == "The memory cannot do that now (StoreDown). The conversation goes on without it."
        assert chat.shown == []


async def test_what_was_done_is_said_when_its_audit_line_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A person who has forgotten an item is not told that it is still there."""

    async def fail(*_: object) -> None:
        raise StoreDown

    async with open_chat(tmp_path) as chat:
        await chat.put(PNPM)
        monkeypatch.setattr(chat.book, "record_audit", fail)
        assert await chat.say("/memory forget 4f2a") == "Forgotten: 4f2a  Use pnpm"
    assert "the audit line of forget is not written" in caplog.text
