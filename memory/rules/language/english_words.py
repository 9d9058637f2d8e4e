"""English words that the extraction rules know, and the turn of a first-person clause into the third person."""

from __future__ import annotations

import re

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

# By their endings, as most are named.
MEDICINE = (
    r"(?:[a-z]{2,14}(?:profen|formin|statins?|pril|sartan|olol|prazole|cillin|mycin|oxetine|talopram|zepam|dipine"
    r"|triptan|gliptin|thyroxine|codone)"
    r"|statins|paracetamol|acetaminophen|aspirin|sertraline|warfarin|heparin|lithium|ritalin|adderall|prednisone"
    r"|prednisolone|cortisone|antihistamines"
    r"|blood\s+thinners|insulin|antidepressants|beta[ -]blockers|antibiotics|steroids|(?:thyroid|heart"
    r"|blood\s+pressure|(?!(?:my|the|some|any|no|new|more|this|that|your|his|her|their"
    r"|enough)\b)\w+)\s+medication)"
)

# What nobody is allergic to but in jest.
IN_JEST = lazy_compile(
    r"(?:the\s+user\b|\w+days?$|(?:nonsense|work|people|stupidity|bullshit|drama|mornings?|exercise|maths?|fun"
    r"|commitment|change|bad\s)\b)",
    re.IGNORECASE,
)
_IRREGULAR = _VERBS.get_words("past")
_MODALS = _VERBS.get_words("modals")
_PLURAL = _VERBS.get_words("plural")
_NOT_PAST = _VERBS.get_words("not_past")
FIELDS = _PEOPLE.get_words("fields")
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
_MIN_IES_LENGTH = 4  # letters: tries comes from try, but ties from tie
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
_THEIR_OWN = lazy_compile(r"\b(?:his|her|their)\b", re.IGNORECASE)


def conjugate_verb(verb: str) -> str:
    """The third person of a verb in its base form; past forms and modals stay."""
    low = verb.casefold()
    if low in _EXPANDED:
        return _EXPANDED[low]
    if low in _MODALS or low in _IRREGULAR or (low.endswith("ed") and low not in _NOT_PAST):
        return verb
    if low in ("have", "am", "are"):
        return "has" if low == "have" else "is"
    if low.endswith(("s", "x", "z", "ch", "sh", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if low.endswith("y") and low[-2:-1] not in "aeiou" else verb + "s"


def get_base_verb(verb: str) -> str:
    """The verb that `singular` gives this third person of; past forms and modals stay, and so does what is no verb."""
    low = verb.casefold()
    if low in _FIRST_PERSON_VERBS:
        return _FIRST_PERSON_VERBS[low]
    if low in _MODALS or low in _IRREGULAR or not low.endswith("s") or low.endswith("ss"):
        return verb
    if low.endswith("ies") and len(low) > _MIN_IES_LENGTH:
        return verb[:-3] + "y"
    return verb[:-2] if low.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else verb[:-1]


def replace_pronouns(words: str, *, allow_third_person: bool = False) -> str | None:
    """Words with the speaker's pronouns spelt out; None if another pronoun leaves open who or what is meant."""
    for pattern, name in _FIRST_PERSON:
        words = pattern.sub(name, words)
    checked = _THEIR_OWN.sub("", words) if allow_third_person else words
    return None if _UNCLEAR.search(checked) else words


def has_verb(phrase: str) -> bool:
    """Whether a word of it is a verb by its form alone, whose it may be: `the vase broke`, `Vera and Tom have a boat`."""
    return not (_MODALS | _IRREGULAR | _PLURAL).isdisjoint(phrase.casefold().split())


def narrate_clause(clause: str) -> str | None:
    """A first-person clause said of the user; None if it cannot stand by itself."""
    found = _SUBJECT.match(clause)
    if not found:
        told = replace_pronouns(clause)
        return told and told[:1].upper() + told[1:]
    said = found.group().casefold()
    rest = clause[found.end() :].strip()
    if said == "i":
        words = rest.split()
        at = next((n for n, word in enumerate(words) if word.casefold() not in ADVERBS), 0)
        if not words:
            return None
        rest = " ".join([*words[:at], conjugate_verb(words[at]), *words[at + 1 :]])
    else:
        rest = f"{_CONTRACTIONS.get(said[-2:], 'is')} {rest}"
    told = replace_pronouns(rest)
    return told and f"The user {told}"
