"""Commands, switches and policies of the plugin itself, in a host over the local store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from muniment.chain import Host, Identity, Message, TurnContext, TurnOutput, build_answer
from muniment.memory.config.settings import load_settings
from muniment.plugin.book.opening import make_file_book
from muniment.plugin.domain.book import PluginStats
from muniment.plugin.domain.policy import draw_share
from muniment.plugin.opening import open_plugin
from tests.plugin_commands.host import AT

PREFERENCE = "I prefer short answers."
TASK = "Please set up the web app"


@dataclass
class PluginHost:
    """A host with the plugin, and what its model was shown."""

    host: Host
    folder: Path
    texts: list[str] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    async def say(self, text: str, *, session: str, later: float = 0) -> str:
        """Return the answer to a message, so many hours later, and what was added to its prompt in `texts`."""
        turn = TurnContext(
            turn_id=f"t{next(self.numbers)}",
            identity=Identity(user="ana", session=session, project="web"),
            messages=(Message(role="user", text=text),),
            at=AT + timedelta(hours=later),
        )
        self.texts.clear()

        async def answer(context: TurnContext) -> TurnOutput:
            self.texts += [addition.text for addition in context.additions]
            return build_answer("model", turn.at)

        said = (await self.host.run_turn(turn, answer)).text
        await self.host.drain(20)
        return said


@asynccontextmanager
async def open_host(folder: Path, **plugin: Any) -> AsyncIterator[PluginHost]:
    """A host whose files are in a folder, with these settings of the plugin."""
    settings = _make_settings(folder, **plugin)
    async with open_plugin(settings) as opened, Host([opened], before_seconds=30) as host:
        yield PluginHost(host, folder)


async def read_stats(folder: Path) -> PluginStats:
    """What the book of the folder has counted."""
    book = make_file_book(_make_settings(folder))
    try:
        return await book.read_stats("default", None, AT - timedelta(days=1))
    finally:
        await book.close()


def _make_settings(folder: Path, **plugin: Any) -> Any:
    settings = load_settings({"MUNIMENT_HOME": str(folder)})
    changed = {"enabled": True, "vectors": False, "recall_seconds": 30.0} | plugin
    return settings.model_copy(update={"plugin": settings.plugin.model_copy(update=changed)})


async def test_off_stops_reading_and_writing_in_its_session(tmp_path: Path) -> None:
    """P-23, P-110: nothing is shown or written there, after a restart neither; another session has both; `on` brings
    them back."""
    async with open_host(tmp_path) as host:
        await host.say(PREFERENCE, session="first")
        assert (await host.say("/memory off", session="quiet")).startswith("Memory is off in this session")
        await host.say("My name is Zirconella.", session="quiet")
        assert host.texts == []
    async with open_host(tmp_path) as host:
        await host.say(TASK, session="quiet", later=1)
        assert host.texts == []
        await host.say("My name is Quillon.", session="quiet", later=1)
        listed = await host.say("/memory", session="other", later=1)
        assert "short answers" in listed
        assert "Zirconella" not in listed
        assert "Quillon" not in listed
        await host.say(TASK, session="other", later=1)
        assert "short answers" in "".join(host.texts)
        assert await host.say("/memory on", session="quiet", later=2) == "Memory is on in this session."
        await host.say(TASK, session="quiet", later=2)
        assert "short answers" in "".join(host.texts)


async def test_why_is_about_the_last_turn_of_the_model(tmp_path: Path) -> None:
    """P-108: what was injected and by which gate; the command itself is no turn."""
    async with open_host(tmp_path) as host:
        await host.say(PREFERENCE, session="first")
        await host.say(TASK, session="second", later=1)
        for _ in range(2):
            first, item, *_ = (await host.say("/memory why", session="second", later=1)).splitlines()
            assert first.startswith("In the last turn memory was searched (session start): 1 put before the model")
            assert "short answers" in item
        assert "pinned" not in await host.say("/memory", session="second", later=1)
        shown = (await host.say("/memory", session="second", later=1)).splitlines()
        assert shown[0] == "Active (before the model in the last turn):"
        assert (await host.say(f"/memory forget {shown[1][:4]}", session="second", later=1)).startswith("Forgotten: ")
        assert "forgotten since" in await host.say("/memory why", session="second", later=1)
        await host.say(TASK, session="third", later=2)
        assert "short answers" not in "".join(host.texts)


async def test_a_shadow_counts_and_neither_shows_nor_writes(tmp_path: Path) -> None:
    """P-118: what it would have shown and written is in the book, by the policy's name with `(shadow)`."""
    async with open_host(tmp_path) as host:
        await host.say(PREFERENCE, session="first")
    async with open_host(tmp_path, shadow=True) as host:
        await host.say(TASK, session="second", later=1)
        assert host.texts == []
        await host.say("My name is Zirconella.", session="second", later=1)
        assert "Zirconella" not in await host.say("/memory", session="second", later=1)
        assert "in shadow" in await host.say("/memory status", session="second", later=1)
    shadow = (await read_stats(tmp_path)).policies["default (shadow)"]
    assert (shadow.turns, shadow.hits >= 1, shadow.tokens > 0) == (2, True, True)


async def test_sessions_fall_into_one_of_two_policies(tmp_path: Path) -> None:
    """P-33, P-104: by a share that is the same in every process; each is counted by its name."""
    names = [f"session {number}" for number in range(12)]
    chosen = [name for name in names if draw_share(name) < 0.5]
    assert 0 < len(chosen) < len(names)
    both = {"policies": {"tight": {"tokens": 20.0}}, "other_policy": "tight", "other_share": 0.5}
    for part in (names[:6], names[6:]):
        async with open_host(tmp_path, **both) as host:
            for name in part:
                await host.say(TASK, session=name)
                expected = "tight" if name in chosen else "default"
                assert f"Policy: {expected}." in await host.say("/memory status", session=name)
    stats = await read_stats(tmp_path)
    assert {name: each.turns for name, each in stats.policies.items()} == {
        "default": len(names) - len(chosen),
        "tight": len(chosen),
    }
