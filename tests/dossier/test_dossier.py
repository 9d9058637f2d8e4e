"""A person's own file: complete, in plain words, in two languages and three forms, and nothing of another person."""

import io
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any

import jsonschema_rs
import pypdf
import pytest

from muniment.faces import dossier
from muniment.faces.dossier.files import DossierForm, choose_form, write_dossier
from muniment.faces.dossier.letters import LetterFaults
from muniment.faces.dossier.words import load_words
from muniment.faces.wording.texts import LANGUAGES
from muniment.memory.client import Memory
from muniment.memory.domain.layers.person import DOSSIER_PARTS, MEMORY_PARTS, PERSON_TABLES
from muniment.memory.domain.memory import Role
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput
from muniment.testing.fakes import FixedClock
from tests.canaries import Canary, plant
from tests.engine import NOON, engine, note, said, scope
from tests.integration.test_person import count_in_sql

ANA = Canary(said="quince", named="Ana")
BO = Canary(said="medlar", named="Bo")
SCHEMA = "muniment-dossier-1.schema.json"
SHARP = "<script>alert(1)</script> & \"quoted\" 'single' ]]> --> <!-- &amp; {user} %s"
CHINESE = "用户住在上海，喜欢徒步。"
TALK: tuple[tuple[str, Role, str], ...] = (
    ("1", "user", "I live in Lisbon."),
    ("2", "assistant", "How many hives?"),
    ("3", "user", "Seven."),
    ("4", "assistant", "A good start."),
)


async def write(memory: Memory, who: Scope, form: DossierForm, language: str = "en", **options: Any) -> bytes:
    file = io.BytesIO()
    await write_dossier(memory, who, form, language, file, **options)
    return file.getvalue()


async def fill(memory: Memory, clock: FixedClock) -> None:
    """A person of whom there is some of everything that a dossier has a section for."""
    who = scope()
    first = await memory.learn(who, said("I live in Lisbon."))
    await memory.decide_consents(who, [each.id for each in first.consent_requests], approve=True, by="ana")
    clock.advance(86_400)
    moved = await memory.learn(who, said("I live in Porto now."))
    await memory.decide_consents(who, [each.id for each in moved.consent_requests], approve=False, by="ana")
    await memory.learn(who, said("我喜欢喝绿茶。"))
    shown = memory.conversation.shingle_hashes(moved.changes[0].after.text)
    told = Turn.make(session="A", thread="A", key="r", role="assistant", text="Noted.", at=clock.now(), recalled=shown)
    await memory.conversation.record(who, [told])
    await memory.remember(who, SHARP)
    await memory.ingest(who, [note(CHINESE, "event")])
    gone = (await memory.remember(who, "The blue folder is in the attic")).changes[0].after.id
    await memory.forget(who, gone)
    leak = (await memory.remember(who, "The cellar has a leak")).changes[0].after.id
    await memory.admin.erase(who, leak)


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_every_language_says_the_same(name: str) -> None:
    """The catalogue of each language has every text, with the same values in it, and no part without a name."""
    english, other = load_words("en").catalogue, load_words(name).catalogue
    assert english.keys() == other.keys()
    for key, text in english.items():
        values = [{each for _, each, _, _ in Formatter().parse(one) if each} for one in (text, other[key])]
        assert values[0] == values[1], key
    assert {f"dossier.table.{table}" for table in PERSON_TABLES} <= other.keys()


@pytest.mark.parametrize("name", sorted(LANGUAGES))
def test_no_category_is_there_twice(name: str) -> None:
    """By category: no two have the same name, nor the singular and the plural of one."""
    names = [text for key, text in load_words(name).catalogue.items() if key.startswith("base.category.")]
    assert len({each.casefold().removesuffix("s") for each in names}) == len(names)


