"""Whether a word of one token reaches another's request, history, memory, error or log, when many clients come at once.

python -m benchmarks.proxy_crosstalk [--clients 200] [--tokens 20] [--seconds 60] [--json]

Each token has an upstream and an embedder of its own, every second one a model for its memory, too. Its clients tell
what has the mark of their token and ask for it, streaming and not; one token is updated every second, its limits and
its embedder in turns. Each upstream and each endpoint keeps what it is sent: every mark in it has to be its own. So has
every mark in the database, the log and the answers. The exit code is 1 where one is not, and where a request fails."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic
from typing import Any

import httpx
import psycopg
from rich.table import Table

from benchmarks import harness
from benchmarks.proxied import CHAT, Proxied, run_proxy
from benchmarks.soak import make_name
from muniment.testing import ScriptedOpenAI, structured

_MARK = re.compile(r"Mark[A-Z]{2}")
QUESTION = "Who lives beside whom?"


@dataclass(frozen=True, slots=True)
class Party:
    """A token: its mark, its upstream, and the endpoint of its models."""

    mark: str
    upstream: ScriptedOpenAI
    models: ScriptedOpenAI

    def make_fields(self, *, version: int = 1) -> dict[str, Any]:
        """The fields of its embedder, and of its memory's model where it has one."""
        fields: dict[str, Any] = {
            "embed_provider": "openai",
            "embed_base_url": self.models.base_url,
            "embed_api_key": f"embed-{self.mark}",
            "embed_dims": 256,
            "embed_body": {"model": f"embed-{self.mark}-{version}"},
        }
        if self.mark[-1] in "ACEGIKMOQSUWY":
            fields |= {
                "memory_llm_provider": "openai",
                "memory_llm_base_url": self.models.base_url,
                "memory_llm_api_key": f"memory-{self.mark}",
                "memory_llm_body": {"model": f"memory-{self.mark}"},
            }
        return fields


