"""Goals of procedures: whether two goals are the same in other words, and whether two procedures do the same."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.procedures.procedure import WORDING_SEPARATOR, Procedure
from muniment.memory.rules.procedures.requests import VERBS

_ALIKE = 0.6  # of the words of two goals
_CHARS = 160  # of all wordings
_MARKS = ".,:;!?()[]\"'"
# What differs from one run to the next: files, addresses, versions, numbers.
_PARTICULAR = lazy_compile(r"\S*(?:[/\\@]|\.\w)\S*|\S*\d\S*")
# Verbs of a goal, and words that say nothing about its object.
_DOING = lazy_compile(
    rf"^\W*(?:{VERBS}|get|got|take|turn|change|put|bring|grab|obtain|pull|hand|give|deal)\b"
    r"|\b(?:out|over|off|every|all|each|whole|new|file|format|version)\b|转换|转成|转为|换成|改成|变成|改为|做成|部署"
    r"|发布|上传|导出|导入|翻译|压缩|合并|拆分|修好|修复|提交|发送|生成|备份|迁移|升级|解析|安装|打包|运行|检查|测试"
    r"|配置|下载|更新|创建|恢复|整理|提取|发给|交给|抽取|抽出|取出|拿出|弄成|格式|这[份个些]|那[份个些]|新的?|全部|所有"
    r"|一下|[把将从里中成为的了到]",
    re.IGNORECASE,
)

_OPPOSITES = tuple(
    tuple(map(tokens.get_lexeme_set, pair.split())) for pair in load_lexicon("procedures.en").get_phrases("opposites")
)


def is_same_goal(a: str, b: str) -> bool:
    """Whether two goals are the same but for files, versions and numbers.

    Most of their words are the same, and not both name a thing that the other does not."""
    left, right = _extract_content(a), _extract_content(b)
    if not left or not right:
        return tokens.fold_text(a) == tokens.fold_text(b)
    return len(left & right) >= _ALIKE * len(left | right) and (_is_nested(a, b) or is_rewording(a, b))


def is_rewording(a: str, b: str) -> bool:
    """Whether two goals are about the same things, though one uses other verbs or says more.

    A thing that only one goal names, while the other names another, keeps them apart: staging is not production."""
    left, right = _extract_objects(a), _extract_objects(b)
    words_a, words_b = tokens.get_lexeme_set(a), tokens.get_lexeme_set(b)
    return (
        bool(left and right)
        and (left <= right or right <= left)
        and not any(
            (verb <= words_a and opposite <= words_b) or (verb <= words_b and opposite <= words_a)
            for verb, opposite in _OPPOSITES
        )
    )


def is_part_of(a: str, b: str) -> bool:
    """Whether one of two goals has all words of the other, and both have two words at least."""
    return min(len(_extract_content(a)), len(_extract_content(b))) > 1 and _is_nested(a, b)


def is_distinct(a: str, b: str) -> bool:
    """Whether two goals share words, and each names a thing that the other does not: staging and production."""
    return bool(_extract_content(a) & _extract_content(b)) and not (_is_nested(a, b) or is_rewording(a, b))


def reaches_goal(new: Procedure, old: Procedure, *, is_near: bool = False) -> bool:
    """Whether a new procedure reaches the goal of an old one: the goal is one of its wordings and contradicts none.

    With `is_near`, one goal may say much more than the other. Where the new goal says less, the steps decide."""
    wordings = split_wordings(old.goal)
    if any(is_distinct(wording, new.goal) for wording in wordings):
        return False
    matches = [
        wording
        for wording in wordings
        if is_same_goal(wording, new.goal) or (is_near and is_part_of(wording, new.goal))
    ]
    # Chinese lexemes are pairs of characters: if most are the same, the verb is the same, too.
    sure = any(
        _extract_objects(wording) <= _extract_objects(new.goal)
        and (tokens.has_cjk(wording) or _is_nested(wording, new.goal))
        for wording in matches
    )
    return sure or (bool(matches) and has_same_steps(new, old))


def has_same_wording(new: str, old: str) -> bool:
    """Whether a goal has exactly the words of one wording of another goal."""
    return any(_extract_content(wording) == _extract_content(new) for wording in split_wordings(old))


def split_wordings(goal: str) -> list[str]:
    """The wordings of a goal, the newest first."""
    return goal.split(WORDING_SEPARATOR)


def merge_wordings(new: str, old: str) -> str:
    """The new wording of a goal, then the old wordings that add to it, within 160 characters.

    Old wordings that equal or contradict the new one are dropped; then those with the fewest words."""
    wordings = [
        new,
        *(
            wording
            for wording in split_wordings(old)
            if not (is_same_goal(wording, new) or is_part_of(wording, new) or is_distinct(wording, new))
        ),
    ]
    while len(WORDING_SEPARATOR.join(wordings)) > _CHARS and len(wordings) > 1:
        wordings.remove(min(wordings[1:], key=lambda wording: len(_extract_content(wording))))
    return WORDING_SEPARATOR.join(wordings)


def renew_goal(new: str, old: str) -> str:
    """The goal of a procedure that was reached again: the new wording first, unless an old one says more."""
    return merge_wordings(
        next(
            (
                wording
                for wording in split_wordings(old)
                if _is_nested(new, wording) and _extract_objects(new) < _extract_objects(wording)
            ),
            new,
        ),
        old,
    )


def generalize_goal(goal: str) -> str:
    """The goal without what differs from one run to the next: files, addresses, versions and numbers."""
    return " ".join(_PARTICULAR.sub("…", goal).split()).strip() or goal


def has_same_steps(a: Procedure, b: Procedure) -> bool:
    """Whether two procedures have the same steps but for the files and numbers in their goals."""
    return _normalize_steps(a) == _normalize_steps(b)


def _normalize_steps(procedure: Procedure) -> list[str]:
    particulars = sorted(
        {word.strip(_MARKS) for word in _PARTICULAR.findall(procedure.goal)} - {""},
        key=len,
        reverse=True,
    )
    steps = [tokens.fold_text(step) for step in procedure.steps]
    for particular in map(tokens.fold_text, particulars):
        steps = [re.sub(rf"(?<![\w.-]){re.escape(particular)}(?![\w-])", "…", step) for step in steps]
    return steps


def _is_nested(a: str, b: str) -> bool:
    left, right = _extract_content(a), _extract_content(b)
    return left <= right or right <= left


def _extract_objects(goal: str) -> frozenset[str]:
    """The words of a goal for its objects."""
    return _extract_content(_DOING.sub(" ", goal))


def _extract_content(goal: str) -> frozenset[str]:
    """The words of a goal without files, addresses, versions and numbers."""
    return tokens.get_lexeme_set(_PARTICULAR.sub(" ", goal)) or tokens.get_lexeme_set(goal)
