"""A script that the embedder does not know: what belongs together is found by its words."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.models.fakes import HashEmbedder
from muniment.memory.records import Candidate, Turn, Vector
from muniment.memory.rules.words import has_cjk
from tests.engine import engine, said, scope, settings

ROOMS = ["厨房", "书房", "阳台", "卧室", "客厅", "车库", "地下室", "阁楼", "花园", "走廊", "浴室", "餐厅"]
THINGS = ["暖气", "台灯", "窗户", "书架", "地毯"]


class English(HashEmbedder):
    """To it every Chinese text is the same."""

    async def documents(self, texts: Sequence[str]) -> list[Vector]:
        return await super().documents(["unknown" if has_cjk(text) else text for text in texts])


def noted(turn: Turn, text: str) -> Candidate:
    return Candidate(text=text, category="activity", kind="episodic", turns=(turn.id,))


async def test_a_correction_meets_what_it_corrects_among_many(database_url: str) -> None:
    """Of sixty statements that are one to the embedder a denial finds its own, and the same again is nothing new."""
    usual = settings(database_url)
    profile = usual.profile("default").model_copy(update={"scripts": ("latin",)})
    tuned = usual.model_copy(update={"embedders": {"default": profile}})
    texts = [f"{room}的{thing}是好的" for room in ROOMS for thing in THINGS]
    async with engine(database_url, embedder=English(), tuned=tuned) as memory:
        first, again, last = (said(f"第{n}次") for n in range(3))
        kept = await memory.keep(scope(), [noted(first, text) for text in texts], [first])
        assert len(kept.changes) == len(texts)
        assert not (await memory.keep(scope(), [noted(again, texts[17])], [again])).changes
        (change,) = (await memory.keep(scope(), [noted(last, "卧室的书架不是好的")], [last])).changes
        assert change.before is not None
        assert (change.action, change.before.text) == ("UPDATE", "卧室的书架是好的")
