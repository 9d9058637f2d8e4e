"""Requests to keep a procedure and requests for work, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.procedures.procedure import flatten_text
from muniment.memory.rules.provenance import quoted

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_SENTENCE = lazy_compile(
    r"(?:[^.!?。！？\n]|\.(?=[\w/])|(?<=\bMr|\bMs|\bDr|\bSt|\bvs)\.|(?<=\bMrs)\.|(?<=\bProf)\.)+[.!?。！？]*"
)
_LONGEST, _SENTENCE_CHARS = 120, 400  # characters of a goal and of a sentence
_EDGE = 3_000  # characters of a long message, at both ends
_ALIKE, _FEW = 0.5, 3  # overlap of two goals; words: a shorter goal needs the sentence before it

_OPENING = (
    r"^[\W_]*(?:(?:please|kindly|ok(?:ay)?|now|and|so|also|then|well|great|perfect|awesome|excellent|nice|good|cool"
    r"|super|wonderful|fantastic|thanks|thank\s+you(?:\s+(?:so|very)\s+much)?|yes|it\s+works|that\s+(?:worked|works)"
    r"|hey|hi|hello|just|finally|done|next|oh|by\s+the\s+way|btw|one\s+more\s+thing|before\s+(?:i|we)\s+(?:forget"
    r"|go\s+on|move\s+on))\b[\s,.:;!–—-]*)*"
)
_WHAT = (
    r"(?:(?:(?:this|these|those|all\s+(?:of\s+)?(?:the|these|those)|our)\s+)(?:(?:exact|working|successful|whole"
    r"|complete|entire|last)\s+)*(?:steps|procedure|workflow|process|path|sequence(?:\s+of\s+(?:steps|checks"
    r"|commands))?|playbook|runbook|recipe|how-?to|solution|approach|checklist)|(?:the\s+)?(?:(?:exact|working"
    r"|successful|whole|complete|entire)\s+)*(?:steps|procedure|workflow|sequence(?:\s+of\s+(?:steps|checks|commands))?"
    r"|how-?to)(?!\s+\w+ing?\b))"
)
_FORM = r"(?:an?\s+)?(?:new\s+)?(?:procedure|workflow|how-?to|recipe|playbook|runbook|checklist|skill|guide|path)"
_KEEP = r"(?:save|store|keep|record|note(?:\s+down)?|write\s+down|memori[sz]e|document|capture|remember)"
_WORK = (
    r"(?:did|do|made|make|got|get|fixed|solved|resolved|built|handled|managed|converted|deployed|released|exported"
    r"|uploaded|parsed|installed|configured|set\s+up|finished|achieved|recovered|repaired|completed|delivered|migrated"
    r"|shipped|pulled|found|figured|worked|sorted|tested|ran|created|generated)"
)
_LATER = r"(?:for\s+(?:next\s+time|later|the\s+future|future\s+use)|next\s+time)"
_LIKE = (
    r"(?:(?:(?:i|we)(?:'d|\s+would)?\s+(?:like|want|need)\s+you\s+to|let's|make\s+sure\s+(?:you|to)|be\s+sure\s+to)\s+"
    r")?"
)
# One of these stands in every request to keep how something was done; most messages have none.
KEEP_WORD = lazy_compile(
    r"(?=[haspwrcg怎如步流做方过操顺清])(?:"  # what it begins with: the alternatives are tried in few places
    r"\bhow\s+(?:we|you|this|that|it|to)\b|\bas\s+an?\b|step|procedure|workflow|process|path|sequence|playbook|runbook"
    r"|recipe|how-?to|solution|approach|checklist|skill|guide|怎么|如何|怎样|步骤|流程|做法|方法|过程|操作|顺序|清单)",
    re.IGNORECASE,
)
_ASKED = (
    lazy_compile(
        rf"{_OPENING}{_LIKE}(?:remember|memori[sz]e|note(?:\s+down)?|write\s+down|record|save)\s+(?:exactly\s+)?how\s+"
        rf"(?:(?:we|you)\s+(?:just\s+|finally\s+)?{_WORK}\b"
        r"|(?:this|that|it)\s+was\s+(?:done|fixed|solved|made|resolved)\b|to\s+(?:do|fix|solve|handle|make"
        r"|resolve)\s+(?:this|that|it)\b)(?P<rest>[^?？]*)$",
        re.IGNORECASE,
    ),
    lazy_compile(
        rf"{_OPENING}{_LIKE}{_KEEP}\s+(?:(?:this|that|it|all\s+(?:this|that))\s+(?:down\s+)?as\s+{_FORM}"
        rf"|{_WHAT}(?:\s+(?:down|as\s+{_FORM}))?)"
        r"(?P<rest>(?:\s+(?:we|you)\s+(?:just\s+)?(?:took|used|followed|did))?(?:[\s,]+(?:for|of|that|so|please|next"
        r"|thanks|and)\b[^?？]*)?)[\s.!]*$",
        re.IGNORECASE,
    ),
    lazy_compile(
        rf"{_OPENING}(?:(?:can|could|would|will)\s+you\s+)(?:please\s+)?(?:save|store|record|note(?:\s+down)?"
        rf"|write\s+down|memori[sz]e|document|capture)\s+(?:(?:this|that|it|all\s+(?:this|that))\s+(?:down\s+)?as\s+"
        rf"{_FORM}|{_WHAT}(?:\s+(?:down|as\s+{_FORM}))?)(?P<rest>[^?？]*)[?？]?\W*$",
        re.IGNORECASE,
    ),
    lazy_compile(
        rf"{_OPENING}(?:can|could|would|will)\s+you\s+(?:please\s+(?:remember|memori[sz]e|record|save)|(?:remember"
        rf"|memori[sz]e|record|save)(?=[^?？]*\b{_LATER}))\s+(?:exactly\s+)?how\s+(?:(?:we|you)\s+(?:just\s+"
        rf"|finally\s+)?{_WORK}\b|(?:this|that|it)\s+was\s+(?:done|fixed|solved|made|resolved)\b)"
        r"(?P<rest>[^?？]*)[?？]?\W*$",
        re.IGNORECASE,
    ),
    lazy_compile(
        rf"{_OPENING}(?:make|create|write)\s+{_FORM}\s+(?:out\s+)?(?:of|from)\s+(?:this|that|it|what\s+(?:we"
        rf"|you)\s+(?:just\s+)?did|{_WHAT})(?P<rest>[^?？]*)$",
        re.IGNORECASE,
    ),
)
_STEPS_ZH = (
    r"(?:(?:操作|处理|解决|排查|修复|部署|具体|完整|整个|全部|所有|成功)的?)*(?:步骤|流程|做法|方法|过程|操作|顺序"
    r"|检查清单)"
)
_NOW_ZH = (
    r"^[\s，,。！!]*(?:(?:好的?|太好了|很好|谢谢|多谢|完美|成功了|不错|真棒|好了|辛苦了|搞定了|终于成功了|可以了"
    r"|顺便说?|对了|(?:以后|下次)(?:都|就|也)*(?:这么|这样)[做办弄来]|那么?|请|麻烦|帮我|你|现在|务必"
    r"|一定要)[，,。！!\s]*)*"
)
_ASKED_ZH = (
    lazy_compile(
        _NOW_ZH
        + r"(?:记住|记下来?|记一下|记录一?下?)(?:一下)?(?:我们|咱们|你|刚才|这次|这个|这)*是?(?:怎么|如何|怎样)(?:做|弄"
        r"|解决|完成|处理|修|修好|搞定|实现|办到|部署|转换|成功)(?:成功|好|到|完成?)?的?[。！!\s]*$"
    ),
    lazy_compile(
        _NOW_ZH
        + r"(?:能不能|能否|能|可以|可不可以)?把(?:我们|咱们|刚才|这次|这些|这个|上面|以上|的)*"
        + _STEPS_ZH
        + r"(?:都|全部)?(?:记下来?|记住|记一下|记录(?:下来?|一下)?|保存(?:下来|起来|一下)?|存(?:下来|起来)"
        r"|写下来)(?:作为流程|成流程|好)?(?:吗|吧|可以吗|好吗|行吗)?[。！!?？\s]*$"
    ),
    lazy_compile(
        _NOW_ZH
        + r"(?:记住|记下来?|保存|记录(?:一下|下来)?|存下来?)(?:一下)?(?:我们|咱们|刚才|这次|这些|这个|上面|以上|的)*"
        + _STEPS_ZH
        + r"[。！!\s]*$"
    ),
)
# A sentence about an earlier time tells of a memory and requests nothing.
_LONG_AGO = lazy_compile(
    r"\b(?:last\s+(?:week|month|year|summer|winter|time|night)|yesterday|years?\s+ago|months?\s+ago|back\s+(?:then|in)"
    r"|when\s+we\s+were|in\s+(?:19|20)\d\d)\b|^\W*(?:but|or|and\s+(?:what|who|why))\b",
    re.IGNORECASE,
)
_NAMED = lazy_compile(
    r"\b(?:for|to|of)\s+(?P<goal>(?!(?:me|us|later|next\s+time|future|the\s+future|it|that|this|them|now)\b)\w.{5,})$",
    re.IGNORECASE,
)
_NEXT_TIME = lazy_compile(
    r"[\s,]*(?:,\s*)?(?:\bso\s+that\b|\bfor\s+(?:next\s+time|later|the\s+future|future\s+use)\b|\bplease\b|\bthanks\b"
    r"|\bnext\s+time\b).*$",
    re.IGNORECASE,
)

_WORDS = load_lexicon("procedures.en")
VERBS = (
    "(?:"
    + "|".join((*_WORDS.get_text("verbs").split(), *_WORDS.get_phrases("phrasal_verbs"))).replace(" ", r"\s+")
    + ")"
)
_VERBS_ZH = "(?:" + "|".join(load_lexicon("procedures.zh").get_text("verbs").split()) + ")"
_REQUEST = lazy_compile(
    _OPENING + r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?|(?:i|we)(?:'d|\s+would)?\s+(?:like|need|want"
    r"|have)\s+(?:you\s+)?(?:to\s+)?|let's\s+|let\s+us\s+|you\s+need\s+to\s+)?(?:please\s+|now\s+|first\s+|then\s+"
    r"|try\s+to\s+)*(?:help\s+(?:me|us)\s+(?:to\s+)?)?(?P<goal>" + VERBS + r"\s+\S.+)$",
    re.IGNORECASE,
)
# "It is red, please fix it": the order follows what it is about.
_ASKED_FOR = lazy_compile(
    r"[,;]\s+(?=(?:(?:so|and|then)\s+)?(?:please|can\s+you|could\s+you)\b)|[，；](?=请|帮我|麻烦)|\s[–—]\s+",
    re.IGNORECASE,
)
# "Deploy it and then save the steps": the request to keep follows the order.
_AND_THEN = lazy_compile(
    r"(?:[,;]\s*|\s+)(?:(?:and|then|afterwards)\s+){1,3}(?=(?:please\s+)?(?:save|store|keep|record|note|write"
    r"|memori[sz]e|document|remember)\b)|[，；,;]\s*(?:(?:然后|并且?|最后|之后|接着|(?:完成|成功|搞定|[\u4e00-\u9fff]{1"
    r",3}[完好])(?:[了之以]*后)?+)[，,]?){0,3}(?=请?(?:把|记|保存))",
    re.IGNORECASE,
)
# Requests in other words than an order. They name the goal of the work that follows.
_WANTED = (
    lazy_compile(
        _OPENING
        + r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?|how\s+(?:do|can|could|should|would)\s+(?:i|we|you)\s+"
        r"|(?:is|would)\s+it\s+(?:be\s+)?possible\s+to\s+|(?:i|we)(?:(?:'d|\s+would)\s+like|\s+need|\s+want)\s+(?:to\s+"
        r"(?:have|see|get)\s+)?(?=(?:the|an?|all|some|every|each|my|our|these|those|this|that|\d+|two|three|four|five"
        r"|six|seven|eight|nine|ten|several)\b))(?:help\s+(?:me|us)\s+(?:with\s+|to\s+)?)?(?P<goal>\w.+)$",
        re.IGNORECASE,
    ),
    lazy_compile(
        _OPENING + r"(?P<goal>why\s+(?:is|are|was|were|do|does|did|has|have|can|won|wouldn)\b.+|(?:what|which|where|who"
        r"|when)\s\S.+[?？]\W*)$",
        re.IGNORECASE,
    ),
    lazy_compile(r"^[\s，,]*(?:(?:请问|那么?)[，,\s]*)*(?P<goal>(?:为什么|为何)\S.+)$"),
    # An order by its form: a word that is no other form of a verb, and a thing.
    lazy_compile(
        _OPENING
        + r"(?P<goal>(?!(?:is|are|was|were|ha[sd]|have|do|did|can|could|will|would|may|what|which|who|when|how|why"
        r"|where|not|and|or|but|with|for|from|in|into|on|at|to|by|of|about|after|before|like|love|hate|want|need|than"
        r"|as|if|since|because|even|both|half|such|quite|remember|forget|got|made|bought|saw|met|took|gave|lost|found"
        r"|built|sent|wrote|left|kept|told|said|sold|won|broke|ate|felt|heard|held|knew|paid|spent|taught|wore|thanks"
        r"|\w+(?:ed|ing|ly|[^s]s))\b)[a-z]{3,}\s+(?:the|an?|all|every|each|this|these|those|my|our)\s+\w.+)$",
        re.IGNORECASE,
    ),
    lazy_compile(
        r"^[\s，,]*(?:(?:好的?|请问?|那么?|现在)[，,\s]*)*(?:能不能|能否|可不可以|可以|如何|怎么(?:才能|样)?"
        r"|怎样(?:才能)?|(?:我们?)(?:想要?|需要|要|得)|帮我们?|麻烦你?)(?P<goal>\S.+)$"
    ),
    lazy_compile(r"^[\s，,]*请?(?P<goal>给.{1,20}?[发写做打加建开换配]\S.+)$"),
)
_REQUEST_ZH = lazy_compile(
    r"^[\s，,]*(?:(?:好的?|现在|那么?|请问?|麻烦|帮我们?|帮忙|能不能|能否|可以|你|我想|我需要|我们需要|我们要|需要|要"
    r"|先|然后|接着)[，,\s]*)*(?P<goal>(?:把|将).{2,60}?(?:转换?成|转为|改成|部署|发布|上传|导出|导入|翻译|压缩|合并"
    r"|拆分|修好|修复|提交|发送|生成|备份|迁移|升级|解析|安装|打包|发给|交给).{0,40}"
    rf"|(?:用.{{1,12}}?)?(?:重新)?{_VERBS_ZH}(?!过|.*了[。！!?？\s]*$)\S.{{1,60}}?)[吧吗。！!?？\s]*$"
)
_AGAIN = lazy_compile(
    r"^\W*(?:(?:no|ok(?:ay)?|hm+|but|and|please|well|then|sorry)\b[\s,.!]*)*(?:try|retry|again|still|once\s+more"
    r"|instead|what\s+about|how\s+about|it\s+(?:still|failed|fails|does\s*n't|didn't)|that\s+(?:did\s*n't|didn't"
    r"|failed)|now|next|then|also|after\s+that|finally|and|continue|go\s+on|use|with)\b|^[\s，,]*(?:再|重试|重新|还是"
    r"|继续|换|改用|然后|接着|下一步|最后|现在|那就)",
    re.IGNORECASE,
)
# "I get a 500": the work is about what the person notices.
_NOTICED = lazy_compile(
    rf"{_OPENING}(?:i|we)\s+(?:keep\s+)?(?:get|have|see|got|getting|notice)\s+(?=\S)", re.IGNORECASE
)
_THEM = lazy_compile(r"\bthem\b", re.IGNORECASE)
_ANAPHOR = lazy_compile(
    r"\b(?:it|that|them|this|those|these|the\s+(?:result|output|file))\b|它|这个|那个|结果", re.IGNORECASE
)
_OWN = (
    (lazy_compile(r"\s*[,;]?\s+(?:because|since|so\s+that|so|as|while|otherwise|before|after|when|that|which|but"
     r"|and)\s+(?:i|i'm|i'll|i've|we|we're|he|she|they|you|my)\b.*$", re.IGNORECASE), ""),
    (lazy_compile(r"[，,]?(?:因为|不然|否则|这样|好让).*$"), ""),
    (lazy_compile(r"\b(?:my|our|your)\s+own\s+", re.IGNORECASE), "the "),
    (lazy_compile(r"\b(?:my|our|your)\b", re.IGNORECASE), "the"),
    (lazy_compile(r"\b(?:for|to)\s+(?:me|us)\b|\b(?:me|us)\b(?=\s+(?:the|a|an)\b)", re.IGNORECASE), ""),
    (lazy_compile(r"我们?的|咱们的|你的|(?:给|替|帮|为)我们?"), ""),
)  # fmt: skip
_MORE = lazy_compile(
    r"(?:,\s*(?:and\s+)?|\s+and\s+|[，,])(?P<more>(?:remember|note|i|i'm|my|我|记住)\b.*)$", re.IGNORECASE
)
_POLITE = lazy_compile(
    r"[\s,]*(?:\b(?:please|thanks|thank\s+you|for\s+(?:me|us)|if\s+(?:possible|you\s+can)|asap)\b|谢谢|好吗"
    r"|可以吗)\W*$",
    re.IGNORECASE,
)
_PERSONAL = lazy_compile(
    r"\b(?:i|i'm|i've|me|mine|myself|we|us|you|he|him|his|she|her|they|their|them)\b|[我你您他她咱]|\[redacted:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class KeepRequest:
    """A request to keep a path as a procedure, with the goal if the text names it."""

    goal: str | None = None


def parse_keep_request(text: str) -> KeepRequest | None:
    """The request to keep how something was done, or None. A question about it is no request."""
    if not KEEP_WORD.search(text):
        return None
    return next(
        (request for sentence in _split_sentences(text) if (request := _parse_sentence(sentence)) is not None), None
    )


def strip_keep_request(text: str) -> str:
    """The text without its requests to keep a path; the same text when it has none."""
    for sentence in [*_split_sentences(text)] if KEEP_WORD.search(text) else ():
        if _parse_sentence(sentence) is not None:
            more = _MORE.search(sentence)
            text = text.replace(sentence, more["more"] if more else " ")
    return text


def parse_work_request(text: str) -> str | None:
    """The goal of the work that a text asks for, without the person in it; None when it asks for no work."""
    before: str | None = None
    work = (sentence for sentence in _split_sentences(text) if _parse_sentence(sentence) is None)
    for part in (part for sentence in work for part in _ASKED_FOR.split(sentence)):
        match = _match_order(part)
        order = match["goal"] if match else ""
        if before and _ANAPHOR.search(order):
            # "The portal refuses the file. Make it accept it." is no goal without its first half.
            whole = f"{before}: {order[:1].lower()}{_THEM.sub('those', order[1:])}"
            goal = make_impersonal(whole) or make_impersonal(order)
        else:
            goal = make_impersonal(order)
        if goal:
            return goal
        before = make_impersonal(_NOTICED.sub("", part))
    return None


def _match_order(sentence: str) -> re.Match[str] | None:
    return (_REQUEST_ZH if _CJK.search(sentence) else _REQUEST).match(sentence.strip())


def parse_indirect_request(text: str) -> str | None:
    """The goal of a question or of a wish for a thing, without the person in it; None of any other text."""
    for sentence in _split_sentences(text):
        about = ""
        for part in _ASKED_FOR.split(sentence) if _parse_sentence(sentence) is None else ():
            match = next(filter(None, (pattern.match(part.strip()) for pattern in _WANTED)), None)
            if match and (goal := make_impersonal(match["goal"])):
                # "The disk is full, can you free some space?"
                whole = (
                    about and len(tokens.get_lexeme_set(goal)) < _FEW and make_impersonal(f"{about}: {match['goal']}")
                )
                return whole or goal
            about = make_impersonal(part) or ""
    return None


def is_continuation(text: str, goal: str | None) -> bool:
    """Whether a request continues the work on `goal`.

    Its first word, a word for the result so far, or words that it shares with the goal say so."""
    request = next((sentence for sentence in _split_sentences(text) if parse_work_request(sentence)), text)
    if goal is None or _AGAIN.match(request) or _ANAPHOR.search(request):
        return True
    lexemes, goal_lexemes = tokens.get_lexeme_set(request), tokens.get_lexeme_set(goal)
    return bool(lexemes) and len(lexemes & goal_lexemes) >= _ALIKE * min(len(lexemes), len(goal_lexemes))


def make_impersonal(text: str) -> str | None:
    """A goal without the person in it; None when a pronoun or an instruction is left, or nothing is left."""
    text = flatten_text(text)
    for pattern, word in _OWN:
        text = pattern.sub(word, text)
    bare = _POLITE.sub("", flatten_text(text).rstrip(" .!?。！？,，")).rstrip(" .!?。！？,，")
    if len(tokens.get_lexeme_set(bare)) < 2 or _PERSONAL.search(bare) or quoted.has_instructions(bare):
        return None
    short = bare if len(bare) <= _LONGEST else bare[: _LONGEST - 1].rstrip() + "…"
    return short[:1].upper() + short[1:]


def _parse_sentence(sentence: str) -> KeepRequest | None:
    bare = sentence.strip()
    if _CJK.search(bare):
        return KeepRequest() if any(pattern.match(bare) for pattern in _ASKED_ZH) else None
    for pattern in _ASKED:
        match = pattern.match(bare)
        if match and not _LONG_AGO.search(match["rest"]):
            name_match = _NAMED.search(_NEXT_TIME.sub("", match["rest"]).rstrip(" .!"))
            return KeepRequest(make_impersonal(name_match["goal"]) if name_match else None)
    return None


def _split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text that may request something; of a long text those at its beginning and its end.

    Very long sentences are left out. A request to keep that follows an order is a sentence of its own."""
    near = text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    for match in _SENTENCE.finditer(near):
        sentence = match.group()
        if len(sentence) > _SENTENCE_CHARS:
            continue
        then = next(
            (link for link in _AND_THEN.finditer(sentence) if _parse_sentence(sentence[link.end() :]) is not None), None
        )
        if then and _match_order(sentence[: then.start()]):
            yield sentence[: then.start()]
            yield sentence[then.end() :]
        else:
            yield sentence
