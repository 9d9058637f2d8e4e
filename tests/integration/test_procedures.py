"""How-to memory: sessions of work with tools, from the ledger to a procedure and to those who may read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput
from tests.engine import NOON, engine, note, scope
from tests.sessions import (
    DEPLOYMENT,
    DEPLOYMENT_TOLD,
    PARSER,
    PARSER_TOLD,
    PDF,
    PDF_TOLD,
    Line,
    after,
    learned,
    procedures,
    session,
    unreviewed,
)

THANKS: Line = ("user", "Thanks! Remember how we did this.")


@pytest.fixture
async def memory(database_url: str) -> AsyncIterator[Memory]:
    async with engine(database_url, clock=after(), tuned=unreviewed(database_url)) as opened:
        yield opened


async def test_a_session_becomes_a_procedure(memory: Memory) -> None:
    """A document delivered at last, a parser that was overcome, checks that a person wants kept: by what tools
    report."""
    for lines, told, importance in ((PDF, PDF_TOLD, 3), (PARSER, PARSER_TOLD, 3), (DEPLOYMENT, DEPLOYMENT_TOLD, 4)):
        turns, who = session(lines), scope(told[:12])
        await memory.conversation.record(who, turns)
        receipt = await memory.conversation.learn_path(who)
        [known] = await procedures(memory, who.owner)
        assert [one.after.id for one in receipt.changes] == [known.id]
        assert known.text == told
        assert (known.category, known.trust, known.importance) == ("procedural", "tool", importance)
        assert (known.fact, known.pinned, known.agent_id, known.thread_id) == (None, False, "executor", "A")
        assert known.tags == ("path",)
        worked = {one.id for one in turns if one.role == "tool" and "memory_query" not in one.text}
        assert worked <= set(known.turns) <= {one.id for one in turns if one.role != "assistant"}
        assert (await memory.conversation.learn_path(who)).skipped == "known"
        assert len(await procedures(memory, who.owner)) == 1


HOWTO: list[Line] = [
    ("user", "How do I deliver a PDF that the portal refuses?"),
    (
        "assistant",
        "1. Open report.pdf.\n2. Run convert --to pdfa report.pdf.\n3. Upload it: HTTP 201. Done, it worked!",
    ),
]


NOTHING: dict[str, list[Line]] = {
    "a how-to in prose": [*HOWTO, THANKS],
    "a final answer": [("user", "Convert report.pdf to pdfa"), HOWTO[1], THANKS],
    "no failure and no wish": DEPLOYMENT[:-1],
    "a question": [*DEPLOYMENT[:-1], ("user", "Do you remember how we did this?")],
    "nothing succeeded in the end": PDF[:3],
    "wished for, and it failed in the end": [*PDF[:3], THANKS],
    "failures only": [PDF[0], PDF[2], PDF[2], THANKS],
    "the same again": [PDF[0], ("fetch", {"u": "x"}, "timed out", False), ("fetch", {"u": "x"}, "got it", True)],
    "a look into memory": PARSER[:5],
    "another goal": [*PARSER[:2], ("user", "Book the train to Lisbon"), ("book_train", {"to": "Lisbon"}, "ok", True)],
    "the last use reports nothing": [*PARSER, ("save_tables", {"path": "scan.pdf"}, "twelve of them")],
    "nobody says that it succeeded": [*PARSER[:2], ("parse_pdf", {"path": "scan.pdf", "engine": "ocr"}, "many words")],
}


async def test_nothing_else_becomes_one(memory: Memory) -> None:
    """No prose, no question, no success without a failure or a wish, no failure without a success."""
    found = {name: await learned(memory, lines, owner=name) for name, lines in NOTHING.items()}
    assert found == {name: [] for name in NOTHING}


async def test_a_second_success_replaces_the_path(memory: Memory) -> None:
    """The same goal with another file: the newer steps, the failures of both, the journal says so; an older one is
    late."""
    await learned(memory, PDF)
    [first] = await procedures(memory)
    again: list[Line] = [
        ("user", "Convert invoice.pdf into a format that the tax portal accepts"),
        ("convert_file", {"path": "invoice.pdf", "format": "png"}, "Error: one page only", False),
        ("convert_file", {"path": "invoice.pdf", "format": "pdfa", "version": 3}, "ok", True),
        ("upload_file", {"path": "invoice.pdf", "portal": "tax"}, "HTTP 201 Created"),
    ]
    later = NOON + timedelta(minutes=5)
    [text] = await learned(memory, again, thread="B", start=later)
    [known] = await procedures(memory)
    assert (known.id, known.event_time) == (first.id, later + timedelta(seconds=30))
    assert "version=3" in text
    assert "format=png (Error: one page only)" in text
    assert "format=docx: upload_file fails" in text
    assert "invoice.pdf" in text.splitlines()[0]
    assert set(first.turns) < set(known.turns)
    history = await memory.history(scope(), known.id)
    assert [(one.action, one.node) for one in history] == [("UPDATE", "worker"), ("ADD", "worker")]
    old: list[Line] = [again[0], *PDF[1:]]
    assert await learned(memory, old, thread="C", start=NOON - timedelta(days=1)) == [text]


async def test_the_same_steps_again_are_merged(memory: Memory) -> None:
    """One more failure on the same way is added to what is to be avoided; a wish makes it more important."""
    await learned(memory, PARSER)
    more: list[Line] = [
        PARSER[0],
        ("parse_pdf", {"path": "scan.pdf", "engine": "old"}, "exit code: 2"),
        PARSER[5],
        THANKS,
    ]
    [text] = await learned(memory, more, thread="B", start=NOON + timedelta(minutes=5))
    [known] = await procedures(memory)
    assert [one.action for one in await memory.history(scope(), known.id)] == ["MERGE", "ADD"]
    assert "engine=old (exit code 2)" in text
    assert "engine=fast (ValueError: no text layer)" in text
    assert known.importance == 4


async def test_other_goals_stay_apart(memory: Memory) -> None:
    """The steps to staging are not those to production, however alike the two texts are."""
    await learned(memory, DEPLOYMENT)
    staging: list[Line] = [("user", "Deploy release 2.4 to staging"), *DEPLOYMENT[1:]]
    found = await learned(memory, staging, thread="B", start=NOON + timedelta(minutes=5))
    assert sorted(text.splitlines()[0] for text in found) == [
        "Goal: Deploy release 2.4 to production",
        "Goal: Deploy release 2.4 to staging",
    ]


async def test_two_wordings_of_a_goal_are_one_procedure(memory: Memory) -> None:
    """The same steps, asked for in other words and for another file: one procedure under both; a third wording finds
    it."""
    await learned(memory, PARSER)
    [first] = await procedures(memory)
    wordings = ("Pull the tables from the new scan.pdf", "Pull the tables out of invoice.pdf")
    for n, wording in enumerate(wordings, 1):
        file = wording.split()[-1]
        again: list[Line] = [
            ("user", wording),
            ("parse_pdf", {"path": file, "engine": "old"}, "exit code: 2"),
            ("parse_pdf", {"path": file, "engine": "ocr", "dpi": 300}, "12 tables", True),
        ]
        await learned(memory, again, thread=f"T{n}", start=NOON + timedelta(minutes=2 * n))
    [known] = await procedures(memory)
    assert known.id == first.id
    assert known.text.splitlines()[0] == ("Goal: Pull the tables out of invoice.pdf / Extract the tables from scan.pdf")
    assert known.text.splitlines()[2] == "1. Call parse_pdf with path=invoice.pdf, engine=ocr, dpi=300"
    assert [one.action for one in await memory.history(scope(), known.id)] == ["UPDATE", "MERGE", "ADD"]


async def test_other_steps_keep_the_wordings(memory: Memory) -> None:
    """One work under two wordings, reached in another way under one of them: it is found by the other one, too. The run
    in which it was found does not take it along."""
    ways = (("Extract", "ocr"), ("Pull", "ocr"), ("Pull", "cloud"), ("Extract", "ocr"))
    for n, (verb, way) in enumerate(ways):
        where = scope(thread=f"T{n}", run="r1")
        lines: list[Line] = [
            ("user", f"{verb} the tables from scan.pdf"),
            ("parse_pdf", {"path": "scan.pdf", "engine": "fast"}, "exit code: 2"),
            ("parse_pdf", {"path": "scan.pdf", "engine": way}, "12 tables", True),
        ]
        await memory.conversation.record(where, session(lines, thread=f"T{n}", start=NOON + timedelta(minutes=2 * n)))
        await memory.conversation.learn_path(where)
    [known] = await procedures(memory)
    assert known.text.splitlines()[:3] == [
        "Goal: Extract the tables from scan.pdf / Pull the tables from scan.pdf",
        "Steps:",
        "1. Call parse_pdf with path=scan.pdf, engine=ocr",
    ]
    assert [one.action for one in await memory.history(scope(), known.id)] == ["UPDATE", "UPDATE", "MERGE", "ADD"]
    assert known.run_id is None


KIN: dict[str, tuple[str, list[Line]]] = {
    "other steps": ("Pull the tables from the scan.pdf",
        [*PARSER[1:5], ("parse_pdf", {"path": "scan.pdf", "engine": "cloud"}, "ok", True)]),
    "another goal": ("Archive every mail of scan.pdf by its sender", PARSER[1:]),
    "more steps": ("Pull the tables from the scan.pdf",
        [*PARSER[1:], ("check_tables", {"path": "scan.pdf"}, '{"valid": true}')]),
    "another number": ("Pull the tables from the scan.pdf",
                       [*PARSER[1:5], ("parse_pdf", {"path": "scan.pdf", "engine": "ocr", "dpi": 600}, "ok", True)]),
}  # fmt: skip


async def test_procedures_of_other_steps_or_goals_are_two(memory: Memory) -> None:
    """A close goal reached in another way, or the same way to another goal."""
    for name, (wording, lines) in KIN.items():
        await learned(memory, PARSER, owner=name)
        later = NOON + timedelta(minutes=5)
        found = await learned(memory, [("user", wording), *lines], owner=name, thread="B", start=later)
        assert len(found) == 2, name


async def test_two_wordings_in_chinese(memory: Memory) -> None:
    """By their words where the embedder does not know the script; other words in it are another goal."""
    for wording, count in (("把报告转换成PDF格式", 1), ("把这份报告转成PDF格式", 1), ("翻译合同全文", 2)):
        lines: list[Line] = [
            ("user", wording),
            ("convert", {"to": "png"}, "HTTP 415"),
            ("convert", {"to": "pdf"}, "ok", True),
        ]
        await learned(memory, lines, thread=wording, start=NOON + timedelta(minutes=len(wording) / 2))
        assert len(await procedures(memory)) == count


async def test_what_was_forgotten_is_not_learned_again(memory: Memory) -> None:
    """The turns are still there; a new success is another matter."""
    await learned(memory, PARSER)
    [known] = await procedures(memory)
    await memory.forget(scope(), known.id)
    await memory.conversation.learn_path(scope())
    assert not await procedures(memory)
    more: list[Line] = [("check_tables", {"path": "scan.pdf"}, "ok", True)]
    assert await learned(memory, more, start=NOON + timedelta(minutes=2)) == []
    await learned(memory, PARSER, thread="B", start=NOON + timedelta(minutes=5))
    assert len(await procedures(memory)) == 1


async def test_it_is_no_fact_and_no_episode(memory: Memory) -> None:
    """A wish is no statement of the person, a tool's turn none either; what is kept by hand has to be a procedure."""
    turns = session([*PARSER, ("user", "记住我们是怎么做的"), ("user", "Save the steps for next time."), THANKS])
    await memory.conversation.record(scope(), turns)
    for turn in turns:
        receipt = await memory.learn(scope(), turn)
        assert not receipt.changes
    await memory.conversation.learn_path(scope())
    memory.engine = memory.engine.rebuild(clock=after(30))
    await memory.conversation.capture(scope())
    kinds = {one.kind: one.text for one in await memory.list(scope())}
    assert set(kinds) <= {"procedural", "episodic"}
    assert "parse_pdf" not in kinds.get("episodic", "")
    wrong = [
        Candidate(text="Bake it for an hour", category="procedural", kind="procedural", turns=(TurnId(turns[0].id),)),
        Candidate(text=PDF_TOLD, category="goals", kind="procedural", turns=(TurnId(turns[0].id),)),
    ]
    with pytest.raises(
        BadInput, match="cannot be kept: not in the form of a procedure; a procedure in the cat"
    ) as caught:
        await memory.keep_candidates(scope(), wrong)
    assert caught.value.data["reasons"] == ["not in the form of a procedure", "a procedure in the category 'goals'"]
    receipt = await memory.keep_candidates(scope(), [*wrong, note("The oven is hot")])
    assert (len(receipt.changes), len(receipt.refused)) == (1, 2)


