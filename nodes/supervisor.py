"""The reply: by the model, by a colleague's report and the model, or from memory alone; and what it says of the hot
path: what was noted, and what of a message was not kept and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from muniment.chain.host import Host
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.memory import StoredMemory, list_replaced
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from muniment.memory.errors import BadInput, ModelError, MunimentError, NotFound, StoreError
from muniment.memory.payload import encode_hit
from muniment.memory.ports.llm import ChatAnswer
from muniment.nodes.chain.turns import choose_first
from muniment.nodes.chat_model import RunModel
from muniment.nodes.confidence import LOW, measure_confidence
from muniment.nodes.dialogue import build_prompt, compose_beside, explain_failure, run_dialogue
from muniment.nodes.entry import QUESTION_CHARS, find_stems, find_turn_messages, is_question, report_failure
from muniment.nodes.reply_stream import ReplyStream
from muniment.nodes.state import State
from muniment.nodes.tool_turns import add_pending_turns, find_latest_time
from muniment.nodes.tools import Toolbox

READ = "I have read that."  # the reply to a statement, until the hot path is over
_MAX_NAMED, _MAX_CHARS = 3, 120  # changes that are named, and characters of each
_CJK = re.compile(r"[\u3400-\u9fff]")
_ENDS_IN_QUESTION = re.compile(r"[?？]\W*$")
_REQUEST = re.compile(
    r"\W*(?:(?:please|pls|hey|ok|and|also|(?:can|could|would|will) you(?: please)?|i want you to|you should)[\s,]+)*"
    r"(?:(?:remember|memori[sz]e|note|save|store|keep in mind|bear in mind|(?:don'?t|do not|never) forget"
    r"|make a note|take note|write (?:this |it )?down)\b(?!\s+(?:when|how|what|why|where|who|me|us|those|the time"
    r"|the day)\b))|\W*(?:请|麻烦|帮我|你要|你|一定要|务必|好好)*(?:记住|记一下|记下|记着|牢记"
    r"|记得|别忘了|不要忘[记了])",
    re.IGNORECASE,
)
_VERBS: Mapping[str, tuple[str, str]] = {
    "kept": ("Noted", "已记下"),
    "gone": ("Forgotten", "已忘记"),
    "pending": ("Waiting for your consent", "等您同意"),
}
# Reasons of a receipt -> the end of a sentence, in English and in Chinese.
_REASONS: Mapping[str, tuple[str, str]] = {
    "a secret": ("it holds a secret, and secrets are never kept", "里面有机密内容，机密内容从不保存"),
    "question": ("it is a question. Say it as a statement", "这是一个问题。请用陈述句再说一遍"),
    "question about the assistant": ("it is a question. Say it as a statement", "这是一个问题。请用陈述句再说一遍"),
    "acknowledgement": ("there is nothing in it to remember", "里面没有可以记住的内容"),
    "greeting": ("there is nothing in it to remember", "里面没有可以记住的内容"),
    "empty": ("there is nothing in it to remember", "里面没有可以记住的内容"),
    "first or second person": ("I could not put it as a statement about you", "我没能把它写成一句关于您的话"),
    "relative date": ("I could not tell which date it means", "我无法确定它指的日期"),
    "denied tag": ("the settings exclude its tag (redact.deny_tags)", "设置排除了它的标签（redact.deny_tags）"),
    "denied path": ("the settings exclude its path (redact.deny_paths)", "设置排除了它的路径（redact.deny_paths）"),
    "denied project": (
        "the settings exclude this project (redact.deny_projects)", "设置排除了这个项目（redact.deny_projects）",
    ),
}  # fmt: skip
_NO_STATEMENT = (
    'I found no statement in it. Say it as one, such as "I live in Lisbon"',
    "我没有找到可以记住的陈述。请用陈述句再说一遍",
)
_ZH_NAMES: Mapping[str, str] = {
    "an API key": "API 密钥", "a card number": "卡号", "an e-mail address": "电子邮箱", "an account number": "账号",
    "a password": "密码", "a phone number": "电话号码", "a private key": "私钥", "a token": "令牌",
}  # fmt: skip


def format_noted(writes: Sequence[Mapping[str, Any]]) -> str:
    """Return one line with what the hot path has kept or forgotten: "Noted: …". Empty without changes."""
    named: dict[str, list[str]] = {}
    for change in writes:
        kind = "gone" if change["action"] in ("DELETE", "TTL") else "kept"
        named.setdefault("pending" if change.get("state") == "pending" else kind, []).append(_shorten(change["text"]))
    lines = []
    for kind, texts in named.items():
        (verb, chinese_verb), shown = _VERBS[kind], "; ".join(texts[:_MAX_NAMED])
        rest = len(texts) - _MAX_NAMED
        if _CJK.search(shown):
            lines.append(f"{chinese_verb}：{shown}{f'；还有 {rest} 条' if rest > 0 else ''}。")
        else:
            lines.append(f"{verb}: {shown}{f'; and {rest} more' if rest > 0 else ''}.")
    return " ".join(lines)


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of an answer to the question whether a memory replaces others: the sentence that tells it, and the
    memories that are to be asked about again."""

    sentence: str
    unclear: list[str]


