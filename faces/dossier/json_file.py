"""A dossier as JSON: every row of every kind, in the order of the page."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from muniment.faces.dossier.parts import ALL_PARTS, Parts
from muniment.memory.domain.layers.person import PersonRow

DOSSIER_FORMAT = "muniment-dossier/1"


async def render_json(rows: AsyncIterator[PersonRow]) -> AsyncIterator[bytes]:
    """Yield one JSON object, a row at a time: its format, the person, and the records of each part."""
    parts = Parts(rows)
    person = json.dumps(await parts.take_person(), ensure_ascii=False)
    yield f'{{"format": "{DOSSIER_FORMAT}",\n"person": {person},\n"records": {{'.encode()
    for number, part in enumerate(ALL_PARTS):
        yield f'{"," if number else ""}\n"{part}": ['.encode()
        separator = "\n"
        async for row in parts.take_rows(part):
            yield (separator + json.dumps(row, ensure_ascii=False)).encode()
            separator = ",\n"
        yield b"]"
    yield b"}}\n"
