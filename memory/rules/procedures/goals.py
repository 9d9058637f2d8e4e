"""What procedures are for: whether two goals are one, in whatever words, and whether two procedures do the same."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.procedures.procedure import WORDING_SEPARATOR, Procedure
from muniment.memory.rules.procedures.requests import VERBS

_ALIKE = 0.6  # of the words of two goals
_CHARS = 160  # of all wordings
_MARKS = ".,:;!?()[]\"'"
# What differs from one time to the next: files, addresses, versions, numbers.
_PARTICULAR = lazy_compile(r"\S*(?:[/\\@]|\.\w)\S*|\S*\d\S*")
# What is done, in whatever words, and words that say no more of what it is done to.
_DOING = lazy_compile(
    rf"^\W*(?:{VERBS}|get|got|take|turn|change|put|bring|grab|obtain|pull|hand|give|deal)\b"
    r"|\b(?:out|over|off|every|all|each|whole|new|file|format|version)\b|转换|转成|转为|换成|改成|变成|改为|做成|部署"
    r"|发布|上传|导出|导入|翻译|压缩|合并|拆分|修好|修复|提交|发送|生成|备份|迁移|升级|解析|安装|打包|运行|检查|测试"
    r"|配置|下载|更新|创建|恢复|整理|提取|发给|交给|抽取|抽出|取出|拿出|弄成|格式|这[份个些]|那[份个些]|新的?|全部|所有"
    r"|一下|[把将从里中成为的了到]",
    re.IGNORECASE,
)

_OPPOSED = tuple(
    tuple(map(tokens.get_lexeme_set, pair.split("/")))
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


def is_same_goal(a: str, b: str) -> bool:
    """Whether two goals are one, though of another file, version or number: most of their other words are the same, and not
    each names a thing that the other does not."""
    left, right = _extract_content(a), _extract_content(b)
    if not left or not right:
        return tokens.fold_text(a) == tokens.fold_text(b)
    return len(left & right) >= _ALIKE * len(left | right) and (_is_nested(a, b) or is_rewording(a, b))


def is_rewording(a: str, b: str) -> bool:
    """Whether two goals are of the same things, though one says in another way what is done to them, or says more.

    Staging is not production: a thing that only one of two goals names, while the other names another, keeps them apart."""
    left, right = _extract_objects(a), _extract_objects(b)
    return bool(left and right) and (left <= right or right <= left) and not _is_opposite(a, b)


def _is_opposite(a: str, b: str) -> bool:
    left, right = tokens.get_lexeme_set(a), tokens.get_lexeme_set(b)
    return any((one <= left and other <= right) or (one <= right and other <= left) for one, other in _OPPOSED)


def is_part_of(a: str, b: str) -> bool:
    """Whether one of two goals says all that the other says, two words at least."""
    return min(len(_extract_content(a)), len(_extract_content(b))) > 1 and _is_nested(a, b)


def is_distinct(a: str, b: str) -> bool:
    """Whether two goals have words in common, and each names a thing that the other does not: a release to staging, and one
    to production."""
    return bool(_extract_content(a) & _extract_content(b)) and not (_is_nested(a, b) or is_rewording(a, b))


def reaches_goal(new: Procedure, known: Procedure, *, is_near: bool = False) -> bool:
    """Whether a path leads to the goal of a known procedure: to one of its wordings, and apart from none. Of two whose meanings
    are near, one goal may say much more than the other.

    What says less than is known, or that something else is done, may be of another thing: there the steps decide."""
    wordings = split_wordings(known.goal)
    if any(is_distinct(one, new.goal) for one in wordings):
        return False
    same = [one for one in wordings if is_same_goal(one, new.goal) or (is_near and is_part_of(one, new.goal))]
    # Of Chinese the words are pairs of characters: few that are alike leave no room for another verb.
    sure = any(
        _extract_objects(one) <= _extract_objects(new.goal) and (tokens.has_cjk(one) or _is_nested(one, new.goal))
        for one in same
    )
    return sure or (bool(same) and has_same_steps(new, known))


def has_same_wording(new: str, old: str) -> bool:
    """Whether a goal has the words of one of the wordings of another."""
    return any(_extract_content(one) == _extract_content(new) for one in split_wordings(old))


def split_wordings(goal: str) -> list[str]:
    """The wordings of a goal, the newest first: the same work may be asked for in several."""
    return goal.split(WORDING_SEPARATOR)


def merge_wordings(new: str, old: str) -> str:
    """A goal in its new wording and the earlier ones that differ from it, as far as they have room: those that say least go
    first. What contradicts the new one goes at once."""
    kept = [
        new,
        *(
            one
            for one in split_wordings(old)
            if not (is_same_goal(one, new) or is_part_of(one, new) or is_distinct(one, new))
        ),
    ]
    while len(WORDING_SEPARATOR.join(kept)) > _CHARS and len(kept) > 1:
        kept.remove(min(kept[1:], key=lambda one: len(_extract_content(one))))
    return WORDING_SEPARATOR.join(kept)


def renew_goal(new: str, old: str) -> str:
    """The goal of a procedure that was reached again: worded anew, unless a known wording says more of the same."""
    return merge_wordings(
        next(
            (
                one
                for one in split_wordings(old)
                if _is_nested(new, one) and _extract_objects(new) < _extract_objects(one)
            ),
            new,
        ),
        old,
    )


def has_same_steps(a: Procedure, b: Procedure) -> bool:
    """Whether two procedures do the same, in order, but for the files and numbers that their own goals name."""
    return _normalize_steps(a) == _normalize_steps(b)


def _normalize_steps(procedure: Procedure) -> list[str]:
    named = sorted({found.strip(_MARKS) for found in _PARTICULAR.findall(procedure.goal)} - {""}, key=len, reverse=True)
    steps = [tokens.fold_text(step) for step in procedure.steps]
    for particular in map(tokens.fold_text, named):
        steps = [re.sub(rf"(?<![\w.-]){re.escape(particular)}(?![\w-])", "…", step) for step in steps]
    return steps


def _is_nested(a: str, b: str) -> bool:
    left, right = _extract_content(a), _extract_content(b)
    return left <= right or right <= left


def _extract_objects(goal: str) -> frozenset[str]:
    """The words of a goal for what something is done to."""
    return _extract_content(_DOING.sub(" ", goal))


def _extract_content(goal: str) -> frozenset[str]:
    """The words of a goal but for what differs from one time to the next."""
    return tokens.get_lexeme_set(_PARTICULAR.sub(" ", goal)) or tokens.get_lexeme_set(goal)
