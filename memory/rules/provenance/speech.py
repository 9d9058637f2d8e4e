"""Tells a person's report of their own words from a report of another's."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import lazy_compile

VERBS = (
    r"(?:said|says|told|tells|wrote|writes|written|texted|texts|messaged|e-?mailed|mailed|replied|replies|answered"
    r"|answers|asked|asks|sent|sends|posted|posts|commented|shouted|yelled|whispered|states?|stated|reads|goes|quoted)"
)
_CLAUSE = lazy_compile(r"[^.!?;\n。！？；，,]*[,，:：\s]*$")
_OWN = lazy_compile(
    r"(?i)\b(?:I|we)(?:'(?:ve|d|m|ll))?(?:\s+[\w'-]+){0,2}?\s+"
    r"(?:say|tell|write|answer|reply|call|mean|ask|text|add|" + VERBS[3:] + r"\b"
)
_OWN_ZH = lazy_compile(
    r"我们?(?:刚才?|昨天|今天|已经|就|也|想|要|得|再|先|只|来|都|会|常|总|曾|跟着)*(?:[跟和对给向][^我，。！？\n]{1,6})?"
    r"(?:说|告诉|写|回|答|问|讲|补充|强调)[^我，。！？\n]{0,4}$"
)


def is_own_speech(before: str) -> bool:
    """Whether the clause that leads to a quotation says that the person spoke: `I told her "`, 我对他说「."""
    clause = _CLAUSE.search(before)
    words = clause.group().rstrip(" \t,，:：") if clause else ""
    return bool(_OWN.search(words) or _OWN_ZH.search(words))


_REPORT = lazy_compile(
    r"(?i)(?:(?<!\byour )(?<!\bmy )(?<!\bthe )(?<!\bour )(?<!\bse )(?<!\bof )\b"
    rf"{VERBS}(?:\s+(?:to\s+|at\s+)?(?:me|us|him|her|them|back|out|again|just\s+now|this(?:\s+\w+){{0,4}})){{0,2}}"
    r"|\b(?:used|likes?|loves?)\s+to\s+say|\bkeeps?\s+saying)\s*,?$"
)
_OTHER = lazy_compile(rf"(?i)\b(?:he|she|they|it|who|that|which)\s+(?:\w+\s+){{0,2}}{VERBS}\b[^,]*$")
_PERSON = lazy_compile(r"(?i)^(?:(?:as|like|and|so|but|or|well|ok|what|have)\s+)*(?:i|we|let|to|that)(?:'\w+)?\b")
_REPORT_ZH = lazy_compile(
    r"(?P<who>[^，,。！？\n]{1,16}?)(?:说|写|问|(?<!回)答|讲|喊|念|表示|提到|发来|来信)(?:道|过|了|的是|我)?[，,]?$"
)
_NOBODY_ZH = lazy_compile(
    r"^(?:我们?|咱们?)(?:[想要得再先就也只来都还刚才会常总]|补充|一直|经常)*(?:[跟和对给向].{1,6})?$"
    r"|(?:来|就是|比如|例如|比方|话|听|据|跟你|和你|对你|跟您|简单|总的|这么|那么|怎么|先|再|补充|直|实话|老实|顺便|应该|可以"
    r"|要|想|不得不|[听书])$"
)


def is_reported(lead: str) -> bool:
    """Whether the lead says that somebody else speaks or writes what follows: "my boss said", 老板说."""
    if _REPORT.search(lead):
        clause = lead.rpartition(",")[2].strip() or lead
        return bool(_OTHER.search(clause)) or not _PERSON.search(clause)
    report = _REPORT_ZH.search(lead)
    return report is not None and not _NOBODY_ZH.search(report["who"])