async def ask_replaced(receipt: Receipt, scope: Scope, memory: Memory) -> tuple[list[str], list[str]]:
    """Return a question for each new memory that perhaps replaces known ones, with the ids of those memories: it is not
    certain which, so that all stay."""
    questions, ids = [], []
    for change in receipt.changes:
        marked = change.action == "ADD" and change.after.tags
        if marked and (known := await _list_replaceable(change.after, scope, memory)):
            questions.append(_format_replaced(change.after.text, known))
            ids.append(str(change.after.id))
    return questions, ids


async def settle_replacements(ids: Sequence[str], text: str, scope: Scope, memory: Memory) -> Settlement | None:
    """Let a person's message decide what the memories that were asked about replace; None where it is no answer."""
    sentences, unclear = [], []
    for id_ in ids:
        try:
            receipt = await memory.conversation.answer_replacement(scope, id_, text)
            newer = await memory.get(scope, id_)
        except (NotFound, StoreError):
            continue
        if receipt is None:
            continue
        gone = [_shorten(change.after.text) for change in receipt.changes if change.after.state == "superseded"]
        if not receipt.changes:
            unclear.append(id_)
            sentences.append(_format_replaced(newer.text, await _list_replaceable(newer, scope, memory)))
        elif _CJK.search(newer.text):
            sentences.append(f"已被取代：{'；'.join(gone)}。" if gone else "好的，都保留。")
        else:
            sentences.append(f"Replaced: {'; '.join(gone)}." if gone else "All of it stays.")
    return Settlement("\n\n".join(sentences), unclear) if sentences else None


async def _list_replaceable(newer: StoredMemory, scope: Scope, memory: Memory) -> list[str]:
    """The texts of the active memories that a memory perhaps replaces, of those that the scope sees."""
    texts = []
    for id_ in list_replaced(newer):
        try:
            found = await memory.get(scope, id_)
        except (NotFound, StoreError):
            continue
        texts += [found.text] if found.state == "active" else []
    return texts


def _format_replaced(text: str, known: Sequence[str]) -> str:
    """The question whether a new statement replaces known ones, and how to answer it."""
    quoted = [f'"{_shorten(each)}"' for each in known]
    if _CJK.search(text):
        how = "请说明是哪一条，或回答“不是”" if len(quoted) > 1 else "请回答“是”或“不是”"
        return f"这是否取代了{'或'.join(quoted)}？{how}；不回答则都会保留。"
    how = "say which, or no" if len(quoted) > 1 else "say yes or no"
    return f"Does that replace {' or '.join(quoted)}? Please {how}; without an answer all of it stays."


def add_notes(state: State, text: str, failure: str) -> str:
    """The reply with what came of the hot path. A reply from memory also says what was noted."""
    noted = format_noted(state.get("writes", [])) if state.get("from_memory") else ""
    notes = [note for note in (noted, state.get("unmet", ""), "" if state.get("unread") else failure) if note]
    parts = text.split("\n\n")
    if notes and READ in parts and not state.get("unread"):
        place = parts.index(READ)
        parts[place : place + 1] = notes
    else:
        parts += notes
    return "\n\n".join(filter(None, parts))


def find_seen_revision(rev: Revision, writes: Sequence[Mapping[str, Any]]) -> Revision:
    """The revision that the thread has seen: the one that was read, and what its own turn has written after it.

    What was said in a conversation is no news in it. Where others have written meanwhile, it is the one that was
    read."""
    own = {change["rev"] for change in writes}
    while rev + 1 in own:
        rev = Revision(rev + 1)
    return rev


