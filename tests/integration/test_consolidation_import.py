"""Consolidation of what was imported: it is worked off from its beginning, whatever is among it."""

from __future__ import annotations

from pathlib import Path

from tests.engine import engine, note, scope, settings

ANA = scope(thread="")
TWINS = ("The user waters the tomatoes on the balcony", "The user waters the tomatoes on the balcony.")


async def test_what_is_too_far_apart_holds_nothing_up(database_url: str, tmp_path: Path) -> None:
    """Pairs that are found and not near are never checked: what was imported first has its turn all the same."""
    file = tmp_path / "small.yaml"
    file.write_text(
        "consolidation: {pool: 10}\nembedders: {hash-256: {auto: 0.97, check: 0.96, fallback: 0.01, floor: 0.0, "
        "ceiling: 1.0, scripts: [latin]}}\n"
    )
    foods = ("花生", "香菜", "海鲜", "牛肉", "芒果", "蘑菇")
    told = [f"{who}在{day}吃了{food}" for who in ("王芳", "李强", "张伟") for day in ("早上", "晚上") for food in foods]
    async with engine(database_url, tuned=settings(database_url, MUNIMENT_CONFIG=str(file))) as memory:
        await memory.ingest(ANA, [note(TWINS[0], importance=1), *map(note, told), note(TWINS[1], importance=1)])
        runs = [await memory.admin.consolidate(ANA, limit=100_000) for _ in range(14)]
        assert all(run is not None and run.status == "done" for run in runs)
        assert runs[-1] is not None
        assert runs[-1].surveyed >= len(told)
