"""What a reply says of the hot path: what was noted, and what of a message was not kept and why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.turn import Turn
from muniment.nodes.state import State

READ = "I have read that."  # the reply to a statement, until the hot path is over
_MAX_NAMED, _MAX_CHARS = 3, 120  # changes that are named, and characters of each
_CJK = re.compile(r"[\u3400-\u9fff]")
_QUESTION_END = re.compile(r"[?？]\W*$")
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
    return " ".join(_name_changes(kind, texts) for kind, texts in named.items())


def ask_replaced(text: str, known: Sequence[str]) -> str:
    """Return the question whether a new statement replaces known ones, and how to answer it."""
    quoted = [f'"{_shorten(each)}"' for each in known]
    if _CJK.search(text):
        return f"这是否取代了{'或'.join(quoted)}？如果是，请告诉我忘记它；否则都会保留。"
    return f"Does that replace {' or '.join(quoted)}? If so, tell me to forget it; otherwise all of it stays."


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


def _name_changes(kind: str, texts: Sequence[str]) -> str:
    verbs, shown, rest = _VERBS[kind], "; ".join(texts[:_MAX_NAMED]), len(texts) - _MAX_NAMED
    if _CJK.search(shown):
        return f"{verbs[1]}：{shown}{f'；还有 {rest} 条' if rest > 0 else ''}。"
    return f"{verbs[0]}: {shown}{f'; and {rest} more' if rest > 0 else ''}."


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
            reasons = ["question" if _QUESTION_END.search(turn.text) else ""]
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
