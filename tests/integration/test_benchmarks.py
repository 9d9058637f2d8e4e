"""The benchmarks run on small inputs and tell right from wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from benchmarks import (
    ablation,
    cancel,
    embedding,
    hostile,
    importing,
    latency,
    meanwhile,
    nightly,
    recall,
    replies,
    silence,
    synthetic,
    turn,
    writing,
)

TOPICS = [
    "Rosa repaired the old lighthouse lamp with copper wire", "my violin teacher moved to Ghent",
    "we planted eleven quince trees behind the barn", "the ferry to Sark was cancelled by fog",
    "I baked rye bread with caraway for the market", "our beehives survived the frost",
    "the choir sang a requiem in the quarry", "Theo won the regional chess tournament",
    "a heron stole three goldfish from the pond", "I sold my motorcycle to a glassblower",
    "the observatory showed us Saturn's rings", "my grandmother knitted a blue poncho",
    "the pottery kiln cracked at midnight", "we paddled a canoe through the mangroves",
    "Imre lost his passport in Trieste", "the parrot learned to whistle a waltz",
]  # fmt: skip
ELSEWHERE = [
    "Ida: I ran the Athens marathon in the rain", "Jon: my brother owns a submarine",
    "Ida: Jon, I own a motorcycle from Turin",
    "Ida: the glacier lost its tongue", "Ida: Jon, I own a motorcycle with a sidecar",
    "Ida: Jon, I own a motorcycle for snow",
    "Ida: Jon, I own a motorcycle that smokes", "Ida: Jon, I own a motorcycle, red as rust",
    "Ida: Jon, I own a motorcycle and a bus",
    "Jon: my own motorcycle was stolen from the yard of the bakery on a foggy morning",
]  # fmt: skip
ASKED = {
    0: "Who repaired the lighthouse lamp?", 4: "Which rye bread was baked for the market?",
    7: "Who won the chess tournament?", 10: "What did the observatory show of Saturn?",
    15: "What did the parrot whistle?",
}  # fmt: skip


def talk(evidence: Callable[[int], Sequence[str]], name: str = "talk-1") -> dict[str, Any]:
    """A conversation with one topic a session, and questions whose evidence is made from the topic's number."""
    said: dict[str, Any] = {"speaker_a": "Nora", "speaker_b": "Bela"}
    for n, text in enumerate(TOPICS, 1):
        said[f"session_{n}_date_time"] = f"9:05 am on {n} March, 2024"
        said[f"session_{n}"] = [{"speaker": "Nora" if n % 2 else "Bela", "dia_id": f"D{n}:1", "text": text}]
    asked = [
        {"question": text, "answer": "", "category": 4 if n % 2 else 1, "evidence": list(evidence(n + 1))}
        for n, text in ASKED.items()
    ]
    asked.append({"question": "What was never said?", "category": 5, "evidence": ["D1:1"]})
    return {"sample_id": name, "conversation": said, "qa": asked}


