"""`muniment work`: drained, without a model, killed again and again; and the worker beside the chat."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest

from muniment.faces.cli.commands.maintenance import work as working
from muniment.memory import bootstrap
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.jobs import Job, JobOutcome
from muniment.testing.openai_server import Fail, Request, ScriptedOpenAI
from tests.engine import said, scope
from tests.faces.conftest import PROGRAM, Muniment

pytestmark = pytest.mark.timeout(240)  # they start processes one after the other, which takes long where others work
FACTS = {
    "ana": ["The lighthouse lamp hums in copper", "Grandmother's poncho smells of cedar",
        "The quarry choir owns a harmonium",
            "The parrot from Trieste whistles waltzes"],
    "ben": ["The kiln by the mangroves cracked", "The glassblower rides a green motorcycle",
        "Eleven quince trees lean west",
            "The ferry to Sark has a brass bell"],
    "cem": ["The observatory dome leaks at dawn", "The heron steals goldfish on Sundays",
        "Rye bread from Ghent keeps a month",
            "The chess clock in the attic runs fast"],
}  # fmt: skip
HELD = "select id from jobs.queue where status = 'doing'"
FAILURES: tuple[Fail, ...] = ("server_error", "cut_off", "wrong_schema", "empty", "drop", "rate_limit")


def extraction(body: dict[str, Any]) -> str:
    """What a model finds: the turn that it is asked about is one fact."""
    asked = json.loads(body["messages"][-1]["content"])
    number = asked["extract_from"][0]
    text = next(one["text"] for one in asked["conversation"] if one["turn"] == number).rstrip(".")
    thing = text.rpartition(" ")[2]
    fact = {
        "statement": text, "kind": "note", "predicate": "is told", "object": text, "subject": thing, "negated": False,
        "single": False, "event_time": None, "persons": [], "entities": [], "location": None, "topic": None,
        "category": "knowledge", "importance": 3, "confidence": 0.9, "turns": [number],
    }  # fmt: skip
    return json.dumps({"facts": [fact]})


@pytest.fixture
def environment(environment: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Without rounds, and with a request for each turn: these tests count the jobs that they made."""
    quiet = tmp_path / "quiet.yaml"
    rounds = "session_ledger: {run_on_startup: false, cleanup_interval_seconds: 1000000000, idle_minutes: 500000000}"
    quiet.write_text(f"{rounds}\nobservations: {{turns: 1}}\n")
    return environment | {"MUNIMENT_CONFIG": str(quiet)}


def over(environment: dict[str, str], model: ScriptedOpenAI, **more: str) -> dict[str, str]:
    return environment | {"MUNIMENT_MODEL": "m", "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": model.base_url} | more


def tell(environment: dict[str, str]) -> None:
    """Every user says every fact, each in a session: the turns are in the ledger, the sessions' jobs in the queue."""

    async def work() -> None:
        async with bootstrap.create_memory(load_settings(environment)) as memory:
            for owner, texts in FACTS.items():
                for n, text in enumerate(texts):
                    turn = said(f"{text}.", key=f"{n}", thread=f"{n}")
                    await memory.conversation.record(scope(owner, thread=f"{n}"), [turn])

    asyncio.run(work())


def ask(environment: dict[str, str], query: str) -> list[Any]:
    with psycopg.connect(environment["MUNIMENT_OWNER_URL"], autocommit=True) as conn:
        cursor = conn.execute(query)
        return cursor.fetchall() if cursor.description else []


def left(environment: dict[str, str]) -> int:
    return int(ask(environment, "select count(*) from jobs.queue where name = 'build'")[0][0])


def hurried(environment: dict[str, str]) -> bool:
    """What waits for its next attempt is due now, and the workers hear of it."""
    ask(
        environment,
        "update jobs.queue set scheduled_at = now() where status = 'todo' and scheduled_at > now()",
    )
    ask(environment, 'notify "muniment_jobs#build"')
    return True


