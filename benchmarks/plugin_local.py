"""What the local store of the plugin costs: a search among 10,000 items with and without an embedder, beside a bare
query of the same file's index of words, and the processor time of the import.

python -m benchmarks.plugin_local [--items 10000] [--queries 200] [--json]

The items are sentences of words whose frequencies fall as those of a language. Limits: 80 ms at the 95th percentile, 3
times the bare query by words and by vectors, .4 s of processor time for the import, and no driver of Postgres in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import Any
from uuid import UUID

import numpy as np

from muniment.memory.bootstrap import make_embedder
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.ids import Vector
from muniment.plugin.domain.item import ItemOwner, MemoryItem, SearchQuery
from muniment.plugin.stores.local.store import LocalOptions, LocalStore
from muniment.plugin.stores.scoring import list_query_terms

LIMITS = {"p95_ms": 80.0, "ratio": 3.0, "import_cpu_s": 0.4}
OWNER = ItemOwner(user="ana", project="shop", session="s1")
START = datetime(2026, 11, 1, tzinfo=UTC)
IMPORT = """
import sys, time
from muniment.plugin.stores.local.store import LocalStore
import muniment.plugin
print(time.process_time(), "psycopg" in sys.modules)
"""
SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pra", "sto", "ter", "vin", "zul")
WORDS = tuple(f"{a}{b}{c}" for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES)


def make_texts(count: int, random: Random, size: tuple[int, int]) -> list[str]:
    """Texts of words of which the second is half as frequent as the first, and so on."""
    weights = [1 / (rank + 20) for rank in range(len(WORDS))]
    return [" ".join(random.choices(WORDS, weights, k=random.randint(*size))) for _ in range(count)]


async def measure(items: int, queries: int) -> dict[str, Any]:
    """All figures."""
    random = Random(1)
    texts, questions = make_texts(items, random, (8, 16)), make_texts(queries, random, (4, 8))
    vectors = np.random.default_rng(1).standard_normal((items, 384), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    settings = load_settings()
    embedder = make_embedder(settings)
    options = LocalOptions(profile=settings.find_profile(embedder.name), query_seconds=1.0)
    figures: dict[str, Any] = {"items": items, "queries": queries, "limits": LIMITS}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plugin.sqlite"
        store = LocalStore(path, embedder=embedder, options=options)
        began = perf_counter()
        for at in range(0, items, 500):
            await store.upsert(make_items(texts[at : at + 500], vectors[at : at + 500], at, embedder.name))
        figures["fill_s"] = round(perf_counter() - began, 2)
        by_words = LocalStore(path)
        probe = np.asarray(await embedder.embed_query("warm up"), dtype=np.float32)
        figures["words"] = await time_searches(by_words, questions, None, embedder.name)
        figures["vectors"] = await time_searches(store, questions, probe, embedder.name)
        figures["vectors_and_embedding"] = await time_searches(store, questions, None, embedder.name)
        figures["bare"] = time_bare(path, questions)
        figures["ratio_words"] = round(figures["words"]["median_ms"] / figures["bare"]["median_ms"], 2)
        figures["ratio_vectors"] = round(figures["vectors"]["median_ms"] / figures["bare"]["median_ms"], 2)
        await by_words.close()
        await store.close()
        figures["file_mb"] = round(path.stat().st_size / 2**20, 1)
    await embedder.close()
    return figures | measure_import()


def make_items(texts: list[str], vectors: Vector, first: int, model: str) -> list[MemoryItem]:
    """Items with vectors of a model."""
    return [
        MemoryItem(
            id=str(UUID(int=first + at + 1)),
            tenant_id=OWNER.tenant,
            user_id=OWNER.user,
            type="fact",
            content=text,
            created_at=START + timedelta(minutes=first + at),
            embedding=vectors[at],
            embedding_model=model,
        )
        for at, text in enumerate(texts)
    ]


async def time_searches(store: LocalStore, questions: list[str], vector: Vector | None, model: str) -> dict[str, float]:
    """The times of searches, each in milliseconds; the first one, which opens the file, is not among them."""
    times = []
    for question in (questions[0], *questions):
        query = SearchQuery(
            owner=OWNER, text=question, at=START + timedelta(days=20), vector=vector, vector_model=model
        )
        began = perf_counter()
        await store.search(query)
        times.append(1_000 * (perf_counter() - began))
    return summarize(times[1:])


def time_bare(path: Path, questions: list[str]) -> dict[str, float]:
    """The times of a query of the index of words that does nothing else than to return the best eight rows."""
    times = []
    connection = sqlite3.connect(path)
    for question in (questions[0], *questions):
        match = " OR ".join(f'"{term}"' for term in list_query_terms(question))
        began = perf_counter()
        connection.execute("select rowid from word where word match ? order by bm25(word) limit 8", (match,)).fetchall()
        times.append(1_000 * (perf_counter() - began))
    connection.close()
    return summarize(times[1:])


def summarize(times: list[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {"median_ms": round(median(times), 2), "p95_ms": round(quantiles(times, n=20)[-1], 2)}


def measure_import() -> dict[str, Any]:
    """The least processor time of five imports in new processes, and whether one brings the driver of Postgres."""
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    return {"import_cpu_s": round(min(float(run[0]) for run in runs), 3), "psycopg": runs[0][1] == "True"}


def main() -> int:
    """Print the figures; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with asyncio.Runner() as runner:
        figures = runner.run(measure(given.items, given.queries))
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")
    is_good = (
        figures["vectors_and_embedding"]["p95_ms"] < LIMITS["p95_ms"]
        and max(figures["ratio_words"], figures["ratio_vectors"]) <= LIMITS["ratio"]
        and figures["import_cpu_s"] <= LIMITS["import_cpu_s"]
        and not figures["psycopg"]
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
