"""The tools, resources and prompts that the suite calls by name, for our endpoint in place of the memory's.

With them the suite tries what the memory does not use: sampling, logs, prompts, several rounds of questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    AudioContent,
    BlobResourceContents,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ContentBlock,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    ImageContent,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListRootsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SamplingMessage,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
    Tool,
    UnsubscribeRequestParams,
)

from muniment import __version__
from muniment.faces.mcp.failures import contain_defects
from muniment.faces.mcp.server import NAME

Context = ServerRequestContext[dict[str, Any], Any]
Result = CallToolResult | InputRequiredResult
Handler = Callable[[Context, CallToolRequestParams], Awaitable[Result]]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")
_OPTIONS = ["option1", "option2", "option3"]
_TITLED = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
DEFAULTS: Mapping[str, Any] = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS: Mapping[str, Any] = {
    "untitledSingle": {"type": "string", "enum": _OPTIONS},
    "titledSingle": {"type": "string", "oneOf": _TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


def say(text: str, *, is_error: bool = False) -> CallToolResult:
    """A result with a text."""
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=is_error)


def form(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a form with all of these fields required."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}


def ask(message: str, name: str) -> ElicitRequest:
    """A question for one text."""
    schema = form({name: {"type": "string"}})
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def embed(uri: str) -> EmbeddedResource:
    """A resource within a content."""
    text = TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource content.")
    return EmbeddedResource(type="resource", resource=text)


def sample(prompt: str) -> CreateMessageRequest:
    """A request to the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=50))


def answer_always(*content: ContentBlock) -> Handler:
    """A tool that always answers this."""

    async def handle(_: Context, __: CallToolRequestParams) -> Result:
        return CallToolResult(content=[*content])

    return handle


async def fail(_: Context, __: CallToolRequestParams) -> Result:
    """An error that the model sees."""
    return say("This tool intentionally returns an error for testing", is_error=True)


