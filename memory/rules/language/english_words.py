"""English words and phrases: verbs, persons and pronouns, and the objects, names, places and lists of a clause."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.calendar import MONTHS, WEEKDAYS
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_RELATIONS = load_lexicon("relations.en")
_PEOPLE = load_lexicon("people.en")
_LANGUAGES = load_lexicon("languages.en")
_VERBS = load_lexicon("verbs.en")
RELATIONS = _RELATIONS.get_index("relations", ",")
ONE_AT_A_TIME = _RELATIONS.get_words("one_at_a_time")
RELATION = (
    r"(?:(?:older|younger|elder|little|big|twin|eldest|youngest|oldest|new|late|good|close|old|childhood)\s+)?"
    + join_alternatives(RELATIONS)
)
NATIONALITIES = _LANGUAGES.get_words("nationalities")
LANGUAGES = NATIONALITIES | _LANGUAGES.get_words("languages")
TRADES = _PEOPLE.get_words("trades")
DIETS = _PEOPLE.get_phrases("diets")
CONDITIONS = (
    r"(?:(?:type\s+[12]\s+)?diabet(?:es|ic)|asthma(?:tic)?|coeliac(?:\s+disease)?|celiac(?:\s+disease)?"
    r"|lactose[ -]intoleran(?:t|ce)|gluten[ -]intoleran(?:t|ce)"
    r"|adhd|epilep(?:sy|tic)|hypertension|high\s+blood\s+pressure|migraines|arthritis|anemi[ac]|anaemi[ac]"
    r"|insomnia|dyslexi[ac]|ibs|eczema"
    r"|colou?r[ -]?blind|an?\s+\w+\s+(?:allergy|intolerance)|hay\s+fever|crohn's\s+disease|hearing\s+loss)"
)

# Most names of medicines are known by their endings.
MEDICINE = (
    r"(?:[a-z]{2,14}(?:profen|formin|statins?|pril|sartan|olol|prazole|cillin|mycin|oxetine|talopram|zepam|dipine"
    r"|triptan|gliptin|thyroxine|codone)"
    r"|statins|paracetamol|acetaminophen|aspirin|sertraline|warfarin|heparin|lithium|ritalin|adderall|prednisone"
    r"|prednisolone|cortisone|antihistamines"
    r"|blood\s+thinners|insulin|antidepressants|beta[ -]blockers|antibiotics|steroids|(?:thyroid|heart"
    r"|blood\s+pressure|(?!(?:my|the|some|any|no|new|more|this|that|your|his|her|their|enough)\b)\w+)\s+medication)"
)

# Objects of allergies that are meant as a joke.
IN_JEST = lazy_compile(
    r"(?:the\s+user\b|\w+days?$|(?:nonsense|work|people|stupidity|bullshit|drama|mornings?|exercise|maths?|fun"
    r"|commitment|change|bad\s)\b)",
    re.IGNORECASE,
)
_IRREGULAR = _VERBS.get_words("past")
_MODALS = _VERBS.get_words("modals")
_PLURAL = _VERBS.get_words("plural")
_NOT_PAST = _VERBS.get_words("not_past")
ADVERBS = _VERBS.get_words("adverbs")
_EXPANDED = _VERBS.get_index("contractions")
_FIRST_PERSON_VERBS = {
    "is": "am",
    "isn't": "am not",
    "has": "have",
    "hasn't": "haven't",
    "does": "do",
    "doesn't": "don't",
}
_MIN_IES_LENGTH = 4  # letters: `tries` comes from `try`, but `ties` from `tie`
_SUBJECT = lazy_compile(r"^(?:i\s*'?m|i\s+am|im)\b|^i've\b|^ive\b|^i'll\b|^i'd\b|^i\b", re.IGNORECASE)
_CONTRACTIONS = {"ve": "has", "ll": "will", "'d": "would"}
_FIRST_PERSON = (
    (lazy_compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    (lazy_compile(r"\bmy\s+own\b", re.IGNORECASE), "the user's own"),
    (lazy_compile(r"\bmy\b", re.IGNORECASE), "the user's"),
    (lazy_compile(r"\bour\b", re.IGNORECASE), "the user's"),
    (lazy_compile(r"\bmine\b", re.IGNORECASE), "the user's"),
    (lazy_compile(r"\bme\b", re.IGNORECASE), "the user"),
    (lazy_compile(r"\band\s+I\b"), "and the user"),
)
_UNCLEAR = lazy_compile(
    r"\b(?:i|i'm|im|i've|i'd|i'll|we|(?<!\bthe )us|ours|ourselves|we're|we've|you|your|yours|yourself|you're|u|ur"
    r"|it|its|it's|they|them|their|theirs|they're|he|him|his|she"
    r"|her|hers|this|these|those|here|there|someone|something|anything|everything|stuff|things?|one|ones|that's"
    r"|what|how|whatever|such|ya)\b|\bthat$|^that\b|\b(?:to|in|of|at|with|for|on|from|about|like|by|into)\s+that\b",
    re.IGNORECASE,
)


def conjugate_verb(verb: str) -> str:
    """The third person singular of a verb in its base form. Past forms and modals stay as they are."""
    folded = verb.casefold()
    if folded in _EXPANDED:
        return _EXPANDED[folded]
    if folded in _MODALS or folded in _IRREGULAR or (folded.endswith("ed") and folded not in _NOT_PAST):
        return verb
    if folded in ("have", "am", "are"):
        return "has" if folded == "have" else "is"
    if folded.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if folded.endswith("y") and folded[-2:-1] not in "aeiou" else verb + "s"


def get_base_verb(verb: str) -> str:
    """The base form of a third person singular. Past forms, modals and other words stay as they are."""
    folded = verb.casefold()
    if folded in _FIRST_PERSON_VERBS:
        return _FIRST_PERSON_VERBS[folded]
    if folded in _MODALS or folded in _IRREGULAR or not folded.endswith("s") or folded.endswith("ss"):
        return verb
    if folded.endswith("ies") and len(folded) > _MIN_IES_LENGTH:
        return verb[:-3] + "y"
    return verb[:-2] if folded.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def replace_pronouns(words: str) -> str | None:
    """The words with `the user` for the speaker. None where another pronoun leaves open who or what is meant."""
    for pattern, name in _FIRST_PERSON:
        words = pattern.sub(name, words)
    return None if _UNCLEAR.search(words) else words


def has_verb(phrase: str) -> bool:
    """Whether a word of the phrase is a verb by its form alone: `the vase broke`, `Vera and Tom have a boat`."""
    return not (_MODALS | _IRREGULAR | _PLURAL).isdisjoint(phrase.casefold().split())


def narrate_clause(clause: str) -> str | None:
    """A first-person clause as a sentence about the user. None where it is unclear by itself."""
    subject = _SUBJECT.match(clause)
    if not subject:
        sentence = replace_pronouns(clause)
        return sentence and sentence[:1].upper() + sentence[1:]
    pronoun = subject.group().casefold()
    rest = clause[subject.end() :].strip()
    if pronoun == "i":
        words = rest.split()
        at = next((n for n, word in enumerate(words) if word.casefold() not in ADVERBS), 0)
        if not words:
            return None
        rest = " ".join([*words[:at], conjugate_verb(words[at]), *words[at + 1 :]])
    else:
        rest = f"{_CONTRACTIONS.get(pronoun[-2:], 'is')} {rest}"
    sentence = replace_pronouns(rest)
    return sentence and f"The user {sentence}"


_SPEAKER = lazy_compile(
    r"\b(?P<pronoun>i(?:['’]m|\s+am)\b|im\b|i['’]ve\b|ive\b|i['’]ll\b|i\b)(?P<adverbs>(?:\s+(?:"
    + "|".join(sorted(map(re.escape, ADVERBS)))
    + r"|\w+ly))*)(?P<verb>\s+[\w'’]+)?",
    re.IGNORECASE,
)
_NOT_NARRATED = lazy_compile(
    r"\b(?:i['’]?d|we|us|our|ours|ourselves|we['’]\w+|you|your|yours|yourself|you['’]\w+|u|ur)\b",
    re.IGNORECASE,
)
_NO_VERBS = frozenset({"too", "and", "or", "not"})
_MY = lazy_compile(r"\bmy\b", re.IGNORECASE)
_COORDINATED = lazy_compile(r"\b(?:and|or|but)\b(?!\s+(?:the user\b|i\b|my\b))|,", re.IGNORECASE)


def narrate_first_person(sentence: str) -> str | None:
    """A sentence of several clauses about the user. None where its grammar leaves that uncertain.

    A present verb that may share its subject with another one behind `and` is uncertain: both would have to change."""
    if _NOT_NARRATED.search(sentence) or not (_SPEAKER.search(sentence) or _MY.search(sentence)):
        return None
    certain = True

    def tell(match: re.Match[str]) -> str:
        nonlocal certain
        pronoun, verb = match["pronoun"].casefold().replace("’", "'"), (match["verb"] or "").strip()
        if pronoun.endswith(("ve", "ll")):
            return f"the user {_CONTRACTIONS[pronoun[-2:]]}{match['adverbs']}{match['verb'] or ''}"
        rest = sentence[match.end() :]
        if pronoun != "i":
            certain = certain and not re.search(r"\b(?:and|but|or)\s+(?!i\b|my\b|the\b|an?\b)", rest, re.IGNORECASE)
            return f"the user is{match['adverbs']}{match['verb'] or ''}"
        told = conjugate_verb(verb.replace("’", "'"))
        if not verb or verb.casefold() in _NO_VERBS or (told != verb and _COORDINATED.search(rest)):
            certain = False
        return f"the user{match['adverbs']} {told}"

    text = _SPEAKER.sub(tell, sentence)
    if not certain:
        return None
    for pattern, name in _FIRST_PERSON[:1] + _FIRST_PERSON[2:]:
        text = pattern.sub(name, text)
    return text[:1].upper() + text[1:]


_NOT_FIRST_NAMES = _PEOPLE.get_words("not_first_names")
_ACRONYM = lazy_compile(r"[A-Z]{3,}")  # AFK, ADHD
NAME = rf"[^\W\d_][\w'-]*(?:\s+[{words.UPPER}][\w'-]*\.?){{0,3}}"

_SUBORDINATE = lazy_compile(
    r"\s*(?:,\s*)?\b(?:because|although|(?:even\s+)?though|(?<!a )(?<!a\n)while|which|who|where|but"
    r"|so(?!\s+called)|cause|cuz|whenever|when|as\s+well\s+as|given|considering|and\s+(?:i|it|that|they|he"
    r"|she|we|you|i'm|i've|then|so)\b|since\s+(?:i|it|he|she|they|we|the|my|there)\b|after\s+(?:i|we)\b"
    r"|before\s+(?:i|we)\b)\b.*$|\s*(?:[,.:](?=\s|$)|[;!?(]|(?<!\d)[–—]|[–—](?!\d)).*$|\s+-\s.*$",
    re.IGNORECASE | re.DOTALL,
)  # `12:30`, `1,200` and `9–17` are one word each
_SUBORDINATE_KEEP_COMMAS = lazy_compile(_SUBORDINATE.pattern.replace("[,.:]", ":"), re.IGNORECASE | re.DOTALL)
_FILLERS = lazy_compile(
    r"(?<![\s,])(?:[\s,]++(?:too|also|as\s+well|very\s+much|a\s+lot|so\s+much|a\s+bit|really|right\s+now|now"
    r"|at\s+the\s+moment|these\s+days|nowadays|lately|currently|actually|though|anyway"
    r"|lol|haha+|btw|please|of\s+course|most\s+of\s+all|the\s+most|in\s+general|you\s+know|by\s+the\s+way"
    r"|to\s+be\s+honest|tbh|ok|okay|again|thanks|thank\s+you|at\s+all|after\s+all|more\s+than\s+anything)(?=[\s,]"
    r"|$))++",
    re.IGNORECASE,
)
_NOT_NAMES = NATIONALITIES | TRADES | frozenset(DIETS) | _PEOPLE.get_words("not_names")
_NOT_PLACES = _PEOPLE.get_words("not_places")
_PLACE_END = lazy_compile(
    r"\s+(?:with|for|and\s+(?!the\s+\w|(?-i:[A-Z]))|since|as|now|at|on|during|by|near|right|these|until|from|to"
    r"|alone|together|last|next|again|after|before|when|where|because|which|doing|working|who)\b.*$",
    re.IGNORECASE,
)
_EMPTY_START = lazy_compile(
    r"(?:how|what|when|where|why|who|whoever|that|to\s+see\s+(?:it|that|you)|the\s+(?:way|idea|fact|feeling"
    r"|sound\s+of\s+that)|being\s+able|all\s+(?:the|of)|and|or|of|is|are"
    r"|so|too|very|much|more|most|both|each|such|same|no|nothing|everyone|people)\b",
    re.IGNORECASE,
)
_EMPTY_END = lazy_compile(
    r"(?:^|\s)(?:few|some|many|more|lot|of|the|and|to|an?|for|with|same|others?|another|especially|even|mostly"
    r"|including|user)$",
    re.IGNORECASE,
)
_ARTICLE = lazy_compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_CAPITAL = lazy_compile(r"\b[A-Z][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'&.-]*)*")
_NOT_ENTITIES = frozenset(("I", "I'm", "I've", "The", "A", "My", "On", "In", "At", *MONTHS, *WEEKDAYS))


def trim_phrase(words: str) -> str:
    """The words before a subordinate clause, without trailing fillers and punctuation."""
    return strip_fillers(_SUBORDINATE_KEEP_COMMAS.sub("", words))


@words.cache_texts(1_024)
def strip_fillers(phrase: str) -> str:
    """The words without trailing fillers and punctuation."""
    phrase = phrase.strip(" .,!~")
    # Runs of fillers are searched from the front. A pattern that is bound to the end would read each filler many times.
    end = next((run.start() for run in _FILLERS.finditer(phrase) if run.end() == len(phrase)), None)
    return phrase[:end].strip(" .,!~\"'")


def parse_object(words: str, clause: Clause) -> str | None:
    """The object of a verb. None where it is missing, too long, or unclear by itself."""
    phrase = trim_phrase(_SUBORDINATE.sub("", words) if "," in words and len(words) > 120 else words)
    if not phrase or len(phrase.split()) > 20 or _EMPTY_START.match(phrase) or _EMPTY_END.search(phrase):
        return None
    if (
        re.match(r"the\s", phrase, re.IGNORECASE)
        and not clause.is_lowercase
        and not _CAPITAL.search(phrase[4:])
        and len(phrase.split()) < 4
    ):
        return None
    return replace_pronouns(phrase)


def parse_list(words: str, clause: Clause) -> list[str]:
    """The things of an enumeration, or the phrase as one thing. Unclear things are left out."""
    phrase = trim_phrase(words)
    parts = [part.strip() for part in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", phrase) if part.strip()]
    if not parts:
        return []
    # "rock and pop music" is one thing: the last noun may belong to all parts
    lengths = [len(_ARTICLE.sub("", part).split()) for part in parts]
    is_enumeration = max(lengths) <= 3 and lengths[-1] <= max(lengths[:-1] or lengths)
    if len(parts) > 1 and is_enumeration and not re.search(r"\b(?:to|both|between)\b", phrase):
        objects = [part for part in parts if parse_object(part, clause)]
        return [item for part in objects if (item := replace_pronouns(part))]
    if len(parts) > 1 and "," in phrase and not all(len(part.split()) <= 5 for part in parts):
        phrase = phrase.split(",")[0]
    whole = parse_object(phrase, clause)
    return [whole] if whole else []


def is_name(words: str, clause: Clause) -> bool:
    """Whether the words can be the name of a person."""
    parts = words.split()
    if not parts or any(part.casefold().rstrip(".") in _NOT_NAMES or _ACRONYM.fullmatch(part) for part in parts):
        return False
    if parts[0].casefold() in _NOT_FIRST_NAMES:
        return False
    return (clause.is_lowercase and len(parts) == 1 and len(words) > 1) or all(part[0].isupper() for part in parts)


def parse_place(words: str, clause: Clause) -> str | None:
    """The name of a place or a firm at the start of the words, or None."""
    place = _PLACE_END.sub("", trim_phrase(words)).strip(" ,.")
    parts = place.split()
    if not parts or len(parts) > 6 or replace_pronouns(place) != place:
        return None
    if parts[0].casefold() == "the" and len(parts) > 1 and parts[1][0].isupper():
        return place
    if parts[0][0].isupper() or re.match(r"[a-z]?[A-Z0-9]", parts[0]):
        return place
    return (
        place
        if clause.is_lowercase and len(parts) <= 2 and parts[0] not in _NOT_PLACES | {"a", "an", "the", "my"}
        else None
    )


def find_names(words: str) -> tuple[str, ...]:
    """The proper names in the words."""
    return tuple(dict.fromkeys(name for name in _CAPITAL.findall(words) if name not in _NOT_ENTITIES))


def make_slug(words: str) -> str:
    """The words as a predicate: lower case, joined by underscores."""
    return re.sub(r"\W+", "_", words.casefold()).strip("_")