async def test_numbers_agree_and_times_are_in_order(database_url: str) -> None:
    """Readable: one thing is no plural, what was said before it came here is not changed before it was known, turns of
    one moment stand in the order in which they were said, and of whom nothing is kept, that is said."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        told = [
            Turn.make(session="A", thread="A", key=key, role=role, text=text, at=NOON - timedelta(days=400))
            for key, role, text in TALK
        ]
        await memory.conversation.record(scope(), told)
        await memory.learn(scope(), told[0])
        page = (await write(memory, scope(), DossierForm.html)).decode()
        empty = (await write(memory, scope("nobody"), DossierForm.html)).decode()
    text = re.sub(r"\n\s*", "\n", re.sub(r"<[^>]+>", "\n", page.split("</style>")[1]))
    assert "Conversation\n1\n" in text
    assert "Statement\n1\n" in text
    assert "As of\n30 March 2025, 12:00 UTC" in text
    assert "Last changed" not in text
    places = [text.rindex(each.text) for each in told]
    assert places == sorted(places)
    assert "Nothing is kept of nobody." in empty
    assert "Nothing is kept" not in page


async def test_json_is_as_published_and_complete(database_url: str) -> None:
    """The file for programs is valid by its schema, complete against plain SQL counts, and has nothing of another."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        await plant(memory, BO, clock)
        content = json.loads(await write(memory, ANA.scope, DossierForm.json))
    schema = (files(dossier) / "schemas" / SCHEMA).read_bytes()
    assert (Path(__file__).parents[2] / "docs/reference" / SCHEMA).read_bytes() == schema
    validator = jsonschema_rs.Draft202012Validator(json.loads(schema), validate_formats=True)
    assert [error.message for error in validator.iter_errors(content)] == []
    assert not validator.is_valid({**content, "format": "muniment-dossier/2"})
    assert not validator.is_valid({**content, "records": {**content["records"], "memory": [{"text": "x"}]}})
    records, counts = content["records"], count_in_sql(database_url, ANA.scope)
    memories = [row for part in MEMORY_PARTS for row in records[part]]
    assert len(memories) == counts["memories"]
    assert sum(len(row["former"]) for row in memories) == counts["memory_versions"]
    for part in DOSSIER_PARTS:
        if part not in MEMORY_PARTS:
            assert len(records[part]) == counts[part], part
    assert "medlar" not in json.dumps(content).casefold()


async def test_a_page_says_everything_in_plain_words(database_url: str) -> None:
    """By category, where from, since when, who reads, who was told, what was forgotten and when, what waits, consents
    given and refused, how long, receipts: each stands in the page."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await fill(memory, clock)
        await plant(memory, BO, clock)
        page = (await write(memory, scope(), DossierForm.html)).decode()
        chinese = (await write(memory, scope(), DossierForm.html, "zh")).decode()
    text = re.sub(r"<[^>]+>", "\n", page.split("</style>")[1])
    for expected in (
        "Everything known of ana",
        "The user lives in Porto",
        "The user lives in Lisbon (until 4 May 2026, 12:00 UTC)",
        "I live in Porto now.",
        "the person, 4 May 2026, 12:00 UTC, in A",
        "once, 5 May 2026, 12:00 UTC",
        "May be read by supervisor.",
        "city: Lisbon",
        "given, 4 May 2026, 12:00 UTC, by ana",
        "refused, 5 May 2026, 12:00 UTC, by ana",
        "The blue folder is in the attic",
        f"{(NOON + timedelta(days=31)).day} June 2026, 12:00 UTC",
        "one memory with its traces",
        "erased for good",
        "14 days",
        "planner, supervisor",
        CHINESE,
    ):
        assert expected in text, expected
    assert "medlar" not in page.casefold()
    assert "cellar" not in page
    assert '<html lang="zh-Hans">' in chinese
    assert "关于ana的全部信息" in chinese
    assert "已同意，2026年5月4日 12:00（UTC），ana" in chinese
    for section in (
        "glance",
        "memory",
        "waiting",
        "consents",
        "forgotten",
        "receipts",
        "readers",
        "retention",
        "where",
    ):
        assert f'<a href="#{section}">' in page
        assert f'id="{section}"' in page


async def test_other_records_are_sentences(database_url: str) -> None:
    """Readable: what else is kept is told in sentences, in both languages, and no field of a row stands there as it is
    in the database."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        rows = json.loads(await write(memory, ANA.scope, DossierForm.json))
        pages = [(await write(memory, ANA.scope, DossierForm.html, each)).decode() for each in ("en", "zh")]
    english, chinese = (re.sub(r"<[^>]+>", "\n", page.split('id="records"')[1]) for page in pages)
    columns = {name for part in rows["records"].values() for row in part for name in row if "_" in name}
    for text in (english, chinese):
        assert not {name for name in columns if re.search(rf"\b{name}\b", text)}
        assert not re.search(r"\{|\bnull\b|\btrue\b|\bfalse\b", text)
    for expected in (
        "A program keeps under “space Ana / notes / key Ana”: on quince: quince.",
        "The memory was searched.",
        "All statements were compared with each other (done)",
        "By a command of the person: the plugin was switched off.",
        "The conversation “thread Ana” has been shown the memory as it was after change 1.",
    ):
        assert expected in english, expected
    for expected in ("搜索了记忆。", "由本人的命令：关闭了插件。", "比较了全部陈述（已完成）"):
        assert expected in chinese, expected
    assert not re.search(r"[a-z]{4,} [a-z]{2,} [a-z]{3,}", chinese.split("插件在对话中是否开启")[1].split("各类")[0])


