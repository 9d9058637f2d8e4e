"""A peer in a process and an environment of its own, asked by JSON lines over its standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.peers.peer import Found, Item, NotOffered, PeerFailed, Timed
from benchmarks.peers.vectors import Vectors

PATIENCE = 120.0  # seconds for the answer to one call
_LINE = 2**27  # bytes of the longest line
_TOLD = 300  # characters of an error in a table
_NOT_OFFERED = "NotImplementedError"


class Child:
    """One running peer. What goes wrong with it raises PeerFailed, which says how, and ends it."""

    def __init__(
        self, name: str, process: asyncio.subprocess.Process, vectors: Vectors, log: Path, patience: float
    ) -> None:
        self.name = name
        self._process, self._vectors, self._log, self._patience = process, vectors, log, patience
        self._number = 0

    async def ask(self, call: str, **given: Any) -> Timed[Any]:
        """Return what the peer answers to a call. Raises NotOffered, PeerFailed."""
        self._number += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._send({"id": self._number, "call": call, **given})
                reply = await self._read_reply()
        except TimeoutError:
            await self.stop()
            raise PeerFailed(f"{call}: no answer within {self._patience:g} s") from None
        except (ConnectionError, ValueError) as error:
            await self.stop()
            raise PeerFailed(f"{call}: {self._describe_end(error)}") from None
        if "error" in reply:
            failed = NotOffered if reply["error"].startswith(_NOT_OFFERED) else PeerFailed
            raise failed(f"{call}: {_shorten(reply['error'])}")
        return Timed(reply["result"], reply["seconds"])

    async def know(self, file: Path | None) -> None:
        """Give the peer the vectors of a file, so that it asks for none; with None it asks for each."""
        await self.ask("know", file=None if file is None else str(file))

    async def load(self, user: str, items: Sequence[Item]) -> Timed[int]:
        """Store many statements."""
        return await self.ask("load", user=user, items=[asdict(one) for one in items])

    async def add(self, user: str, item: Item) -> Timed[str]:
        """Store one statement."""
        return await self.ask("add", user=user, key=item.key, text=item.text)

    async def search(self, user: str, text: str, k: int) -> Timed[list[Found]]:
        """Return at most `k` hits, best first."""
        answer = await self.ask("search", user=user, text=text, k=k)
        return Timed([Found(**one) for one in answer.result], answer.seconds)

    async def change(self, user: str, id_: str, text: str) -> None:
        """Give a statement other words."""
        await self.ask("change", user=user, ref=id_, text=text)

    async def history(self, user: str, id_: str) -> list[str]:
        """Return the words that a statement had and has."""
        return list((await self.ask("history", user=user, ref=id_)).result)

    async def delete(self, user: str, id_: str) -> None:
        """Delete a statement."""
        await self.ask("delete", user=user, ref=id_)

    async def erase(self, user: str, id_: str) -> None:
        """Remove a statement as thoroughly as the library can."""
        await self.ask("erase", user=user, ref=id_)

    async def stop(self) -> None:
        """Close the pipe; end a peer that does not go by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(5 if self._process.returncode is None else 0.1):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _send(self, found: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(found, ensure_ascii=False) + "\n").encode())
        await self._process.stdin.drain()

    async def _read_reply(self) -> dict[str, Any]:
        """The reply to the last call; vectors that the peer asks for in between are made."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            reply = json.loads(line)
            if not isinstance(reply, dict) or ("embed" not in reply and reply.get("id") != self._number):
                raise ValueError("a line that is no answer to its call")
            if "embed" not in reply:
                return reply
            await self._send({"vectors": await self._embed(reply["embed"], query=bool(reply.get("query")))})
        raise ConnectionError

    async def _embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        made = [await self._vectors.embed_query(one) for one in texts] if query else None
        return [one.tolist() for one in made or await self._vectors.embed_documents(texts)]

    def _describe_end(self, error: Exception) -> str:
        if isinstance(error, ValueError):
            return f"broke the protocol: {_shorten(str(error))}"
        last = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        code = self._process.returncode
        return f"ended with {code}" + (f": {_shorten(last[-1])}" if last else "")


@asynccontextmanager
async def open_child(
    name: str,
    command: Sequence[str],
    vectors: Vectors,
    folder: Path,
    given: Mapping[str, Any],
    *,
    patience: float = PATIENCE,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Child]:
    """A peer that is started by a command and opened with what its driver wants; its log is in the folder.

    Raises PeerFailed where it does not start or does not open."""
    log = folder / "log.txt"
    with log.open("wb") as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=_LINE,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise PeerFailed(f"does not start: {error.strerror}") from None
    child = Child(name, process, vectors, log, patience)
    try:
        await child.ask("open", folder=str(folder), **given)
        yield child
    finally:
        await child.stop()


def _shorten(text: str) -> str:
    """The first line of a message, at most so long that it has room in a table."""
    line = next(iter(text.splitlines()), "")
    return line if len(line) <= _TOLD else line[: _TOLD - 1] + "…"
