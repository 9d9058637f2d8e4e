"""The benchmark of peers: its protocol, its facts, and peers that crash, hang, babble or do not install."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import facts, race, report, traces
from benchmarks.peers.child import Child, open_child
from benchmarks.peers.environments import ensure_environment
from benchmarks.peers.facts import Bench, find_facts
from benchmarks.peers.peer import Found, Item, NotOffered, PeerFailed
from benchmarks.peers.ring import Ring
from benchmarks.peers.vectors import Vectors
from benchmarks.peers.workload import Asked, find_file, read_workload
from muniment.memory.domain.ids import Vector
from muniment.memory.errors import BadInput
from tests.shape.sources import ROOT

Open = Callable[..., AbstractAsyncContextManager[Child]]


class Counted:
    """An embedder that counts what it makes."""

    name = "counted"

    def __init__(self) -> None:
        self.made: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        self.made += texts
        return [np.array([1.0, len(text)], dtype=np.float32) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_documents([text]))[0]

    async def close(self) -> None: ...


@pytest.fixture
def embedder() -> Counted:
    return Counted()


@pytest.fixture
def vectors(embedder: Counted) -> Vectors:
    return Vectors(embedder)


@pytest.fixture
def open_fake(tmp_path: Path, vectors: Vectors) -> Open:
    def opened(patience: float = 20.0, **given: Any) -> AbstractAsyncContextManager[Child]:
        command = [sys.executable, "-m", "tests.fake_peer"]
        return open_child(
            "fake", command, vectors, tmp_path, given, patience=patience, environment={"PYTHONPATH": str(ROOT)}
        )

    return opened


async def test_a_peer_is_asked_over_a_pipe(open_fake: Open, embedder: Counted, tmp_path: Path) -> None:
    """It stores and finds, asks for each vector or knows them beforehand, and what it prints breaks nothing."""
    async with open_fake() as peer:
        assert (await peer.load("ana", [Item("1", "red tea"), Item("2", "blue 茶")])).result == 2
        found = await peer.search("ana", "blue", 1)
        assert found.result == [Found("2", "2", "blue 茶")]
        assert found.seconds > 0
        assert embedder.made == ["red tea", "blue 茶", "blue"]
        file = tmp_path / "vectors.json"
        file.write_text(json.dumps([[True, "known", [1.0, 2.0]]]), encoding="utf-8")
        await peer.know(file)
        await peer.search("ana", "known", 1)
        await peer.search("ana", "new", 1)
        assert embedder.made[3:] == ["new"]
        with pytest.raises(NotOffered, match="history"):
            await peer.history("ana", "1")
        assert [one.key for one in (await peer.search("ana", "red", 1)).result] == ["1"]
    assert "a library that prints" in (tmp_path / "log.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("word", "told"),
    [("crash", "add: ended with 7"), ("hang", "add: no answer within"), ("babble", "add: broke the protocol")],
)
async def test_a_peer_that_fails_says_how(open_fake: Open, word: str, told: str) -> None:
    """A crash, a silence and a line that is no answer are each a reason, and no call after it waits."""
    async with open_fake(patience=4.0 if word == "hang" else 20.0) as peer:
        with pytest.raises(PeerFailed, match=told):
            await peer.add("ana", Item("1", word))
        with pytest.raises(PeerFailed, match="search"):
            await peer.search("ana", "anything", 1)


async def test_a_peer_that_does_not_start_says_so(tmp_path: Path, vectors: Vectors) -> None:
    """A command that is not there, and one that ends at once."""
    with pytest.raises(PeerFailed, match="does not start"):
        async with open_child("none", [str(tmp_path / "nothing")], vectors, tmp_path, {}):
            pass
    ends = [sys.executable, "-c", "raise SystemExit('its library is broken')"]
    with pytest.raises(PeerFailed, match="open: ended with 1: its library is broken"):
        async with open_child("ends", ends, vectors, tmp_path, {}):
            pass


async def test_the_facts_are_what_the_calls_show(open_fake: Open, tmp_path: Path) -> None:
    """Each answer is found out by calls: one who keeps twice, has no history and leaves words behind is told so."""
    async with open_fake(leaves=True) as peer:
        found = await find_facts(Bench(peer, None, tmp_path))
    assert {probe: fact.answer for probe, fact in found.items()} == {
        "the same statement, twice": "kept twice",
        "a value that has changed: found": "both",
        "two users": "apart",
        "history of a change": facts.NO_CALL,
        "after a delete": "not found; its word remains in 1 of its tables",
        "after the most thorough removal": "not found; no row has its word",
    }
    assert "kept.db, removed: 1" in found["after a delete"].proof


async def test_a_peer_that_ends_among_the_facts_fails_them(open_fake: Open, tmp_path: Path) -> None:
    """Facts of a peer that is gone are failures, not answers."""
    async with open_fake() as peer:
        await peer.stop()
        found = await find_facts(Bench(peer, None, tmp_path))
    assert {fact.answer for fact in found.values()} == {"failed"}


async def test_who_fails_leaves_the_ring_and_the_others_go_on(
    open_fake: Open, vectors: Vectors, tmp_path: Path
) -> None:
    """A peer that crashes in its turn is a row with the reason; the race goes on without it."""
    done: list[str] = []
    async with open_fake() as peer:
        ring = Ring(
            vectors,
            tmp_path / "vectors.json",
            {"one": Bench(peer, None, tmp_path), "fake": Bench(peer, None, tmp_path)},
        )

        async def call(name: str, asked: Any, word: str) -> None:
            if name == "fake":
                await asked.add("ana", Item("1", word))
            done.append(name)

        await race.take_turns(ring, "writing", ["fine"] * race.BLOCK + ["crash"] * race.BLOCK + ["fine"], call)
    assert list(ring.benches) == ["one"]
    assert ring.failed == {"fake": "add: ended with 7"}
    assert done.count("one") == 2 * race.BLOCK + 1


async def test_what_does_not_install_says_why(tmp_path: Path) -> None:
    """Requirements that pip refuses are a reason; a folder that is no environment is left as it is."""
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("not a requirement at all\n", encoding="utf-8")
    with pytest.raises(PeerFailed, match="does not install: ERROR"):
        await ensure_environment(tmp_path / "made", wrong)
    own = tmp_path / "own"
    own.mkdir()
    (own / "letter.txt").write_text("dear Ana", encoding="utf-8")
    with pytest.raises(PeerFailed, match="is left as it is"):
        await ensure_environment(own, wrong)
    assert (own / "letter.txt").read_text(encoding="utf-8") == "dear Ana"


async def test_an_embedder_works_again_only_where_it_is_timed(vectors: Vectors, embedder: Counted) -> None:
    """A known vector costs nothing; while it is timed, the embedder has its work each time, and the vector stays."""
    await vectors.prepare(["red"], ["what?"])
    before = await vectors.embed_query("what?"), (await vectors.embed_documents(["red"]))[0]
    assert embedder.made == ["red", "what?"]
    vectors.working = True
    after = await vectors.embed_query("what?"), (await vectors.embed_documents(["red"]))[0]
    assert len(embedder.made) == 4
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_questions_are_asked_only_where_their_answers_are_loaded() -> None:
    """The first statements, the questions they answer, and other texts to write."""
    work = read_workload(ROOT / "benchmarks/data/everyday.json", 20, 9, 6)
    known = {item.key for _, items in work.loads for item in items}
    assert (work.statements, len(work.writes)) == (20, 6)
    assert 0 < len(work.asked) <= 9
    assert all(one.evidence and one.evidence <= known for one in work.asked)
    assert not {item.text for item in work.writes} & {item.text for _, items in work.loads for item in items}
    assert find_file().exists()
    with pytest.raises(BadInput, match="statements"):
        read_workload(ROOT / "benchmarks/data/everyday.json", 10**6, 9, 6)


def _make_report() -> dict[str, Any]:
    ours, theirs = race.Row(kept=2, written=2, import_seconds=0.5, bytes=2048), race.Row(1, 1, 1.0, 1024)
    asked = Asked("ana", "what?", frozenset({"1", "2"}))
    ours.note_search(asked, [Found("a", "1", "red"), Found("b", "2", "blue")])
    theirs.note_search(asked, [Found("a", "1", "red")])
    for row, seconds in ((ours, 0.01), (theirs, 0.002)):
        for name in report.TIMES:
            row.note_time(name, seconds)
    rows = {"ours": ours, "a <peer>": theirs}
    machine = {"date": "2026-01-02", "cores": 2, "cpu": "a CPU", "load": 0.1, "system": "Linux", "python": "3.11",
        "postgres": "18", "shared_buffers": "128MB", "vector_extension": "0.8", "packages": {}}  # fmt: skip
    return {
        "peers": {name: race.make_figures(row, ours) for name, row in rows.items()},
        "facts": {name: {"two users": {"answer": "apart", "proof": "add, search"}} for name in rows},
        "failed": {"gone": "crashed"}, "absent": {"far": "needs a server"}, "file": "f.json", "statements": 2,
        "questions": 1, "versions": {"peer": "1.0"}, "machine": machine,
    }  # fmt: skip


def test_the_document_says_what_was_measured(tmp_path: Path) -> None:
    """Figures, facts with their calls, and who did not take part stand between the marks, better or not."""
    found = _make_report()
    assert found["peers"]["ours"]["recall@5"] == 1.0
    assert found["peers"]["a <peer>"]["recall@5"] == 0.5
    assert found["peers"]["a <peer>"]["search"]["ratio_p50"] == 0.2
    doc, out = tmp_path / "x.md", tmp_path / "x.svg"
    doc.write_text(f"above\n{report.MARKS[0]}\nformer\n{report.MARKS[1]}\nbelow\n", encoding="utf-8")
    report.write_document(found, out, doc, "the command")
    text = doc.read_text(encoding="utf-8")
    assert text.startswith("above\n")
    assert text.endswith("below\n")
    assert "former" not in text
    for told in (
        "| a <peer> | 50.0 |",
        "| gone | crashed |",
        "| far | needs a server |",
        "two users: add, search",
        "the command",
    ):
        assert told in text
    assert "a &lt;peer&gt;" in out.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="marks"):
        report.write_document(found, out, out, "the command")


async def test_words_are_found_in_every_kind_of_file(tmp_path: Path) -> None:
    """A word in another file's bytes is a place, too; its log and the vectors are not what a peer keeps."""
    (tmp_path / "notes.txt").write_text("Mirovance, and MIROVANCE", encoding="utf-8")
    (tmp_path / "log.txt").write_text("Mirovance", encoding="utf-8")
    assert await traces.find_places(None, tmp_path, "Mirovance") == ["notes.txt: 2"]
    assert await traces.measure_bytes(None, tmp_path) == 24
