"""What a memory gateway adds to a run of an agent: the recall before it, and the add and the flush after it.

python -m benchmarks.hybrid [--memories 1000] [--runs 100] [--json]

An agent with its curated files alone and one with a gateway, too, have the same runs by turns. The gateway and the
agents are of one process; the model is scripted and answers at once, without tools. The gateway recalls from so many
memories, learns by the rules from each prompt, and asks no model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import wraps
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from rich.table import Table

from benchmarks import harness, synthetic
from benchmarks.gateways import lift_limits, make_key, open_gateway
from benchmarks.soak import make_name
from muniment.agent.gateway_service import GatewayService
from muniment.graph.hybrid.runtime import create_runtime
from muniment.memory import bootstrap
from muniment.memory.config import settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.nodes.state import Input, Who
from muniment.testing import ScriptedOpenAI

SEED, WARM = 20261128, 10
SESSION = 10  # runs of a session
Times = dict[str, list[float]]


async def measure(memories: int, runs: int) -> dict[str, Any]:
    """Fill a user's memory, and have the runs of both agents."""
    owner = synthetic.owner(0)
    made = synthetic.World(SEED).memories(0, memories)
    times: Times = {"curated": [], "hybrid": [], "recall": [], "persist": []}
    async with AsyncExitStack() as stack:
        own = await stack.enter_async_context(harness.throwaway(lift_limits(settings.load_settings())))
        memory = await stack.enter_async_context(bootstrap.open_memory(own))
        port, tokens = await stack.enter_async_context(open_gateway(own, memory))
        model = stack.enter_context(ScriptedOpenAI(reply="Noted."))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        await memory.ingest(Scope(owner=owner), (Candidate(text=each.text, category=each.category) for each in made))
        gateway = {
            "baseUrl": f"http://127.0.0.1:{port}",
            "userId": owner,
            "userKey": await make_key(tokens, own, owner),
            "scope": ["all_user_memory"],
        }
        ways: dict[str, Mapping[str, Any]] = {
            "curated": {"mode": "curated"},
            "hybrid": {"mode": "hybrid", "gateway": gateway},
        }
        agents = {}
        for name, section in ways.items():
            path = write_config(folder, name, section, model.base_url)
            runtime = await stack.enter_async_context(create_runtime(own, path))
            if runtime.host.gateway is not None:
                watch_service(runtime.host.gateway, times)
            agents[name] = runtime.build_graph().compile(checkpointer=InMemorySaver())
        for number in range(WARM + runs):
            for name, graph in agents.items():
                thread = f"{name}-{number // SESSION}"
                said = Input(messages=[HumanMessage(f"My friend {make_name(number, 1)} lives in Rome.")])
                began = perf_counter()
                await graph.ainvoke(said, {"configurable": {"thread_id": thread}}, context=Who(thread=thread))
                times[name].append(perf_counter() - began)
        machine = await harness.machine(await bootstrap.ensure_database(own))
    parts = {name: describe_times(each[WARM:]) for name, each in times.items()}
    more = round(parts["hybrid"]["p50_ms"] - parts["curated"]["p50_ms"], 2)
    return {"memories": memories, "runs": runs, "times": parts, "more_ms": more, "machine": machine}


def write_config(folder: Path, name: str, section: Mapping[str, Any], model_url: str) -> Path:
    """Write the file of an agent, and return where it is."""
    path = folder / f"{name}.json"
    model = {"name": "scripted", "baseUrl": model_url}
    path.write_text(json.dumps({"curatedFolder": name, "memory": section, "model": model}))
    return path


def watch_service(service: GatewayService, times: Times) -> None:
    """Note how long the two calls of a run take."""

    def watch(name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        @wraps(call)
        async def timed(*arguments: Any) -> Any:
            began = perf_counter()
            try:
                return await call(*arguments)
            finally:
                times[name].append(perf_counter() - began)

        return timed

    calls: Any = service
    calls.recall_before_run = watch("recall", service.recall_before_run)
    calls.persist_after_run = watch("persist", service.persist_after_run)


def describe_times(each: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile in ms."""
    cuts = quantiles(each, n=100)
    return {"p50_ms": round(cuts[49] * 1000, 2), "p95_ms": round(cuts[94] * 1000, 2)}


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The runs of both agents, and the parts that a gateway adds."""
    rows = [(name, *each.values()) for name, each in found["times"].items()]
    title = f"{found['runs']} runs, {found['memories']} memories; {found['more_ms']} ms more with a gateway"
    yield harness.grid(title, ("", "p50 ms", "p95 ms"), rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrid", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1000, metavar="N")
    parser.add_argument("--runs", type=int, default=100, metavar="N")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.memories, args.runs), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
