"""Chat models behind any endpoint with OpenAI's `/chat/completions`."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import openai
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from muniment.memory.errors import BadInput, BadModelAnswer, ModelError
from muniment.memory.models.openai.client import (
    OPENAI_HOST,
    SETTINGS,
    UNKNOWN_OPTION,
    EndpointNames,
    make_timeout,
    open_client,
    translate_errors,
)
from muniment.memory.models.openai.streaming import StreamedParts
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool, ToolCall

FORM_OPTIONS = frozenset({"response_format", "temperature"})
_USAGE_OPTION = "stream_options"
_LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class _ResponsePart(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)


class _Function(_ResponsePart):
    name: str
    arguments: str = ""


class _Call(_ResponsePart):
    id: str
    function: _Function


class _Message(_ResponsePart):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(_ResponsePart):
    message: _Message
    finish_reason: str | None = None


class Usage(_ResponsePart):
    """The tokens that an endpoint has counted; None where it sends no count."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Completion(_ResponsePart):
    model: str | None = None
    choices: list[_Choice] = Field(min_length=1)
    usage: Usage | None = None


class OpenAIChat:
    """A chat model with tools; `name` is the model's name at the endpoint (`base_url`, or OpenAI itself).

    `timeout_seconds` is per attempt, `max_output_tokens` per answer. `options` are in the body of each request as they
    are; they win over what is set here but messages, tools and streaming. Errors name what to set by `names`. They are
    ModelTimeout, ModelRateLimited, ModelUnavailable, ModelError (a request that the endpoint does not accept) or
    BadModelAnswer (refused, empty, malformed, tool arguments that are not a JSON object, structured output that was cut
    off).

    When an endpoint refuses structured output or a temperature, the request is sent again without it, and so are all
    later ones; the prompt then contains the schema.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: SecretStr,
        base_url: str | None = None,
        timeout_seconds: float = 30.0,
        max_retries: int = 1,
        max_output_tokens: int = 800,
        options: Mapping[str, Any] | None = None,
        connections: httpx2.AsyncClient | None = None,
        names: EndpointNames = SETTINGS,
    ) -> None:
        self.names = names
        self._model, self._options = model, dict(options or {})
        self._client = open_client(
            api_key=api_key,
            base_url=base_url,
            timeout_seconds=timeout_seconds,
            max_retries=max_retries,
            connections=connections,
        )
        # OpenAI's newer models refuse `max_tokens`; most compatible endpoints accept nothing else.
        is_openai = base_url is None or self._client.base_url.host == OPENAI_HOST
        self._limit = "max_completion_tokens" if is_openai else "max_tokens"
        self._max_output_tokens = max_output_tokens
        # What the endpoint has refused, or gets from `options`: the form of an answer is then in the prompt.
        self._dropped: frozenset[str] = FORM_OPTIONS.intersection(self._options)

    @property
    def name(self) -> str:
        """Return the model's name at the endpoint."""
        return self._model

    def limit_requests(self, timeout_seconds: float, max_output_tokens: int) -> None:
        """Let later requests be by these limits."""
        self._client.timeout, self._max_output_tokens = make_timeout(timeout_seconds), max_output_tokens

    @property
    def client(self) -> openai.AsyncOpenAI:
        """Return the client, for other requests than chats."""
        return self._client

    async def chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = (), *, form: AnswerForm | None = None
    ) -> ChatAnswer:
        """Return the model's answer: text, tool calls or both. Raises ModelError; BadInput for an invalid tool name."""
        _check_tool_names(tools)
        dropped = self._dropped
        while True:
            try:
                answer = await self._send_request(
                    self.build_body(messages, tools, form, dropped), formed=form is not None
                )
            except ModelError as error:
                refused = frozenset(error.data.get("about") or FORM_OPTIONS) - dropped
                if form is None or error.data.get("status") not in UNKNOWN_OPTION or not refused:
                    raise
                dropped |= refused
            else:
                self._dropped = dropped  # the answer proves that these options were the reason
                return answer

    async def stream_chat(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncIterator[str | ChatAnswer]:
        """Yield the text of the answer as it comes, and last the whole answer. Raises ModelError, BadInput.

        An endpoint that does not stream may answer at once."""
        _check_tool_names(tools)
        dropped = self._dropped
        while True:
            body = self.build_body(messages, tools, None, dropped) | {"stream": True}
            if _USAGE_OPTION not in dropped:
                body[_USAGE_OPTION] = {"include_usage": True}
            try:
                async for part in self._stream_answer(body):
                    self._dropped = dropped  # the answer proves that this option was the reason
                    yield part
            except ModelError as error:
                if error.data.get("status") not in UNKNOWN_OPTION or _USAGE_OPTION in dropped:
                    raise
                dropped |= {_USAGE_OPTION}
            else:
                return

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def build_body(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),
        form: AnswerForm | None = None,
        dropped: frozenset[str] | None = None,
    ) -> dict[str, Any]:
        """Return the body of a request, without the `dropped` options, by default those that the endpoint refuses."""
        dropped = self._dropped if dropped is None else dropped
        if form and "response_format" in dropped:
            messages = _add_form_prompt(messages, form)
        body: dict[str, Any] = {"model": self._model, "messages": [_encode_message(message) for message in messages]}
        if not _LIMITS & self._options.keys():
            body[self._limit] = (form and form.max_tokens) or self._max_output_tokens
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in tools
            ]
        if form:
            options = {
                "temperature": 0,
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": form.name, "schema": form.schema, "strict": True},
                },
            }
            body |= {name: value for name, value in options.items() if name not in dropped}
        return self._options | body

    async def _send_request(self, body: dict[str, Any], *, formed: bool) -> ChatAnswer:
        with translate_errors(self._model, self._client, self.names):
            # As extra_body: the client converts typed messages one by one, at 0.13 ms for each.
            create = self._client.chat.completions.with_raw_response.create
            raw = await create(model=self._model, messages=(), extra_body=body)
        return self.parse_answer(raw.content, formed=formed)

    async def _stream_answer(self, body: dict[str, Any]) -> AsyncIterator[str | ChatAnswer]:
        parts = StreamedParts()
        with translate_errors(self._model, self._client, self.names):
            create = self._client.chat.completions.with_streaming_response.create
            async with create(model=self._model, messages=(), extra_body=body) as response:
                if "event-stream" not in response.headers.get("content-type", ""):
                    yield self.parse_answer(await response.read(), formed=False)
                    return
                async for line in response.iter_lines():
                    try:
                        text = parts.add_line(line)
                    except ValueError:
                        raise BadModelAnswer(
                            "The model's answer is not in the expected form.", model=self._model
                        ) from None
                    if text:
                        yield text
        if not parts.is_whole:
            raise BadModelAnswer("The model's answer has broken off.", model=self._model)
        yield self.parse_answer(parts.join_parts(), formed=False)

    def parse_answer(self, content: bytes | str, *, formed: bool) -> ChatAnswer:
        """Return the answer in the JSON of a completion. Raises BadModelAnswer."""
        try:
            completion = _Completion.model_validate_json(content)
        except ValidationError as error:
            raise BadModelAnswer("The model's answer is not in the expected form.", model=self._model) from error
        try:
            return self._accept_completion(completion, formed=formed)
        except BadModelAnswer as error:
            usage = completion.usage or Usage()
            if completion.choices[0].finish_reason == "length":  # an answer that was cut off is billed
                error.data["tokens"] = usage.prompt_tokens or 0, usage.completion_tokens or 0
            raise

    def _accept_completion(self, completion: _Completion, *, formed: bool) -> ChatAnswer:
        """Return the first choice. A cut-off text is an answer; cut-off structured output or a cut-off call is not."""
        choice = completion.choices[0]
        message, finish = choice.message, choice.finish_reason
        if message.refusal or finish == "content_filter":
            raise BadModelAnswer("The model refuses to answer.", model=self._model, finish_reason=finish)
        if formed and finish == "length":
            raise BadModelAnswer("The model's answer was cut off.", model=self._model, finish_reason=finish)
        calls = tuple(self._parse_call(call, finish) for call in message.tool_calls or ())
        text = message.content or ""
        if not calls and not text.strip():
            raise BadModelAnswer("The model's answer is empty.", model=self._model, finish_reason=finish)
        usage = completion.usage or Usage()
        return ChatAnswer(
            message=ChatMessage(role="assistant", content=text, tool_calls=calls),
            model=completion.model or self._model,
            input_tokens=usage.prompt_tokens or 0,
            output_tokens=usage.completion_tokens or 0,
            is_cut_off=finish == "length",
        )

    def _parse_call(self, call: _Call, finish: str | None) -> ToolCall:
        # A tool without parameters is often called with an empty string.
        try:
            arguments = json.loads(call.function.arguments or "{}")
        except (json.JSONDecodeError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            why = "were cut off" if finish == "length" else "are not a JSON object"
            message = f"The arguments of the model's tool call {why}."
            raise BadModelAnswer(message, model=self._model, finish_reason=finish, call=call.function.name)
        return ToolCall(id=call.id, name=call.function.name, arguments=arguments)


def _check_tool_names(tools: Sequence[Tool]) -> None:
    for tool in tools:
        if not _TOOL_NAME.fullmatch(tool.name):
            raise BadInput(
                f"The tool name {tool.name!r} is not made of 1 to 64 letters, digits, '_' or '-'.", tool=tool.name
            )


def _encode_message(message: ChatMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _add_form_prompt(messages: Sequence[ChatMessage], form: AnswerForm) -> list[ChatMessage]:
    """Return the messages with the schema in the system message, the first one, which every endpoint accepts."""
    schema = json.dumps(form.schema, ensure_ascii=False)
    words = f"Answer with one JSON object and nothing else. Its JSON schema: {schema}"
    if messages and messages[0].role == "system":
        return [replace(messages[0], content=f"{messages[0].content}\n\n{words}"), *messages[1:]]
    return [ChatMessage(role="system", content=words), *messages]
