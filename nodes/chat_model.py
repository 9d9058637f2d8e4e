"""Models of LangChain as the graph's: asked through langchain-core, whose callbacks see every call, stream it and trace
it. A model of our own port is asked in the same way."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, cast

from langchain_core.callbacks import AsyncCallbackHandler, AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config, merge_configs
from langgraph.constants import TAG_NOSTREAM

from muniment.memory.errors import (
    BadConfig,
    BadInput,
    BadModelAnswer,
    ModelError,
    ModelRateLimited,
    ModelTimeout,
    ModelUnavailable,
    MunimentError,
)
from muniment.memory.payload import dump_compact
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, ChatModel, StreamingModel, Tool, ToolCall

_log = logging.getLogger(__name__)
_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})  # why an answer ended, by several providers
_FILTERED = frozenset({"content_filter", "refusal", "SAFETY"})
_UNACCEPTABLE = frozenset({400, 413, 422})
_TOO_MANY, _SLOW = 429, frozenset({408, 504})


class PortModel(BaseChatModel):
    """A model of our own port as one of LangChain. Only its asynchronous methods work."""

    port: Any  # a ChatModel: pydantic cannot check a protocol
    model_name: str

    @property
    def _llm_type(self) -> str:
        return "muniment"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - LangChain's signature, as below
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with these tools, each a `Tool` or its description in OpenAI's form."""
        return self.bind(tools=[_read_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("This model is asked by ainvoke.")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        answer = await self.port.chat([_read_message(message) for message in messages], kwargs.get("tools", ()))
        return ChatResult(generations=[ChatGeneration(message=_make_message(answer))])


class StreamingPortModel(PortModel):
    """A model of our own port that can stream its answer."""

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        prompt = [_read_message(message) for message in messages]
        async for part in self.port.stream_chat(prompt, kwargs.get("tools", ())):
            chunk = AIMessageChunk(content=part) if isinstance(part, str) else _make_last_chunk(part)
            yield ChatGenerationChunk(message=chunk)


def adapt_model(model: ChatModel | BaseChatModel | None) -> BaseChatModel | None:
    """A chat model of LangChain as it is, one of our own port as one of LangChain, None without a model.

    Raises BadConfig for anything else."""
    if model is None or isinstance(model, BaseChatModel):
        return model
    if isinstance(name := getattr(model, "name", None), str) and callable(getattr(model, "chat", None)):
        kind = StreamingPortModel if isinstance(model, StreamingModel) else PortModel
        return kind(port=model, name=name, model_name=name)
    raise BadConfig(
        f"model: a chat model of langchain_core or a muniment.ChatModel wanted, not a {type(model).__name__}; "
        "tools are given to the graph, and not bound to its model"
    )


class Listener(Protocol):
    """Who follows the answers of a model while they are made."""

    def begin_answer(self, prompt: Sequence[ChatMessage]) -> None:
        """The model is asked; what it said of an answer before is void."""

    def add_text(self, text: str) -> None:
        """The next part of the answer."""


class _TokenHandler(AsyncCallbackHandler):
    """Hands on the text of a streamed answer as it comes."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    async def on_llm_new_token(self, *_: Any, chunk: Any = None, **__: Any) -> None:
        if isinstance(chunk, ChatGenerationChunk) and (text := str(chunk.message.text)):
            self._listener.add_text(text)


class RunModel:
    """A model of LangChain in a run of the graph, behind the port: it has the run's callbacks. The listener gets the
    parts of its answer where the caller of the run wants them."""

    def __init__(self, model: BaseChatModel, listener: Listener) -> None:
        self._model, self._listener = model, listener

    @property
    def name(self) -> str:
        """The name of the model, as the provider knows it."""
        names = (getattr(self._model, field, None) for field in ("model_name", "model", "model_id"))
        return next((name for name in names if isinstance(name, str) and name), type(self._model).__name__)

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer. Raises ModelError, whatever the model raises; BadInput for a form, which a reply
        does not have."""
        if form is not None:
            raise BadInput("a reply has no form")
        model: Runnable[LanguageModelInput, AIMessage] = self._model
        if tools:
            model = self._model.bind_tools([_write_tool(tool) for tool in tools])
        # Not streamed by LangGraph itself: what a small model writes for its tools is not for a person.
        own = {
            "run_name": self._model.get_name(),
            "tags": [TAG_NOSTREAM],
            "callbacks": [_TokenHandler(self._listener)],
        }
        self._listener.begin_answer(messages)
        config = merge_configs(ensure_config(), cast("Any", own))
        try:
            answer = await model.ainvoke([_write_message(message) for message in messages], config)
        except MunimentError:
            raise
        except Exception as error:  # noqa: BLE001 - a client of any provider, with errors of its own
            raise _translate_failure(error, self.name) from None  # its text may quote the key or the messages
        return self._read_answer(answer)

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""

    def _read_answer(self, answer: AIMessage) -> ChatAnswer:
        """The answer with its tokens. Raises BadModelAnswer for one that is empty, refused or not readable."""
        metadata = answer.response_metadata
        finish = metadata.get("finish_reason") or metadata.get("stop_reason")
        usage = answer.usage_metadata
        tokens = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
        facts = {"model": self.name, "finish_reason": finish, "tokens": tokens}
        if answer.additional_kwargs.get("refusal") or finish in _FILTERED:
            raise BadModelAnswer("The model refuses to answer.", **facts)
        if answer.invalid_tool_calls:
            why = "were cut off" if finish in _CUT_OFF else "are not a JSON object"
            call = answer.invalid_tool_calls[0].get("name") or "tool"
            finish = "length" if finish in _CUT_OFF else finish
            message = f"The arguments of the model's tool call {why}."
            raise BadModelAnswer(message, **(facts | {"finish_reason": finish, "call": call}))
        text = str(answer.text)
        if not answer.tool_calls and not text.strip():
            raise BadModelAnswer("The model's answer is empty.", **facts)
        return ChatAnswer(
            message=ChatMessage(role="assistant", content=text, tool_calls=_read_calls(answer)),
            model=str(metadata.get("model_name") or self.name),
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            is_cut_off=finish in _CUT_OFF,
        )


def make_usage(answer: ChatAnswer) -> UsageMetadata | None:
    """The tokens of an answer; None where they are not known."""
    if not answer.input_tokens and not answer.output_tokens:
        return None
    return UsageMetadata(
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        total_tokens=answer.input_tokens + answer.output_tokens,
    )


def _make_message(answer: ChatAnswer) -> AIMessage:
    """An answer as a message of LangChain, with its tokens."""
    return AIMessage(
        answer.message.content,
        tool_calls=write_calls(answer.message.tool_calls),
        usage_metadata=make_usage(answer),
        response_metadata={"model_name": answer.model, "finish_reason": "length" if answer.is_cut_off else "stop"},
    )


def _make_last_chunk(answer: ChatAnswer) -> AIMessageChunk:
    """What a streamed answer has beside its text."""
    whole = _make_message(answer)
    return AIMessageChunk(
        content="",
        tool_call_chunks=[
            tool_call_chunk(name=call.name, args=dump_compact(call.arguments), id=call.id, index=index)
            for index, call in enumerate(answer.message.tool_calls)
        ],
        usage_metadata=whole.usage_metadata,
        response_metadata=whole.response_metadata,
    )


def _write_message(message: ChatMessage) -> BaseMessage:
    if message.role == "system":
        return SystemMessage(message.content)
    if message.role == "user":
        return HumanMessage(message.content)
    if message.role == "tool":
        return ToolMessage(message.content, tool_call_id=message.tool_call_id or "")
    return AIMessage(message.content, tool_calls=write_calls(message.tool_calls))


def _read_message(message: BaseMessage) -> ChatMessage:
    text = str(message.text)
    if isinstance(message, SystemMessage):
        return ChatMessage(role="system", content=text)
    if isinstance(message, ToolMessage):
        return ChatMessage(role="tool", content=text, tool_call_id=message.tool_call_id)
    if isinstance(message, AIMessage):
        return ChatMessage(role="assistant", content=text, tool_calls=_read_calls(message))
    return ChatMessage(role="user", content=text)


def write_calls(calls: Sequence[ToolCall]) -> list[Any]:
    """Tool calls as LangChain has them."""
    return [{"name": call.name, "args": call.arguments, "id": call.id, "type": "tool_call"} for call in calls]


def _read_calls(message: AIMessage) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(id=call["id"] or f"call_{index}", name=call["name"], arguments=dict(call["args"]))
        for index, call in enumerate(message.tool_calls)
    )


def _write_tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _read_tool(tool: Any) -> Tool:
    if isinstance(tool, Tool):
        return tool
    function = tool["function"]
    return Tool(name=function["name"], description=function["description"], parameters=function["parameters"])


def _translate_failure(error: Exception, name: str) -> ModelError:
    """What a provider's client raises, by its status or else its name, as our own error, without its text."""
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    kind = type(error).__name__
    _log.warning("the model %s failed: %s%s", name, kind, f", status {status}" if status else "")
    known: dict[str, Any] = {"model": name} | ({"status": status} if isinstance(status, int) else {})
    if isinstance(status, int):
        if status == _TOO_MANY:
            wait = _parse_seconds(getattr(response, "headers", {}).get("retry-after"))
            return ModelRateLimited("The model's provider asks to slow down.", retry_after=wait, **known)
        if status in _SLOW:
            return ModelTimeout(f"The model's provider answers with status {status}.", **known)
        if status in _UNACCEPTABLE:
            return ModelError(f"The model's provider does not accept the request ({status}).", **known)
        return ModelUnavailable(f"The model's provider answers with status {status}.", **known)
    if isinstance(error, TimeoutError) or "timeout" in kind.casefold():
        return ModelTimeout("The model has not answered in time.", slow=True, **known)
    if isinstance(error, OSError) or "connect" in kind.casefold():
        return ModelUnavailable("The model's provider cannot be reached.", **known)
    return ModelError(f"The model fails with {kind}.", **known)


def _parse_seconds(header: Any) -> float | None:
    """`retry-after` in seconds; None for a date, its other form."""
    try:
        return float(header) if header else None
    except ValueError:
        return None