def make_party(number: int, stack: ExitStack) -> Party:
    """A token's mark and its two servers."""
    mark = "Mark" + chr(65 + number // 26) + chr(65 + number % 26)
    upstream = ScriptedOpenAI(lambda body: " ".join([mark, *_MARK.findall(json.dumps(body))]))
    models = ScriptedOpenAI(structured({"facts": []}))
    return Party(mark, stack.enter_context(upstream), stack.enter_context(models))


async def converse(proxy: Proxied, party: Party, number: int, until: float, seen: Counter[str]) -> None:
    """One client: it tells and asks until the time is over."""
    count = 0
    async with proxy.open_client(party.mark) as client:
        while monotonic() < until:
            count += 1
            told = f"My friend {make_name(number, count)} lives beside {party.mark}."
            for text in (told, QUESTION):
                body = {"model": "m", "stream": count % 2 == 0, "messages": [{"role": "user", "content": text}]}
                try:
                    answer = await client.post(CHAT, json=body)
                except httpx.HTTPError as error:
                    seen[f"failed {type(error).__name__}"] += 1
                    continue
                seen["asked"] += 1
                if answer.status_code != 200:
                    seen[f"failed {answer.status_code} {answer.text[:80]}"] += 1
                ids = re.findall(r"^[0-9a-f]{8}$", answer.headers.get("x-muniment-request-id", ""))
                seen["without an id"] += len(ids) != 1
                marks = set(_MARK.findall(answer.text))
                seen["own"] += party.mark in marks
                seen["foreign answers"] += bool(marks - {party.mark})


async def update_tokens(proxy: Proxied, parties: Sequence[Party], until: float, seen: Counter[str]) -> None:
    """Change a token every second: its limits, and sometimes its embedder."""
    number = 0
    while monotonic() < until:
        party = parties[number % len(parties)]
        fields: dict[str, Any] = {"memory_limit": 3 + number % 5, "session_window_size": 5 + number % 10}
        if number % 4 == 3:
            fields |= party.make_fields(version=number)
        try:
            await proxy.update(proxy.tokens[party.mark][1].grant.id, **fields)
            seen["updated"] += 1
        except Exception as error:  # noqa: BLE001 - a second change while the first is under way is refused
            seen[f"not updated {type(error).__name__}"] += 1
        number += 1
        await asyncio.sleep(1)


def find_foreign(parties: Sequence[Party], seen: Counter[str]) -> None:
    """Count the requests upstream, and to the endpoints, that have a mark of another."""
    for party in parties:
        for name, server in (("upstream", party.upstream), ("endpoint", party.models)):
            for request in server.requests:
                text = request.raw.decode(errors="replace") + json.dumps(request.headers)
                seen[f"at an {name}"] += 1
                seen[f"foreign at an {name}"] += bool(set(_MARK.findall(text)) - {party.mark})


async def find_stored(proxy: Proxied, parties: Sequence[Party], seen: Counter[str]) -> None:
    """Count the rows that have a mark which is not that of their token."""
    owners = {f"token-{proxy.tokens[party.mark][1].grant.id.hex}": party.mark for party in parties}
    async with await psycopg.AsyncConnection.connect(proxy.environment["MUNIMENT_OWNER_URL"]) as conn:
        for table in ("memories", "turns"):
            rows = await conn.execute(
                f"select s.tenant_id, t.text from muniment.{table} t join muniment.spaces s using (space_id)"
            )
            async for tenant, text in rows:
                seen[f"rows of {table}"] += 1
                seen[f"foreign rows of {table}"] += bool(set(_MARK.findall(text)) - {owners.get(tenant)})


async def measure(clients: int, tokens: int, seconds: float) -> dict[str, Any]:
    """Let the clients come, and look everywhere afterwards."""
    seen = Counter[str]()
    with ExitStack() as stack:
        parties = [make_party(number, stack) for number in range(tokens)]
        async with run_proxy(LOG_LEVEL="DEBUG") as proxy:
            for party in parties:
                await proxy.register(party.mark, party.upstream.base_url, **party.make_fields())
            until = monotonic() + seconds
            await asyncio.gather(
                update_tokens(proxy, parties, until, seen),
                *(converse(proxy, parties[number % tokens], number, until, seen) for number in range(clients)),
            )
            await asyncio.sleep(3)
            if proxy.process is None or proxy.process.returncode is not None:
                raise OSError(f"the proxy has ended: {' '.join(proxy.read_log()[-600:].split())}")
            find_foreign(parties, seen)
            await find_stored(proxy, parties, seen)
            log = proxy.read_log()
            seen["lines of the log"] = len(log.splitlines())
            seen["marks in the log"] = len(_MARK.findall(log))
            secrets = [secret for secret, _ in proxy.tokens.values()]
            seen["tokens in the log"] = sum(secret in log for secret in secrets)
            machine = await harness.machine(proxy.environment["MUNIMENT_DATABASE_URL"])
    return {
        "clients": clients,
        "tokens": tokens,
        "seconds": seconds,
        "seen": dict(sorted(seen.items())),
        "machine": machine,
    }


def is_clean(seen: dict[str, int]) -> bool:
    """Whether nobody saw what is another's, and nothing failed."""
    bad = ("foreign", "failed", "marks in", "tokens in", "without")
    return seen.get("asked", 0) > 0 and not any(count for name, count in seen.items() if name.startswith(bad))


def tables(found: dict[str, Any]) -> Iterator[Table]:
    """What was seen."""
    title = f"{found['clients']} clients of {found['tokens']} tokens, {found['seconds']} s"
    yield harness.grid(title, ["what", "how often"], [[name, count] for name, count in found["seen"].items()])


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.proxy_crosstalk", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    broken = False

    async def report() -> dict[str, Any]:
        nonlocal broken
        found = await measure(args.clients, args.tokens, args.seconds)
        broken = not is_clean(found["seen"])
        return found

    return harness.run(report(), tables, as_json=args.json) or int(broken)


if __name__ == "__main__":
    sys.exit(main())
