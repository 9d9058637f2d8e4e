"""Opens a worker for the jobs that a memory can perform."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from muniment.memory.bootstrap.configured import can_open_configs, open_configured_memories
from muniment.memory.bootstrap.databases import make_store
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.configured import ConfiguredMemories
from muniment.memory.flows.background.maintenance import Schedule, list_enqueueings
from muniment.memory.flows.background.worker import OnOutcome, Worker


@asynccontextmanager
async def open_worker(
    settings: Settings,
    memory: Memory,
    on_outcome: OnOutcome | None = None,
    *,
    with_schedule: bool = True,
    memories: ConfiguredMemories | None = None,
) -> AsyncIterator[Worker]:
    """Open a worker for the jobs that this memory can perform; the caller runs it. `on_outcome` is called after each
    attempt.

    The jobs of tokens with their own models are performed by `memories`; without them it opens its own, where the home
    has the key file of the installation, and elsewhere leaves these jobs alone. Without a schedule it enqueues neither
    maintenance nor the indexes of large spaces. It has its own connections, so that no reply waits for a worker's."""
    async with AsyncExitStack() as stack:
        queue = make_store(settings, memory.engine.embedder.name)
        stack.push_async_callback(queue.close)
        if memories is None and can_open_configs(settings):
            memories = await stack.enter_async_context(open_configured_memories(settings, memory))
        yield Worker(
            queue.jobs,
            memory.jobs.perform_job if memories is None else memories.perform_job,
            names=memory.engine.job_registry.list_performable(),
            own_names=() if memories is None else memories.list_performable(),
            clock=memory.engine.clock,
            rules=settings.jobs,
            find_first_wait=lambda: memory.engine.settings.model.backoff_seconds,
            on_outcome=on_outcome,
            periodic=(
                Schedule(queue.maintenance, memory.engine.clock, lambda: memory.engine.settings.session_ledger),
                *list_enqueueings(memory.jobs.enqueue_overgrown, memory.jobs.enqueue_idle, settings.session_ledger),
            )
            if with_schedule
            else (),
        )


@asynccontextmanager
async def run_worker(
    settings: Settings, memory: Memory, memories: ConfiguredMemories | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """Run a worker, whose task this is, while the context is open; then its jobs go back to the queue at once.

    `memories` as in `open_worker`."""
    async with open_worker(settings, memory, memories=memories) as worker:
        running = asyncio.create_task(worker.run())
        try:
            yield running
        finally:
            running.cancel()
            (result,) = await asyncio.gather(running, return_exceptions=True)
            if isinstance(result, Exception):
                raise result
