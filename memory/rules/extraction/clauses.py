"""Sentences and clauses of a message, the person that a pronoun means, and the drafts that rules make of a clause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.domain.turn import Turn
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_words import MEDICINE, RELATION
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import parse_vocabulary
from muniment.memory.rules.provenance.requests import MAY_BE_FICTION, is_fictional
from muniment.memory.rules.statements.bare_answers import answer_in_full
from muniment.memory.rules.statements.predicates import choose_fact_category

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_BLANKS = lazy_compile(r"[^\S\n]+")
_CODE = lazy_compile(r"```[^`]*(?:```|$)|`[^`\n]{1,200}`")
_CITED = lazy_compile(r"^[ \t]*(?:>|\|).*$", re.MULTILINE)
_QUOTED = lazy_compile(
    r'"([^"\n]{1,600})"|(?<![\w\'])\'([^\'\n]{2,300})\'(?![\w\'])|「([^「」\n]{1,600})」|『([^『』\n]{1,600})』'
    r"|《([^《》\n]{1,100})》|«([^«»\n]{1,300})»"
)
_OWN_WORDS = lazy_compile(r"(?:i|i'm|my|we|you|(?:please\s+)?(?:forget|stop))\b|我|请?(?:把|忘|别|删)", re.IGNORECASE)
_SENTENCE = lazy_compile(
    r"(?:[^.!?。！？\n]|\.(?=\w)|(?<=\b[A-Z])\.(?= [A-Z])|(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMs)\.|(?<=\bMrs)\."
    r"|(?<=\bSt)\.)+[.!?。！？]*"
)
_LONGEST = 600  # characters; a longer clause makes no statement of 280 characters

_NOT_MEANT = lazy_compile(
    r"(?=[jokn/ywai哈呵🙄🙃开骗逗才])(?:"  # what it begins with: the alternatives are tried in few places
    r"\b(?:just|only)\s+(?:kidding|joking|messing)\b|\bjk\b|\bkidding!|/s\b|\bnot\s+really,?\s+(?:lol|haha)"
    r"|\b(?:oh|yeah|well|ah),?\s+(?:great|right|sure|joy|brilliant|fantastic|wonderful|lovely)\s*[,!.–—-]+\s*(?:(?:and"
    r"|like|because)\s+)?i\s+(?:just|so|really|totally|absolutely|simply|always)\s+(?:love|like|enjoy|adore)"
    r"|\bi\s+just\s+(?:love|adore)\s+(?:it\s+when|how|being\s+(?:ignored|late|stuck)|(?:waiting|queu|standing)\w*\s)"
    r"|(?:哈哈+|呵呵)[，,\s]*我?(?:最|可|真是?)(?:太)?(?:喜欢|爱)|[🙄🙃]|开玩笑|骗你的|逗你的|才怪)",
    re.IGNORECASE,
)
_REPORTED = lazy_compile(
    r"\b(?:said|says|saying|say|told|tells|claims?|claimed|thinks|thought|believes|mentioned|joked|asked|asks|insists?"
    r"|according\s+to|heard\s+that|i\s+heard|apparently|assumes?|accused|replied|shouted|screamed|whispered|goes\s+like"
    r"|everyone\s+thinks)\b|\b(?:wrote|writes|texted|messaged|emailed)(?=\s*[:：]|\s*$|\s+(?:that|me|us)\b)"
    r"|^\W*(?:assistant|ai|bot|chatbot|chatgpt|claude|agent|system)(?:\s*:|\s*$)|(?:(?<![小传学会能爱实])说(?!话|实话"
    r"|法|明|一口|好|起来?|真|出来|错|漏|顺嘴|反|老实|[英中汉普粤日德俄韩西外])|告诉|问我|以为|声称|据说|听说|认为"
    r"|觉得我|骂我|开口道|回答[说道])",
    re.IGNORECASE,
)
_HEADING = lazy_compile(r"(?:my|our)(?:\s+[\w'-]+){1,3}\s*[?？]|我的.{1,6}[?？]", re.IGNORECASE)
_SUPPOSED = lazy_compile(
    r"^(?:and\s+|but\s+|so\s+|or\s+|well,?\s+)*(?:if|unless|suppose|supposing|imagine|assume|assuming|let's\s+say"
    r"|what\s+if|whether|in\s+case|as\s+if|as\s+though|say\s+i|were\s+i|had\s+i|even\s+if|only\s+if|until\s+i|once\s+i"
    r"|when\s+i(?:'m|\s+am)?\s+(?:grow|old|retire))\b|^(?:如果|要是|假如|假设|假若|倘若|万一|除非|要不是|若是|就算|即使"
    r"|一旦|等我)",
    re.IGNORECASE,
)
_WANTED = lazy_compile(
    r"(?:'d|\bwould)\s+(?:really\s+|also\s+|just\s+)*(?:like|love|prefer|rather)\b|\bcan't\s+stand\b|\byou\s+(?:can|may"
    r"|could|should)\s+call\s+me\b",
    re.IGNORECASE,
)
_HEDGED = lazy_compile(
    r"\b(?:if|unless|wish|would|could|should|might|maybe|perhaps|probably|possibly|supposedly|seems?|as\s+though|nearly"
    r"|almost|guess|whether|feels?\s+like|felt\s+like|wonder|dreamt|dreamed|thinking\s+(?:of|about)|considering|tempted"
    r"|not\s+sure|don't\s+know|doubt|imagine|suppose|basically|literally|sort\s+of|kind\s+of\s+like|not\s+that\s+i)\b"
    r"|\bmay\b|'d\b|如果|要是|的话|可能|也许|或许|大概会|说不定|假如|真希望|但愿|好像|似乎|不知道|不确定|差点|应该是"
    r"|要么|恨不得|幻想"
)
_FILLER = lazy_compile(
    r"^[\s,.;:!~*_\-–—•\"'()\[\]#]*(?:(?:well|oh|ah|so|and|but|actually|honestly|btw|by\s+the\s+way|also|yeah|yes|yep"
    r"|yup|no(?!\s+(?:emojis?|bullet|jargon|markdown|slang|exclamation))|nope|nah|hey|hi|hello|hiya|ok|okay|plus|anyway"
    r"|fyi|to\s+be\s+honest|tbh|hmm+|um+|uh|thanks|thank\s+you|sure|right|look|listen|lately|nowadays|these\s+days"
    r"|as\s+you\s+know|i\s+mean|you\s+know|you\s+see|wow|good\s+(?:morning|evening|afternoon)|because|since|as"
    r"|given\s+that|considering\s+that|seeing\s+that|now\s+that|personally|however|in\s+fact|just\s+so\s+you\s+know"
    r"|for\s+the\s+record|first(?:ly)?|second(?:ly)?|finally|unfortunately|fortunately|sadly|luckily|currently"
    r"|nice\s+to\s+meet\s+you|(?:it\s+)?turns\s+out(?:\s+that)?|(?:(?:one|a|another|just\s+a)\s+)?(?:small|quick|little"
    r"|minor)\s+(?:thing|note|correction|update|fix)|then|or|great|cool|haha+|lol|sorry|important|correction|update"
    r"|again|while|although|though|absolutely|definitely|totally|exactly|true)\b(?!')(?!\s+(?:is|was|are)\b)"
    r"[\s,.:;!–—-]+)+|^[\s,.;:!~*_\-–—•\"'()\[\]#]+",
    re.IGNORECASE,
)
_FILLER_ZH = lazy_compile(
    r"^(?:[哦噢啊嗯唉]+|哎呀?|诶|欸|对了|说起来|话说|说真的|说实话|老实说|不瞒你说|顺便说一[下句]|另外|总之|原来"
    r"|其实啊?)+[，,：:\s]*(?=[\u3400-\u9fff])"
)
_NEW = (
    r"(?:i|i'm|im|i've|i'd|i'll|my|we|we're|you|he|she|it|it's|they|there|that's|this|call\s+me|every(?:one"
    r"|body)\b[\w ]{0,30}?\s+calls\s+me|turns\s+out|please|remember|don't\s+forget|forget|remind|what|who|where|how|why"
    r"|when|which|can|could|do|does|did|is|are|will|would|if|unless|because|since\s+i|as\s+i|now\s+that|given\s+that"
    r"|our|last\s+\w+\s+i|yesterday\s+i|answer|reply|keep|always|never|on\s+\w+\s+i)"
)
_VERBS = (
    r"(?:(?:really\s+|also\s+|still\s+|don't\s+|do\s+not\s+|can't\s+|absolutely\s+|currently\s+|now\s+)*(?:like|love"
    r"|hate|prefer|enjoy|dislike|adore|live|work|speak|play|want\s+to|plan\s+to|have|can't|am|was|moved|graduated|got"
    r"|started|bought|visited|studied|used\s+to|grew\s+up|need\s+to|hope\s+to|training|learning|allergic|lactose|vegan"
    r"|vegetarian|take\s+" + MEDICINE + "))"
)
_SPLIT = lazy_compile(
    r"(?:\s*[,;:–—]\s*|\s+-\s+|\s+)(?:(?:and|but|so|plus|while|although|though|yet|or)\s+){1,3}(?:then\s+|also\s+"
    r"|yeah,?\s+)?(?="
    + _NEW
    + r"\b)|\s*[,:–—(]\s*(?="
    + _NEW
    + r"\b)|\s*;\s*|\s*(?:(?<!\d)[–—]|[–—](?!\d))\s*|\s+-\s+|\s+(?=(?:because|given\s+that|now\s+that)\s+i\b"
    r"|(?:since|as)\s+i'm\b)",
    re.IGNORECASE,
)
_ELIDED = lazy_compile(r"\s*,?\s+(?:and|but)\s+(?=" + _VERBS + r"\b)", re.IGNORECASE)
_CARRIES = lazy_compile(r"^i(?:'?m|'ve|\s+am|\s+have)?\s", re.IGNORECASE)
_BOUND = lazy_compile(
    r"\b(?:to|who|those|that|can|could|would|will|should|might|must|let|help|make|not|don't|never|can't|cannot)\b|'d\b"
    r"|'ll\b|n't\b",
    re.IGNORECASE,
)
# `I live in Lisbon and I like cork` has two subjects: a companion of the speaker stands where a clause begins.
_BESIDE = lazy_compile(
    r"(^\W*|[,;:(–—]\s*|\b(?i:and|but|so|or|because|since|when|while|then|that|if|today|tonight|yesterday|ago"
    r"|in\s+\d{4}|(?:last|this|next)\s+\w+|on\s+\w+day)\s+)((?i:my)\s+(?:\w+\s+)?\w+|[A-Z][a-z]{2,15})\s+and\s+I\b(?!')"
)
_INTRODUCTION = lazy_compile(
    r"^(?P<who>(?:i'?m|i\s+am|my\s+name\s+is|my\s+name's)\s+[^\s,]+(?:\s+[^\s,]+)?),\s+(?P<what>(?:an?|\d+|from)\s.+)$",
    re.IGNORECASE,
)
_SPLIT_ZH = lazy_compile(
    r"\s*[，,；;]\s*(?!(?:它?的?名字叫|名叫|叫)(?!我))|而且|但是|不过(?!敏)|并且|(?<!没)还有(?=我)"
)
_QUESTION_ZH = lazy_compile(
    r"吗|^.{0,4}呢$|(?<!这)(?<!那)么|什么|谁|哪里|哪儿|多少|怎么|怎样|为什么|是不是|有没有|能不能|是否|几[个点岁]"
)
_NOT_SO_ZH = lazy_compile(
    r"(我[^，。；]{1,8}[叫是][^，。；不]{2,6})[，,](?:而)?不[是叫]([^，。；！!吗]{2,4})(?=[。！!]|$)"
)

_BARE_ANSWER = lazy_compile(
    r"(?!(?:i|i'm|my|no|yes|it's|call|none|nothing|why)\b|我|叫|不)[\w' -]{1,40}", re.IGNORECASE
)

# Emoji that say nothing. A laughing or winking face stays: a clause with it may be a joke and matches no rule.
_ORNAMENT = (
    r"(?:(?![\U0001f602\U0001f605\U0001f606\U0001f609\U0001f60f\U0001f61b-\U0001f61d\U0001f643\U0001f644\U0001f921\U000"
    r"1f923\U0001f92a\U0001f92d])[\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff])"
)
_ORNAMENTS = lazy_compile(rf"^(?:{_ORNAMENT}|\s)+|(?:{_ORNAMENT}|\s)+$")


def complete_answer(text: str, previous: Sequence[Turn]) -> str:
    """Return a message, or a full sentence where the text is a bare answer to the assistant's question in
    `previous`, oldest first."""
    bare = text.strip(" .!。！")
    if not previous or previous[-1].role != "assistant" or not _BARE_ANSWER.fullmatch(bare):
        return text
    return answer_in_full(previous[-1].text, bare) or text


def split_sentences(text: str) -> Iterator[str]:
    """The sentences that a person means: without code, citations and what is imagined or played.

    A heading in the form of a question belongs to what answers it: `My hobbies? Chess` is one sentence."""
    if _NOT_MEANT.search(text):
        return
    plain = _QUOTED.sub(_strip_quotation, _BLANKS.sub(" ", _CITED.sub(" ", _CODE.sub(" ", text))))
    heading = ""
    for match in _SENTENCE.finditer(plain):
        sentence = match.group().strip()
        if _HEADING.fullmatch(sentence):
            heading = f"{sentence.rstrip('?？')}: "
        elif not (MAY_BE_FICTION.search(sentence) and is_fictional(sentence)):
            yield heading + sentence
            heading = ""


def _strip_quotation(match: re.Match[str]) -> str:
    """A short quotation as text, for it may be a name; a longer one becomes an ellipsis."""
    quote = next(group for group in match.groups() if group is not None)
    is_short = len(quote.split()) <= 3 and len(quote) <= 30 and not _OWN_WORDS.match(quote)
    return quote.strip(",.") if is_short else " … "


def split_clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence that assert something, up to the first condition or report."""
    parts = [part for part in _split_parts(sentence) if part.strip(" .,!?。，！？")]
    is_question = sentence.rstrip().endswith(("?", "？"))
    for n, part in enumerate(parts):
        bare = _FILLER_ZH.sub("", _FILLER.sub("", part)).rstrip(" .!?。！？~,，")
        if _SUPPOSED.match(part.strip()) or _SUPPOSED.match(bare) or _REPORTED.search(part):
            return
        if is_question and n == len(parts) - 1 and not re.match(r"\s*(?:because|since|as|given|now)\s", part):
            return
        if (
            bare
            and len(bare) <= _LONGEST
            and not _HEDGED.search(_WANTED.sub("", bare))
            and not (_CJK.search(bare) and _QUESTION_ZH.search(bare))
        ):
            yield bare


