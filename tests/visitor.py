"""A process that reads and writes spaces of a test's database until its input ends, and says how often."""

import asyncio
import sys
from itertools import cycle

from muniment.memory import bootstrap
from muniment.memory.domain.query import Query
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import note, scope, settings


async def main(url: str, owners: list[str]) -> None:
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    rounds = 0
    async with bootstrap.create_memory(settings(url), embedder=(HashEmbedder(), HashEmbedder(40))) as memory:
        for owner in cycle(owners):
            if ended.done():
                break
            mine = scope(owner)
            answer = await memory.query(mine, "supervisor", Query(text="harbour coffee"))
            receipt = await memory.keep_candidates(mine, [note(f"the visitor came {rounds} times to the lighthouse")])
            if not answer.hits or answer.degraded or receipt.degraded:
                raise AssertionError("nothing found")
            if not rounds:
                sys.stdout.write("began\n")
                sys.stdout.flush()
            rounds += 1
    sys.stdout.write(f"{rounds}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
