"""The reply: by the model, by a colleague's report and the model, or from memory alone."""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory import codec
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, ModelError, MunimentError
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes import dialogue, failures, offline, time_travel
from muniment.nodes.dialogue import build_prompt, run_dialogue
from muniment.nodes.state import State, Task, Who, find_turn_messages, resolve_speaker
from muniment.nodes.tool_turns import add_pending_turns, find_latest_time
from muniment.nodes.tools import Toolbox

NAME = "supervisor"


async def write_reply(
    state: State,
    runtime: Runtime[Who],
    config: RunnableConfig,
    *,
    memory: Memory,
    model: ChatModel | None,
    settings: Settings,
    instructions: str,
    colleagues: tuple[str, ...] = (),
) -> Command[str]:
    """Reply, or hand a task to a colleague. Only the reply is kept in the thread."""
    scope, messages = resolve_speaker(state, runtime, config, settings.tenant), find_turn_messages(state)
    place = await time_travel.continue_turn(state, runtime, config)
    if not messages:
        return Command(goto="episodic", update=place)
    text = "\n".join(str(one.text) for one in messages)
    if model is None or state.get("refused") or not text.strip():
        found, lost = await _query_memory(memory, scope, state, text)
        place |= lost | State(recalled=[*state.get("recalled", ()), *memory.shingle_hashes(*found)])
        update = _reply_without_model(state | lost, text, found, has_model=model is not None)
        return Command(goto="episodic", update=place | update)
    toolbox = Toolbox(memory=memory, settings=settings, scope=scope, agent=NAME, as_of=place["as_of"], message_id=str(messages[-1].id),
                      previous_time=find_latest_time(state),
                      colleagues=colleagues if state.get("handoffs", 0) < settings.model.handoffs else ())  # fmt: skip
    try:
        outcome = await _ask_model(state, memory.meter_model(scope, model), settings, instructions, toolbox)
    except ModelError as error:
        note = f"{dialogue.explain_failure(error)}, so this is from memory alone."
        place |= State(acts=add_pending_turns(state, scope, toolbox.turns))
        found, lost = await _query_memory(memory, scope, state, text)
        fingerprints = (*toolbox.recalled, *memory.shingle_hashes(*found))
        place |= lost | State(recalled=[*state.get("recalled", ()), *fingerprints])
        reply = _make_reply(offline.compose_reply(state | lost, text, found), state | lost, note)
        return Command(goto="episodic", update=place | _make_update(reply))
    place |= State(acts=add_pending_turns(state, scope, toolbox.turns))
    if toolbox.recalled:
        place |= State(recalled=[*state.get("recalled", ()), *toolbox.recalled])
    if isinstance(outcome, ChatMessage):
        return Command(goto="episodic", update=place | _make_update(_make_reply(outcome.content, state)))
    handoff = State(handoff=outcome, handoffs=state.get("handoffs", 0) + 1)
    return Command(goto=outcome["agent"], update=place | handoff)


async def _ask_model(
    state: State, model: ChatModel, settings: Settings, instructions: str, toolbox: Toolbox
) -> ChatMessage | Task:
    messages = build_prompt(state, instructions, settings.limits.turn_chars)
    return await run_dialogue(model, messages, toolbox, settings.model.tool_rounds)


async def _query_memory(memory: Memory, scope: Scope, state: State, text: str) -> tuple[list[str], State]:
    """What memory says to a question, at the revision that the turn read, where the context does not: the lasting part of
    it is there whatever is asked. Where memory fails, why the reply is without it: that is not to know nothing."""
    rev = state.get("rev")
    if rev is None or not offline.is_open_question(state, text):
        return [], State()
    try:
        answer = await memory.query(scope, NAME, Query(text=text, as_of=Revision(rev)))
    except BadInput:  # what the turn has read was erased since
        return [], State()
    except MunimentError as error:
        return [], State(unread=await failures.report_failure(memory, scope, "context", "search", error))
    return [str(codec.encode_hit(hit, "bullets")["text"]) for hit in answer.hits], State()


def _reply_without_model(state: State, text: str, texts: list[str], *, has_model: bool) -> State:
    """The reply without asking a model. Once in a thread's life it says that none is configured."""
    reply = offline.compose_reply(state, text, texts)
    if has_model or state.get("told_offline"):
        return _make_update(_make_reply(reply, state))
    return State(messages=[_make_reply(reply, state, offline.SETUP_HINT)], told_offline=True)


def _make_reply(text: str, state: State, *notes: str) -> AIMessage:
    """The reply with what the user has to know about how it was made."""
    return AIMessage("\n\n".join(filter(None, [text, state.get("unread", ""), *notes])), name=NAME)


def _make_update(reply: AIMessage) -> State:
    return State(messages=[reply])