async def test_the_page_says_what_the_law_asks_for(database_url: str) -> None:
    """For a request for access as it stands: purposes, kinds, recipients, transfers, storage, origin, rights, where to
    complain and decisions; what only the operator knows is marked as theirs, and what nobody knows is said."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await plant(memory, ANA, clock)
        page = re.sub(r"<[^>]+>", "\n", (await write(memory, ANA.scope, DossierForm.html)).decode())
        empty = re.sub(r"<[^>]+>", "\n", (await write(memory, scope("nobody"), DossierForm.html)).decode())
        tokens = json.loads(await write(memory, ANA.scope, DossierForm.json))["person"]["access"]["tokens"]
    for text in (page, empty):
        assert text.count("[To be added by whoever runs the installation:") == 10
        for asked in ("What for", "Who gets to see them", "Which rights there are", "Where to complain"):
            assert asked in text
        assert "What is not known" in text
        assert "No model on another machine is asked." in text
    assert len(tokens) == 2
    for token in tokens:
        assert token["token_id"][:8] in page
    assert "A browser is logged in with it: since 4 May 2026" in page
    assert "It opens the categories of the agents agent Ana." in page
    assert "It opens nothing but the data of programs in the projects project Ana." in page
    assert "This person may read the memory of team Ana beside the own one: granted by granter Ana" in page
    assert "No token opens this memory." in empty


async def test_a_page_stands_alone_and_runs_nothing(database_url: str) -> None:
    """No script, no address outside, every value escaped, whatever somebody has said."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await fill(memory, clock)
        page = (await write(memory, scope(), DossierForm.html)).decode()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?([^"'#][^"')]*)""", page) == []
    assert "http://" not in page
    assert "https://" not in page
    assert "default-src 'none'" in page
    tags = set(re.findall(r"<([a-z0-9]+)", page.split("<body>")[1]))
    assert tags <= {
        "h1", "h2", "h3", "p", "nav", "b", "ol", "li", "a", "dl", "div", "dt", "dd", "article", "blockquote", "footer",
        "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip


async def test_a_pdf_has_text_that_can_be_selected(database_url: str) -> None:
    """Chinese and English come out of the PDF as they went in, with an outline of its sections."""
    clock = FixedClock(NOON)
    async with engine(database_url, clock=clock) as memory:
        await fill(memory, clock)
        missing = io.BytesIO()
        assert await write_dossier(memory, scope(), DossierForm.pdf, "en", missing) == LetterFaults()
        await memory.remember(scope(), "The user was born in Łódź")
        faults = await write_dossier(memory, scope(), DossierForm.pdf, "en", io.BytesIO())
        assert set(faults.list_missing()) == {"Ł", "ź"}
        content = await write(memory, scope(), DossierForm.pdf, "zh")
    reader = pypdf.PdfReader(io.BytesIO(content))
    text = "\n".join(page.extract_text() for page in reader.pages)
    for expected in (
        "关于ana的全部信息",
        CHINESE,
        "用户喜欢喝绿茶",
        "The user lives in Porto",
        "Łódź",
        "永久删除",
        "<script>",
    ):
        assert expected in text, expected
    titles = [item.title for item in reader.outline if not isinstance(item, list)]
    assert titles[0] == "概况"
    assert len(titles) == 16
    assert reader.metadata is not None
    assert reader.metadata.title == "关于ana的全部信息"
    assert len(content) < 300_000  # no font of several megabytes


async def test_of_nobody_there_is_nothing(database_url: str) -> None:
    """A dossier of somebody who is not known says so, and is no error."""
    async with engine(database_url) as memory:
        content = json.loads(await write(memory, scope("nobody"), DossierForm.json))
        page = (await write(memory, scope("nobody"), DossierForm.html)).decode()
    assert set(content["person"]["counts"].values()) == {0}
    assert not any(content["records"].values())
    assert page.count("There is none.") >= 5


async def test_a_page_takes_no_more_memory_for_more(database_url: str) -> None:
    """Rows come in portions: of the stream no more than one is held, whatever there is."""
    async with engine(database_url) as memory:
        await memory.ingest(scope(), [note(f"Walked to tower {number}") for number in range(450)])
        stream = memory.engine.person_records.person_reads
        async with stream.open_snapshot(scope()) as snapshot:
            portions: AsyncIterator[list[dict[str, Any]]] = snapshot.read_memories(("active",))
            assert [len(rows) async for rows in portions] == [200, 200, 50]


def test_the_form_is_in_the_name_of_the_file() -> None:
    assert choose_form("a/ANA.HTML") is DossierForm.html
    for name in ("ana", "ana.txt", "html"):
        with pytest.raises(BadInput):
            choose_form(name)
