"""What came of a use of a tool, read from what the tool itself reports: a status, an exit code, an HTTP status, an error.

Nothing is believed of prose: a long output that speaks of errors has not failed, and one that speaks of success proves none."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from muniment.memory.domain.turn import RecordedToolUse
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import normalize_text
from muniment.memory.rules.provenance import quoted

Verdict = Literal["ok", "failed", "unknown"]

_HEAD, _TAIL = 400, 200  # characters of an output that may report something; between them is what it is about
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
# How those that check sum up: so many failed, and how many did not, or how long it took. Of another tool it may be what
# the output is about.
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
# Anywhere in the line where an output comes to the point: no failure yet, but no success either.
_TROUBLE = lazy_compile(
    r"(?<!\b0 )(?<!\bno )(?<!\bwithout )\b(?:fail(?:ed|ures?|s|ing)?|errors?|unable|cannot|can't|could\s+not|couldn't"
    r"|denied|refused|rejected|not\s+found|invalid|missing|aborted)\b|\bERR!|失败|错误|异常|无法|未能",
    re.IGNORECASE,
)
# What sends a reader somewhere or has something done: an address, a pipe, a command in marks, a verb that begins a clause.
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
# What a system itself says when it could not: no order, though it begins with a verb.
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


def judge_outcome(act: RecordedToolUse) -> Verdict:
    """Whether the use succeeded. What the output reports outweighs a status that says `ok`: many tools say nothing else."""
    if act.ok is False:
        return "failed"
    found = _judge_report(act.result)
    if (
        found == "unknown"
        and (extract_command(act) or _CHECKERS.search(act.name))
        and _SUMMED.search(_select_edge_lines(act.result))
    ):
        return "failed"
    if found == "unknown" and act.ok and not _TROUBLE.search(_select_edge_lines(act.result)):
        return "ok"
    return found


def extract_command(act: RecordedToolUse) -> str | None:
    """What a shell was told to run; None of any other tool."""
    if not _SHELLS.fullmatch(act.name):
        return None
    named = (
        one for name in _COMMANDS if (one := act.arguments.get(name)) and (name in _COMMANDS[:3] or " " in str(one))
    )
    told = next(named, None)
    if isinstance(told, list) and told and all(isinstance(one, str) for one in told):
        # A shell within: `["bash", "-lc", "pytest -q"]`.
        inner = len(told) > 2 and told[-2].startswith("-") and told[-2].endswith("c")
        told = told[-1] if inner else (" && " if "commands" in act.arguments else " ").join(told)
    return told if isinstance(told, str) else None


def explain_failure(act: RecordedToolUse) -> str:
    """Why it failed, in at most 80 characters and nothing that instructs: what a tool says is data."""
    fields = _parse_fields(act.result)
    statuses = [value for name in _HTTPS if isinstance(value := fields.get(name), int) and 400 <= value < 600]
    statuses += [int(found[1]) for found in [_HTTP.search(_cut_middle(act.result))] if found and found[1] >= "400"]
    codes = [f"HTTP {one}" for one in statuses[:1]]
    codes += [f"exit code {found[1]}" for found in [_CODE.search(_cut_middle(act.result))] if found and found[1] != "0"]
    thrown = [one for one in _THROWN.findall(act.result) if _PLAIN_NAME.fullmatch(one)]
    line = _find_error_line(_find_message(fields) or act.result)
    short = " ".join(normalize_text(line).split()).strip(" .;")
    if not short or _has_directive(short) or quoted.has_instructions(act.result):
        # The sentence may be a part of an order: only what has a form of its own is told.
        return next(iter([*codes, *thrown[-1:]]), "failed")
    if codes and _CODE.fullmatch(short):
        return codes[0]
    text = f"{codes[0]}, {short}" if codes and codes[0].lower() not in short.lower() else short
    return text if len(text) <= _REASON else text[: _REASON - 1] + "…"


def _has_directive(reason: str) -> bool:
    """Whether a reason tells its reader what to do, or where to go."""
    if _OPENED.fullmatch(reason):
        return False
    odd = any(not _PLAIN_NAME.fullmatch(one) for one in _THROWN.findall(reason))
    return odd or bool(_DIRECTS.search(reason)) or quoted.has_instructions(reason)


def _judge_report(result: str) -> Verdict:
    fields = _parse_fields(result)
    if fields:
        return _judge_fields(fields)
    ends = _cut_middle(result)
    codes = [int(found) for found in _CODE.findall(ends)]
    statuses = [int(found) for found in _HTTP.findall(ends)]
    edges = _select_edge_lines(result)
    if any(codes) or any(one >= 400 for one in statuses) or _TRACED.search(result) or _THROWN.search(edges):
        return "failed"
    if _FAILED.search(edges):
        return "failed"
    if codes or any(200 <= one < 300 for one in statuses) or _DONE.search(ends):
        return "ok"
    return "unknown"


def _select_edge_lines(result: str) -> str:
    """The first and the last line of an output that is no JSON object."""
    lines = [] if _parse_fields(result) else [one for one in _cut_middle(result).splitlines() if one.strip()]
    return "\n".join(dict.fromkeys([*lines[:1], *lines[-1:]]))


def _judge_fields(fields: dict[str, Any]) -> Verdict:
    """Of an object: codes and flags that have a meaning by their names, and an error that is there; where it holds none of
    these, of the object that it wraps."""
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
            _judge_fields(_normalize_members(one)) for name in _WRAPPED if isinstance(one := fields.get(name), dict)
        ]
        return next((one for one in inner if one != "unknown"), "unknown")
    return "ok" if all(signs) else "failed"


def _find_message(fields: dict[str, Any]) -> str:
    """What an object says of itself that went wrong, or what it wraps says; empty where nothing does."""
    told = [fields[name] for name in (*_TOLD, *_WRAPPED, "content") if fields.get(name)]
    flat = [one[0] if isinstance(one, list) else one for one in told]
    first = next((one for one in flat if isinstance(one, str) and one.strip()), "")
    return first or next(
        (found for one in flat if isinstance(one, dict) and (found := _find_message(_normalize_members(one)))), ""
    )


def _parse_fields(result: str) -> dict[str, Any]:
    """The members of an output that is an object, also of one that was cut or that Python printed; empty when it is none."""
    if not result.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(result)
    except (ValueError, RecursionError):
        found = _parse_loosely(result)
    return _normalize_members(found)


def _normalize_members(mapping: dict[str, Any]) -> dict[str, Any]:
    return {str(name).casefold().replace("_", "").replace("-", ""): value for name, value in mapping.items()}


def _parse_loosely(result: str) -> dict[str, Any]:
    """The members of the outermost object whose values are no objects; of those that are, that they are not empty."""
    found: dict[str, Any] = {}
    depth, tokens = 0, [*_MEMBER.finditer(result)]
    for name, mark, value in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += (name.lastgroup == "open") - (name.lastgroup == "close")
        if depth == 1 and name.lastgroup == "text" and mark.lastgroup == "colon":
            found.setdefault(name.group()[1:-1], _parse_value(value, result))
    return found


def _parse_value(token: re.Match[str], result: str) -> Any:
    said = token.group()
    if token.lastgroup == "open":
        return not result[token.end() :].lstrip().startswith(("}", "]"))
    if token.lastgroup == "text":
        return said[1:-1]
    return int(said) if re.fullmatch(r"-?\d{1,9}", said) else _PLAIN.get(said.casefold(), said)


def _cut_middle(result: str) -> str:
    return result if len(result) <= _HEAD + _TAIL else f"{result[:_HEAD]}\n{result[-_TAIL:]}"


def _find_error_line(result: str) -> str:
    """The line that says what went wrong: the last error that was thrown, else the first line that says so, else the first."""
    lines = [bare for one in _cut_middle(result).splitlines() if (bare := _FRAME.sub("", one))]
    thrown = [one for one in lines if _THROWN.match(one)]
    said = [one for one in lines if _FAILED.search(one) or _SUMMED.search(one)]
    troubled = [one for one in lines if _TROUBLE.search(one)]
    return (thrown[-1:] or said[:1] or troubled[:1] or lines[:1] or [""])[0]
