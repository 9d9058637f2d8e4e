"""English words for the extraction rules, and the change of a first-person clause into the third person."""

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