async def test_work_is_looked_at_when_it_is_quiet(memory: Memory) -> None:
    """Uses that come one by one make one job, later; a wish makes one that is due at once, and a worker does it."""
    for turn in session(DEPLOYMENT)[:-1]:
        await memory.conversation.record(scope(), [turn])
    assert (await memory.jobs.count_jobs())["learn_path"] == {"due": 1, "later": 0, "running": 0}
    await memory.conversation.record(scope(), session(DEPLOYMENT)[-1:])
    assert (await memory.jobs.count_jobs())["learn_path"]["due"] == 2
    async with bootstrap.open_worker(memory.engine.settings, memory) as worker:
        await asyncio.wait_for(worker.run(drain=True), 20)
    assert [one.text for one in await procedures(memory)] == [DEPLOYMENT_TOLD]
    assert "learn_path" not in await memory.jobs.count_jobs()
    await memory.conversation.record(scope(), session(PARSER)[:1])
    await memory.conversation.record(scope(), session(PARSER)[1:2])
    assert "learn_path" not in await memory.jobs.count_jobs()


async def test_a_job_knows_its_thread(memory: Memory) -> None:
    """Of two threads only the one that the job names is looked at; without one there is nothing to look at."""
    await memory.conversation.record(scope(thread="A"), session(PARSER))
    await memory.conversation.record(
        scope(thread="with spaces"), [replace(one, session="s 7") for one in session(PDF, thread="with spaces")]
    )
    await memory.jobs.perform_job(Job(name="learn_path", scope=scope(thread=""), key="worked with spaces"))
    [known] = await procedures(memory)
    assert (known.text, known.thread_id, known.session_id) == (PDF_TOLD, "with spaces", "s 7")
    assert (await memory.conversation.learn_path(Scope(owner="ana"))).skipped == "no thread"


