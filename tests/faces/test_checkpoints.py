"""`muniment checkpoints` and `muniment stats checkpoints`: what they show, remove and bring in."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.faces.conftest import Muniment


def talk(muniment: Muniment, user: str, turns: int, thread: str = "main") -> None:
    said = "".join(f"I own {number} bikes.\n" for number in range(turns))
    assert muniment("chat", "--json", "--user", user, "--thread", thread, said=said).code == 0


def test_what_threads_take_and_what_can_go(muniment: Muniment, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest first, a user's own by name, whole in a terminal; a dry run tells what a real one then frees."""
    talk(muniment, "ana", 8)
    talk(muniment, "bo", 2)
    shown = muniment("stats", "checkpoints", "--json").json
    assert shown["threads"] == 2
    assert [one["checkpoints"] for one in shown["largest"]] == [8, 2]
    assert shown["bytes"] == sum(one["bytes"] for one in shown["largest"])
    (own,) = muniment("stats", "checkpoints", "--user", "bo", "--json").json["largest"]
    assert own == shown["largest"][1]
    assert len(muniment("stats", "checkpoints", "--limit", "1").out.splitlines()) == 1
    with monkeypatch.context() as watched:
        watched.setattr(sys.stdout, "isatty", lambda: True)
        lines = muniment("stats", "checkpoints", COLUMNS="80").out.splitlines()
    assert [line.split()[-1] for line in lines[1:3]] == [one["thread"] for one in shown["largest"]]

    said = muniment("checkpoints", "prune", "--keep", "1", "--dry-run", "--json").json
    assert (said["threads"], said["checkpoints"]) == (2, 8)
    assert muniment("checkpoints", "prune", "--keep", "1", "--user", "bo", "--json").json["checkpoints"] == 1
    one = muniment("checkpoints", "prune", "--keep", "1", "--user", "ana", "--thread", "main")
    assert one.out.startswith("Removed 7 checkpoints of 1 thread, with ")
    left = muniment("stats", "checkpoints", "--json").json
    assert [one["checkpoints"] for one in left["largest"]] == [1, 1]
    assert shown["bytes"] - left["bytes"] == pytest.approx(said["bytes"], rel=0.01)
    assert muniment("checkpoints", "prune", "--keep", "1").out == "Nothing to remove.\n"
    talk(muniment, "ana", 1)


def test_whole_threads_that_nobody_touches(muniment: Muniment) -> None:
    """They go with `--older-than` only."""
    talk(muniment, "ana", 1)
    assert muniment("checkpoints", "prune", "--older-than", "1").out == "Nothing to remove.\n"
    gone = muniment("checkpoints", "prune", "--older-than", "0", "--json").json
    assert (gone["whole"], gone["checkpoints"]) == (1, 1)
    assert muniment("stats", "checkpoints", "--json").json == {"user": None, "threads": 0, "bytes": 0, "largest": []}


@pytest.mark.parametrize(
    "wrong", [("prune", "--thread", "none"), ("prune", "--keep", "0"), ("migrate", "no-such-file")]
)
def test_what_is_wrong_is_named(muniment: Muniment, wrong: tuple[str, ...]) -> None:
    """A thread that is not there, a number that is none, a file that cannot be read."""
    said = muniment("checkpoints", *wrong)
    assert (said.code, wrong[-1] in said.err or wrong[-2] in said.err) == ((4 if "none" in wrong else 2), True)


def test_a_worker_prunes_when_it_is_time(muniment: Muniment, tmp_path: Path) -> None:
    """By the settings, once in an interval however many ask; not before."""
    config = tmp_path / "muniment.yaml"
    config.write_text("checkpoints: {keep: 1}\nsession_ledger: {cleanup_interval_seconds: 1000}\n")
    quiet = tmp_path / "quiet.yaml"
    quiet.write_text("session_ledger: {run_on_startup: false}\n")
    for _ in range(2):
        said = "I own a bike.\nI own a boat.\n"
        assert muniment("chat", "--json", "--user", "ana", said=said, MUNIMENT_CONFIG=str(quiet)).code == 0
        assert muniment("work", "--drain", "--json", MUNIMENT_CONFIG=str(config)).code == 0
    (thread,) = muniment("stats", "checkpoints", "--json").json["largest"]
    assert thread["checkpoints"] == 1 + 2


def saved() -> InMemorySaver:
    """Two threads of a graph of somebody's own, in memory."""

    async def reply(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You said {len(state['messages'])} things.")]}

    async def talk() -> InMemorySaver:
        saver = InMemorySaver()
        graph = StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply").compile(checkpointer=saver)
        for thread in ("x", "y"):
            for text in ("Hello", "I live in Porto."):
                asked: Any = {"messages": [HumanMessage(text)]}
                await graph.ainvoke(asked, {"configurable": {"thread_id": thread}})
        return saver

    return asyncio.run(talk())


def test_threads_of_an_in_memory_saver_are_brought_in(muniment: Muniment, tmp_path: Path) -> None:
    """From the development server's folder and from a file; again it only compares."""
    saver = saved()
    parts = {"storage": dict(saver.storage), "writes": dict(saver.writes), "blobs": dict(saver.blobs)}
    folder = tmp_path / ".langgraph_api"
    folder.mkdir()
    for number, part in enumerate(parts.values(), 1):
        (folder / f".langgraph_checkpoint.{number}.pckl").write_bytes(pickle.dumps(part, 2))
    first = muniment("checkpoints", "migrate", str(tmp_path), "--json").json
    assert (first["threads"], first["checkpoints"], first["there"]) == (2, 12, 0)
    one = tmp_path / "saver.pickle"
    one.write_bytes(pickle.dumps(parts))
    again = muniment("checkpoints", "migrate", str(one))
    assert again.out == "Copied and compared 0 checkpoints with 0 writes; 2 threads in all. 12 were there already.\n"
    assert muniment("stats", "checkpoints", "--json").json["threads"] == 2


def test_threads_follow_into_a_database_of_their_own(muniment: Muniment, empty_database_url: str) -> None:
    """Copied, compared, and with `--remove` gone where they were; the conversation goes on. Without such a database:
    refused."""
    assert muniment("checkpoints", "migrate").code == 2
    refused = muniment("checkpoints", "migrate", "--former")
    assert (refused.code, "MUNIMENT_CHECKPOINTS_URL" in refused.err) == (2, True)
    talk(muniment, "ana", 2)
    moved = {"MUNIMENT_CHECKPOINTS_URL": empty_database_url}
    first = muniment("checkpoints", "migrate", "--former", "--json", **moved).json
    assert (first["threads"], first["checkpoints"], first["there"]) == (1, 2, 0)
    again = muniment("checkpoints", "migrate", "--former", "--remove", **moved)
    assert again.out.endswith("2 were there already. They are gone where they were.\n")
    assert muniment("stats", "checkpoints", "--json").json["threads"] == 0
    assert muniment("stats", "checkpoints", "--user", "ana", "--json", **moved).json["largest"][0]["checkpoints"] == 2


def test_a_pickle_cannot_run_anything(muniment: Muniment, tmp_path: Path) -> None:
    """What it would call is named and not called."""
    done = tmp_path / "done"

    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(done),)

    trap = tmp_path / "trap.pickle"
    trap.write_bytes(pickle.dumps({"storage": Trap(), "writes": {}, "blobs": {}}))
    said = muniment("checkpoints", "migrate", str(trap))
    assert (said.code, "posix.mkdir" in said.err, done.exists()) == (2, True, False)
