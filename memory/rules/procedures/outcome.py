"""The outcome of a tool call by what the tool reports: a status, an exit code, an HTTP status or an error.

Prose is no report: a long output about errors is no failure, and one about success is no success."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from muniment.memory.domain.turn import RecordedToolUse
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.provenance import quoted

Verdict = Literal["ok", "failed", "unknown"]

_HEAD, _TAIL = 400, 200  # characters at both ends of an output that may report the outcome
_REASON = 80
_CODE = lazy_compile(
    r"""\b(?:exit(?:ed)?[ _-]?(?:with[ ])?(?:code|status)?|return_?code)["']?\s*[:= ]\s*(-?\d{1,5})\b""", re.IGNORECASE
)
_HTTP = lazy_compile(
    r"""\b(?:HTTP(?:/\d(?:\.\d)?)?(?:[ _]?status)?(?:[ _]?code)?|status_?code)["']?\s*[:= ]\s*([1-5]\d\d)\b""",
    re.IGNORECASE,
)
_THROWN = lazy_compile(r"^[ \t]*(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Timeout))\b\s*(?:[:(].*)?$", re.MULTILINE)
_TRACED = lazy_compile(r"^Traceback \(most recent call last\)|^panic: |^Exception in thread ", re.MULTILINE)
_FAILED = lazy_compile(
    r"^\W*(?:(?:fatal\s+|an?\s+)?error|exception|failed|failure|fatal)\b(?:\s*[:：!(]|\s+(?:to|while|in|at)\b|\s*$)"
    r"|\b(?:command\s+not\s+found|permission\s+denied|no\s+such\s+file\s+or\s+directory|connection\s+(?:refused|reset)"
    r"|segmentation\s+fault)\s*$|\btimed\s+out\b|^\W*(?:错误|失败|异常|出错)\s*(?:[:：！!]|$)",
    re.IGNORECASE | re.MULTILINE,
)
# Summaries of checkers: how many failed, how many passed, how long it took. In the output of another tool this may be
# content.
_SUMMED = lazy_compile(
    r"\b[1-9]\d*\s+(?:failed|failures?|failing|errors?)\b(?=.*\b(?:pass(?:ed|ing)?|warnings?|in\s+[\d.]+\s*m?s)\b)"
    r"|\bpass(?:ed|ing)\b.*\b[1-9]\d*\s+(?:failed|failures?|failing|errors?)\b|\bfailures[:=]\s*[1-9]|^found\s+"
    r"[1-9]\d*\s+errors?\b(?:\.?\s*$|\s+in\s+\d+\s+(?:source\s+)?files?\b)|^(?-i:FAIL)(?=[\s:]|$)|^\[(?:error|fatal)\]",
    re.IGNORECASE | re.MULTILINE,
)
_CHECKERS = lazy_compile(r"(?:^|[\s_.-])(?:py)?(?:tests?|lint|check|build|compile)(?=[\s_.:-]|$)", re.IGNORECASE)
_SHELLS = lazy_compile(r"(?:\w+_)?(?:bash|shell|sh|terminal|exec|execute|cmd|command|run)(?:_\w+)?", re.IGNORECASE)
_COMMANDS = ("command", "commands", "cmd", "script", "line")  # the last two may only name one
_DONE = lazy_compile(
    r"^\W*(?:ok|success(?:ful(?:ly)?)?|succeeded|passed|accepted|done)\b(?!\W{0,3}[:=]\s*(?:false|no|0)\b)"
    r"|^\W*(?:成功|通过|完成)",
    re.IGNORECASE,
)
# Words in an edge line that make a success doubtful.
_TROUBLE = lazy_compile(
    r"(?<!\b0 )(?<!\bno )(?<!\bwithout )\b(?:fail(?:ed|ures?|s|ing)?|errors?|unable|cannot|can't|could\s+not|couldn't"
    r"|denied|refused|rejected|not\s+found|invalid|missing|aborted)\b|\bERR!|失败|错误|异常|无法|未能",
    re.IGNORECASE,
)
# What instructs a reader: an address, a pipe, a command in marks, a verb that begins a clause.
_VERBS = (
    r"(?:re-?run|run|use|install|execute|call|visit|download|open|fetch|load|go\s+to|navigate|click|paste|copy|type"
    r"|enter|send|post|mail|contact|curl|wget|pip3?|npm|npx|sudo|git|apt(?:-get)?|brew|eval|exec|import|source|apply"
    r"|upload|forward|transfer|switch\s+to|retry\s+with|try)"
)
_DIRECTS = lazy_compile(
    r"\w://|\bwww\.|\b[\w-]+(?:\.[\w-]+)+/\S|[|`]|\$\(|&&|<\(|\b(?:mailto|data|javascript):"
    rf"|(?:^|[.:;,!?()\[\]\"'*>=–—-]\s*|\b(?:please|then|and|or|now|just|first|instead|must|should|shall|can|could|may"
    rf"|might|you|try|kindly|simply|always|never"
    r"|(?:need|needs|have|has|want|got|try|remember|how|required|necessary|recommended|advised)\s+to|(?:fix|solve"
    r"|resolve|avoid|continue|proceed|help|repair|retry|work|do)"
    rf"(?:\s+(?:this|that|it|so))?)\s+){_VERBS}(?:\s*:|\s+(?!failed\b|error\b|timed\b|limit\b|aborted\b|denied\b"
    rf"|expired\b|not\b|is\b|was\b)\S)|\b(?:to|by)\s+(?:running|using|installing|executing|calling|visiting|downloading"
    rf"|opening)\b"
    r"|请(?!求)|(?:^|[，。：；,:;!！（(])\s*(?:先|再|然后|应该?|需要?|必须|可以?|务必|立即|马上)?(?:重新)?(?:运行|执行"
    r"|使用|安装|调用|访问|下载|打开|点击|输入|复制|发送|转发|改用)(?!失败|超时|错误|出错|异常|被|时|中|不|受|次数|过)",
    re.IGNORECASE,
)
# Errors of a system that begin with a verb and are no instruction.
_OPENED = lazy_compile(
    r"(?:open|exec|fork/exec) [\w./~ -]{1,60}: (?:no such file or directory|permission denied|is a directory"
    r"|file exists|too many open files)"
)
_FRAME = lazy_compile(r"^(?:E\s{2,}|[\s=#]|-{3,}+)+|(?:[\s=#]|-{3,}+)+$")  # of what a line says
_PLAIN_NAME = lazy_compile(r"[A-Z][A-Za-z0-9]{2,47}")
# The names of an object's members, without case and without what joins their words.
_CODES = ("exitcode", "returncode", "errcode", "errno", "errorcode")
_HTTPS = ("statuscode", "httpstatus", "status", "code")
_FLAGS = ("ok", "success", "succeeded", "valid", "accepted", "passed")
_BAD = ("error", "failed", "failure", "fail", "rejected", "timeout")
_GOOD = ("ok", "success", "succeeded", "passed", "accepted", "done")
_TOLD = ("error", "errors", "message", "detail", "reason", "stderr", "errmsg", "msg", "text")
_WRAPPED = ("result", "output", "response", "metadata")
_MEMBER = lazy_compile(
    r"""(?P<open>[{\[])|(?P<close>[}\]])|(?P<colon>:)|(?P<text>"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?)|(?P<plain>[^\s{}\[\]:,"']+)""",
    re.DOTALL,
)
_PLAIN: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}


