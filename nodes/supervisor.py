"""The reply: by the model, by a colleague's report and the model, or from memory alone."""

from __future__ import annotations

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime
from langgraph.types import Command

from muniment.memory import codec as wire
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, ModelError, MunimentError
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes import dialogue, offline, past, trouble
from muniment.nodes.acting import latest, waiting
from muniment.nodes.dialogue import converse, prompt
from muniment.nodes.state import State, Task, Who, asked, speaker
from muniment.nodes.tools import Toolbox

NAME = "supervisor"


async def supervisor(
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
    who, said = speaker(state, runtime, config, settings.tenant), asked(state)
    place = await past.go_on(state, runtime, config)
    if not said:
        return Command(goto="episodic", update=place)
    text = "\n".join(str(one.text) for one in said)
    if model is None or state.get("refused") or not text.strip():
        found, lost = await _found(memory, who, state, text)
        place |= lost | State(recalled=[*state.get("recalled", ()), *memory.fingerprints(*found)])
        said_so = _unasked(state | lost, text, found, configured=model is not None)
        return Command(goto="episodic", update=place | said_so)
    toolbox = Toolbox(memory=memory, settings=settings, scope=who, agent=NAME, as_of=place["as_of"], turn=str(said[-1].id),
                      since=latest(state),
                      colleagues=colleagues if state.get("handoffs", 0) < settings.model.handoffs else ())  # fmt: skip
    try:
        outcome = await _ask(state, memory.meter(who, model), settings, instructions, toolbox)
    except ModelError as error:
        note = f"{dialogue.failed(error)}, so this is from memory alone."
        place |= State(acts=waiting(state, who, toolbox.acts))
        found, lost = await _found(memory, who, state, text)
        shown = (*toolbox.recalled, *memory.fingerprints(*found))
        place |= lost | State(recalled=[*state.get("recalled", ()), *shown])
        reply = _with(offline.answer(state | lost, text, found), state | lost, note)
        return Command(goto="episodic", update=place | _said(reply))
    place |= State(acts=waiting(state, who, toolbox.acts))
    if toolbox.recalled:
        place |= State(recalled=[*state.get("recalled", ()), *toolbox.recalled])
    if isinstance(outcome, ChatMessage):
        return Command(goto="episodic", update=place | _said(_with(outcome.content, state)))
    handed = State(handoff=outcome, handoffs=state.get("handoffs", 0) + 1)
    return Command(goto=outcome["agent"], update=place | handed)


async def _ask(
    state: State, model: ChatModel, settings: Settings, instructions: str, toolbox: Toolbox
) -> ChatMessage | Task:
    messages = prompt(state, instructions, settings.limits.turn_chars)
    return await converse(model, messages, toolbox, settings.model.tool_rounds)


async def _found(memory: Memory, who: Scope, state: State, text: str) -> tuple[list[str], State]:
    """What memory says to a question, at the revision that the turn read, where the context does not: the lasting part of
    it is there whatever is asked. Where memory fails, why the reply is without it: that is not to know nothing."""
    rev = state.get("rev")
    if rev is None or not offline.open_question(state, text):
        return [], State()
    try:
        answer = await memory.query(who, NAME, Query(text=text, as_of=Revision(rev)))
    except BadInput:  # what the turn has read was erased since
        return [], State()
    except MunimentError as error:
        return [], State(unread=await trouble.note(memory, who, "context", "search", error))
    return [str(wire.hit(hit, "bullets")["text"]) for hit in answer.hits], State()


def _unasked(state: State, text: str, found: list[str], *, configured: bool) -> State:
    """The reply without asking a model. Once in a thread's life it says that none is configured."""
    reply = offline.answer(state, text, found)
    if configured or state.get("told_offline"):
        return _said(_with(reply, state))
    return State(messages=[_with(reply, state, offline.HOW)], told_offline=True)


def _with(text: str, state: State, *notes: str) -> AIMessage:
    """The reply with what the user has to know about how it was made."""
    return AIMessage("\n\n".join(filter(None, [text, state.get("unread", ""), *notes])), name=NAME)


def _said(reply: AIMessage) -> State:
    return State(messages=[reply])
