"""What others see of an agent while it answers: the text as the model writes it, its tool calls, and their results.

They go to LangGraph's stream mode `messages`, and the tool calls to the state of the turn. What a model writes for its
tools, its thoughts, and memory blocks that it repeats are held back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set as AbstractSet
from dataclasses import replace
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langgraph.config import get_stream_writer
from langgraph.graph.message import push_message

from muniment.memory.payload import FENCE_CLOSE, FENCE_OPEN, dump_compact
from muniment.memory.ports.llm import ChatAnswer, ChatMessage, ToolCall
from muniment.nodes.chat_model import make_usage, write_calls
from muniment.nodes.written_calls import BEFORE_CALL, CONFIDENCE, read_answer

_FENCE = "```"
_WORDS = ("Memory updates", "Action:", CONFIDENCE)  # with which a line begins that is not for a person
_HIDDEN = tuple(
    (re.compile(opening, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for opening, end in ((r"<think(?:ing)?>", r"</think(?:ing)?>"), (re.escape(FENCE_OPEN), re.escape(FENCE_CLOSE)))
)
_TAG_CHARS = 40  # of the longest end of what is hidden
_MAX_DOUBT = 20_000  # characters that may wait to be understood; what follows is shown with the end of the answer
_BREAKS = re.compile(r"\n{3,}")
_LEAD_CHARS = 60  # at the end of a text that are looked at for what stands before a call and goes with it
_MAX_DEPTH = 20  # of arguments that are shown


def clean_arguments(value: Any, redact: Callable[[str], str], depth: int = 0) -> Any:
    """JSON that a model has written, without secrets, and without what is nested too deeply to be shown."""
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {redact(key): clean_arguments(item, redact, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_arguments(item, redact, depth + 1) for item in value]
    return redact(value) if isinstance(value, str) else value


def _find_open_end(text: str, openers: Iterable[str]) -> int:
    """Where the end of a text begins that may be the beginning of one of these words; its length where it may not."""
    sizes = [
        size
        for opener in openers
        for size in range(1, min(len(opener), len(text) + 1))
        if text.endswith(opener[:size]) and not text[: len(text) - size][-1:].isalnum()
    ]
    return len(text) - max(sizes, default=0)


class AnswerFilter:
    """Takes an answer in parts, and returns what of it is surely for a person, as soon as that is sure."""

    def __init__(self, names: AbstractSet[str], prompt: Sequence[ChatMessage]) -> None:
        self._names, self._prompt = names, prompt
        words = "|".join(map(re.escape, [*sorted(names), *_WORDS]))
        # What may begin something that is not for a person; at the end of the text, also half of it.
        self._doubt = re.compile(
            rf"<(?=[A-Za-z/|]|\Z)|{_FENCE}|\{{(?=\s*[\"\[{{]|\s*\Z)|\[(?=\s*[\[{{/]|\s*\Z|TOOL)"
            rf"|^[ \t]*-(?= ?\Z| [\[+↑↔-])|\b(?:{words})",
            re.MULTILINE,
        )
        self._openers = (_FENCE, *_WORDS, *names)
        self._waiting, self._is_stuck = "", False
        self._hidden_end: re.Pattern[str] | None = None  # of what is being skipped
        self._clean, self._context = "", ""  # for a person but not shown yet, and the end of what is shown
        self._shown: list[str] = []

    def join_shown(self) -> str:
        """Return what was shown until now."""
        return "".join(self._shown)

    def add_text(self, text: str) -> str:
        """Return what can be shown now, after what was shown before. The time is linear in the length of an answer."""
        if self._is_stuck:
            return ""
        self._waiting += text
        while self._waiting and not self._is_stuck:
            if self._hidden_end is not None:
                if not self._skip_hidden(self._hidden_end):
                    break
                continue
            doubt = self._doubt.search(self._waiting)
            if doubt is None:
                self._release(_find_open_end(self._waiting, self._openers))
                break
            self._release(doubt.start())
            if not self._settle_doubt():
                break
        new = self._take_clean()
        if max(len(self._waiting), len(self._clean)) > _MAX_DOUBT:
            self._is_stuck = True
        return new

    def _take_clean(self) -> str:
        """Return what is clean and not shown yet, without the blanks at its end and what may stand before a call."""
        before = self._context + self._clean
        lead = BEFORE_CALL.search(before, max(0, len(before) - _LEAD_CHARS))
        size = max(0, (lead.start() if lead else len(before)) - len(self._context))
        text = self._clean[:size].rstrip()
        self._context = (self._context + text)[-_LEAD_CHARS:]
        self._clean = self._clean[len(text) :]
        new = text if self._shown else text.lstrip()
        if new:
            self._shown.append(new)
        return new

    def _skip_hidden(self, end: re.Pattern[str]) -> bool:
        """Drop what is hidden, to its end; False where that must still come."""
        found = end.search(self._waiting)
        if found is None:
            self._waiting = self._waiting[-_TAG_CHARS:]
            return False
        self._waiting, self._hidden_end = self._waiting[found.end() :], None
        return True

    def _release(self, count: int) -> None:
        self._clean = _BREAKS.sub("\n\n", self._clean + self._waiting[:count])
        self._waiting = self._waiting[count:]

    def _settle_doubt(self) -> bool:
        """Take what the waiting text begins with to its end, and drop it or release it; False where more must come."""
        for opening, hidden_end in _HIDDEN:
            if begun := opening.match(self._waiting):
                self._waiting, self._hidden_end = self._waiting[begun.end() :], hidden_end
                return True
        end = self._waiting.find("\n") + 1
        if self._waiting.startswith(_FENCE):
            close = self._waiting.find(_FENCE, len(_FENCE))
            end = close + len(_FENCE) if close > 0 else 0
        part = self._waiting[:end]
        if not part or part.count("{") > part.count("}"):
            return False
        read = read_answer(part, self._names, self._prompt)
        self._is_stuck = bool(read.calls) or read.is_broken or read.text != part.strip()
        if not self._is_stuck:
            self._release(end)
        return not self._is_stuck


class ReplyStream:
    """The answers of one agent in one run of its node. `messages` are its tool calls with their results."""

    def __init__(self, agent: str, names: AbstractSet[str], redact: Callable[[str], str]) -> None:
        self.messages: list[AnyMessage] = []
        self._agent, self._names, self._redact = agent, names, redact
        self._filter = AnswerFilter(names, ())
        self._id = ""

    def begin_answer(self, prompt: Sequence[ChatMessage]) -> None:
        """The model is asked: what comes now is a new message."""
        self._filter = AnswerFilter(self._names, prompt)
        self._id = str(uuid4())

    def add_text(self, text: str) -> None:
        """Show a part of the answer, as far as it is for a person."""
        if new := self._filter.add_text(text):
            self._push_chunk(new)

    def show_calls(self, answer: ChatAnswer, text: str, calls: Sequence[ToolCall]) -> None:
        """Show the tool calls of the answer, and what of its text is not shown yet."""
        clean = [
            replace(call, name=self._redact(call.name), arguments=clean_arguments(call.arguments, self._redact))
            for call in calls
        ]
        message = AIMessage(
            text, id=self._id, name=self._agent, tool_calls=write_calls(clean), usage_metadata=make_usage(answer)
        )
        self.messages.append(message)
        self._push_rest(message)

    def show_result(self, call: ToolCall, text: str, *, ok: bool) -> None:
        """Show what came of a tool call."""
        message = ToolMessage(
            text,
            tool_call_id=call.id,
            name=self._redact(call.name),
            id=str(uuid4()),
            status="success" if ok else "error",
        )
        self.messages.append(message)
        push_message(message, state_key=None)

    def show_event(self, name: str, **facts: Any) -> None:
        """Show what a tool call has read, or that it was refused."""
        get_stream_writer()({"event": name, "agent": self._agent, **facts})

    def end_answer(self, answer: ChatAnswer, text: str) -> AIMessage:
        """Show the rest of the answer, and return it as the message that the thread keeps."""
        message = AIMessage(text, id=self._id, name=self._agent, usage_metadata=make_usage(answer))
        if self._filter.join_shown():  # otherwise LangGraph shows the message with the node's update
            self._push_rest(message)
        return message

    def _push_rest(self, message: AIMessage) -> None:
        """Show a message, or what is missing of one that was shown in parts."""
        shown, text = self._filter.join_shown(), str(message.text)
        if not shown:
            push_message(message, state_key=None)
            return
        chunk = AIMessageChunk(
            content=text[len(shown) :] if text.startswith(shown) else "",
            id=self._id,
            name=self._agent,
            usage_metadata=message.usage_metadata,
            tool_call_chunks=[
                tool_call_chunk(name=call["name"], args=dump_compact(call["args"]), id=call["id"], index=index)
                for index, call in enumerate(message.tool_calls)
            ],
            chunk_position="last",
        )
        push_message(chunk, state_key=None)

    def _push_chunk(self, text: str) -> None:
        push_message(AIMessageChunk(content=text, id=self._id, name=self._agent), state_key=None)