def judge_outcome(use: RecordedToolUse) -> Verdict:
    """Whether a call succeeded. The report in the output outweighs a status of `ok`, which many tools always send."""
    if use.ok is False:
        return "failed"
    verdict = _judge_report(use.result)
    if (
        verdict == "unknown"
        and (extract_command(use) or _CHECKERS.search(use.name))
        and _SUMMED.search(_select_edge_lines(use.result))
    ):
        return "failed"
    if verdict == "unknown" and use.ok and not _TROUBLE.search(_select_edge_lines(use.result)):
        return "ok"
    return verdict


def extract_command(use: RecordedToolUse) -> str | None:
    """The command that a shell ran; None for any other tool."""
    if not _SHELLS.fullmatch(use.name):
        return None
    named = (
        value
        for name in _COMMANDS
        if (value := use.arguments.get(name)) and (name in _COMMANDS[:3] or " " in str(value))
    )
    command = next(named, None)
    if isinstance(command, list) and command and all(isinstance(value, str) for value in command):
        # A shell within: `["bash", "-lc", "pytest -q"]`.
        inner = len(command) > 2 and command[-2].startswith("-") and command[-2].endswith("c")
        command = command[-1] if inner else (" && " if "commands" in use.arguments else " ").join(command)
    return command if isinstance(command, str) else None


def explain_failure(use: RecordedToolUse) -> str:
    """The reason of a failure, at most 80 characters. A reason that instructs its reader is replaced by its code."""
    fields = _parse_fields(use.result)
    statuses = [value for name in _HTTPS if isinstance(value := fields.get(name), int) and 400 <= value < 600]
    statuses += [int(match[1]) for match in [_HTTP.search(_cut_middle(use.result))] if match and match[1] >= "400"]
    codes = [f"HTTP {name}" for name in statuses[:1]]
    codes += [f"exit code {match[1]}" for match in [_CODE.search(_cut_middle(use.result))] if match and match[1] != "0"]
    thrown = [name for name in _THROWN.findall(use.result) if _PLAIN_NAME.fullmatch(name)]
    line = _find_error_line(_find_message(fields) or use.result)
    short = " ".join(normalize_text(line).split()).strip(" .;")
    if not short or _has_directive(short) or quoted.has_instructions(use.result):
        # The sentence may be part of an instruction: only a code or the name of an error is safe.
        return next(iter([*codes, *thrown[-1:]]), "failed")
    if codes and _CODE.fullmatch(short):
        return codes[0]
    text = f"{codes[0]}, {short}" if codes and codes[0].lower() not in short.lower() else short
    return text if len(text) <= _REASON else text[: _REASON - 1] + "…"


