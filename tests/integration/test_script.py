"""A script that the embedder does not know: what belongs together is found by its words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Vector
from muniment.memory.domain.query import Query
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import HashEmbedder
from muniment.memory.rules.language.tokens import is_legible
from tests.engine import engine, said, scope, settings

ROOMS = ["厨房", "书房", "阳台", "卧室", "客厅", "车库", "地下室", "阁楼", "花园", "走廊", "浴室", "餐厅"]
THINGS = ["暖气", "台灯", "窗户", "书架", "地毯"]


class English(HashEmbedder):
    """To it all that is not English is the same."""

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        return await super().embed_documents([text if text.isascii() else "unknown" for text in texts])

    async def embed_query(self, text: str) -> Vector:
        return (await self.embed_documents([text]))[0]


def foreign(url: str) -> Settings:
    """Settings of an embedder that knows no other letters than Latin ones."""
    usual = settings(url)
    profile = usual.find_profile("default").model_copy(update={"scripts": ("latin",)})
    return usual.model_copy(update={"embedders": {"default": profile}})


def noted(turn: Turn, text: str) -> Candidate:
    return Candidate(text=text, category="activity", kind="episodic", turns=(turn.id,))


async def test_a_correction_meets_what_it_corrects_among_many(database_url: str) -> None:
    """Of sixty statements that are one to the embedder a denial finds its own, and the same again is nothing new."""
    texts = [f"{room}的{thing}是好的" for room in ROOMS for thing in THINGS]
    async with engine(database_url, embedder=English(), tuned=foreign(database_url)) as memory:
        first, again, last = (said(f"第{n}次") for n in range(3))
        kept = await memory.keep_candidates(scope(), [noted(first, text) for text in texts], [first])
        assert len(kept.changes) == len(texts)
        assert not (await memory.keep_candidates(scope(), [noted(again, texts[17])], [again])).changes
        (change,) = (await memory.keep_candidates(scope(), [noted(last, "卧室的书架不是好的")], [last])).changes
        assert change.before is not None
        assert (change.action, change.before.text) == ("UPDATE", "卧室的书架是好的")


async def test_all_of_a_few_are_read_closely(database_url: str) -> None:
    """What tells the answer in other words is found among more than there are candidates: those were picked by their
    words."""
    texts = [f"{room}的{thing}是好的" for room in ROOMS for thing in THINGS]
    tuned = foreign(database_url)
    async with engine(database_url, embedder=English(), tuned=tuned) as memory:
        turn = said("第一次")
        await memory.keep_candidates(scope(), [noted(turn, text) for text in (*texts, "用户不吃羊肉")], [turn])
        asked = Query(text="我有什么忌口？", explain=True)

        async def looked_at() -> int:
            answer = await memory.query(scope(), "supervisor", asked)
            return len(answer.hits) + len(answer.omissions)

        assert await looked_at() == len(texts) + 1
        bullets = (await memory.brief(scope(), "supervisor", asked.text)).bullets
        assert len(bullets) == 1
        assert "用户不吃羊肉" in bullets[0]
        few = tuned.recall.model_copy(update={"told_among": len(texts)})
        memory.engine = memory.engine.rebuild(settings=tuned.model_copy(update={"recall": few}))
        assert await looked_at() == few.candidates_own


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (("Анна живёт в Москве", "Собака Анны боится грозы", "Борис купил велосипед"), "Кто боится грозы?"),
        (
            ("Η Άννα μένει στην Αθήνα", "Ο σκύλος φοβάται τη βροντή", "Ο Νίκος αγόρασε ποδήλατο"),
            "Ποιος φοβάται τη βροντή;",
        ),
        (("安娜住在莫斯科", "安娜的狗害怕打雷", "鲍里斯买了自行车"), "谁害怕打雷？"),
    ],
)
async def test_an_alphabet_that_the_embedder_does_not_know(
    database_url: str, texts: tuple[str, ...], question: str
) -> None:
    """Statements that are one to it are several memories, the one that has the words of a question is found, and
    nothing by chance: neither among them nor by a question about something else, in this script or in another one."""
    async with engine(database_url, embedder=English(), tuned=foreign(database_url)) as memory:
        turn = said("ледоход")
        assert len((await memory.keep_candidates(scope(), [noted(turn, text) for text in texts], [turn])).changes) == 3
        for asked, found in ((question, [texts[1]]), (question.translate(_SWAPPED), []), ("Who plays chess?", [])):
            hits = (await memory.query(scope(), "supervisor", Query(text=asked))).hits
            assert [hit.memory.text for hit in hits] == found


_SWAPPED = {
    ord(a): b for a, b in zip("боитсягрзыφοβάταιβροντή害怕打雷", "щщщщщщщщщщψψψψψψψψψψψψψ飞机票房", strict=True)
}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("The user sings", True), ("Où habite Zoë?", True), ("Łukasz Żółć", True), ("12:30 ❤️", True), ("", True),
        ("Ana's friend Ольга sings", True), ("Ольга поёт", False), ("שלום", False), ("مرحبا", False), ("Ελλάδα", False),
        ("मेरा नाम", False), ("The user lives in 北京", False), ("ภาษาไทย", False),
    ],
)  # fmt: skip
def test_what_can_be_read(text: str, known: bool) -> None:
    """Most of the letters are Latin, and no character is one of Chinese, Japanese or Korean."""
    assert is_legible(("latin",), text) is known
    assert is_legible(("latin", "cjk"), text)