def explain_omissions(turn: Turn, receipt: Receipt, redactions: Sequence[str]) -> list[str]:
    """Return a sentence for each thing that is not kept as it was said: what was redacted or cut, and a request to
    remember that came to nothing, with the reason."""
    is_chinese = int(bool(_CJK.search(turn.text)))
    sentences = []
    if redactions:
        sentences.append(_name_redactions(redactions, chinese=bool(is_chinese)))
    if receipt.left_out:
        sentences.append(f"Cut: {'; '.join(receipt.left_out)}.")
    # A cap (`write.per_turn`, `write.per_day`) is no fault of the words: it is told whatever was asked.
    reasons = [reason for reason in dict.fromkeys(receipt.refused) if reason.startswith("more than ")]
    is_kept = bool(receipt.changes or receipt.consent_requests or receipt.unmatched_requests or receipt.replayed)
    if _REQUEST.match(turn.text):
        reasons = list(dict.fromkeys(receipt.refused)) or ([receipt.skipped] if receipt.skipped else [])
        if not is_kept and not reasons and receipt.rev:
            return [*sentences, ("I know that already.", "这个我已经知道了。")[is_chinese]]
        if not is_kept and not reasons:
            reasons = ["question" if _ENDS_IN_QUESTION.search(turn.text) else ""]
    if redactions:  # said above
        reasons = [reason for reason in reasons if reason != "a secret"]
    if reasons:
        causes = [_REASONS.get(reason, (reason, reason) if reason else _NO_STATEMENT)[is_chinese] for reason in reasons]
        start = (
            ("Not everything of that was kept: ", "没有全部记住：")
            if is_kept
            else ("I kept nothing of that: ", "没有记住：")
        )
        sentences.append(f"{start[is_chinese]}{'; '.join(causes)}{'.。'[is_chinese]}")
    elif redactions and not is_kept and _REQUEST.match(turn.text):
        sentences.append(("I kept nothing of that.", "这句话没有记住。")[is_chinese])
    return sentences


def _name_redactions(redactions: Sequence[str], *, chinese: bool) -> str:
    if chinese:
        return f"已从您的消息中删去：{'、'.join(_ZH_NAMES.get(name, name) for name in redactions)}。机密内容从不保存。"
    return f"Taken out of your message: {' and '.join(redactions)}. Secrets are never kept."


def _shorten(text: str) -> str:
    flat = " ".join(text.split()).rstrip(".。")
    return flat if len(flat) <= _MAX_CHARS else flat[: _MAX_CHARS - 1] + "…"


NAME = "supervisor"
SETUP_HINT = (
    "No model is configured, so I can only quote memory. To talk with a model, set MUNIMENT_MODEL and OPENAI_API_KEY "
    "(and OPENAI_BASE_URL for an endpoint other than OpenAI's) and start again."
)
_MAX_QUOTED = 3


