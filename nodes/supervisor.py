"""The reply: by the model, by a colleague's report and the model, or from memory alone."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage
from langgraph.types import Command

from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import BadInput, ModelError, MunimentError
from muniment.memory.payload import encode_hit
from muniment.memory.ports.llm import ChatMessage, ChatModel
from muniment.nodes import offline
from muniment.nodes.dialogue import build_prompt, explain_failure, run_dialogue
from muniment.nodes.entry import report_failure
from muniment.nodes.state import State, find_turn_messages
from muniment.nodes.tool_turns import add_pending_turns, find_latest_time
from muniment.nodes.tools import Toolbox

NAME = "supervisor"


async def write_reply(
    state: State,
    scope: Scope,
    *,
    memory: Memory,
    model: ChatModel | None,
    settings: Settings,
    instructions: str,
    colleagues: tuple[str, ...] = (),
) -> Command[str]:
    """Reply, or hand a task to a colleague. Only the reply stays in the thread."""
    messages = find_turn_messages(state)
    if not messages:
        return Command(goto="episodic")
    text = "\n".join(str(message.text) for message in messages)
    if model is None or state.get("refused") or not text.strip():
        hints = [] if model is not None or state.get("told_offline") else [offline.SETUP_HINT]
        update = await _reply_from_memory(state, scope, memory, text, (), *hints)
        return Command(goto="episodic", update=update | State(told_offline=True) if hints else update)
    toolbox = Toolbox(
        memory=memory,
        settings=settings,
        scope=scope,
        agent=NAME,
        as_of=state.get("as_of"),
        message_id=str(messages[-1].id),
        previous_time=find_latest_time(state),
        colleagues=colleagues if state.get("handoffs", 0) < settings.model.handoffs else (),
    )
    try:
        prompt = build_prompt(state, instructions, settings.limits.turn_chars)
        outcome = await run_dialogue(
            memory.conversation.meter_model(scope, model), prompt, toolbox, settings.model.tool_rounds
        )
    except ModelError as error:
        note = f"{explain_failure(error)}, so this is from memory alone."
        update = await _reply_from_memory(state, scope, memory, text, toolbox.recalled, note)
        return Command(goto="episodic", update=update | State(acts=add_pending_turns(state, scope, toolbox.turns)))
    update = State(acts=add_pending_turns(state, scope, toolbox.turns))
    if toolbox.recalled:
        update["recalled"] = [*state.get("recalled", ()), *toolbox.recalled]
    if isinstance(outcome, ChatMessage):
        return Command(goto="episodic", update=update | State(messages=[_make_reply(outcome.content, state)]))
    handoff = State(handoff=outcome, handoffs=state.get("handoffs", 0) + 1)
    return Command(goto=outcome["agent"], update=update | handoff)


async def _reply_from_memory(
    state: State, scope: Scope, memory: Memory, text: str, recalled: Sequence[int], *notes: str
) -> State:
    """The update with a reply that quotes memory. `recalled` are hashes of what the model's tools have found.

    Where the context has nothing on a question, memory is searched once more, at the revision that the turn has read.
    Where that search fails, the reply says why: an answer without memory does not mean that memory has none."""
    rev, update, texts = state.get("rev"), State(), list[str]()
    if rev is not None and offline.is_open_question(state, text):
        try:
            answer = await memory.query(scope, NAME, Query(text=text, as_of=Revision(rev)))
            texts = [str(encode_hit(hit, "bullets")["text"]) for hit in answer.hits]
        except BadInput:  # that revision was erased since
            pass
        except MunimentError as error:
            update = State(unread=await report_failure(memory, scope, "context", "search", error))
    hashes = [*state.get("recalled", ()), *recalled, *memory.conversation.shingle_hashes(*texts)]
    new_state = state | update
    reply = _make_reply(offline.compose_reply(new_state, text, texts), new_state, *notes)
    return update | State(recalled=hashes, messages=[reply])


def _make_reply(text: str, state: State, *notes: str) -> AIMessage:
    """The reply with what the user has to know about how it was made."""
    return AIMessage("\n\n".join(filter(None, [text, state.get("unread", ""), *notes])), name=NAME)