def strip_ornaments(clause: str) -> str:
    """The clause without leading and trailing emoji."""
    return _ORNAMENTS.sub("", clause).rstrip(" .!?。！？~,，")


def _split_parts(sentence: str) -> Iterator[str]:
    if _CJK.search(sentence):
        yield from _SPLIT_ZH.split(_NOT_SO_ZH.sub(r"\1（不是\2）", sentence))
        return
    for part in _SPLIT.split(_move_speaker_first(rewrite_asides(sentence))):
        yield from _repeat_subject(part)


def _repeat_subject(part: str) -> Iterator[str]:
    """Splits `I like tea but hate coffee` into two clauses with one subject; `I want to eat and sleep` stays one."""
    pieces = _ELIDED.split(part)
    bare = _FILLER.sub("", pieces[0]) if len(pieces) > 1 else ""
    if not _CARRIES.match(bare) or _BOUND.search(bare):
        yield from _split_introduction(part)
        return
    yield from _split_introduction(pieces[0])
    for piece in pieces[1:]:
        state = re.match(r"(?:training|learning|allergic|lactose|vegan|vegetarian)\b", piece, re.IGNORECASE)
        yield f"I'm {piece}" if state else f"I {piece}"


def _move_speaker_first(sentence: str) -> str:
    """Rewrites `My wife and I went` to start with the speaker, so that it is not split at `and`."""
    return _BESIDE.sub(
        lambda match: (
            f"{match[1]}I & {match[2][:1].lower() if match[2].lower().startswith('my') else match[2][:1]}{match[2][1:]}"
        ),
        sentence,
    )