async def test_denied_work_is_not_learned(database_url: str) -> None:
    """A tool that read a denied path, and a denied tag, leave no turn; so there is no path."""
    tuned = unreviewed(database_url)
    rules = tuned.redact.model_copy(update={"deny_paths": ("*/private/*",)})
    async with engine(database_url, tuned=tuned.model_copy(update={"redact": rules}), clock=after()) as memory:
        private = [
            tuple(part | {"path": "x/private/scan.pdf"} if isinstance(part, dict) else part for part in line)
            for line in PARSER
        ]
        assert await learned(memory, private) == []  # type: ignore[arg-type]
        assert {row["role"] for row in await memory.export(scope()) if row["type"] == "turn"} == {"user"}
    async with engine(database_url, clock=after(), tuned=unreviewed(database_url)) as memory:
        await memory.conversation.record(scope(thread="B"), session(private, thread="B"))  # type: ignore[arg-type]
        memory.engine = memory.engine.rebuild(settings=tuned.model_copy(update={"redact": rules}))
        assert (await memory.conversation.learn_path(scope(thread="B"))).skipped == "no path that succeeded"


async def test_two_workers_make_one(database_url: str) -> None:
    """Both look at the same thread at once: one procedure, one line of the journal."""
    async with (
        engine(database_url, clock=after(), tuned=unreviewed(database_url)) as one,
        engine(database_url, clock=after(), tuned=unreviewed(database_url)) as other,
    ):
        await one.conversation.record(scope(), session(PARSER))
        await asyncio.gather(*(memory.conversation.learn_path(scope()) for memory in (one, other, one, other)))
        assert len(await procedures(one)) == 1
        assert len(await one.history(scope())) == 1


