"""What the proxy costs, beside the same upstream that is asked directly in the same run.

python -m benchmarks.proxy [--memories 1000] [--asks 200] [--requests 10000] [--json]

With so many memories of the token: the time to the first byte, with a question whose embedding is known and with a new
one; a stream of 10,000 chunks; 50 streams at once, 100 chunks of 20 ms each; the memory of the process before and after
so many requests, and its peak with a body of 50 MB; and the share of a conversation of 12 turns that a provider's cache
of prompts holds, by where the memories stand."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from statistics import median, quantiles
from time import perf_counter
from typing import Any

import openai
import psutil  # type: ignore[import-untyped] # it has no types
from rich.table import Table

from benchmarks import harness, prompts, synthetic, turn
from benchmarks.prompt_cache import SYSTEM, share_cached
from benchmarks.proxied import CHAT, Proxied, run_proxy, run_upstream
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.retrieval.render import count_tokens
from muniment.testing import ScriptedOpenAI

SEED = 20261127
LONG, MANY, BODY_BYTES = 10_000, 50, 50_000_000
PACED = {"stream": True, "max_tokens": 100, "temperature": 0.02}
TURNS, WORDS = 12, 6
REPLY = "Here is what I would do first, and why, with what you have at home and the time that you have tonight. "


class Way:
    """A connection to the proxy or to the upstream itself, by the plainest client there is."""

    def __init__(self, base: str, token: str) -> None:
        self._host, self._port = base.removeprefix("http://").partition("/")[0].split(":")
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, body: bytes) -> tuple[float, float, int]:
        """Send a chat; seconds to the first byte of the body and to the last, and the bytes. Raises OSError for an
        answer that is none."""
        if self._streams is None or self._streams[0].at_eof():
            self._streams = await asyncio.open_connection(self._host, int(self._port), limit=1 << 22)
        reader, writer = self._streams
        began = perf_counter()
        writer.write(
            f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )
        writer.write(body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b" 200 " not in head[:16]:
            raise OSError(f"{head.decode().splitlines()[0]}: {(await reader.read(400)).decode(errors='replace')}")
        if b"content-length:" in head:
            size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(1)
            first = perf_counter() - began
            await reader.readexactly(size - 1)
            return first, perf_counter() - began, size
        size, first = 0, 0.0
        while length := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            await reader.readexactly(length + 2)
            first, size = first or perf_counter() - began, size + length
        await reader.readexactly(2)
        return first, perf_counter() - began, size


def make_body(text: str, **more: Any) -> bytes:
    """A chat with one question."""
    return json.dumps({"model": "tiny-1", "messages": [{"role": "user", "content": text}], **more}).encode()


def read_cpu(proxy: Proxied) -> float:
    """Seconds of processors that the proxy's process has used: they say more than the clock on a busy machine."""
    assert proxy.process is not None
    times = psutil.Process(proxy.process.pid).cpu_times()
    return float(times.user + times.system)


async def measure_first_byte(
    proxy: Proxied, direct: Way, proxied: Way, texts: Sequence[str], *, known: bool
) -> dict[str, float]:
    """The times to the first byte, question by question both ways in turns."""
    times: dict[str, list[float]] = {"direct": [], "proxy": []}
    if known:
        await proxied.ask(make_body(texts[0], stream=True))
    cpu = read_cpu(proxy)
    for number in range(len(texts)):
        body = make_body(texts[0] if known else texts[number], stream=True)
        for name, way in (("direct", direct), ("proxy", proxied)):
            times[name].append((await way.ask(body))[0] * 1000)
    found = {f"{name}_p50_ms": round(median(values), 2) for name, values in times.items()}
    found |= {f"{name}_p95_ms": round(quantiles(values, n=20)[18], 2) for name, values in times.items()}
    more = round(found["proxy_p50_ms"] - found["direct_p50_ms"], 2)
    return found | {"more_ms": more, "cpu_ms": round((read_cpu(proxy) - cpu) * 1000 / len(texts), 2)}


async def measure_stream(proxy: Proxied, direct: Way, proxied: Way) -> dict[str, float]:
    """Chunks a second of a long stream, the best of three each."""
    body, rates = make_body("A long one, please.", stream=True, max_tokens=LONG), {"direct": 0.0, "proxy": 0.0}
    cpu = read_cpu(proxy)
    for _ in range(3):
        for name, way in (("direct", direct), ("proxy", proxied)):
            first, whole, _ = await way.ask(body)
            rates[name] = max(rates[name], LONG / (whole - first))
    return {f"{name}_per_s": round(rate) for name, rate in rates.items()} | {
        "ratio": round(rates["proxy"] / rates["direct"], 2),
        "cpu_us_per_chunk": round((read_cpu(proxy) - cpu) * 1e6 / LONG / 3, 1),
    }


async def measure_client(base: str, proxy: Proxied) -> dict[str, float]:
    """Chunks a second of a long stream as the client of openai reads it, the best of two each."""
    secret, rates = proxy.tokens["asked"][0], {"direct": 0.0, "proxy": 0.0}
    for _ in range(2):
        for name, address in (("direct", base), ("proxy", f"{proxy.url}/v1")):
            async with openai.AsyncOpenAI(base_url=address, api_key=secret) as client:
                stream = await client.chat.completions.create(
                    model="tiny-1", messages=[{"role": "user", "content": "A long one."}], stream=True, max_tokens=LONG
                )
                began = None
                async for _chunk in stream:
                    began = began or perf_counter()
                rates[name] = max(rates[name], LONG / (perf_counter() - (began or 0.0)))
    return {f"{name}_per_s": round(rate) for name, rate in rates.items()} | {
        "ratio": round(rates["proxy"] / rates["direct"], 2)
    }