def _split_introduction(part: str) -> Iterator[str]:
    """Splits `I'm Ana, a nurse` into a name and a trade."""
    match = _INTRODUCTION.match(_FILLER.sub("", part)) if "," in part else None
    if match:
        yield match["who"]
        yield f"I'm {match['what']}"
    else:
        yield part


_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DATE = (
    r"(?:on\s+(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\b|" + _MONTH + r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
    r"|in\s+" + _MONTH + r"|next\s+(?:week|month|year|\w+day)|tomorrow\b|this\s+\w+day\b)"
)
_INTRODUCED = lazy_compile(
    r"\b(?P<name>[A-Z][\w-]{0,40}(?:\s[A-Z][\w-]{0,40})?),\s+(?i:that's|that\s+is|who's|who\s+is|he's|she's|he\s+is"
    r"|she\s+is)\s+(?i:my)\s+(?P<rel>(?i:" + RELATION + r"))\b,?\s*"
)
_DATED = lazy_compile(
    r",\s*(?:and\s+)?(?:it's|it\s+is|it\s+takes\s+place|that's|which\s+is)\s+(?=" + _DATE + ")", re.IGNORECASE
)
_KEPT = lazy_compile(
    r"\b(?:your\s+)?(?P<what>answers|replies|responses|explanations)\b[^.!?]{0,20}[:,–-]\s*(?:please\s+)?keep\s+(?:them"
    r"|it|those)\b",
    re.IGNORECASE,
)
_WONDERED = lazy_compile(
    r",\s*(?:just\s+)?(?:in\s+case|if)\s+you(?:'re|\s+are|\s+were)?\s+(?:ever\s+)?wonder(?:ing|ed)?\b[^.!?]*",
    re.IGNORECASE,
)
_MENTION = lazy_compile(r"\b(?i:my)\s+(?P<rel>(?i:" + RELATION + r"))\b(?!'s)(?:,?\s+(?P<name>[A-Z][\w-]+)(?!'))?")
_PRONOUN = lazy_compile(r"^(?P<who>he|she)(?P<be>'s)?\s+(?P<rest>\S.*)$", re.IGNORECASE | re.DOTALL)
_DONE = lazy_compile(r"(?:got|had|been|gone|moved|started|decided|\w{3,12}ed)\b", re.IGNORECASE)
_MEN = parse_vocabulary("husband boyfriend fiance fiancé father dad son brother grandfather grandpa uncle nephew")
_WOMEN = parse_vocabulary(
    "wife girlfriend fiancee fiancée mother mom mum daughter sister grandmother grandma aunt niece"
)


