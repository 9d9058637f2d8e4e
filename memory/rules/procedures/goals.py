"""What procedures are for: whether two goals are one, in whatever words, and whether two procedures do the same."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.procedures.procedure import OR, Procedure
from muniment.memory.rules.procedures.requests import VERBS

_ALIKE = 0.6  # of the words of two goals
_CHARS = 160  # of all wordings
_MARKS = ".,:;!?()[]\"'"
# What differs from one time to the next: files, addresses, versions, numbers.
_PARTICULAR = late(r"\S*(?:[/\\@]|\.\w)\S*|\S*\d\S*")
# What is done, in whatever words, and words that say no more of what it is done to.
_DOING = late(
    rf"^\W*(?:{VERBS}|get|got|take|turn|change|put|bring|grab|obtain|pull|hand|give|deal)\b"
    r"|\b(?:out|over|off|every|all|each|whole|new|file|format|version)\b"
    r"|转换|转成|转为|换成|改成|变成|改为|做成|部署|发布|上传|导出|导入|翻译|压缩|合并|拆分|修好|修复|提交|发送|生成|备份|迁移|升级|解析|安装|打包|运行|检查|测试|配置|下载"
    r"|更新|创建|恢复|整理|提取|发给|交给|抽取|抽出|取出|拿出|弄成|格式|这[份个些]|那[份个些]|新的?|全部|所有|一下|[把将从里中成为的了到]",
    re.IGNORECASE,
)

_OPPOSED = tuple(
    tuple(map(words.lexeme_set, pair.split("/")))
    for pair in [
        "enable/disable",
        "start/stop",
        "stop/restart",
        "install/uninstall",
        "install/remove",
        "add/remove",
        "add/delete",
        "create/delete",
        "open/close",
        "mount/unmount",
        "encrypt/decrypt",
        "encode/decode",
        "compress/unpack",
        "zip/unzip",
        "upload/download",
        "import/export",
        "upgrade/downgrade",
        "push/pull",
        "lock/unlock",
        "connect/disconnect",
        "attach/detach",
        "allow/block",
        "grant/revoke",
        "show/hide",
        "increase/decrease",
        "read/write",
        "deploy/rollback",
        "backup/restore",
    ]
)


def same_goal(a: str, b: str) -> bool:
    """Whether two goals are one, though of another file, version or number: most of their other words are the same, and not
    each names a thing that the other does not."""
    left, right = _content(a), _content(b)
    if not left or not right:
        return words.fold(a) == words.fold(b)
    return len(left & right) >= _ALIKE * len(left | right) and (_nested(a, b) or reworded(a, b))


def reworded(a: str, b: str) -> bool:
    """Whether two goals are of the same things, though one says in another way what is done to them, or says more.

    Staging is not production: a thing that only one of two goals names, while the other names another, keeps them apart."""
    left, right = _things(a), _things(b)
    return bool(left and right) and (left <= right or right <= left) and not _opposed(a, b)


def _opposed(a: str, b: str) -> bool:
    left, right = words.lexeme_set(a), words.lexeme_set(b)
    return any((one <= left and other <= right) or (one <= right and other <= left) for one, other in _OPPOSED)


def part_of(a: str, b: str) -> bool:
    """Whether one of two goals says all that the other says, two words at least."""
    return min(len(_content(a)), len(_content(b))) > 1 and _nested(a, b)


def apart(a: str, b: str) -> bool:
    """Whether two goals have words in common, and each names a thing that the other does not: a release to staging, and one
    to production."""
    return bool(_content(a) & _content(b)) and not (_nested(a, b) or reworded(a, b))


def reaches(new: Procedure, known: Procedure, *, near: bool = False) -> bool:
    """Whether a path leads to the goal of a known procedure: to one of its wordings, and apart from none. Of two whose meanings
    are near, one goal may say much more than the other.

    What says less than is known, or that something else is done, may be of another thing: there the steps decide."""
    wordings = goals(known.goal)
    if any(apart(one, new.goal) for one in wordings):
        return False
    same = [one for one in wordings if same_goal(one, new.goal) or (near and part_of(one, new.goal))]
    # Of Chinese the words are pairs of characters: few that are alike leave no room for another verb.
    sure = any(_things(one) <= _things(new.goal) and (words.has_cjk(one) or _nested(one, new.goal)) for one in same)
    return sure or (bool(same) and same_steps(new, known))


def exactly(new: str, old: str) -> bool:
    """Whether a goal has the words of one of the wordings of another."""
    return any(_content(one) == _content(new) for one in goals(old))


def goals(goal: str) -> list[str]:
    """The wordings of a goal, the newest first: the same work may be asked for in several."""
    return goal.split(OR)


def worded(new: str, old: str) -> str:
    """A goal in its new wording and the earlier ones that differ from it, as far as they have room: those that say least go
    first. What contradicts the new one goes at once."""
    kept = [new, *(one for one in goals(old) if not (same_goal(one, new) or part_of(one, new) or apart(one, new)))]
    while len(OR.join(kept)) > _CHARS and len(kept) > 1:
        kept.remove(min(kept[1:], key=lambda one: len(_content(one))))
    return OR.join(kept)


def renewed(new: str, old: str) -> str:
    """The goal of a procedure that was reached again: worded anew, unless a known wording says more of the same."""
    return worded(next((one for one in goals(old) if _nested(new, one) and _things(new) < _things(one)), new), old)


def same_steps(a: Procedure, b: Procedure) -> bool:
    """Whether two procedures do the same, in order, but for the files and numbers that their own goals name."""
    return _bare_steps(a) == _bare_steps(b)


def _bare_steps(one: Procedure) -> list[str]:
    named = sorted({found.strip(_MARKS) for found in _PARTICULAR.findall(one.goal)} - {""}, key=len, reverse=True)
    steps = [words.fold(step) for step in one.steps]
    for particular in map(words.fold, named):
        steps = [re.sub(rf"(?<![\w.-]){re.escape(particular)}(?![\w-])", "…", step) for step in steps]
    return steps


def _nested(a: str, b: str) -> bool:
    left, right = _content(a), _content(b)
    return left <= right or right <= left


def _things(goal: str) -> frozenset[str]:
    """The words of a goal for what something is done to."""
    return _content(_DOING.sub(" ", goal))


def _content(goal: str) -> frozenset[str]:
    """The words of a goal but for what differs from one time to the next."""
    return words.lexeme_set(_PARTICULAR.sub(" ", goal)) or words.lexeme_set(goal)
