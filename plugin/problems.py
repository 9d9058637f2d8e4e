"""What of the plugin does not work at the moment, as sentences for its log and for `/memory status`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Literal, TypeAlias

from muniment.memory.errors import BadConfig, MunimentError, RemoteStoreError

ProblemKind: TypeAlias = Literal[
    "search", "write", "upkeep", "book", "file", "embedder", "opening", "remote_search", "sending", "changes"
]
_SENTENCES: Mapping[ProblemKind, tuple[str, str]] = {
    "search": ("The last search failed: {detail}.", "上一次查询失败：{detail}。"),
    "write": ("The last write failed: {detail}.", "上一次写入失败：{detail}。"),
    "upkeep": ("The items of a user are not compacted to the end: {detail}.", "用户的记忆未能完整压缩：{detail}。"),
    "book": ("The plugin's book failed: {detail}.", "插件账本出错：{detail}。"),
    "file": ("A file of the memory: {detail}.", "记忆文件：{detail}。"),
    "embedder": ("Items are compared by their words alone: {detail}.", "仅按词语比较：{detail}。"),
    "opening": ("Something was not ready at the start: {detail}.", "启动时未就绪：{detail}。"),
    "remote_search": ("The server was not searched: {detail}.", "未能查询服务器：{detail}。"),
    "sending": ("What waits cannot be sent: {detail}.", "无法发送等待的更改：{detail}。"),
    "changes": ("The changes of the server cannot be read: {detail}.", "无法读取服务器的更改：{detail}。"),
}  # fmt: skip
NOT_SENT = "not sent after failures"  # the category of an error of a server that is left alone for a while
_QUIET_SECONDS = 600.0  # between two lines of the log about the same
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not work. `detail` says what of it, in English and without any text of a person."""

    kind: ProblemKind
    detail: str

    def describe(self, language: Literal["en", "zh"] = "en") -> str:
        """Return it as a sentence."""
        return _SENTENCES[self.kind][language == "zh"].format(detail=self.detail)


class ProblemLog:
    """The problems that stand. One is logged as a warning when it begins, and at most once in ten minutes."""

    def __init__(self) -> None:
        self._standing: dict[ProblemKind, Problem] = {}
        self._logged: dict[Problem, float] = {}  # when

    def list_problems(self) -> tuple[Problem, ...]:
        """Return what does not work, each kind once."""
        return tuple(self._standing.values())

    def note_problem(self, kind: ProblemKind, cause: BaseException | str) -> None:
        """Note that something did not work: why, or the error that says it."""
        if kind in self._standing and isinstance(cause, RemoteStoreError) and cause.category == NOT_SENT:
            return  # what stands says why
        problem = Problem(kind, cause if isinstance(cause, str) else describe_error(cause))
        self._standing[kind] = problem
        now = monotonic()
        if now - self._logged.get(problem, float("-inf")) >= _QUIET_SECONDS:
            self._logged[problem] = now
            _log.warning("%s", problem.describe())

    def note_success(self, kind: ProblemKind) -> None:
        """Note that something has worked: what hindered it before is over."""
        self._standing.pop(kind, None)


def describe_error(error: BaseException) -> str:
    """Return what kind of error it is, in words where it is one of ours. Its own message stays out, as it may name a
    host, which is nothing to be shown in a chat; that of a configuration names what has to be changed."""
    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, RemoteStoreError):
        return f"the server gave no answer to be used ({error.category.replace('_', ' ')})"
    if isinstance(error, BadConfig):
        return str(error).rstrip(".")
    if not isinstance(error, MunimentError):
        return type(error).__name__
    headline = (type(error).__doc__ or "").partition("\n")[0].rstrip(".")
    return headline[:1].lower() + headline[1:]