async def log(ctx: Context, _: CallToolRequestParams) -> Result:
    """Three lines of a log."""
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message(level="info", data=line, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return say("done")


async def report(ctx: Context, _: CallToolRequestParams) -> Result:
    """Progress in three steps."""
    for step in (0, 50, 100):
        await ctx.session.report_progress(step, 100)
        await asyncio.sleep(0.05)
    return say("done")


async def use_model(ctx: Context, params: CallToolRequestParams) -> Result:
    """An answer of the client's model."""
    request = sample((params.arguments or {}).get("prompt", "hello")).params
    answer = await ctx.session.create_message(
        request.messages, max_tokens=request.max_tokens, related_request_id=ctx.request_id
    )
    return say(f"LLM response: {answer.content}")


def ask_for(message: str, properties: Mapping[str, Any]) -> Handler:
    """A tool that asks within the session."""

    async def handle(ctx: Context, params: CallToolRequestParams) -> Result:
        shown = (params.arguments or {}).get("message", message)
        answer = await ctx.session.elicit_form(shown, form(properties), ctx.request_id)
        return say(f"User response: action={answer.action}, content={answer.content}")

    return handle


def ask_rounds(*rounds: Mapping[str, Any], with_state: bool = True) -> Handler:
    """A tool that asks round by round, from 2026-07-28 on."""

    async def handle(_: Context, params: CallToolRequestParams) -> Result:
        given, number = params.input_responses or {}, int(params.request_state or 0)
        if number < len(rounds) and rounds[number].keys() <= given.keys():
            wrong = [key for key, asked in rounds[number].items() if not _fits(asked, given[key])]
            if wrong:
                raise MCPError(INVALID_PARAMS, "the answer does not fit the question")
            number += 1
        if number >= len(rounds):
            return say("Hello, done!")
        state = str(number) if with_state or number else None
        return InputRequiredResult(input_requests=dict(rounds[number]), request_state=state)

    return handle


def _fits(asked: object, answer: object) -> bool:
    return not isinstance(asked, ElicitRequest) or isinstance(answer, ElicitResult)


async def ask_what_it_can(ctx: Context, params: CallToolRequestParams) -> Result:
    """Only what the client says that it can answer."""
    known = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if known and known.elicitation:
        requests["name"] = ask("What is your name?", "name")
    if known and known.sampling:
        requests["greeting"] = sample("Generate a greeting")
    return InputRequiredResult(input_requests=requests) if requests and not params.input_responses else say("done")


async def need_sampling(ctx: Context, _: CallToolRequestParams) -> Result:
    """An error for a client without a model."""
    known = ctx.session.client_capabilities
    if known is None or known.sampling is None:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling", {"requiredCapabilities": {"sampling": {}}})
    return say("done")


_NAME = {"user_name": ask("What is your name?", "name")}
TOOLS: Mapping[str, Handler] = {
    "test_simple_text": answer_always(TextContent(type="text", text="This is a simple text response for testing.")),
    "test_image_content": answer_always(IMAGE),
    "test_audio_content": answer_always(AudioContent(type="audio", data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": answer_always(embed("test://embedded-resource")),
    "test_multiple_content_types": answer_always(
        TextContent(type="text", text="Multiple content types test:"), IMAGE, embed("test://mixed-content-resource")
    ),
    "test_error_handling": fail,
    "test_tool_with_logging": log,
    "test_logging_tool": log,
    "test_tool_with_progress": report,
    "test_sampling": use_model,
    "test_elicitation": ask_for("Please provide your information", {"username": {"type": "string"}}),
    "test_elicitation_sep1034_defaults": ask_for("Defaults", DEFAULTS),
    "test_elicitation_sep1330_enums": ask_for("Enums", ENUMS),
    "test_input_required_result_elicitation": ask_rounds(_NAME, with_state=False),
    "test_streaming_elicitation": ask_rounds(_NAME, with_state=False),
    "test_input_required_result_sampling": ask_rounds({"capital_question": sample("What is the capital of France?")}),
    "test_input_required_result_list_roots": ask_rounds({"client_roots": ListRootsRequest()}),
    "test_input_required_result_request_state": ask_rounds({"confirm": ask("Please confirm", "ok")}),
    "test_input_required_result_tampered_state": ask_rounds({"confirm": ask("Please confirm", "ok")}),
    "test_input_required_result_multiple_inputs": ask_rounds(
        _NAME | {"greeting": sample("Generate a greeting"), "client_roots": ListRootsRequest()}
    ),
    "test_input_required_result_multi_round": ask_rounds(
        {"step1": ask("Step 1: What is your name?", "name")}, {"step2": ask("Step 2: What is your color?", "color")}
    ),
    "test_input_required_result_capabilities": ask_what_it_can,
    "test_missing_capability": need_sampling,
}
PROMPTS: Mapping[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
TEXTS = {"test://static-text": "This is the content of the static text resource.", "test://watched-resource": "watched"}


async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
    """All tools, which take anything."""
    return ListToolsResult(
        tools=[Tool(name=name, description=name, input_schema={"type": "object", "properties": {}}) for name in TOOLS]
    )


async def call_tool(ctx: Context, params: CallToolRequestParams) -> Result:
    """Call the tool of this name."""
    if params.name not in TOOLS:
        raise MCPError(INVALID_PARAMS, "Unknown tool")
    return await TOOLS[params.name](ctx, params)


async def list_resources(_: Context, __: PaginatedRequestParams | None) -> ListResourcesResult:
    """The resources without parameters."""
    uris = [*TEXTS, "test://static-binary"]
    return ListResourcesResult(resources=[Resource(uri=uri, name=uri, description=uri) for uri in uris])


async def list_templates(_: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    """The one template."""
    template = ResourceTemplate(uri_template="test://template/{id}/data", name="template", description="template")
    return ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Read a resource."""
    uri = str(params.uri)
    if uri == "test://static-binary":
        return ReadResourceResult(contents=[BlobResourceContents(uri=params.uri, blob=PNG, mime_type="image/png")])
    if uri.startswith("test://template/") and uri.endswith("/data"):
        text = f'{{"id":"{uri.split("/")[3]}","templateTest":true}}'
    elif (text := TEXTS.get(uri, "")) == "":
        raise MCPError(INVALID_PARAMS, "There is no such resource.", {"uri": uri})
    return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=text, mime_type="text/plain")])


async def list_prompts(_: Context, __: PaginatedRequestParams | None) -> ListPromptsResult:
    """All prompts."""
    return ListPromptsResult(
        prompts=[
            Prompt(name=name, description=name, arguments=[PromptArgument(name=each, required=True) for each in names])
            for name, names in PROMPTS.items()
        ]
    )


async def get_prompt(_: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
    """Fill a prompt in."""
    given = params.arguments or {}
    if params.name not in PROMPTS:
        raise MCPError(INVALID_PARAMS, "Unknown prompt")
    if params.name == "test_input_required_result_prompt" and not params.input_responses:
        return InputRequiredResult(input_requests={"user_context": ask("Which context?", "context")})
    text = TextContent(type="text", text=f"Prompt with arguments: {', '.join(given.values())}")
    contents: dict[str, ContentBlock] = {
        "test_prompt_with_embedded_resource": embed(given.get("resourceUri", "test://example")),
        "test_prompt_with_image": IMAGE,
    }
    content = contents.get(params.name)
    blocks: list[ContentBlock] = [text] if content is None else [content, text]
    return GetPromptResult(messages=[PromptMessage(role="user", content=block) for block in blocks])


async def complete(_: Context, __: CompleteRequestParams) -> CompleteResult:
    """Nothing to complete with."""
    return CompleteResult(completion=Completion(values=[], total=0, has_more=False))


async def subscribe(_: Context, __: SubscribeRequestParams | UnsubscribeRequestParams) -> EmptyResult:
    """Nothing changes."""
    return EmptyResult()


def create_suite_server(boundary: RequestStateBoundary) -> Server[dict[str, Any]]:
    """A server with all of this, behind the boundaries of the memory's server."""
    server = Server(
        NAME,
        version=__version__,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscribe_resource=subscribe,
        on_unsubscribe_resource=subscribe,
    )
    server.middleware.extend([boundary, contain_defects])
    return server
