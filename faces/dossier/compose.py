"""Composes a dossier: which sections it has, and what stands in each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

from muniment.faces.dossier.blocks import Block, Columns, Contents, Figures, Heading, Line, Paragraph, Title
from muniment.faces.dossier.details import Wording
from muniment.faces.dossier.parts import ALL_PARTS, Parts
from muniment.faces.dossier.readers import compose_law, compose_readers
from muniment.faces.dossier.records import RecordWording
from muniment.faces.wording.texts import Texts
from muniment.memory.domain.layers.person import PERSON_TABLES, PersonRow

_SECTIONS = (
    "glance", "law", "memory", "waiting", "consents", "replaced", "refused", "forgotten", "receipts", "readers",
    "retention", "sessions", "said", "journal", "records", "where",
)  # fmt: skip
_GLANCE = {
    "memory": "memories", "former": "memory_versions", "said": "turns", "sessions": "sessions",
    "consents": "consent_requests", "receipts": "erasures", "changes": "journal", "items": "items",
}  # fmt: skip
# A section -> the part whose rows it tells, and the heads of its columns.
_TABLES = {
    "consents": ("consent_requests", ("consent.asked", "consent.decision", "consent.what")),
    "receipts": ("erasures", ("receipt.when", "receipt.what", "receipt.counts")),
    "sessions": ("sessions", ("session.began", "session.name", "session.about")),
    "said": ("turns", ("said.when", "said.who", "said.what")),
    "journal": ("journal", ("change.when", "change.what", "change.about")),
}
_RECORDS = ALL_PARTS[ALL_PARTS.index("journal") + 1 :]


async def compose_dossier(rows: AsyncIterator[PersonRow], texts: Texts) -> AsyncIterator[Block]:
    """Yield the blocks of a dossier from its rows, in plain words of the language of the texts."""
    parts = Parts(rows)
    person = await parts.take_person()
    wording = Wording(texts, person)
    for block in _begin(person, texts):
        yield block
    for section in _SECTIONS[1:]:
        yield Heading(texts(f"dossier.section.{section}"), section)
        yield Paragraph(texts(f"dossier.intro.{section}"), is_hint=True)
        async for block in _compose_section(section, parts, wording):
            yield block


def _begin(person: dict[str, Any], texts: Texts) -> Iterator[Block]:
    user, counts = person["user"], person["counts"]
    at = Wording(texts, person).format_moment(person["at"])
    yield Title(texts("dossier.title", user=user), texts("dossier.written", at=at))
    yield Paragraph(texts("dossier.about" if any(counts.values()) else "dossier.empty", user=user))
    yield Contents(tuple((texts(f"dossier.section.{name}"), name) for name in _SECTIONS))
    yield Heading(texts("dossier.section.glance"), "glance")
    figures = ((counts[table], f"dossier.glance.{name}") for name, table in _GLANCE.items())
    yield Figures(tuple((texts.format_number(count), texts.format_count(key, count)) for count, key in figures))


async def _compose_section(section: str, parts: Parts, wording: Wording) -> AsyncIterator[Block]:
    if section in _TABLES:
        part, names = _TABLES[section]
        describe: Callable[[dict[str, Any]], Line] = getattr(wording, f"describe_{part}")
        async for block in _compose_table(parts, part, names, describe, wording.texts):
            yield block
    elif section == "records":
        async for block in _compose_records(parts, wording):
            yield block
    elif section in _OWN_SECTIONS:
        for block in _OWN_SECTIONS[section](wording):
            yield block
    else:
        async for block in _compose_memories(parts, section, wording):
            yield block


async def _compose_memories(parts: Parts, part: str, wording: Wording) -> AsyncIterator[Block]:
    category = None
    async for row in parts.take_rows(part):
        if row["category"] != category:
            category = row["category"]
            yield Heading(wording.name_category(category), f"{part}-{category}", level=2)
            yield Paragraph(wording.describe_readers(category), is_hint=True)
        yield wording.describe_memory(row)
    if category is None:
        yield Paragraph(wording.texts("dossier.nothing"))


async def _compose_table(
    parts: Parts, part: str, names: tuple[str, ...], describe: Callable[[dict[str, Any]], Line], texts: Texts
) -> AsyncIterator[Block]:
    is_empty = True
    async for row in parts.take_rows(part):
        if is_empty:
            yield Columns(tuple(texts(f"dossier.{name}") for name in names))
            is_empty = False
        yield describe(row)
    if is_empty:
        yield Paragraph(texts("dossier.nothing"))


async def _compose_records(parts: Parts, wording: Wording) -> AsyncIterator[Block]:
    names, records = ("record.when", "record.details"), RecordWording(wording)
    for table in _RECORDS:
        if await parts.has_rows(table):
            yield Heading(wording.texts(f"dossier.table.{table}"), f"records-{table}", level=2)
            describe = partial(records.describe_record, table)
            async for block in _compose_table(parts, table, names, describe, wording.texts):
                yield block


def _compose_retention(wording: Wording) -> Iterator[Block]:
    texts = wording.texts
    yield Columns((texts("dossier.keep.what"), texts("dossier.keep.how_long")))
    yield from wording.describe_retention()


def _compose_counts(wording: Wording) -> Iterator[Block]:
    texts, counts = wording.texts, wording.person["counts"]
    yield Columns((texts("dossier.table.kind"), texts("dossier.table.count")))
    for table in PERSON_TABLES:
        yield Line((texts(f"dossier.table.{table}"), texts.format_number(counts[table])))


_OWN_SECTIONS: dict[str, Callable[[Wording], Iterator[Block]]] = {
    "law": compose_law,
    "readers": compose_readers,
    "retention": _compose_retention,
    "where": _compose_counts,
}
