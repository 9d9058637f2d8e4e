"""A turn is answered, and its words are used, whatever happens to the embedder (P-91)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from muniment.memory.errors import ModelError
from tests.plugin.hosts import make_settings
from tests.plugin_damage.embedders import FailingEmbedder, hang, raise_error
from tests.plugin_damage.talks import Acknowledged, list_warnings, open_talk

SECRET = "sk-live-4242424242abcdef4242"
TROUBLES: dict[str, tuple[Callable[[], Any], str]] = {
    "of a model": (raise_error(ModelError(SECRET)), "the model or the embedder could not answer"),
    "away": (raise_error(ConnectionRefusedError(SECRET)), "ConnectionRefusedError"),
    "another class": (raise_error(KeyError(SECRET)), "KeyError"),
    "no vector": (lambda: None, "TypeError"),
    "no number": (lambda: np.full(256, np.nan, dtype=np.float32), "the model or the embedder could not answer"),
    "hanging": (hang, "it took too long"),
}


@pytest.mark.parametrize("is_at_start", [True, False])
@pytest.mark.parametrize("name", TROUBLES)
async def test_words_do_where_the_embedder_fails(
    *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, is_at_start: bool
) -> None:
    """Each turn is answered in time and finds by words; it is said once, without the message of the error."""
    settings, embedder, kept = (
        make_settings(tmp_path, recall_seconds=1.5, vectors=True),
        FailingEmbedder(),
        Acknowledged(monkeypatch),
    )
    trouble, said = TROUBLES[name]
    async with open_talk(settings, session="before") as talk:
        await talk.say("We decided to use JWT for the auth refactor.")
    monkeypatch.setattr("muniment.plugin.opening._WARM_UP_SECONDS", 1.0)
    embedder.trouble = trouble if is_at_start else None
    async with open_talk(settings, embedder=embedder) as talk:
        await talk.say("We decided to use Redis for the cart.")
        embedder.trouble = trouble
        assert "JWT" in await talk.say("continue the auth refactor")
        assert "Redis" in await talk.say("Which store does the cart use, Redis?")
        await talk.say("We decided to use Kafka for the orders.")
        calls = embedder.calls
        assert "Kafka" in await talk.say("Do the orders use Kafka?")
        assert embedder.calls == calls  # it is left alone for a while
        assert f"by their words alone: {said}" in await talk.say("/memory status")
    statements = "".join(await kept.check_file(tmp_path / "plugin.sqlite", talk.at))
    assert all(word in statements for word in ("JWT", "Redis", "Kafka"))
    assert list_warnings(caplog) == [f"Items are compared by their words alone: {said}."]
    assert SECRET not in caplog.text