async def measure_many(base: str, token: str) -> dict[str, float]:
    """Seconds of one paced stream, and of the slowest and the median of many at once."""
    ways = [Way(base, token) for _ in range(MANY)]
    one = (await ways[0].ask(make_body("One stream.", **PACED)))[1]
    all_ = [found[1] for found in await asyncio.gather(*(way.ask(make_body("Many streams.", **PACED)) for way in ways))]
    return {
        "one_s": round(one, 2),
        "median_s": round(median(all_), 2),
        "slowest_s": round(max(all_), 2),
        "ratio": round(max(all_) / one, 2),
    }


async def measure_memory(proxy: Proxied, way: Way, requests: int) -> dict[str, Any]:
    """Megabytes of the process along so many requests, and at its peak with a large body."""
    assert proxy.process is not None
    process = psutil.Process(proxy.process.pid)

    def weigh() -> int:
        return round(int(process.memory_info().rss) / 1e6)

    seen = []
    with harness.bar("requests", requests) as tick:
        for number in range(requests):
            if number % max(1, requests // 10) == 0:
                seen.append(weigh())
            await way.ask(make_body(f"Is it {number % 500} o'clock?"))
            tick(1)
    seen.append(weigh())
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * BODY_BYTES}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}]
    body = json.dumps({"model": "tiny-1", "messages": messages}).encode()
    peak, watching = 0, True

    async def watch() -> None:
        nonlocal peak
        while watching:
            peak = max(peak, weigh())
            await asyncio.sleep(0.01)

    watcher, before = asyncio.create_task(watch()), weigh()
    _, seconds, _ = await way.ask(body)
    watching = False
    await watcher
    await asyncio.sleep(2)
    return {
        "along_mb": seen,
        "body_mb": round(len(body) / 1e6),
        "body_s": round(seconds, 2),
        "before_mb": before,
        "peak_mb": peak,
        "after_mb": weigh(),
    }


async def measure_cache(proxy: Proxied) -> dict[str, Any]:
    """The share of the prompts of a conversation that begins like an earlier one, by the place of the memories."""
    found = {}
    for place in ("system", "user", "none"):
        with ScriptedOpenAI(REPLY * WORDS) as upstream:
            place_field = {} if place == "none" else {"memory_place": place}
            await proxy.register(f"cache {place}", upstream.base_url, **place_field)
            messages: list[dict[str, str]] = [{"role": "system", "content": SYSTEM}]
            off = {"x-muniment-memory": "off"} if place == "none" else {}
            async with proxy.open_client(f"cache {place}") as client:
                for number in range(TURNS):
                    messages.append({"role": "user", "content": turn.say(number)})
                    answer = await client.post(CHAT, json={"model": "tiny-1", "messages": messages}, headers=off)
                    answer.raise_for_status()
                    messages.append({"role": "assistant", "content": REPLY * WORDS})
                    await asyncio.sleep(0.3)  # what was said is learned
            texts = [prompts.written(request.body) for request in upstream.requests]
        found[place] = {"share": round(share_cached(texts), 3), "tokens": count_tokens(texts[-1])}
    return found


async def measure(memories: int, asks: int, requests: int) -> dict[str, Any]:
    """Fill the memory of a token, and take all measurements."""
    world = synthetic.World(SEED)
    async with run_proxy() as proxy, run_upstream() as base:
        token = await proxy.register("asked", base)
        async with proxy.open_memory("asked") as memory:
            scope = proxy.tokens["asked"][1].scope
            made = world.memories(0, memories)
            await memory.ingest(scope, (Candidate(text=each.text, category=each.category) for each in made))
        direct, proxied = Way(base, token), Way(proxy.url, token)
        texts = [asked.text for asked in world.questions(1, 2 * asks)]
        for text in texts[:10]:
            await proxied.ask(make_body(text))
        found = {
            "memories": memories,
            "first_byte_known": await measure_first_byte(proxy, direct, proxied, texts[:asks], known=True),
            "first_byte_new": await measure_first_byte(proxy, direct, proxied, texts[asks:], known=False),
            "stream": await measure_stream(proxy, direct, proxied),
            "stream_openai": await measure_client(base, proxy),
            "many": await measure_many(proxy.url, token),
            "many_direct": await measure_many(base, token),
            "memory": await measure_memory(proxy, proxied, requests),
            "cache": await measure_cache(proxy),
        }
        return found | {
            "load": os.getloadavg()[0],
            "machine": await harness.machine(proxy.environment["MUNIMENT_DATABASE_URL"]),
        }


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """The report for people."""
    for name in ("first_byte_known", "first_byte_new", "stream", "stream_openai", "many", "many_direct", "memory"):
        rows = [[key, value] for key, value in found[name].items()]
        yield harness.grid(f"{name}, {found['memories']} memories", ["", ""], rows)
    rows = [[place, each["share"], each["tokens"]] for place, each in found["cache"].items()]
    yield harness.grid(f"Cached share of prompts, {TURNS} turns", ["memories in", "share", "last prompt"], rows)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=1_000, metavar="N")
    parser.add_argument("--asks", type=int, default=200, metavar="N", help="of each kind")
    parser.add_argument("--requests", type=int, default=10_000, metavar="N", help="while the memory is watched")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    return harness.run(measure(args.memories, args.asks, args.requests), tables, as_json=args.json)


if __name__ == "__main__":
    sys.exit(main())
