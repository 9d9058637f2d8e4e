"""What each memory does, found out by calls: every answer names the call and what came back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from benchmarks.peers.peer import Found, Item, NotOffered, Peer, PeerFailed
from benchmarks.peers.traces import find_places
from muniment.memory.errors import MunimentError

K = 10
NO_CALL = "no such call"
_TWICE = "I keep a tortoise called Quenvalor."
_OLD, _NEW, _WHERE = "I live in Brantholme.", "I live in Oskervik now.", "Where do I live?"
_PRIVATE = "I play the Zembrachord on Sundays."
_WRONG, _RIGHT = "I work as a falconer in Thrandale.", "The user works as a glazier in Thrandale."
_GONE, _GONE_WORD = "I collect stamps from Mirovance.", "Mirovance"
_ERASED, _ERASED_WORD = "I am learning to cook Pelluchard.", "Pelluchard"


@dataclass(frozen=True, slots=True)
class Fact:
    """An answer in a few words, and the calls that prove it with what they returned."""

    answer: str
    proof: str


@dataclass(frozen=True, slots=True)
class Bench:
    """A peer, and where what it keeps can be read past it."""

    peer: Peer
    dsn: str | None
    folder: Path

    async def find(self, user: str, text: str, word: str) -> list[Found]:
        """Return the hits of a search that have a word."""
        hits = (await self.peer.search(user, text, K)).result
        return [one for one in hits if word.lower() in one.text.lower()]

    async def add(self, user: str, text: str) -> str:
        """Add a statement; the key is the text."""
        return (await self.peer.add(user, Item(text, text))).result


Probe = Callable[[Bench], Awaitable[Fact]]


async def probe_twice(bench: Bench) -> Fact:
    """Add a statement twice, and count it."""
    for _ in range(2):
        await bench.add("twice", _TWICE)
    hits = await bench.find("twice", _TWICE, "Quenvalor")
    return Fact(_count(len(hits), "kept once", "kept twice"), f"add, add, search: {len(hits)} hits have it")


async def probe_value(bench: Bench) -> Fact:
    """Say where one lives, then somewhere else, as one would in a talk; ask."""
    await bench.add("value", _OLD)
    await bench.add("value", _NEW)
    old = await bench.find("value", _WHERE, "Brantholme")
    new = await bench.find("value", _WHERE, "Oskervik")
    answers = {(0, 1): "only the new one", (1, 1): "both", (1, 0): "only the old one", (0, 0): "neither"}
    proof = f"add, add, search: the old one in {len(old)} hits, the new one in {len(new)}"
    return Fact(answers[min(1, len(old)), min(1, len(new))], proof)


async def probe_users(bench: Bench) -> Fact:
    """Let another user search for the very words."""
    await bench.add("owner", _PRIVATE)
    own = await bench.find("owner", _PRIVATE, "Zembrachord")
    other = await bench.find("stranger", _PRIVATE, "Zembrachord")
    answer = "apart" if own and not other else "not apart" if other else "not found by its owner"
    return Fact(answer, f"add; search by its owner: {len(own)} hits, by another: {len(other)}")


async def probe_history(bench: Bench) -> Fact:
    """Change a statement by the library's own call, and ask what it said."""
    id_ = await bench.add("history", _WRONG)
    if not id_:
        return Fact("nothing was kept", "add: no id")
    await bench.peer.change("history", id_, _RIGHT)
    told = await bench.peer.history("history", id_)
    has = [any(word in one for one in told) for word in ("falconer", "glazier")]
    answer = {(True, True): "old and new words", (True, False): "the old words", (False, True): "the new words"}
    return Fact(answer.get((has[0], has[1]), "neither"), f"add, change, history: {len(told)} entries")


async def probe_deleted(bench: Bench) -> Fact:
    """Delete a statement, search for it, and read every table for its word."""
    return await _probe_removal(bench, bench.peer.delete, "delete", _GONE, _GONE_WORD)


async def probe_erased(bench: Bench) -> Fact:
    """The same with the most thorough call there is."""
    return await _probe_removal(bench, bench.peer.erase, "erase", _ERASED, _ERASED_WORD)


PROBES: tuple[tuple[str, Probe], ...] = (
    ("the same statement, twice", probe_twice),
    ("a value that has changed: found", probe_value),
    ("two users", probe_users),
    ("history of a change", probe_history),
    ("after a delete", probe_deleted),
    ("after the most thorough removal", probe_erased),
)


async def find_facts(bench: Bench) -> dict[str, Fact]:
    """Return an answer to each of `PROBES`. A call that fails is an answer, too; a peer that is gone fails them all."""
    found = {}
    for name, probe in PROBES:
        try:
            found[name] = await probe(bench)
        except NotOffered as error:
            found[name] = Fact(NO_CALL, str(error))
        except (PeerFailed, MunimentError, psycopg.Error) as error:
            found[name] = Fact("failed", str(error))
    return found


async def _probe_removal(
    bench: Bench, remove: Callable[[str, str], Awaitable[None]], call: str, text: str, word: str
) -> Fact:
    id_ = await bench.add(call, text)
    before = await bench.find(call, text, word)
    if not id_ or not before:
        return Fact("nothing was kept", f"add: id {id_ or 'none'}; search: {len(before)} hits")
    await remove(call, id_)
    after = await bench.find(call, text, word)
    places = await find_places(bench.dsn, bench.folder, word)
    where = f"its word remains in {len(places)} of its tables" if places else "no row has its word"
    read = f"; rows that have its word: {', '.join(places) or 'none'}"
    return Fact(f"{'still found' if after else 'not found'}; {where}", f"add, {call}, search: {len(after)} hits{read}")


def _count(number: int, once: str, more: str) -> str:
    return "not found" if not number else once if number == 1 else more
