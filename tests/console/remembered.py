"""What a test of the pages of memories needs: memories of ana in the database of a service, and their addresses."""

import re
from typing import Any
from uuid import UUID

import httpx

from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from tests.conftest import alone
from tests.console.visitor import read_text
from tests.engine import NOON, engine
from tests.http.conftest import Serving

HOSTILE = {
    "script": "<script>alert(1)</script> was pasted.",
    "image": '"><img src=x onerror=alert(1)> broke the page.',
    "template": "{{ 7*7 }} ${7*7} <%= 7 %> is template syntax.",
    "chinese": "记" * 280,
    "arabic": "هذا نص عربي طويل مع English inside.",
    "zero width": "zero\u200bwidth\u200djoiners here.",
    "unbroken": "x" * 10_000,
}
LISBON, TEA = "The user lives in Lisbon", "The user drinks green tea."


def write(serving: Serving, write_all: Any) -> Any:
    """Do something with the engine of the service's database."""

    async def work() -> Any:
        async with engine(serving.environment["MUNIMENT_OWNER_URL"]) as memory:
            return await write_all(memory, Scope(tenant=serving.tenant, owner="ana", thread="t1", session="t1"))

    return alone(work())


def keep_all(serving: Serving, texts: dict[str, str], **more: Any) -> dict[str, UUID]:
    """Keep texts as they stand, and return the ids of their memories by name."""

    async def keep(memory: Memory, scope: Scope) -> dict[str, UUID]:
        found = {}
        for name, text in texts.items():
            turn = Turn.make(session="t1", key=name, role="user", text=f"Ana said: {text}", at=NOON, thread="t1")
            candidate = Candidate(text=text, category="activity", kind="episodic", turns=(TurnId(turn.id),), **more)
            receipt = await memory.keep_candidates(scope, [candidate], [turn])
            found[name] = UUID(str(receipt.changes[0].after.id))
        return found

    found: dict[str, UUID] = write(serving, keep)
    return found


def keep_again(serving: Serving, name: str, text: str) -> int:
    """Keep a text that `keep_all` has kept from the same turn once more, and return how many memories it changed."""

    async def keep(memory: Memory, scope: Scope) -> int:
        turn = Turn.make(session="t1", key=name, role="user", text=f"Ana said: {text}", at=NOON, thread="t1")
        candidate = Candidate(text=text, category="activity", kind="episodic", turns=(TurnId(turn.id),))
        receipt = await memory.keep_candidates(scope, [candidate], [turn])
        return len(receipt.changes)

    changed: int = write(serving, keep)
    return changed


def fill(serving: Serving, texts: list[str]) -> None:
    """Keep texts without comparing them with what is known."""

    async def ingest(memory: Memory, scope: Scope) -> None:
        await memory.ingest(scope, [Candidate(text=text, category="activity", kind="episodic") for text in texts])

    write(serving, ingest)


def learn(serving: Serving, text: str) -> UUID:
    async def work(memory: Memory, scope: Scope) -> UUID:
        turn = Turn.make(session="t1", key=text, role="user", text=text, at=NOON, thread="t1")
        receipt = await memory.learn(scope, turn)
        hashes = memory.conversation.shingle_hashes(receipt.changes[0].after.text)
        answer = Turn.make(
            session="t1", key=f"re {text}", role="assistant", text="Noted.", at=NOON, thread="t1", recalled=hashes
        )
        await memory.conversation.record(scope, [answer])
        return UUID(str(receipt.changes[0].after.id))

    id_: UUID = write(serving, work)
    return id_


def page(id_: UUID, rest: str = "") -> str:
    return f"/console/memories/{id_}{rest}"


def key_of(client: httpx.Client, id_: UUID) -> str:
    """What the form of the preview has for a memory."""
    rev = re.search(r'name="rev" value="(\d+)"', client.get(page(id_, "/edit")).text)
    assert rev
    return f"{id_.hex}.{rev[1]}"


def follow(client: httpx.Client, answer: httpx.Response) -> str:
    assert answer.status_code == 303, answer.text
    return read_text(client.get(answer.headers["location"]))