def _has_directive(reason: str) -> bool:
    """Whether a reason instructs its reader or sends the reader somewhere."""
    if _OPENED.fullmatch(reason):
        return False
    odd = any(not _PLAIN_NAME.fullmatch(name) for name in _THROWN.findall(reason))
    return odd or bool(_DIRECTS.search(reason)) or quoted.has_instructions(reason)


def _judge_report(result: str) -> Verdict:
    fields = _parse_fields(result)
    if fields:
        return _judge_fields(fields)
    ends = _cut_middle(result)
    codes = [int(number) for number in _CODE.findall(ends)]
    statuses = [int(number) for number in _HTTP.findall(ends)]
    edges = _select_edge_lines(result)
    if any(codes) or any(status >= 400 for status in statuses) or _TRACED.search(result) or _THROWN.search(edges):
        return "failed"
    if _FAILED.search(edges):
        return "failed"
    if codes or any(200 <= status < 300 for status in statuses) or _DONE.search(ends):
        return "ok"
    return "unknown"


def _select_edge_lines(result: str) -> str:
    """The first and the last line of an output; empty for a JSON object."""
    lines = [] if _parse_fields(result) else [line for line in _cut_middle(result).splitlines() if line.strip()]
    return "\n".join(dict.fromkeys([*lines[:1], *lines[-1:]]))


def _judge_fields(fields: dict[str, Any]) -> Verdict:
    """The verdict of an object by its codes, flags and errors; without any, that of the object that it wraps."""
    signs: list[bool] = []
    signs += [value == 0 for name in _CODES if isinstance(value := fields.get(name), int)]
    signs += [value < 400 for name in _HTTPS if isinstance(value := fields.get(name), int) and 100 <= value < 600]
    signs += [value for name in _FLAGS if isinstance(value := fields.get(name), bool)]
    signs += [not value for name in ("iserror",) if isinstance(value := fields.get(name), bool)]
    status = str(fields.get("status", "")).casefold()
    signs += [status in _GOOD] if status in (*_GOOD, *_BAD) else []
    signs += [False for name in ("error", "errors", "exception") if fields.get(name)]
    if not signs:
        inner = [
            _judge_fields(_normalize_members(wrapped))
            for name in _WRAPPED
            if isinstance(wrapped := fields.get(name), dict)
        ]
        return next((wrapped for wrapped in inner if wrapped != "unknown"), "unknown")
    return "ok" if all(signs) else "failed"


def _find_message(fields: dict[str, Any]) -> str:
    """The error message of an object or of what it wraps; empty without one."""
    values = [fields[name] for name in (*_TOLD, *_WRAPPED, "content") if fields.get(name)]
    flat = [value[0] if isinstance(value, list) else value for value in values]
    first = next((value for value in flat if isinstance(value, str) and value.strip()), "")
    return first or next(
        (
            message
            for value in flat
            if isinstance(value, dict) and (message := _find_message(_normalize_members(value)))
        ),
        "",
    )


def _parse_fields(result: str) -> dict[str, Any]:
    """The members of an output that is an object, even cut or printed by Python; empty for other outputs."""
    if not result.lstrip().startswith("{"):
        return {}
    try:
        members = json.loads(result)
    except (ValueError, RecursionError):
        members = _parse_loosely(result)
    return _normalize_members(members)


def _normalize_members(mapping: dict[str, Any]) -> dict[str, Any]:
    return {str(name).casefold().replace("_", "").replace("-", ""): value for name, value in mapping.items()}


def _parse_loosely(result: str) -> dict[str, Any]:
    """The plain members of the outermost object; for a nested value, whether it is not empty."""
    members: dict[str, Any] = {}
    depth, tokens = 0, [*_MEMBER.finditer(result)]
    for name, mark, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += (name.lastgroup == "open") - (name.lastgroup == "close")
        if depth == 1 and name.lastgroup == "text" and mark.lastgroup == "colon":
            members.setdefault(name.group()[1:-1], _parse_value(value, result))
    return members


def _parse_value(token: re.Match[str], result: str) -> Any:
    text = token.group()
    if token.lastgroup == "open":
        return not result[token.end() :].lstrip().startswith(("}", "]"))
    if token.lastgroup == "text":
        return text[1:-1]
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else _PLAIN.get(text.casefold(), text)


def _cut_middle(result: str) -> str:
    return result if len(result) <= _HEAD + _TAIL else f"{result[:_HEAD]}\n{result[-_TAIL:]}"


def _find_error_line(result: str) -> str:
    """The line with the error: the last exception, else the first line that reports a failure, else the first line."""
    lines = [bare for line in _cut_middle(result).splitlines() if (bare := _FRAME.sub("", line))]
    thrown = [line for line in lines if _THROWN.match(line)]
    failures = [line for line in lines if _FAILED.search(line) or _SUMMED.search(line)]
    troubled = [line for line in lines if _TROUBLE.search(line)]
    return (thrown[-1:] or failures[:1] or troubled[:1] or lines[:1] or [""])[0]
