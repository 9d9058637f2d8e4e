"""Whether a proxy that is killed at random moments stores a turn twice, or loses one that was stored.

python -m benchmarks.proxy_kills [--kills 50] [--seed 1] [--json]

Clients tell one thing after the other, as a client does that tries again until it is answered, and send what was said
before along. The proxy is killed (-9) at a random moment, and started again. Afterwards each exchange is answered once
more, so that what a kill has lost is sent again as history: then every message is there, once, and in order."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import httpx
import psycopg
from rich.table import Table

from benchmarks import harness
from benchmarks.proxied import CHAT, Proxied, run_proxy
from muniment.testing import ScriptedOpenAI

CLIENTS = 4
MESSAGES = """
select role, text from muniment.turns t join muniment.spaces s using (space_id) where s.tenant_id = %s
order by t.position
"""
ADDED = """
select m.text, count(*) from muniment.memories m join muniment.spaces s using (space_id)
where s.tenant_id = %s and m.state = 'active' group by 1
"""


def answer_last(body: dict[str, Any]) -> str:
    """The upstream says what it was told last."""
    return f"Noted: {body['messages'][-1]['content']}"


async def tell(proxy: Proxied, name: str, done: asyncio.Event, sent: list[dict[str, str]]) -> None:
    """One client of one token: each message is sent until it is answered, with the forty before it."""
    number = 0
    async with proxy.open_client(name) as client:
        while not done.is_set():
            number += 1
            message = {"role": "user", "content": f"I have been to town number {number} of {name}."}
            await send(client, [*sent[-40:], message])
            sent += [message, {"role": "assistant", "content": f"Noted: {message['content']}"}]


async def send(client: httpx.AsyncClient, messages: Sequence[dict[str, str]]) -> None:
    """Send a chat until it is answered."""
    while True:
        try:
            answer = await client.post(CHAT, json={"model": "m", "messages": list(messages), "stream": True})
            if answer.status_code == 200 and answer.text.endswith("data: [DONE]\n\n"):
                return
        except httpx.TransportError:
            pass
        await asyncio.sleep(0.05)


async def check(proxy: Proxied, name: str, sent: Sequence[dict[str, str]]) -> dict[str, int]:
    """How many messages are missing, twice, or out of order, and how many memories are there twice."""
    tenant = f"token-{proxy.tokens[name][1].grant.id.hex}"
    async with await psycopg.AsyncConnection.connect(proxy.environment["MUNIMENT_OWNER_URL"]) as conn:
        stored = [(role, text) for role, text in await (await conn.execute(MESSAGES, (tenant,))).fetchall()]
        memories = await (await conn.execute(ADDED, (tenant,))).fetchall()
    wanted = [(one["role"], one["content"]) for one in sent]
    counts, places = Counter(stored), {each: place for place, each in enumerate(stored)}
    asked = [places[each] for each in wanted if each in places and each[0] == "user"]
    return {
        "sent": len(wanted),
        "lost": sum(each not in counts for each in wanted),
        "twice": sum(count > 1 for count in counts.values()),
        "out of order": sum(one > other for one, other in pairwise(asked)),
        "memories twice": sum(count > 1 for _, count in memories),
    }


async def measure(kills: int, seed: int) -> dict[str, Any]:
    """Kill the proxy so often, and compare what was sent with what is stored."""
    dice, done = random.Random(seed), asyncio.Event()
    with ScriptedOpenAI(answer_last) as upstream:
        async with run_proxy() as proxy:
            sent: dict[str, list[dict[str, str]]] = {}
            for number in range(CLIENTS):
                await proxy.register(f"client-{number}", upstream.base_url)
                sent[f"client-{number}"] = []
            clients = [asyncio.create_task(tell(proxy, name, done, said)) for name, said in sent.items()]
            with harness.bar("kills", kills) as tick:
                for _ in range(kills):
                    before = len(upstream.requests)
                    while len(upstream.requests) < before + 3:  # noqa: ASYNC110 - a thread appends them
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(dice.uniform(0, 0.5))
                    await proxy.kill()
                    await proxy.start()
                    tick(1)
            done.set()
            await asyncio.gather(*clients)
            await asyncio.sleep(1)
            # What a kill has lost of what was answered comes again as history, as it does from any client.
            for name, said in sent.items():
                async with proxy.open_client(name) as client:
                    await send(client, [*said, {"role": "user", "content": "That is all."}])
            await asyncio.sleep(2)
            found = {name: await check(proxy, name, said) for name, said in sent.items()}
            machine = await harness.machine(proxy.environment["MUNIMENT_DATABASE_URL"])
    sums = {key: sum(one[key] for one in found.values()) for key in next(iter(found.values()))}
    return {"kills": kills, **sums, "upstream": len(upstream.requests), "machine": machine}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """What was sent, and what became of it."""
    rows = [[key, value] for key, value in found.items() if key != "machine"]
    yield harness.grid("A proxy that is killed", ["", ""], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proxy_kills", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    broken = False

    async def report() -> dict[str, Any]:
        nonlocal broken
        found = await measure(args.kills, args.seed)
        broken = bool(found["lost"] or found["twice"] or found["memories twice"])
        return found

    return harness.run(report(), tables, as_json=args.json) or int(broken)


if __name__ == "__main__":
    sys.exit(main())