@dataclass(frozen=True, slots=True)
class MentionedPerson:
    """A person of the speaker's in an earlier sentence: `my sister Ana`, and the relation `sister`."""

    phrase: str
    relation: str


def rewrite_asides(sentence: str) -> str:
    """The sentence with spoken asides in written order: `Daan, that's my husband` becomes `my husband Daan`."""
    text = _INTRODUCED.sub(lambda match: f"my {match['rel']} {match['name']} ", sentence)
    text = _KEPT.sub(lambda match: f", keep your {match['what']}", text)
    return _WONDERED.sub("", _DATED.sub(" ", text))


def find_person(text: str) -> MentionedPerson | None:
    """The person of the speaker's that a text mentions; None for no person or several."""
    mentions = {match["rel"].casefold(): match for match in _MENTION.finditer(text)}
    if len(mentions) != 1:
        return None
    relation, match = next(iter(mentions.items()))
    return MentionedPerson(f"my {relation} {match['name'] or ''}".strip(), relation.rsplit(maxsplit=1)[-1])


def replace_pronoun(clause: str, person: MentionedPerson | None) -> str:
    """The clause with the person in place of a leading `he` or `she`, if the pronoun can mean nobody else."""
    match = _PRONOUN.match(clause)
    if not match or person is None or person.relation in (_WOMEN if match["who"].casefold() == "he" else _MEN):
        return clause
    if not match["be"]:
        return f"{person.phrase} {match['rest']}"
    return f"{person.phrase} {'has' if _DONE.match(match['rest']) else 'is'} {match['rest'].removeprefix('got ')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement and its fact. Dates in a `timeless` statement, such as a birthday, stay as the person wrote them.

    `source` are the words that a rule read, and `captured` those of them that are no part of its pattern."""

    text: str
    fact: Fact
    category: str
    importance: int = 2
    confidence: float = 0.9
    timeless: bool = False
    source: str = ""
    captured: str = ""


def make_draft(
    kind: FactKind,
    predicate: str,
    value: str,
    text: str,
    *,
    category: str | None = None,
    importance: int = 2,
    subject: str = "user",
    persons: tuple[str, ...] = (),
    entities: tuple[str, ...] = (),
    location: str | None = None,
    topic: str | None = None,
    single: bool = False,
    negated: bool = False,
    timeless: bool = False,
) -> Draft:
    """A draft with its fact; without `category` in that of its kind and predicate."""
    fact = Fact(
        kind=kind,
        predicate=predicate,
        object=value,
        subject=subject,
        persons=persons,
        entities=entities,
        location=location,
        topic=topic,
        single=single,
        negated=negated,
    )
    return Draft(
        text=text,
        fact=fact,
        category=category or choose_fact_category(kind, predicate),
        importance=importance,
        timeless=timeless,
    )


Build = Callable[[re.Match[str], Clause], Iterator[Draft]]
Rule = tuple[re.Pattern[str], Build]


def match_rules(rules: Iterable[Rule], forms: Iterable[str], clause: Clause) -> list[Draft]:
    """The drafts of the first rule that reads one of the forms of the clause; none where no rule does."""
    for (pattern, build), form in product(rules, forms):
        if match := pattern.match(form):
            captured = " ".join(group for name, group in match.groupdict().items() if group and name != "neg")
            if drafts := [replace(draft, source=form, captured=captured) for draft in build(match, clause)]:
                return drafts
    return []
