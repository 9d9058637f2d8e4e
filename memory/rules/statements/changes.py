"""Words with which people say that something has changed: a condition that one has one of at a time, or a named thing.

A condition is a home, a job, a course of study, a partner or a diet."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muniment.memory.rules.language.lazy_regex import lazy_compile


@dataclass(frozen=True, slots=True)
class Condition:
    """What a person has one of at a time: the words of a change, and the words of a memory that it changes."""

    change: re.Pattern[str]
    state: re.Pattern[str]


def _condition(change: str, state: str) -> Condition:
    return Condition(lazy_compile(change, re.IGNORECASE), lazy_compile(state, re.IGNORECASE))


_THING = r"(?:the|an?|my|our|his|her|their|some|it|them|user's)\b"  # a thing is moved or left, not a home or a job
_WORKPLACE = (
    r"(?:\w+\s+)?(?:job|work|company|firm|role|position|post|employer|bank|agency|hospital|school|team|studio)\b"
)
CONDITIONS = (
    _condition(
        rf"\b(?:moved|relocated|moving)\b(?!\s+{_THING})[^,.;]*\b(?:to|in|into|back|out|from|here|over)\b"
        r"|\b(?:don't|doesn't|no longer) live\b|搬(?:到|去|回|家|来|进|了)|不(?:再)?住",
        r"\blives? (?:in|at|on|near)\b|\bbased in\b|\bmoved to\b|住",
    ),
    _condition(
        rf"\b(?:left\b(?!\s+(?:{_THING}\s+)++(?!{_WORKPLACE}))|quit|quitting|resigned|joined|got fired|laid off"
        r"|let go|retired|new (?:job|employer|role|position)"
        r"|switched jobs|chang(?:ed|ing) jobs|start(?:ed)? (?:at|as)|(?:is|am|i'm|work|works) (?:now )?"
        r"(?:at|for|with)\b[^,.;]*\bnow)\b|跳槽|离职|辞职|辞了|入职|换(?:了)?(?:个)?工作|退休|失业|被裁"
        r"|不(?:在)?.{0,12}(?:上班|工作|干)了",
        r"\bworks? (?:at|for|as|in)\b|\b(?:job|employer)\b|在.+(?:工作|上班|做)|职业"
        r"|是(?:一[名个位])?.{1,10}(?:师|员|工)$",
    ),
    _condition(
        r"\b(?:graduated|dropped out|finished (?:my|uni|university|college|school|the (?:degree|course))"
        r"|got my degree)\b|毕业|退学|辍学|休学",
        r"\b(?:stud(?:y|ies|ying)|student|enrolled|degree|phd|majors? in)\b|读|上(?:大学|学)|学生|在.+(?:大学|学院)",
    ),
    _condition(
        r"\b(?:divorced|broke up|broken up|split up|separated|got (?:married|engaged)|(?:is|am|i'm) (?:married|engaged"
        r"|single|divorced)|dumped)\b|离婚|分手|分开了|结婚|订婚|领证|单身",
        r"\b(?:is|am|i'm|are) (?:\w+ )?(?:single|married|divorced|engaged|separated|dating)\b|\bin a relationship\b"
        r"|\b(?:girlfriend|boyfriend|fianc|partner|wife|husband)\b|已婚|单身|离异|未婚|女朋友|男朋友|老公|老婆|丈夫|妻子",
    ),
    _condition(
        r"\b(?:eat|eats|eating)\b[^,.;]*\b(?:again|now)\b|\b(?:not|no longer|isn't|stopped being)\b[^,.;]*"
        r"\b(?:vegan|vegetarian|pescatarian)\b|(?:开始|又|重新)(?:能)?吃(?:肉|荤)|不吃素",
        r"\b(?:vegan|vegetarian|pescatarian)\b|吃素|素食",
    ),
)
NAMED_ENDING = lazy_compile(
    r"\b(?:sold|selling|gave (?:\w+ )?away|given away|got rid of|lost|crashed|wrecked|traded|returned|replaced|died"
    r"|dead|passed away|put down|gave up|given up|giving up|dropped|cancel(?:led|ed|ling)|called off|abandoned"
    r"|finished|completed|over|no longer|any ?more|stopped|quit|switched|after all|changed my mind|turns out"
    r"|turned out|scratch that|actually|moved|postponed|rescheduled|pushed|brought forward|instead|isn't|aren't"
    r"|don't|doesn't|not|never|left|ended|broke|make (?:it|that)|off)\b"
    r"|卖|丢了|扔了|送人|去世|死了|走了|没了|放弃|取消|不.{0,12}了|戒|改(?:到|成|在|为)|推迟|提前|不再|已经不|没再"
    r"|换(?:成|了|到)|停(?:了|用|药)|搞错|记错|说错|不是|原来",
    re.IGNORECASE,
)

CORRECTING = lazy_compile(
    r"\b(?:sorry|scratch that|no,? wait|wait,? no|i meant?|correction|actually|turns out|turned out|no longer|any ?more"
    r"|sold|died|passed away|gave up|given up|cancel(?:led|ed)|called off|quit|stopped|instead|make (?:it|that)|now"
    r"|(?:moved|postponed|rescheduled|pushed|brought forward) (?:to|until))\b"
    r"|\bnot [A-Z]|说错|记错|搞错|[纠更]正|不对|不是.{1,8}是|不.{0,10}了|已经不|戒|改|推迟|提前|取消|放弃|卖|去世|换",
    re.IGNORECASE,
)
SPELT = lazy_compile(
    r"\b(?:spell?ed|spelt|spelling|typo|autocorrect(?:ed)?|with an? [a-z]\b|mis-?typed|i meant?)\b", re.IGNORECASE
)
# Words before a `not` that belongs to the verb.
_NO_VALUE = (
    r"(?i:i|we|you|they|user|is|are|am|was|were|do|does|did|has|have|had|will|would|can|could|shall|should|may|might|must"
    r"|and|or|but|if|why|still|just|also|maybe|there|really|probably|definitely|certainly|usually|only"
    r"|\w+['’](?:m|s|re|ve|d|ll))"
)
CONTRASTS = (
    lazy_compile(
        rf"(?<![\w'’-])(?!{_NO_VALUE}\b)(?P<new>[A-Z][\w'’-]+(?: (?!not\b)[A-Z][\w'’-]+)*|[\w'’-]+)"
        r"(?:,?\s+and\s+|,?\s+)not\s+(?:an?\s+|the\s+|in\s+|at\s+|on\s+)?(?P<old>[\w'’-]+(?: [A-Z][\w'’-]+)*)"
    ),
    lazy_compile(r"\bnot\s+(?P<old>[\w'’-]+),?\s+(?:but\s+|it's\s+)(?P<new>[\w'’-]+)"),
    lazy_compile(r"[是叫在](?P<new>[^，,。是不]{1,8})[，,]?(?:而)?不[是叫在](?P<old>[^，,。！!]{1,8})"),
    lazy_compile(r"不[是叫在](?P<old>[^，,。]{1,8})[，,](?:而)?[是叫在](?P<new>[^，,。！!]{1,8})"),
)
# One of these is in every text that corrects, moves or ends what was said before.
CHANGES = (CORRECTING, SPELT, NAMED_ENDING, *CONTRASTS, *(condition.change for condition in CONDITIONS))