@contextmanager
def hired(environment: dict[str, str], *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [PROGRAM, "work", "--json", *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def until(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def test_every_fact_arrives_once_whatever_dies(environment: dict[str, str], tmp_path: Path) -> None:
    """A slow model that fails half the time, and two workers that are killed -9 at work, at random moments."""
    dice = random.Random(20261121)
    fails = [dice.choice(FAILURES) if dice.random() < 0.5 else None for _ in range(400)]
    quick = tmp_path / "quick.yaml"
    quiet = Path(environment["MUNIMENT_CONFIG"]).read_text()
    quick.write_text(f"{quiet}jobs: {{stalled_seconds: 1.5}}\nmodel: {{max_retries: 0}}\n")
    with ScriptedOpenAI(extraction, latency=0.3, fail=fails, retry_after=1) as model:
        here = over(environment, model, MUNIMENT_CONFIG=str(quick))
        with hired(here) as one, hired(here) as two:
            until(lambda: ask(here, "select count(*) from jobs.workers") == [(2,)])
            tell(here)
            for doomed in (one, two):
                time.sleep(dice.random())
                until(lambda: hurried(here) and ask(here, f"{HELD} limit 1") != [])
                doomed.send_signal(signal.SIGKILL)
                doomed.wait()
        assert ask(here, HELD) != []
        with hired(here) as steady:
            until(lambda: hurried(here) and not left(here))
            steady.send_signal(signal.SIGTERM)
            out, err = steady.communicate(timeout=45)
        assert (steady.returncode, err) == (0, b"")
    done = [json.loads(line) for line in out.splitlines()]
    assert done[-1]["waiting"] == {}
    assert any(line.get("failed") for line in done[:-1])
    kept = ask(here, "select text from muniment.memories where state = 'active' order by text")
    assert [text for (text,) in kept] == sorted(text for texts in FACTS.values() for text in texts)
    assert ask(here, "select count(*) from muniment.extractions where source = 'model'") == [(12,)]
    found = "select count(*), count(distinct stable_key) from muniment.observations where found_by <> 'rules'"
    assert ask(here, found) == [(12, 12)]


def test_drained(environment: dict[str, str], muniment: Muniment) -> None:
    """--drain does what is due, in order, and ends with the counts; --once does one job."""
    with ScriptedOpenAI(extraction) as model:
        here = over(environment, model)
        tell(here)
        own = {name: here[name] for name in ("MUNIMENT_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL")}
        once = muniment("work", "--once", "--json", **own)
        assert [line.get("job", line.get("done")) for line in once.lines] == ["build", 1]
        assert once.lines[-1]["waiting"] == {"build": {"due": 11, "later": 0, "running": 0}}
        drained = muniment("work", "--drain", "--concurrency", "2", **own)
        assert (drained.code, drained.out, drained.err) == (0, "11 done, 0 waiting.\n", "")
        again = muniment("work", "--drain", "--json", **own)
        assert again.lines == [{"done": 0, "failed": 0, "not_ready": 0, "dropped": 0, "waiting": {}}]
    assert muniment("work", "--drain", "--once").code == 2


def test_earlier_turns_are_read_when_it_is_asked(environment: dict[str, str], muniment: Muniment) -> None:
    """What was said before a model was configured costs nothing unless --catch-up is given."""
    with ScriptedOpenAI(extraction) as model:
        here = over(environment, model)
        tell({name: value for name, value in here.items() if name != "MUNIMENT_MODEL"})
        own = {name: here[name] for name in ("MUNIMENT_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL")}
        assert muniment("work", "--drain", **own).out == "0 done, 0 waiting.\n"
        assert model.requests == []
        caught_up = muniment("work", "--drain", "--catch-up", **own)
    assert caught_up.out == "12 done, 0 waiting.\n"


def test_a_failure_names_the_next_attempt() -> None:
    """In UTC as everywhere, with its day: with a budget that is used up it is tomorrow's."""
    again = datetime(2026, 5, 5, 0, 30, tzinfo=timezone(timedelta(hours=14)))
    outcome = JobOutcome(job=Job(name="tend", scope=scope()), seconds=1.25, error_class="OverBudget", retry_at=again)
    assert working._format_outcome(outcome) == "tend: OverBudget after 1.2 s, again at 2026-05-04 10:30:00 UTC"


def test_without_a_model(environment: dict[str, str], muniment: Muniment) -> None:
    """It says so, and leaves what waits for a model untouched."""
    with ScriptedOpenAI(extraction) as model:
        tell(over(environment, model))
        outcome = muniment("work", "--drain")
    assert outcome.code == 0
    assert outcome.out == "0 done, 12 waiting.\n"
    assert "No model is configured (MUNIMENT_MODEL" in outcome.err
    assert ask(environment, "select distinct attempts from jobs.queue") == [(0,)]


def test_the_chat_works_while_nobody_types(environment: dict[str, str]) -> None:
    """What the model finds in a turn is kept while the chat waits for the next line."""

    def reply(body: dict[str, Any]) -> str:
        return extraction(body) if "extract_from" in body["messages"][-1]["content"] else "I see."

    with ScriptedOpenAI(reply) as model:
        here = over(environment, model)
        with subprocess.Popen(
            [PROGRAM, "chat", "--json"], env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as chat:
            assert chat.stdin
            assert chat.stdout
            chat.stdin.write(f"{FACTS['ana'][0]}.\n".encode())
            chat.stdin.flush()
            assert json.loads(chat.stdout.readline())["reply"] == "I see."
            until(
                lambda: (
                    ask(here, "select text from muniment.memories where state = 'active'") == [(FACTS["ana"][0],)]
                    and not left(here)
                )
            )
            chat.stdin.close()
            assert chat.wait(45) == 0


def slowly(request: Request) -> float:
    """A reply at once, an extraction never."""
    return 3_600 if "extract_from" in request.body["messages"][-1]["content"] else 0


def test_leaving_gives_back_what_is_under_way(environment: dict[str, str]) -> None:
    """Ctrl-C is how a worker ends: without the answers, without an error, with the counts."""
    with ScriptedOpenAI(latency=slowly) as model:
        here = over(environment, model)
        tell(here)
        with hired(here, "--concurrency", "2") as process:
            until(lambda: len(model.requests) == 2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=45)
        assert (process.returncode, err) == (0, b"")
        waiting = {"build": {"due": 12, "later": 0, "running": 0}}
        assert json.loads(out) == {"done": 0, "failed": 0, "not_ready": 0, "dropped": 0, "waiting": waiting}


def test_the_chat_does_not_wait_for_a_slow_model(environment: dict[str, str]) -> None:
    """At its end what was under way is in the queue again."""
    with ScriptedOpenAI("I see.", latency=slowly) as model:
        here = over(environment, model)
        with subprocess.Popen(
            [PROGRAM, "chat", "--json"], env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as chat:
            assert chat.stdin
            assert chat.stdout
            chat.stdin.write(f"{FACTS['ana'][0]}.\n".encode())
            chat.stdin.flush()
            chat.stdout.readline()
            until(lambda: len(model.requests) >= 2)
            chat.stdin.close()
            assert chat.wait(45) == 0
        assert ask(here, "select status::text, attempts from jobs.queue where name = 'build'") == [("todo", 0)]
