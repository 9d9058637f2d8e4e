"""A process that switches a database, or an owner's space, to another embedder, slowly, and says how far it is."""

import asyncio
import sys
from collections.abc import Sequence

from muniment.memory import bootstrap
from muniment.memory.domain.embedding import DATABASE, SwitchRange
from muniment.memory.domain.ids import Vector
from muniment.memory.models.hash_embedder import HashEmbedder
from tests.engine import scope, settings


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


async def main(url: str, dimensions: int, *owners: str) -> None:
    memory = bootstrap.create_memory(settings(url), embedder=Slow(dimensions))
    spaces = [SwitchRange.of_space(scope(owner)) for owner in owners] or [DATABASE]
    async with memory.admin.switch_embedder(spaces=spaces[0]) as switch:
        await switch.embed_missing()
        say("cut")
        await switch.activate_embedder()
        say("tidy")
        await switch.move_vectors()
    await memory.close()
    say("done")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
