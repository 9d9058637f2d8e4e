"""Who takes part, each open on a database of its own on the same server; who cannot, with the reason."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from benchmarks import harness
from benchmarks.contestants import CONNECTIONS
from benchmarks.peers import stores
from benchmarks.peers.child import Child, open_child
from benchmarks.peers.environments import REQUIREMENTS, ensure_environment
from benchmarks.peers.facts import Bench
from benchmarks.peers.ours import AsGiven, ByRules
from benchmarks.peers.peer import Peer, PeerFailed
from benchmarks.peers.vectors import Vectors
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.errors import MunimentError

OURS, RULES = AsGiven.name, ByRules.name
MEM0 = "mem0, infer=False"
FAILURES = (PeerFailed, MunimentError, psycopg.Error)
# What a run on one machine without a model cannot ask anything.
ABSENT = {
    "Graphiti (graphiti-core)": "needs a graph database beside Postgres, and a model for each episode",
    "Letta": "needs a server of its own, and a model",
    "LangMem's manager": "needs a model, which extracts; its tools take part",
    "mem0, infer=True": "needs a model, which extracts; what it would find is not measured",
}
_DRIVER = "from benchmarks.peers import mem0_driver, wire; wire.serve(mem0_driver.make_store)"
_ROOT = Path(__file__).parents[2]
_QUIET = {
    "MEM0_TELEMETRY": "False",
    "ANONYMIZED_TELEMETRY": "False",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "PYTHONPATH": str(_ROOT),
    "PYTHONUNBUFFERED": "1",
}


@dataclass(slots=True)
class Ring:
    """The open contestants by their names, and why others are not among them or left."""

    vectors: Vectors
    file: Path  # of the vectors, for the children
    benches: dict[str, Bench] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def fail(self, name: str, error: Exception) -> None:
        """Take a contestant out, with the reason."""
        self.benches.pop(name, None)
        self.failed[name] = next(iter(str(error).splitlines()), type(error).__name__)

    async def embed_each_time(self, *, working: bool) -> None:
        """Let every call wait for its embedder, or let every vector be known beforehand."""
        self.vectors.working = working
        if not working:
            self.file.write_text(json.dumps(list(self.vectors.list_known())), encoding="utf-8")
        for name, bench in list(self.benches.items()):
            if isinstance(bench.peer, Child):
                try:
                    await bench.peer.know(None if working else self.file)
                except PeerFailed as error:
                    self.fail(name, error)


@asynccontextmanager
async def open_ring(
    base: settings.Settings, vectors: Vectors, dims: int, environment: Path, only: Sequence[str] = ()
) -> AsyncIterator[Ring]:
    """Everyone who can be opened, or those whose names begin as one of `only`; Muniment as given always is."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="peers-")))
        ring = Ring(vectors, folder / "vectors.json")
        opening = {
            OURS: _open_ours,
            RULES: _open_ours,
            "LangGraph AsyncPostgresStore": _open_stores,
            "LangGraph InMemoryStore": _open_stores,
            stores.Tools.name: _open_stores,
        }
        for number, (name, opened) in enumerate(opening.items()):
            if _is_wanted(name, only):
                own = folder / str(number)
                own.mkdir()
                ring.benches[name] = await opened(stack, base, vectors, dims, name, own)
        if _is_wanted(MEM0, only):
            own = folder / "mem0"
            own.mkdir()
            try:
                python = await ensure_environment(environment)
                ring.benches[MEM0] = await _open_mem0(stack, base, vectors, dims, python, own)
            except FAILURES as error:
                ring.fail(MEM0, error)
        yield ring


def list_versions() -> dict[str, str]:
    """Return the versions of those who take part."""
    pins = [line.partition("==") for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines() if "==" in line]
    here = ("muniment", "langgraph", "langgraph-checkpoint", "langgraph-checkpoint-postgres", "langmem")
    return {name: version(name) for name in here} | {name: number for name, _, number in pins}


def _is_wanted(name: str, only: Sequence[str]) -> bool:
    return name == OURS or not only or any(name.lower().startswith(one.lower()) for one in only)


async def _open_ours(
    stack: AsyncExitStack, base: settings.Settings, vectors: Vectors, _: int, name: str, folder: Path
) -> Bench:
    own = await stack.enter_async_context(harness.throwaway(base))
    memory = await stack.enter_async_context(bootstrap.create_memory(own, embedder=vectors))
    peer: Peer = AsGiven(memory) if name == OURS else ByRules(memory)
    return Bench(peer, await bootstrap.ensure_database(own), folder)


async def _open_stores(
    stack: AsyncExitStack, base: settings.Settings, vectors: Vectors, dims: int, name: str, folder: Path
) -> Bench:
    if name == "LangGraph InMemoryStore":
        return Bench(stores.make_in_memory(vectors, dims), None, folder)
    own = await stack.enter_async_context(harness.throwaway(base))
    dsn = await bootstrap.ensure_database(own)
    opened = stores.open_tools if name == stores.Tools.name else stores.open_postgres
    return Bench(await stack.enter_async_context(opened(dsn, vectors, dims)), dsn, folder)


async def _open_mem0(
    stack: AsyncExitStack, base: settings.Settings, vectors: Vectors, dims: int, python: Path, folder: Path
) -> Bench:
    own = await stack.enter_async_context(harness.throwaway(base))
    dsn = await bootstrap.ensure_database(own)
    child = await stack.enter_async_context(
        open_child(
            MEM0,
            [str(python), "-c", _DRIVER],
            vectors,
            folder,
            {"dsn": dsn, "dims": dims, "connections": CONNECTIONS},
            environment=_QUIET | {"MEM0_DIR": str(folder)},
        )
    )
    return Bench(child, dsn, folder)
