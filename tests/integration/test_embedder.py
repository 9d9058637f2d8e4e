"""The offline embedder with its real model, and the callers who share it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import platformdirs
import pytest
import pytest_asyncio

from muniment.memory.errors import BadConfig, ModelUnavailable
from muniment.memory.models.onnx.embedder import OnnxEmbedder
from muniment.memory.models.onnx.fetch import MODEL_FILE, SHA256, TOKENIZER_FILE, fetch_model
from muniment.memory.models.sharing import PORTION_CHARS, PORTION_TEXTS, normalize_text

CACHE = Path(platformdirs.user_cache_dir("muniment")) / "models" / "bge-small-en-v1.5-int8"
FACTS = [
    "The user lives in Berlin.",
    "The user is allergic to peanuts.",
    "The user's sister is called Anna and she works as a nurse in Hamburg, where she moved two years ago.",
    "The user wants to run a marathon in October 🏃.",
    "用户喜欢喝绿茶。",
]
# The first numbers of two vectors.
STATED = [0.039, 0.077, 0.023, -0.031, 0.029, -0.018]
ASKED = [0.043, -0.030, 0.036, 0.005, 0.026, 0.023]


@pytest.fixture(scope="module")
def files() -> Path:
    """The model's files where `make setup` keeps them; fetched now if it has not run."""
    return fetch_model(CACHE)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedder(files: Path) -> AsyncIterator[OnnxEmbedder]:
    embedder = OnnxEmbedder(files)
    yield embedder
    await embedder.close()