@pytest.fixture
def server(cluster_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The commands find the tests' server and an embedder that needs no model."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", cluster_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")
    return cluster_url


@pytest.fixture
def measured(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Run the recall command on conversations and read its one JSON object."""

    def run(*talks: dict[str, Any], more: Sequence[str] = ()) -> dict[str, Any]:
        file = tmp_path / "talks.json"
        file.write_text(json.dumps(list(talks)), encoding="utf-8")
        assert recall.main([str(file), "--json", *more]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    return run


def left(url: str, pid: int | None = None) -> set[str]:
    """The throw-away databases of a process, this one if no other is named: other tests make some meanwhile."""
    with psycopg.connect(url, autocommit=True) as conn:
        mine = f"muniment_bench_{pid or os.getpid()}_%"
        return {name for (name,) in conn.execute("select datname from pg_database where datname like %s", (mine,))}


def test_recall_is_whole_when_every_answer_is_a_plain_turn(measured: Callable[..., dict[str, Any]]) -> None:
    """Questions in the words of their evidence find it, in every category and conversation."""
    found = measured(talk(lambda n: [f"D{n}:1"]), talk(lambda n: [f"D{n}:1"], "talk-2"))
    assert (found["recall@5"], found["recall@10"], found["questions"], found["dropped"]) == (1.0, 1.0, 10, 0)
    assert found["by_category"]["multi-hop"] == {"recall@5": 1.0, "recall@10": 1.0, "questions": 6}
    assert found["by_category"]["single-hop"]["questions"] == 4
    assert set(found["by_conversation"]) == {"talk-1", "talk-2"}
    assert (found["memories"], found["standard_error@10"]) == (2 * len(TOPICS), 0.0)


def test_recall_falls_when_the_evidence_is_elsewhere(measured: Callable[..., dict[str, Any]]) -> None:
    """Evidence that does not answer the question is not found by accident among the first five."""
    found = measured(talk(lambda n: [f"D{n}:1", f"D{(n + 7) % 16 + 1}:1"]))
    assert 0.5 <= found["recall@5"] < 1.0


def test_malformed_evidence_is_repaired_or_counted(measured: Callable[..., dict[str, Any]]) -> None:
    """What is certain is read, what is not is dropped, and a question without any is left out."""
    spoiled = {1: ["D01:1; D1:1"], 5: ["D:5:1"], 8: ["D8:1 D99:1"], 11: ["D"], 16: ["D16:1"]}
    found = measured(talk(lambda n: spoiled[n]))
    assert (found["questions"], found["questions_dropped"]) == (4, 1)
    assert (found["evidence"], found["repaired"], found["dropped"]) == (5, 3, 2)
    assert found["recall@5"] == 1.0


def test_limit_counts_per_conversation(measured: Callable[..., dict[str, Any]]) -> None:
    """`--limit` asks at most so many questions of each conversation."""
    right = [talk(lambda n: [f"D{n}:1"], name) for name in ("talk-1", "talk-2")]
    assert measured(*right, more=["--limit", "2"])["questions"] == 4


@pytest.mark.parametrize(("raw", "ids"), [
    ("D8:6; D9:17", ["D8:6", "D9:17"]), ("D:11:26", ["D11:26"]), ("D30:05", ["D30:5"]), ("D", []), ("", []),
    ("D1:2", ["D1:2"]),
])  # fmt: skip
def test_evidence_strings(raw: str, ids: list[str]) -> None:
    """An evidence string gives the ids that are certain, and says whether it had to be repaired."""
    assert recall.parse(raw) == (ids, [raw] != ids)


def test_recall_leaves_no_database_behind(measured: Callable[..., dict[str, Any]], server: str) -> None:
    """The throw-away database is gone."""
    assert not left(server)
    measured(talk(lambda n: [f"D{n}:1"]), more=["--limit", "1"])
    assert not left(server)


@pytest.mark.parametrize("content", [None, "{", "[]", '{"sample_id": "x"}'])
def test_a_file_that_is_none_is_one_line(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    """A missing or broken file ends with 1 and one line, without a traceback."""
    file = tmp_path / "talks.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    assert recall.main([str(file)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1


@pytest.fixture
def two(server: str, tmp_path: Path) -> str:
    """A file of two conversations: in the other one most of what is said of motorcycles is not said by the one asked
    about."""
    one = talk(lambda n: [f"D{n}:1"])
    other = talk(lambda n: [f"D{n}:1"], "talk-2")
    said: dict[str, Any] = {"speaker_a": "Ida", "speaker_b": "Jon"}
    for n, line in enumerate(ELSEWHERE, 1):
        speaker, _, text = line.partition(": ")
        said[f"session_{n}_date_time"] = f"9:05 am on {n} May, 2023"
        said[f"session_{n}"] = [{"speaker": speaker, "dia_id": f"D{n}:1", "text": text}]
    other["conversation"] = said
    other["qa"] = [
        {"question": "Which marathon did Ida run?", "answer": "", "category": 4, "evidence": ["D1:1"]},
        {"question": "Whose brother did Bela meet?", "answer": "", "category": 1, "evidence": ["D2:1"]},
        {"question": "Which motorcycle does Jon own?", "answer": "", "category": 1, "evidence": ["D10:1"]},
    ]
    file = tmp_path / "two.json"
    file.write_text(json.dumps([one, other]), encoding="utf-8")
    return str(file)


def test_ablation_asks_without_each_ingredient(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the actor alone decides is lost without it; the present constants rank here as `Memory.query` does."""
    assert ablation.main([two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    whole = found["variants"]["all"]
    assert (whole["gain@5"], whole["gain@10"], whole["gain_error@10"], whole["questions"]) == (0, 0, 0, 8)
    assert set(found["variants"]) == {"all", *(f"without {part}" for part in ablation.PARTS), *ablation.CHANNELS}
    for row in found["variants"].values():
        assert row["gain@5"] == pytest.approx(row["recall@5"] - whole["recall@5"], abs=2e-4)
    assert found["variants"]["without actor"]["gain@5"] < 0
    assert found["left_out"]["present"].items() <= whole.items()
    assert set(found["left_out"]["chosen"]) == {"talk-1", "talk-2"}
    assert set(found["left_out"]["without"]) == set(ablation.TUNED)


def test_silence_tells_foreign_questions_from_own(two: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every question is asked in every space; a higher gate is silent more often, and never less."""
    assert silence.main([two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["foreign"], found["answerable"], found["foreign_shared_name"]) == (8, 8, 1)
    assert found["foreign"] == sum(part["foreign"] for part in found["by_conversation"].values())
    curve = {part["gate"]: part for part in found["curve"]}
    assert {key: found[key] for key in ("silent", "lost")}.items() <= curve[found["gate"]].items()
    gates = sorted(curve)
    assert all(curve[a]["silent"] <= curve[b]["silent"] for a, b in pairwise(gates))
    assert curve[gates[0]]["silent"] < curve[gates[-1]]["silent"]
    assert found["silent"] > max(0.8, found["silent_names_unused"])
    assert found["lost"] < 0.2


def test_silence_wants_a_second_conversation(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With one conversation nothing is foreign, which is said in one line."""
    file = tmp_path / "one.json"
    file.write_text(json.dumps(talk(lambda n: [f"D{n}:1"])), encoding="utf-8")
    assert silence.main([str(file)]) == 1
    assert "second conversation" in capsys.readouterr().err


def test_constants_rank_as_the_score_does() -> None:
    """A question's recall with a row of multiples is what sorting by the changed sum gives, ties by the smaller row."""
    rng = np.random.default_rng(7)
    parts = np.round(rng.normal(0.0, 0.3, (40, 3)), 1)
    seen = ablation.Signals(talk="a", category=1, names=("x", "y", "z"), parts=parts, evidence=(3, 17, 39), wanted=4)
    multiples = rng.choice([0.0, 0.5, 1.0], (25, 3))
    for row, some in zip(multiples, ablation.recalls(seen, multiples), strict=True):
        order = np.argsort(-np.maximum(0.0, parts @ row), kind="stable")
        assert some.tolist() == [len({3, 17, 39} & set(order[:depth].tolist())) / 4 for depth in recall.DEPTHS]


def test_latency_measures_all_beside_the_floor(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run has every figure, answers as the exact search does, and the floor is 1."""
    assert latency.main(["--users", "2", "--memories", "60", "--queries", "6", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recall_vs_exact"] == 1.0
    assert 0.9 <= found["store_recall_vs_exact"] <= 1.0
    assert set(found["clients"]) == {"1", "8"}
    for rows in found["clients"].values():
        assert set(rows) == {"memory", "memory_embedding", "found", "floor", "store"}
        assert rows["floor"]["ratio_p50"] == rows["floor"]["ratio_p95"] == 1.0
        assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows.values())
    assert found["ratio_to_floor_p50"] == found["clients"]["1"]["memory"]["ratio_p50"] > 1
    assert found["peak_rss_mb"] > 10
    assert 0 < found["import_cpu_s"]["muniment"] < found["import_cpu_s"]["engine"]


def test_writing_measures_adds_beside_a_raw_insert(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run has every figure, the raw insert is 1, and no edge is there twice."""
    assert writing.main(["--adds", "16", "--memories", "30", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["writes"][writing.FLOOR]["ratio_p50"] == found["writes"][writing.FLOOR]["ratio_p95"] == 1.0
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in found["writes"].values())
    assert found["add_ratio_p50"] == found["writes"]["add"]["ratio_p50"]
    assert found["edge_ms_p50"] < 2
    assert found["edges_an_add"] >= 1
    assert found["edges_of_concurrent_writers"] > found["duplicate_edges"] == 0
    assert set(found["throughput"]) == {"1", "2", "4", "8", "8 in one space"}
    assert all(rate > 0 for rate in found["throughput"].values())
    assert [[*sides] for sides in found["remembering"].values()] == [["remember", "store"]] * 2
    assert found["remember_ratio_store"] > 0
    assert found["missing_revisions"] == found["double_revisions"] == 0


def test_embedding_measures_callers_who_share(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight at once behind an endpoint share requests, and what four ask alike is in them once."""
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")
    assert embedding.main(["--texts", "24", "--rounds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    ways = {"one by one", "at once", "at once, repeats"}
    assert set(found["local"]) == set(found["endpoint"]) == ways
    assert all(0 < row["p50_ms"] <= row["p95_ms"] <= row["max_ms"] for row in found["endpoint"].values())
    assert found["endpoint"]["one by one"]["made"] == 24
    assert 3 <= found["endpoint"]["at once"]["made"] <= 12
    assert found["endpoint_speedup"] > 2
    assert 0 < found["import"]["alone_p50_ms"] <= found["import"]["alone_p95_ms"]


def test_hostile_texts_are_measured(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each function reads each shape, and the slowest go through every call without an error."""
    assert hostile.main(["--shapes", "6", "--sizes", "300", "6000", "--live", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["shapes"], found["functions"], found["live_chars"]) == (6, len(hostile.READERS), 6_000)
    assert set(found["by_function"]) == set(hostile.READERS)
    assert found["worst_cpu_s"] == max(found["by_function"].values()) > 0
    assert found["call_cpu_s"] == max(found["calls_cpu_s"].values()) > 0
    assert found["loop_blocked_ms"] > 0
    assert found["errors"] == []


def test_cancelled_calls_take_nothing_from_others(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All are cancelled, those beside them are answered, and nothing is left behind."""
    assert cancel.main(["--calls", "150", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["calls"], len(found["ways"])) == (150, 5)
    assert found["bystander_calls"] > 0
    left = ("bystanders_failed", "in_transaction", "locks_left", "connections_lost")
    assert [found[name] for name in left] == [0, 0, 0, 0]


def test_importing_measures_imports_beside_copy(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run has every figure, COPY of the memories is 1, and a stream arrives whole."""
    assert importing.main(["--memories", "300", "--rounds", "1", "--stream", "600", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["imports"][importing.FLOOR]["ratio"] == 1.0
    assert set(found["imports"]) == {importing.FLOOR, importing.ALL, "ingest", "load"}
    assert all(row["memories_s"] > 0 for row in found["imports"].values())
    for name in ("ingest", "load"):
        rate, beside = found["imports"][name]["memories_s"], (importing.FLOOR, importing.ALL)
        rates = [rate / found["imports"][one]["memories_s"] for one in beside]
        assert [found[f"{name}_ratio"], found[f"{name}_ratio_rows"]] == pytest.approx(rates, rel=0.05, abs=0.002)
    assert (found["stream"]["memories"], found["stream"]["memories_s"] > 0) == (600, True)


def test_a_night_touches_only_what_has_changed(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A small town: every space the first night, none in a night without a change, then those that have changed."""
    assert nightly.main(["--memories", "40", "--spaces", "10", "--changed", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["changed"], found["tended"], found["first_night"]["spaces"]) == (2, 2, 10)
    assert 0 < found["round_seconds"] < found["seconds"]
    assert 0 < found["peak_rss_before_mb"] <= found["peak_rss_after_mb"]


@pytest.mark.parametrize(("command", "lines"), [(["benchmarks.latency", "--users", "500"], 1), (["benchmarks"], 2)])
def test_an_interrupt_drops_the_database(server: str, command: Sequence[str], lines: int) -> None:
    """Ctrl-C in the middle ends with 130, leaves nothing behind, and of all benchmarks no other begins."""
    running = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=dict(os.environ),
        cwd=Path(__file__).parents[2],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        until = time.monotonic() + 30
        while not left(server, running.pid) and time.monotonic() < until:
            time.sleep(0.1)
        assert left(server, running.pid)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=40)
    finally:
        running.kill()
    assert running.returncode == 130
    assert len(told.splitlines()) == lines
    assert not left(server, running.pid)


def test_the_synthetic_world_is_the_same_every_time() -> None:
    """One seed, one world; vectors are of length 1, and a topic's are nearer to each other than to another's."""
    one, two = synthetic.World(7), synthetic.World(7)
    assert [made.text for made in one.memories(3, 20)] == [made.text for made in two.memories(3, 20)]
    assert [asked.text for asked in one.questions(2, 4)] != [asked.text for asked in synthetic.World(8).questions(2, 4)]
    vectors = np.stack([made.vector for made in one.memories(0, 200)])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = np.sort((vectors @ vectors.T)[np.triu_indices(200, 1)])
    assert 0.2 < cosines[0] < 0.4
    assert 0.7 < cosines[-1] < 0.85


def test_replies_are_timed_with_a_memory_and_without(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Both wait for the same model, the extraction is asked beside it, and a turn ends after its reply."""
    assert replies.main(["--turns", "9", "--latency", "4", "--reply", "0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["extraction_requests"] >= 1
    for side in ("memory", "none"):
        assert 200 <= found[side]["reply_p50_ms"] <= found[side]["turn_p50_ms"]
    assert found["ratio"] == pytest.approx(found["memory"]["reply_p50_ms"] / found["none"]["reply_p50_ms"], abs=0.01)
    assert found["memory"]["turn_p50_ms"] < 3000  # it did not wait for the extraction as well


def test_meanwhile_a_model_judges_pairs(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions and turns are timed beside a process that consolidates, both with a model over HTTP, and nothing is
    left."""
    small = ["--model", "0.05", "--memories", "300", "--seconds", "0.3", "--rounds", "1", "--json"]
    assert meanwhile.main(small) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["judged_by_the_model"] > 0
    assert {(name, *one) for name, one in found["of"].items()} == {
        (name, "calm", "busy", "ratio") for name in ("query", "turn")
    }
    assert not left(server)


def test_a_turn_is_measured_beside_the_plain_graph(server: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure with its limit; the vectors were known, and a turn is saved once."""
    assert turn.main(["--turns", "2", "--long", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(found[name] > 0 for name in found["limits"])
    assert found["vectors_missed"] == 0
    calls = {name: (side["aput"], side["aput_writes"]) for name, side in found["sides"].items() if "aput" in side}
    assert calls == {"plain": (3, 2), "memory": (1, 0), "embedder": (1, 0), "saver": (3, 2)}
