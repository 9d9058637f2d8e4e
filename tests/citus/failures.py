"""Clients write and search while a node dies and comes back, and while shards move: what they meet, what is lost."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from muniment.memory.stores.postgres.schema import migrate
from tests.citus import databases
from tests.citus.clients import Client, Losses, Tally, count_losses
from tests.citus.cluster import Cluster, Node

CLIENTS = 8
SHARDS = 8
AWAY_SECONDS = 3.0
PATIENCE_SECONDS = 60.0
Doing = Callable[[], Awaitable[str]]
_MOVABLE = """
    select shardid, nodename, nodeport from citus_shards
    where table_name = 'muniment.spaces'::regclass and nodeport = %(port)s order by shardid"""
_MOVE = """
    select citus_move_shard_placement(%(shard)s, %(host)s, %(from)s, %(host)s, %(to)s, 'force_logical')"""


@dataclass(frozen=True)
class Phase:
    """What the clients met while something was done to the nodes."""

    name: str
    seconds: float
    tally: Tally
    remark: str

    @property
    def is_clean(self) -> bool:
        """Whether every error was StoreDown, and every search found what was acknowledged."""
        return not self.tally.missed and set(self.tally.errors) <= {"StoreDown"}

    def format_row(self) -> str:
        rate = self.tally.answered / self.seconds
        errors = ", ".join(f"{count} {kind}" for kind, count in self.tally.errors.items()) or "none"
        return f"{self.name:<22}{rate:>8.0f}{self.tally.longest:>9.2f}{self.tally.missed:>8}  {errors}; {self.remark}"


async def run_failures(cluster: Cluster, seconds: float) -> int:
    """Run the phases on a database of their own, print what was met, and return 0 when nothing was lost."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # it tells of each connection that breaks
    databases.WORKERS[:] = [node.url for node in cluster.nodes[1:]]
    url = await _make_database(cluster)
    clients = [Client(number) for number in range(CLIENTS)]
    running = [asyncio.create_task(client.run(url)) for client in clients]
    coordinator, worker, other = cluster.nodes
    steps: list[tuple[str, Doing]] = [
        ("nothing", lambda: asyncio.sleep(0, "")),
        ("a worker dies", lambda: _kill(worker, clients, running)),
        ("the coordinator dies", lambda: _kill(coordinator, clients, running)),
        ("shards move", lambda: _move_shards(url, worker, other)),
        ("shards move back", lambda: _rebalance(url)),
    ]
    print(f"{'while':<22}{'calls/s':>8}{'longest':>9}{'missed':>8}  errors")
    phases = []
    try:
        for name, doing in steps:
            phase = await _run_phase(name, doing, clients, seconds)
            print(phase.format_row(), flush=True)
            phases.append(phase)
    finally:
        for client in clients:
            client.is_over = True
        await asyncio.gather(*running)
    losses = await count_losses(url, clients)
    print(losses)
    lost = losses != Losses(losses.acknowledged, 0, 0, 0)
    return int(lost or not all(phase.is_clean for phase in phases))


async def _make_database(cluster: Cluster) -> str:
    name = f"failures_{uuid.uuid4().hex[:8]}"
    for node in cluster.nodes:
        databases.on(node.url, sql.SQL("create database {}").format(sql.Identifier(name)))
    url = make_conninfo(cluster.nodes[0].url, dbname=name)
    databases.join(url)
    await migrate.apply_migrations(url)
    databases.distribute(url, SHARDS)
    return url


async def _run_phase(name: str, doing: Doing, clients: list[Client], seconds: float) -> Phase:
    for client in clients:
        client.tally = Tally()
    began = time.monotonic()
    remark = await doing()
    await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
    met = [client.tally for client in clients]
    tally = Tally(
        answered=sum(one.answered for one in met),
        missed=sum(one.missed for one in met),
        errors=sum((one.errors for one in met), Counter[str]()),
        longest=max(one.longest for one in met),
    )
    return Phase(name, time.monotonic() - began, tally, remark)


async def _kill(node: Node, clients: list[Client], running: list[asyncio.Task[None]]) -> str:
    """End a node, start it again, and wait until every space has acknowledged a write."""
    await asyncio.sleep(AWAY_SECONDS)
    await asyncio.to_thread(node.kill)
    await asyncio.sleep(AWAY_SECONDS)
    await asyncio.to_thread(node.start)
    started = time.monotonic()
    while min(at for client in clients for at in client.written.values()) < started:
        assert time.monotonic() < started + PATIENCE_SECONDS, "a space does not come back"
        assert not any(task.done() for task in running), "a client has ended"
        await asyncio.sleep(0.01)
    return f"every space writes again {time.monotonic() - started:.1f} s after the start"


async def _move_shards(url: str, source: Node, target: Node) -> str:
    """Move all shards of a node to another one, each with what is beside it."""
    moved = 0
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, row_factory=dict_row) as conn:
        shards = await (await conn.execute(_MOVABLE, {"port": source.port})).fetchall()
        for shard in shards:
            place = {"shard": shard["shardid"], "host": shard["nodename"], "from": source.port, "to": target.port}
            await conn.execute(_MOVE, place)
            moved += 1
    return f"{moved} moved"


async def _rebalance(url: str) -> str:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as conn:
        await conn.execute("select citus_rebalance_start(shard_transfer_mode := 'force_logical')")
        await conn.execute("select citus_rebalance_wait()")
        rows = await (
            await conn.execute(
                "select nodeport, count(*) from citus_shards where table_name = 'muniment.spaces'::regclass group by 1"
            )
        ).fetchall()
    return f"{sorted(count for _, count in rows)} on the nodes afterwards"