async def write_reply(
    state: State,
    scope: Scope,
    *,
    memory: Memory,
    model: BaseChatModel | None,
    settings: Settings,
    instructions: str,
    colleagues: Mapping[str, str],
    own: ToolNode | None,
    host: Host | None = None,
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
    confidence = State(confidence=measure_confidence(state, text))
    state |= confidence
    toolbox = Toolbox(
        memory=memory,
        settings=settings,
        scope=scope,
        agent=NAME,
        is_wide=confidence["confidence"] < LOW,
        as_of=state.get("as_of"),
        message_id=str(messages[-1].id),
        previous_time=find_latest_time(state),
        colleagues={} if state.get("is_off") or state.get("handoffs", 0) >= settings.model.handoffs else colleagues,
        has_memory=not state.get("is_off"),
        own=own,
        state=state,
    )
    stream = ReplyStream(NAME, {tool.name for tool in toolbox.tools}, memory.conversation.redact)
    toolbox = replace(toolbox, stream=stream)
    metered = memory.conversation.meter_model(scope, RunModel(model, stream))
    beside = compose_beside(state, instructions, toolbox.tools)
    first = await choose_first(host, state, scope, settings, memory.conversation.count_tokens, beside, memory.now())
    confidence |= State(left=first) if first != state.get("left", "") else State()
    try:
        prompt = build_prompt(state, instructions, settings.limits.turn_chars, first)
        outcome = await run_dialogue(metered, stream, prompt, toolbox, settings.model.tool_rounds)
    except ModelError as error:
        note = f"{explain_failure(error)}, so this is from memory alone."
        update = await _reply_from_memory(state, scope, memory, text, toolbox.recalled, note)
        return Command(goto="episodic", update=update | confidence | _collect_calls(state, scope, toolbox, stream))
    update = confidence | _collect_calls(state, scope, toolbox, stream)
    if toolbox.recalled:
        update["recalled"] = [*state.get("recalled", ()), *map(str, toolbox.recalled)]
    if isinstance(outcome, ChatAnswer):
        said = "\n\n".join(filter(None, [outcome.message.content, state.get("unread", "")]))
        reply = stream.end_answer(outcome, said)
        return Command(goto="episodic", update=update | State(messages=[reply]))
    handoff = State(handoff=outcome, handoffs=state.get("handoffs", 0) + 1)
    return Command(goto=outcome["agent"], update=update | handoff)


def _collect_calls(state: State, scope: Scope, toolbox: Toolbox, stream: ReplyStream) -> State:
    """The update with the calls of tools: for the ledger, and as messages for whoever looks at the turn."""
    messages = [*state.get("tool_messages", ()), *stream.messages]
    return State(acts=add_pending_turns(state, scope, toolbox.turns), tool_messages=messages)


async def _reply_from_memory(
    state: State, scope: Scope, memory: Memory, text: str, recalled: Sequence[int], *notes: str
) -> State:
    """The update with a reply that quotes memory. `recalled` are hashes of what the model's tools have found.

    Where the context has nothing on a question, memory is searched once more, at the revision that the turn has read.
    Where that search fails, the reply says why: an answer without memory does not mean that memory has none."""
    rev, update, texts = state.get("rev"), State(), list[str]()
    is_open = is_question(text) and not state.get("bullets") and bool(_list_profile_lines(state))
    if rev is not None and is_open and not _find_related(state, text):
        try:
            answer = await memory.query(scope, NAME, Query(text=text, as_of=Revision(rev)))
            texts = [str(encode_hit(hit, "bullets")["text"]) for hit in answer.hits]
        except BadInput:  # that revision was erased since
            pass
        except MunimentError as error:
            update = State(unread=await report_failure(memory, scope, "context", "search", error))
    hashes = [*state.get("recalled", ()), *map(str, [*recalled, *memory.conversation.shingle_hashes(*texts)])]
    new_state = state | update
    parts = [compose_reply(new_state, text, texts), new_state.get("unread", ""), *notes]
    reply = AIMessage("\n\n".join(filter(None, parts)), name=NAME)
    return update | State(recalled=hashes, messages=[reply], from_memory=True)


def compose_reply(state: State, text: str, texts: Sequence[str] = ()) -> str:
    """A reply that quotes the memories of the context, or else `texts`; empty for a message that was refused."""
    if state.get("refused"):
        return ""
    if not text.strip():
        return "Your message has no text that I can read."
    found = state.get("bullets") or texts
    if not (asks := is_question(text)):  # what was said a moment ago is no news
        found = state.get("fresh", found)
    # On one line, so that no text looks like several memories.
    bullets = [f"- {' '.join(bullet.split())}" for bullet in found[:_MAX_QUOTED]]
    if asks:
        related, lasting = _find_related(state, text), _list_profile_lines(state)
        body = _quote_lines("From memory:", [*related, *bullets]) or "I have nothing in memory about that."
        if not related and not bullets:
            body += "\n" * 2 * bool(lasting) + _quote_lines("What I do know about you:", lasting[:_MAX_QUOTED])
    else:
        body = _quote_lines(f"{READ} What I remember that may bear on it:", bullets) or READ
    if state.get("unread"):
        body = READ
    return "\n\n".join(filter(None, [state.get("header", ""), body]))


def _list_profile_lines(state: State) -> list[str]:
    return [line for line in state.get("stable", "").splitlines() if line.strip()]


def _find_related(state: State, text: str) -> list[str]:
    stems = find_stems(text[:QUESTION_CHARS])
    return [line for line in _list_profile_lines(state) if find_stems(line) & stems]


def _quote_lines(title: str, lines: list[str]) -> str:
    return "\n".join([title, *lines]) if lines else ""
