"""The reply: by the model, by a colleague's report and the model, or from memory alone."""

from __future__ import annotations

import re
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
from muniment.nodes.dialogue import build_prompt, explain_failure, run_dialogue
from muniment.nodes.entry import report_failure
from muniment.nodes.notices import READ
from muniment.nodes.state import State, add_pending_turns, find_latest_time, find_turn_messages
from muniment.nodes.tools import Toolbox

NAME = "supervisor"
SETUP_HINT = (
    "No model is configured, so I can only quote memory. To talk with a model, set MUNIMENT_MODEL and OPENAI_API_KEY "
    "(and OPENAI_BASE_URL for an endpoint other than OpenAI's) and start again."
)
_MAX_QUOTED = 3
_QUESTION_START = re.compile(
    r"(what|who|whom|whose|when|where|which|why|how|do|does|did|is|are|am|was|were|can|could|should|will|would|"
    r"tell me|remind me|show me|(?:may|shall) (?:i|we))\b",
    re.IGNORECASE,
)
_QUESTION_END = re.compile(r"[?？][\s\"'”’)]*$|[吗呢][。!！]?$|什么|谁|哪|几时|怎么")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]{3,}")
_STOP_WORDS = re.compile(
    r"the|and|for|are|was|were|what|who|when|where|which|why|how|does|did|can|could|would|you|your|user|has|have|had|"
    r"that|this|with|about|tell|show|remind|from|的|了|是|我|你"
)


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
        hints = [] if model is not None or state.get("told_offline") else [SETUP_HINT]
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
    is_open = _is_question(text) and not state.get("bullets") and bool(_list_profile_lines(state))
    if rev is not None and is_open and not _find_related(state, text):
        try:
            answer = await memory.query(scope, NAME, Query(text=text, as_of=Revision(rev)))
            texts = [str(encode_hit(hit, "bullets")["text"]) for hit in answer.hits]
        except BadInput:  # that revision was erased since
            pass
        except MunimentError as error:
            update = State(unread=await report_failure(memory, scope, "context", "search", error))
    hashes = [*state.get("recalled", ()), *recalled, *memory.conversation.shingle_hashes(*texts)]
    new_state = state | update
    reply = _make_reply(compose_reply(new_state, text, texts), new_state, *notes)
    return update | State(recalled=hashes, messages=[reply], from_memory=True)


def _make_reply(text: str, state: State, *notes: str) -> AIMessage:
    """The reply with what the user has to know about how it was made."""
    return AIMessage("\n\n".join(filter(None, [text, state.get("unread", ""), *notes])), name=NAME)


def compose_reply(state: State, text: str, texts: Sequence[str] = ()) -> str:
    """A reply that quotes the memories of the context, or else `texts`; empty for a message that was refused."""
    if state.get("refused"):
        return ""
    if not text.strip():
        return "Your message has no text that I can read."
    found = state.get("bullets") or texts
    if not (is_question := _is_question(text)):  # what was said a moment ago is no news
        found = state.get("fresh", found)
    # On one line, so that no text looks like several memories.
    bullets = [f"- {' '.join(bullet.split())}" for bullet in found[:_MAX_QUOTED]]
    if is_question:
        related, lasting = _find_related(state, text), _list_profile_lines(state)
        body = _quote_lines("From memory:", [*related, *bullets]) or "I have nothing in memory about that."
        if not related and not bullets:
            body += "\n" * 2 * bool(lasting) + _quote_lines("What I do know about you:", lasting[:_MAX_QUOTED])
    else:
        body = _quote_lines(f"{READ} What I remember that may bear on it:", bullets) or READ
    if state.get("unread"):
        body = READ
    return "\n\n".join(filter(None, [state.get("header", ""), body]))


def _is_question(text: str) -> bool:
    return bool(_QUESTION_START.match(text.strip()) or _QUESTION_END.search(text.strip()))


def _list_profile_lines(state: State) -> list[str]:
    return [line for line in state.get("stable", "").splitlines() if line.strip()]


def _find_related(state: State, text: str) -> list[str]:
    return [line for line in _list_profile_lines(state) if _find_stems(line) & _find_stems(text)]


def _quote_lines(title: str, lines: list[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""


def _find_stems(text: str) -> set[str]:
    """The first four letters of a text's words, without stop words: roughly their stems."""
    return {word[:4] for word in _WORD.findall(text.casefold()) if not _STOP_WORDS.fullmatch(word)}
