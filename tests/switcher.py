"""A process that switches a test's database to another embedder, slowly, and says how far it is: something to kill."""

import asyncio
import sys
from collections.abc import Sequence

from muniment.memory import bootstrap
from muniment.memory.domain.ids import Vector
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import settings


def say(stage: str) -> None:
    """A line for whoever waits for it."""
    sys.stdout.write(f"{stage}\n")
    sys.stdout.flush()


class Slow(HashEmbedder):
    """Takes its time for every text, and says so."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        say("sweep")
        await asyncio.sleep(0.002 * len(texts))
        return await super().embed_documents(texts)


async def main(url: str, dimensions: int) -> None:
    memory = bootstrap.create_memory(settings(url), embedder=Slow(dimensions))
    async with memory.admin.switch_embedder() as switch:
        await switch.embed_missing()
        say("cut")
        await switch.activate_embedder()
        say("tidy")
        await switch.move_vectors()
    await memory.close()
    say("done")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
