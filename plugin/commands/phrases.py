"""The words of the commands' replies, in English and Chinese, and an item as one line of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias
from unicodedata import category

from muniment.memory.rules.language.tokens import normalize_text
from muniment.plugin.domain.item import MemoryItem

Language: TypeAlias = Literal["en", "zh"]
_SHOWN_CHARS = 240  # of an item
_SECONDS = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_JOINERS = "\u200c\u200d"  # without these, words of some scripts and many emoji read differently

_LABELS: Mapping[str, str] = {
    "preference": "偏好", "rule": "规则", "decision": "决定", "fact": "事实", "fix": "修复", "todo": "待办",
    "session": "会话", "project": "项目", "global": "全局",
    "user": "用户", "tool": "工具", "document": "文档", "agent": "助手", "pinned": "已置顶",
}  # fmt: skip
_HELP = {
    "en": """\
/memory             what is remembered: active (before the model in the last turn) and recent
/memory pin ID      keep an item, and let it come first; /memory unpin ID takes that back
/memory forget ID   forget an item
/memory off, on     stop reading and writing in this session, and start again
/memory why         what was put before the model in the last turn, and why
/memory status      how the memory works here, and what it has cost""",
    "zh": """\
/memory             已记住的内容：当前（上一轮提供给模型的）和最近的
/memory pin ID      保留并优先一条记忆；/memory unpin ID 取消
/memory forget ID   忘记一条记忆
/memory off、on     在本会话中停止读写记忆，以及重新开启
/memory why         上一轮提供给模型的内容及原因
/memory status      记忆的运行方式和开销""",
}
_PHRASES: Mapping[str, tuple[str, str]] = {
    "active": ("Active (before the model in the last turn):", "当前（上一轮提供给模型）："),
    "recent": ("Recent:", "最近："),
    "empty": ("Nothing is remembered yet.", "还没有记住任何内容。"),
    "more": ("There is more; the newest {count} are shown.", "还有更多；此处显示最新的 {count} 条。"),
    "is_off": (
        "Memory is off in this session; /memory on starts it again.",
        "本会话的记忆已关闭；/memory on 可重新开启。",
    ),
    "turned_off": (
        "Memory is off in this session: nothing is read or written until /memory on. Other sessions go on.",
        "本会话的记忆已关闭：在 /memory on 之前不读取也不写入。其他会话不受影响。",
    ),
    "turned_on": ("Memory is on in this session.", "本会话的记忆已开启。"),
    "no_id": ("/memory {name}: an id is missing; /memory shows them.", "/memory {name}：缺少 ID；/memory 会列出它们。"),
    "short_id": (
        "/memory {name}: “{given}” is no id: give {least} or more characters of one, as /memory shows them.",
        "/memory {name}：“{given}”不是 ID：请给出 /memory 所列 ID 的前 {least} 个或更多字符。",
    ),
    "unknown_id": (
        "No item begins with “{given}”; /memory shows the ids.",
        "没有以“{given}”开头的记忆；/memory 会列出 ID。",
    ),
    "ambiguous_id": (
        "“{given}” is the beginning of more than one id; nothing was changed. Give more of it:",
        "“{given}”是多个 ID 的开头；未作任何更改。请多给几个字符：",
    ),
    "pin": ("Pinned:", "已置顶："),
    "unpin": ("Unpinned:", "已取消置顶："),
    "forget": ("Forgotten:", "已忘记："),
    "gone": ("It is gone already.", "该记忆已不存在。"),
    "no_turn": ("No turn of this session has been recorded yet.", "本会话还没有记录任何一轮。"),
    "why_searched": (
        "In the last turn memory was searched ({reason}): {items} put before the model, {tokens} tokens.",
        "上一轮查询了记忆（{reason}）：{items} 条提供给模型，共 {tokens} 个词元。",
    ),
    "why_skipped": ("In the last turn memory was not searched ({reason}).", "上一轮没有查询记忆（{reason}）。"),
    "why_shadow": ("The policy is in shadow: nothing was shown or written.", "策略处于影子模式：不展示也不写入。"),
    "why_written": ("Written: {written}; known already: {duplicates}.", "写入：{written}；已知：{duplicates}。"),
    "why_refused": ("Not written: {reasons}.", "未写入：{reasons}。"),
    "forgotten_since": ("{id}  forgotten since", "{id}  之后已被忘记"),
    "on": ("on", "开启"),
    "off": ("off", "关闭"),
    "status": (
        "Memory is {state} in this session. Store: {store}. Policy: {policy}.",
        "本会话的记忆：{state}。存储：{store}。策略：{policy}。",
    ),
    "status_queue": ("{count} changes wait to be sent.", "{count} 项更改等待发送。"),
    "status_turns": (
        "In the last {days} days: {turns} turns; {searched} searches, {hits} with finds; {tokens} tokens added.",
        "最近 {days} 天：{turns} 轮；{searched} 次查询，{hits} 次有结果；增加 {tokens} 个词元。",
    ),
    "status_calls": (
        "In these days: {written} items written, {calls} remote calls.",
        "这些天：写入 {written} 条，远程调用 {calls} 次。",
    ),
    "unknown": ("not known", "未知"),
    "failed": (
        "The memory cannot do that now ({error}). The conversation goes on without it.",
        "记忆暂时无法完成此操作（{error}）。对话不受影响。",
    ),
    "late": (
        "The memory did not answer in time; whether it is done, /memory shows later. The conversation goes on.",
        "记忆未能及时响应；是否完成，稍后可用 /memory 查看。对话不受影响。",
    ),
    "no_command": ("There is no “/memory {given}”.", "没有“/memory {given}”这个命令。"),
}  # fmt: skip


def format_phrase(key: str, language: Language, **values: object) -> str:
    """Return a sentence of the replies with its values."""
    return _PHRASES[key][language == "zh"].format(**values)


def get_help(language: Language) -> str:
    """Return what the commands do, a line for each."""
    return _HELP[language]


def flatten_words(text: str, most: int = _SHOWN_CHARS) -> str:
    """Return a text as data on one line: without line ends, controls and marks that change the direction of writing, so
    that it cannot look like another line; without the sign by which a chat would load what it names; cut at `most`
    characters."""
    line = " ".join(normalize_text(text[: 4 * most]).split()).replace("](", "] (")
    seen = "".join(char for char in line if char in _JOINERS or category(char) not in ("Cc", "Cf"))
    return seen if len(seen) <= most else f"{seen[: most - 1].rstrip()}…"


def format_item(item: MemoryItem, shown_id: str, at: datetime, language: Language) -> str:
    """Return an item as a line: its id, type, scope, source, age, whether it is pinned, and what it says."""
    labels = [item.type, item.scope, item.source]
    shown = [_LABELS[label] for label in labels] if language == "zh" else [str(label) for label in labels]
    shown.append(format_age(item.updated_at or item.created_at, at, language))
    if item.pinned:
        shown.append(_LABELS["pinned"] if language == "zh" else "pinned")
    return f"{shown_id}  [{' · '.join(shown)}] {flatten_words(item.summary or item.content)}"


def format_age(since: datetime, at: datetime, language: Language) -> str:
    """Return how long ago something was."""
    seconds = (at - since).total_seconds()
    for unit, size in _SECONDS:
        if count := int(seconds // size) if seconds >= size else 0:
            if language == "zh":
                return f"{count} {({'day': '天', 'hour': '小时', 'minute': '分钟'})[unit]}前"
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "刚刚" if language == "zh" else "just now"