async def test_work_that_goes_on_is_one_procedure(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at twice, the second time when its beginning is out of sight: the same memory with more steps and its
    goal."""
    await learned(memory, PARSER)
    [first] = await procedures(memory)
    more: list[Line] = [("check_tables", {"path": "scan.pdf"}, '{"valid": true}')]
    await memory.conversation.record(scope(), session(more, start=NOON + timedelta(minutes=2)))
    monkeypatch.setattr("muniment.memory.flows.background.procedures._TURNS", 4)
    await memory.conversation.learn_path(scope())
    [second] = await procedures(memory)
    assert second.id == first.id
    assert second.text.splitlines()[0] == PARSER_TOLD.splitlines()[0]
    assert "2. Check with check_tables (path=scan.pdf)" in second.text


async def test_the_caps_of_the_day_hold(database_url: str) -> None:
    """What a user's space may change in a day by itself, procedures may, too; it is refused with the reason."""
    tuned = unreviewed(database_url)
    writing = tuned.write.model_copy(update={"per_day": 1})
    async with engine(database_url, tuned=tuned.model_copy(update={"write": writing}), clock=after()) as memory:
        await learned(memory, PARSER)
        await memory.conversation.record(scope(thread="B"), session(PDF, thread="B"))
        receipt = await memory.conversation.learn_path(scope(thread="B"))
        assert receipt.refused == ("more than 1 a day",)
        assert len(await procedures(memory)) == 1


async def test_it_keeps_to_its_size(database_url: str) -> None:
    """At most so many characters and steps; where not even its shortest form has room, it is refused."""
    tuned = unreviewed(database_url)
    for chars, steps, expected in ((180, 2, 1), (20, 2, 0)):
        rules = tuned.procedures.model_copy(update={"chars": chars, "steps": steps})
        async with engine(database_url, tuned=tuned.model_copy(update={"procedures": rules}), clock=after()) as memory:
            owner = scope(owner=f"u{chars}")
            await memory.conversation.record(owner, session(DEPLOYMENT))
            receipt = await memory.conversation.learn_path(owner)
            assert len(receipt.changes) == expected
            for change in receipt.changes:
                assert len(change.after.text) <= chars
                assert "check_health" in change.after.text
                assert "\n3. " not in change.after.text
            assert bool(receipt.refused) is not bool(expected)
