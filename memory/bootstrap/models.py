"""Makes the embedders, the models and the redactor that settings name."""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import SecretStr

from muniment.memory.config.settings import (
    DEFAULT_EMBEDDER,
    HASH_EMBEDDER,
    MULTILINGUAL_EMBEDDER,
    OPENAI,
    Settings,
    format_embedder_setting,
)
from muniment.memory.errors import BadConfig
from muniment.memory.models.reader_process import READER
from muniment.memory.ports.embedders import Embedder
from muniment.memory.ports.llm import BatchModel, ChatModel
from muniment.memory.ports.readers import VERY_LONG_TEXT
from muniment.memory.rules.redaction.redact import Redactor

_OF_TOKEN = re.compile(r"@[0-9a-f]{16}$")  # the end of such a name, a digest of its endpoint
_NO_KEY = SecretStr("none")  # a local endpoint needs no key, but the client does


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder that the settings name. Raises BadConfig that names the allowed ones."""
    name = settings.embedder
    if name == DEFAULT_EMBEDDER:
        from muniment.memory.models.onnx.embedder import OnnxEmbedder  # noqa: PLC0415 - onnxruntime is slow to import

        return OnnxEmbedder(settings.embedder_folder)
    if name == MULTILINGUAL_EMBEDDER:
        from muniment.memory.models.e5.embedder import E5Embedder  # noqa: PLC0415 - not part of a usual process

        return E5Embedder()
    if name.startswith(OPENAI):
        from muniment.memory.models.openai.embedder import OpenAIEmbedder  # noqa: PLC0415 - as is the openai client

        return OpenAIEmbedder(
            name.removeprefix(OPENAI),
            api_key=settings.api_key or _NO_KEY,
            base_url=settings.base_url,
            timeout_seconds=settings.model.timeout_seconds,
            max_retries=settings.model.max_retries,
        )
    if name == HASH_EMBEDDER:
        from muniment.memory.models.hash_embedder import HashEmbedder  # noqa: PLC0415 - not part of a usual process

        return HashEmbedder()
    raise BadConfig(
        f"MUNIMENT_EMBEDDER: unknown embedder {name!r}; "
        f"allowed: {DEFAULT_EMBEDDER}, {MULTILINGUAL_EMBEDDER}, {OPENAI}MODEL, {HASH_EMBEDDER}"
    )


def make_stored_embedder(settings: Settings, model: str) -> Embedder:
    """Return the embedder that a database knows by its model's name. Raises BadConfig where this process cannot have
    it."""
    if _OF_TOKEN.search(model):
        raise BadConfig("it is the embedder of a token, which alone has its endpoint and key")
    setting = format_embedder_setting(model)
    if setting.startswith(OPENAI) and settings.api_key is None and settings.base_url is None:
        raise BadConfig(f"{setting} needs OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own")
    return make_embedder(settings.model_copy(update={"embedder": setting}))


def make_chat_model(settings: Settings) -> ChatModel | None:
    """Return the configured model, or None: then only the rules work."""
    if settings.chat_model is None:
        return None
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - the client is slow to import

    return OpenAIChat(
        settings.chat_model,
        api_key=settings.api_key or _NO_KEY,
        base_url=settings.base_url,
        timeout_seconds=settings.model.timeout_seconds,
        max_retries=0,  # the meter repeats a request and charges each attempt
        max_output_tokens=settings.model.max_output_tokens,
    )


def make_batch_model(model: ChatModel | None) -> BatchModel | None:
    """Return the batch endpoint of a model, or None for a model without one."""
    if model is None:
        return None
    from muniment.memory.models.openai.batches import OpenAIBatches  # noqa: PLC0415 - the client is slow to import
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - as above

    return OpenAIBatches(model) if isinstance(model, OpenAIChat) else None


def follow_limits(chat: ChatModel, settings: Settings) -> None:
    """Let a model of ours be asked within the limits of the settings as they are now."""
    from muniment.memory.models.openai.chat import OpenAIChat  # noqa: PLC0415 - the client is slow to import

    if isinstance(chat, OpenAIChat):
        chat.limit_requests(settings.model.timeout_seconds, settings.model.max_output_tokens)


def make_redactor(settings: Settings | None = None) -> Callable[[str], str]:
    """Return a function that redacts a text by these settings, or by the rules that always hold. It returns a text
    without a secret unchanged, to the byte. Call it from a thread for a long text."""
    redactor = Redactor(settings.redact if settings else None)

    def redact(text: str) -> str:
        is_very_long = len(text) > VERY_LONG_TEXT
        return READER.call_function(redactor.redact_text, text) if is_very_long else redactor.redact_uncached(text)

    return redact