def linked(files: Path, folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SHA256:
        (folder / name).symlink_to(files / name)
    return folder


@pytest.mark.asyncio(loop_scope="module")
class TestVectors:
    """What the model makes of texts."""

    async def test_a_paraphrase_is_nearer_than_another_fact(self, embedder: OnnxEmbedder) -> None:
        """And another fact about the same thing is nearer than one about something else."""
        fact, same, other, far = await embedder.embed_documents(
            [
                "The user lives in Berlin.",
                "The user's home is in Berlin.",
                "The user lives in Munich.",
                "The user is allergic to peanuts.",
            ]
        )
        assert fact @ same > 0.92 > fact @ other > 0.75 > fact @ far

    async def test_a_question_finds_its_fact(self, embedder: OnnxEmbedder) -> None:
        """Though it shares no word with it."""
        facts = await embedder.embed_documents(FACTS)
        for question, best in [
            ("Which city is home?", 0),
            ("Can I eat satay sauce?", 1),
            ("Who are my siblings?", 2),
            ("sports plans for autumn", 3),
        ]:
            asked = await embedder.embed_query(question)
            assert int(np.argmax([asked @ fact for fact in facts])) == best, question

    @pytest.mark.parametrize("unread", ["🦔🎻", "???", "", " ", "ฉันอยู่ที่ไหน", "\ufffe", "a" * 5_000, "<&|!>"])
    async def test_a_question_without_a_word_is_near_to_nothing(self, embedder: OnnxEmbedder, unread: str) -> None:
        """Of marks, emoji, scripts that the model does not know; a word among them is read."""
        nothing = await embedder.embed_query(unread)
        assert nothing.shape == (384,)
        assert not nothing.any()
        assert not nothing.flags.writeable
        assert np.linalg.norm(await embedder.embed_query(f"{unread} tea")) == pytest.approx(1)
        [stated] = await embedder.embed_documents([unread])
        assert np.linalg.norm(stated) == pytest.approx(1)

    async def test_a_question_is_read_without_an_instruction(self, embedder: OnnxEmbedder) -> None:
        """The same words asked and stated are one vector."""
        [stated] = await embedder.embed_documents(["Where is Berlin?"])
        assert np.array_equal(stated, await embedder.embed_query("Where is Berlin?"))

    async def test_every_text_has_a_finite_unit_vector(self, embedder: OnnxEmbedder) -> None:
        """Nothing, blanks, emoji, control characters, half a surrogate pair, another script."""
        odd = ["", "   \n", "🙂🙃🏳️‍🌈", "\x00\x07", "\ud83d", "用户喜欢喝绿茶。", "مرحبا", "a" * 5_000]
        for vector in await embedder.embed_documents(odd):
            assert vector.shape == (384,)
            assert vector.dtype == np.float32
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    async def test_company_does_not_change_a_vector(self, files: Path) -> None:
        """One by one, all at once, or in another order: the same bits, so that the same fact is always similarity 1."""
        together, apart = OnnxEmbedder(files), OnnxEmbedder(files, workers=1)
        many = FACTS + [f"The user has read {number} books." for number in range(60)]
        all_at_once = await together.embed_documents(many)
        single = [(await apart.embed_documents([text]))[0] for text in reversed(many)][::-1]
        await together.close()
        await apart.close()
        assert all(np.array_equal(a, b) for a, b in zip(all_at_once, single, strict=True))

    async def test_no_texts_are_no_vectors(self, embedder: OnnxEmbedder) -> None:
        """Without waking the model."""
        assert await embedder.embed_documents([]) == []

    async def test_only_the_beginning_of_a_very_long_text_counts(self, embedder: OnnxEmbedder) -> None:
        """512 tokens; and a megabyte does not take longer than they do."""
        start = "The user keeps bees on the roof. " * 80
        before = time.perf_counter()
        long, other = await embedder.embed_documents([start + "tail " * 200_000, start + "end " * 200_000])
        assert np.array_equal(long, other)
        assert time.perf_counter() - before < 20
        [short] = await embedder.embed_documents(["The user keeps bees on the roof."])
        assert long @ short > 0.8

    async def test_many_ask_at_once(self, files: Path) -> None:
        """The first questions of a process arrive together; the model is loaded once and each gets its own answer."""
        fresh = OnnxEmbedder(files)
        answers = await asyncio.gather(*(fresh.embed_query(text) for text in FACTS * 4))
        for text, vector in zip(FACTS * 4, answers, strict=True):
            assert np.array_equal(vector, await fresh.embed_query(text))
        await fresh.close()

    async def test_the_bits_are_those_of_the_model_run_by_hand(self, files: Path, embedder: OnnxEmbedder) -> None:
        """One text alone in a session with nothing set, first token, length 1; nothing has a prefix."""
        import onnxruntime  # type: ignore[import-untyped]  # it has no types
        from tokenizers import Tokenizer

        session = onnxruntime.InferenceSession(str(files / MODEL_FILE), providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_file(str(files / TOKENIZER_FILE))
        tokenizer.no_padding()
        asked = "Where does the user live?"
        for text, vector in zip(
            [*FACTS, asked],
            [*await embedder.embed_documents(FACTS), await embedder.embed_query(asked)],
            strict=True,
        ):
            ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
            names = ("input_ids", "attention_mask", "token_type_ids")
            feed = dict(zip(names, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True))
            raw = session.run(None, feed)[0][0, 0]
            by_hand = (raw / np.linalg.norm(raw.astype(np.float64))).astype(np.float32)
            assert vector.tobytes() == by_hand.tobytes()

    async def test_a_known_text_has_its_known_vector(self, embedder: OnnxEmbedder) -> None:
        """As near as processors with other integer instructions agree."""
        stated, asked = (
            (await embedder.embed_documents(["The user lives in Berlin."]))[0],
            await embedder.embed_query("Berlin?"),
        )
        assert stated[:6] == pytest.approx(STATED, abs=0.02)
        assert asked[:6] == pytest.approx(ASKED, abs=0.02)

    async def test_a_question_does_not_wait_behind_an_import(self, files: Path) -> None:
        """Of thousands of texts, nor behind a crowd that keeps a text each: only for those that are being read."""
        busy = OnnxEmbedder(files, workers=2)
        await busy.embed_query("Load the model.")
        lines = [f"Line number {number} of an import, which is not what was asked." for number in range(3_000)]
        work = [asyncio.create_task(busy.embed_documents(lines))]
        work += [asyncio.create_task(busy.embed_documents([f"Somebody keeps {number} bees."])) for number in range(200)]
        await asyncio.sleep(0.05)
        for number in range(5):
            before = busy.embedded_count
            await busy.embed_query(f"Who asked {number} times while the import was running?")
            assert (
                busy.embedded_count - before <= 32
            )  # those being read, what comes in its round, and what ends meanwhile
        assert not any(task.done() for task in work[:1])
        assert busy.embedded_count < 500
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await busy.close()

    async def test_a_crowd_of_questions_does_not_stop_an_import(self, files: Path) -> None:
        """One choice in a round is the import's, however many ask."""
        busy = OnnxEmbedder(files, workers=1)
        crowd = [asyncio.create_task(busy.embed_query(f"Question number {number}?")) for number in range(100)]
        await asyncio.sleep(0)
        await busy.embed_documents([f"Fact {number}." for number in range(3)])  # a few
        assert sum(task.done() for task in crowd) < 60
        await asyncio.wait_for(busy.embed_documents([f"Line {number}." for number in range(9)]), 20)  # bulk
        await asyncio.gather(*crowd)
        await busy.close()

    async def test_the_same_text_at_once_is_read_once(self, files: Path) -> None:
        """As a question by many, or as a line of two imports; another text that has the prefix is no question."""
        once = OnnxEmbedder(files)
        same = await asyncio.gather(
            *(once.embed_query("  Where do\nI live? ") for _ in range(20)), once.embed_query("Where do I live?")
        )
        assert once.embedded_count == 1
        assert all(vector is same[0] for vector in same)
        lines = [f"Line {number}." for number in range(20)]
        one, two = await asyncio.gather(
            once.embed_documents(lines), once.embed_documents([*reversed(lines), "Line 3."])
        )
        assert once.embedded_count == 21
        assert all(a is b for a, b in zip(one, reversed(two[:-1]), strict=True))
        await once.embed_documents(["Where do I live?"])
        assert (once.embedded_count, len(once.cache)) == (22, 22)
        hits = once.cache.hits
        await once.embed_query("Where do I live?")
        assert (once.embedded_count, once.cache.hits - hits) == (22, 1)
        await once.close()

    async def test_who_stops_waiting_takes_nothing_from_the_others(self, files: Path) -> None:
        """And what nobody waits for any more is not read."""
        shared = OnnxEmbedder(files, workers=1)
        lines = [f"Line {number} of two imports." for number in range(40)]
        gone = asyncio.create_task(shared.embed_documents([*lines, *(f"Only mine {n}." for n in range(2_000))]))
        await asyncio.sleep(0)
        stays = asyncio.create_task(shared.embed_documents(lines))
        asked = [asyncio.create_task(shared.embed_query("Who stays?")) for _ in range(3)]
        await asyncio.sleep(0.1)
        gone.cancel()
        asked[0].cancel()
        await asyncio.gather(gone, asked[0], return_exceptions=True)
        assert gone.cancelled()
        found = await asyncio.wait_for(stays, 20)
        assert np.array_equal(found[7], (await shared.embed_documents([lines[7]]))[0])
        assert np.array_equal(await asked[1], await asked[2])
        read = shared.embedded_count
        await asyncio.sleep(0.1)
        assert read == shared.embedded_count < 500
        await shared.close()

    async def test_a_failure_is_everybodys_and_not_for_ever(self, files: Path, tmp_path: Path) -> None:
        """All who wait are told why at once; when the files are there the same embedder works."""
        folder = linked(files, tmp_path / "model", TOKENIZER_FILE)
        (folder / MODEL_FILE).write_bytes(b"half a model")
        broken = OnnxEmbedder(folder)
        told = await asyncio.gather(
            *(broken.embed_query("Where?") for _ in range(5)),
            broken.embed_documents([f"Line {n}." for n in range(500)]),
            return_exceptions=True,
        )
        assert [type(error) for error in told] == [BadConfig] * 6
        (folder / MODEL_FILE).unlink()
        (folder / MODEL_FILE).symlink_to(files / MODEL_FILE)
        assert (await broken.embed_query("Where?")).shape == (384,)
        await broken.close()

    async def test_closing_tells_those_who_wait(self, files: Path) -> None:
        """Nobody hangs, and nobody takes it for his own cancellation."""
        closing = OnnxEmbedder(files, workers=1)
        lines = ([f"{name} line {n}." for n in range(50)] for name in "ab")
        waiting = asyncio.gather(
            *(closing.embed_documents(some) for some in lines),
            closing.embed_query("Anybody there?"),
            return_exceptions=True,
        )
        await asyncio.sleep(0.02)
        await closing.close()
        assert [type(error) for error in await asyncio.wait_for(waiting, 10)] == [ModelUnavailable] * 3

    async def test_the_loop_runs_on_under_an_import(self, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of ten thousand texts, some of them long: read, hashed and put in line in small portions, one at a time."""
        busy = OnnxEmbedder(files, workers=1)
        await busy.embed_query("Load the model.")
        long = "The user keeps bees on the roof. " * 900
        lines = [f"{n} {long if n % 5 == 0 else 'bees'}" for n in range(10_000)]
        texts, chars = Counter[int](), Counter[int]()
        stalls: list[float] = []

        def noted(text: str) -> str:
            texts[len(stalls)] += 1
            chars[len(stalls)] += len(text)
            return normalize_text(text)

        monkeypatch.setattr("muniment.memory.models.sharing.normalize_text", noted)
        work = asyncio.create_task(busy.embed_documents(lines))
        for _ in range(300):
            before = time.perf_counter()
            await asyncio.sleep(0)
            stalls.append(time.perf_counter() - before)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        await busy.close()
        assert len(texts) > 200
        assert max(texts.values()) <= PORTION_TEXTS
        assert max(chars.values()) < PORTION_CHARS + len(max(lines, key=len))
        assert float(np.percentile(stalls, 90)) < 0.05

    async def test_a_closed_embedder_says_so(self, files: Path) -> None:
        """Closing twice is fine, embedding after it is not."""
        closed = OnnxEmbedder(files)
        await closed.close()
        await closed.close()
        with pytest.raises(ModelUnavailable, match="closed"):
            await closed.embed_query("Berlin")

    async def test_vectors_cannot_be_written_to(self, embedder: OnnxEmbedder) -> None:
        """They are shared with the cache."""
        vector = await embedder.embed_query("Berlin")
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 1.0


def test_event_loops_may_share_an_embedder(files: Path) -> None:
    """Each caller is answered in his own, and one whose loop is gone disturbs nobody."""
    shared = OnnxEmbedder(files, workers=1)
    texts = [f"Line {n}." for n in range(10)]

    async def leave() -> None:
        asyncio.get_running_loop().create_task(shared.embed_documents([f"Never read {n}." for n in range(500)]))
        await asyncio.sleep(0.05)

    with ThreadPoolExecutor(3) as pool:
        gone = pool.submit(asyncio.run, leave())
        one, two = (pool.submit(lambda: asyncio.run(shared.embed_documents(texts))) for _ in "ab")
        gone.result()
        assert all(np.array_equal(a, b) for a, b in zip(one.result(), two.result(), strict=True))
    assert shared.embedded_count < 100
    asyncio.run(shared.close())


def test_a_caller_whose_loop_is_closed_disturbs_nobody(files: Path) -> None:
    """Another who wants the same text gets it."""
    shared = OnnxEmbedder(files, workers=1)
    asyncio.run(shared.embed_query("Load the model."))
    slow = [f"{n} " + "The user keeps bees on the roof. " * 60 for n in range(3)]
    loop = asyncio.new_event_loop()
    gone = shared.embed_documents(slow)
    task = loop.create_task(gone)
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    assert not task.done()
    assert len(asyncio.run(asyncio.wait_for(shared.embed_documents(slow), 20))) == 3
    asyncio.run(shared.close())
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # as a loop that is stopped hard leaves it
    with suppress(RuntimeError):
        gone.close()


def test_who_embeds_offline_does_not_pay_for_the_client() -> None:
    """Nor for the model before it is needed: importing is a matter of milliseconds."""
    told = (
        "import sys, muniment.memory.models.onnx.embedder, muniment.memory.models.openai.embedder; print({'openai', "
        "'onnxruntime', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
