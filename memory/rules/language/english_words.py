"""English words that the extraction rules know, and the turn of a first-person clause into the third person."""

from __future__ import annotations

import re

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary

RELATIONS = {
    "wife": "spouse", "husband": "spouse", "spouse": "spouse", "partner": "partner", "girlfriend": "partner", "boyfriend": "partner",
    "fiance": "partner", "fiancé": "partner", "fiancee": "partner", "fiancée": "partner", "ex-wife": "former_spouse", "ex-husband": "former_spouse",
    "mother": "mother", "mom": "mother", "mum": "mother", "father": "father", "dad": "father", "parents": "parents", "sister": "sister",
    "brother": "brother", "son": "son", "daughter": "daughter", "baby": "child", "child": "child", "kid": "child", "grandmother": "grandmother",
    "grandma": "grandmother", "grandfather": "grandfather", "grandpa": "grandfather", "aunt": "aunt", "uncle": "uncle", "cousin": "cousin",
    "niece": "niece", "nephew": "nephew", "friend": "friend", "best friend": "best_friend", "roommate": "roommate", "flatmate": "roommate",
    "neighbour": "neighbour", "neighbor": "neighbour", "boss": "boss", "manager": "boss", "supervisor": "boss", "colleague": "colleague",
    "coworker": "colleague", "co-worker": "colleague", "teacher": "teacher", "coach": "coach", "mentor": "mentor", "doctor": "doctor",
    "dentist": "dentist", "therapist": "therapist", "landlord": "landlord", "business partner": "business_partner", "mother-in-law": "mother_in_law",
    "father-in-law": "father_in_law", "sister-in-law": "sister_in_law", "brother-in-law": "brother_in_law",
    "dog": "pet", "cat": "pet", "puppy": "pet", "kitten": "pet", "parrot": "pet", "rabbit": "pet", "hamster": "pet", "horse": "pet", "pet": "pet",
    "turtle": "pet", "goldfish": "pet",
}  # fmt: skip
ONE_AT_A_TIME = frozenset({"spouse", "partner", "mother", "father", "boss", "best_friend"})
RELATION = (
    r"(?:(?:older|younger|elder|little|big|twin|eldest|youngest|oldest|new|late|good|close|old|childhood)\s+)?"
     "(?:" + "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True)) + ")"
)  # fmt: skip

NATIONALITIES = parse_vocabulary(
    """
    american british english scottish welsh irish french german italian spanish portuguese dutch belgian swiss
    austrian swedish norwegian danish finnish polish czech slovak hungarian romanian bulgarian greek turkish
    russian ukrainian croatian serbian slovenian estonian latvian lithuanian canadian mexican brazilian
    argentinian chilean colombian peruvian cuban australian chinese japanese korean vietnamese thai indonesian
    malaysian filipino singaporean taiwanese indian pakistani bangladeshi nepali iranian iraqi israeli lebanese
    syrian egyptian moroccan algerian tunisian nigerian kenyan ethiopian ghanaian icelandic
    """
)
LANGUAGES = NATIONALITIES | parse_vocabulary(
    """
    mandarin cantonese arabic hebrew hindi urdu bengali tamil farsi persian swahili latin catalan tagalog malay
    """
)
TRADES = parse_vocabulary(
    """
    accountant actor actress analyst architect artist astronomer attorney author baker banker barber barista
    bartender biologist bookkeeper builder butcher carpenter cashier chef chemist clerk cleaner coach composer
    consultant cook copywriter counselor counsellor dancer dentist designer detective developer director doctor
    driver economist editor electrician engineer entrepreneur farmer firefighter florist freelancer gardener
    geologist guard guide hairdresser historian illustrator instructor interpreter intern journalist judge lawyer
    lecturer librarian lifeguard manager mathematician mechanic midwife musician nanny novelist nurse nutritionist
    optician painter paralegal paramedic pharmacist photographer physicist physiotherapist pilot plumber podcaster
    poet policeman postman principal producer professor programmer psychiatrist psychologist receptionist
    recruiter reporter researcher sailor salesman salesperson scientist sculptor secretary singer soldier student
    surgeon surveyor tailor teacher technician tester therapist translator trainer tutor veterinarian vet waiter
    waitress welder writer apprentice administrator contractor marketer strategist statistician sommelier linguist
    filmmaker animator realtor streamer curator dietitian radiologist cardiologist paediatrician pediatrician
    dermatologist neurologist oncologist gynaecologist gynecologist physician anaesthetist optometrist beautician
    """
)
DIETS = (
    "vegan",
    "vegetarian",
    "pescatarian",
    "flexitarian",
    "gluten-free",
    "gluten free",
    "dairy-free",
    "dairy free",
    "halal",
    "kosher",
    "keto",
    "paleo",
)
CONDITIONS = (
    r"(?:(?:type\s+[12]\s+)?diabet(?:es|ic)|asthma(?:tic)?|coeliac(?:\s+disease)?|celiac(?:\s+disease)?|lactose[ -]intoleran(?:t|ce)|gluten[ -]intoleran(?:t|ce)"
    r"|adhd|epilep(?:sy|tic)|hypertension|high\s+blood\s+pressure|migraines|arthritis|anemi[ac]|anaemi[ac]|insomnia|dyslexi[ac]|ibs|eczema"
    r"|colou?r[ -]?blind|an?\s+\w+\s+(?:allergy|intolerance)|hay\s+fever|crohn's\s+disease|hearing\s+loss)"
)

# By their endings, as most are named.
MEDICINE = (
    r"(?:[a-z]{2,14}(?:profen|formin|statins?|pril|sartan|olol|prazole|cillin|mycin|oxetine|talopram|zepam|dipine|triptan|gliptin|thyroxine|codone)"
    r"|statins|paracetamol|acetaminophen|aspirin|sertraline|warfarin|heparin|lithium|ritalin|adderall|prednisone|prednisolone|cortisone|antihistamines"
    r"|blood\s+thinners|insulin|antidepressants|beta[ -]blockers|antibiotics|steroids|(?:thyroid|heart|blood\s+pressure|(?!(?:my|the|some|any|no|new|more|this|that|your|his|her|their|enough)\b)\w+)\s+medication)"
)

# What nobody is allergic to but in jest.
IN_JEST = lazy_compile(
    r"(?:the\s+user\b|\w+days?$|(?:nonsense|work|people|stupidity|bullshit|drama|mornings?|exercise|maths?|fun|commitment|change|bad\s)\b)",
    re.IGNORECASE,
)
_IRREGULAR = parse_vocabulary(
    """
    was were did had went got came met saw took made bought left began became ran won lost found taught wrote
    built gave ate felt sold flew drove broke spent told thought knew grew fell said kept held led brought caught
    sent slept swam sang drew chose wore rode rose shot sat stood understood paid laid hid forgot forgave fought
    froze heard lent meant shook spoke stole stuck threw woke quit
    """
)
_MODALS = parse_vocabulary(
    """
    can could will would shall should may might must cannot is was has had does did
    """
)
# Of several; those that may as well be a noun tell nothing.
_OF_MANY = parse_vocabulary("have do go come need want make take get give keep know")
_NOT_PAST = frozenset(
    ["need", "feed", "speed", "breed", "bleed", "seed", "heed", "exceed", "succeed", "proceed", "embed"]
)
# What one works in that is no place.
FIELDS = parse_vocabulary(
    """
    accounting advertising aerospace agriculture architecture aviation banking biotech catering construction consulting
    cybersecurity education engineering entertainment fashion finance fintech forestry healthcare hospitality insurance
    journalism logistics manufacturing marketing media medicine nursing pharma publishing recruiting recruitment research
    retail robotics sales software tech telecoms tourism transport
    """
)
ADVERBS = parse_vocabulary(
    """
    always usually often never sometimes rarely really also still just only actually already recently finally
    currently generally mostly normally absolutely definitely totally truly mainly typically barely hardly even
    especially particularly both once officially
    """
)
_EXPANDED = {
    "don't": "does not", "dont": "does not", "doesn't": "does not", "didn't": "did not", "can't": "cannot", "cant": "cannot", "won't": "will not",
    "haven't": "has not", "hasn't": "has not", "hadn't": "had not", "wasn't": "was not", "weren't": "were not", "isn't": "is not",
    "mustn't": "must not", "shouldn't": "should not", "couldn't": "could not", "wouldn't": "would not", "ain't": "is not",
}  # fmt: skip
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
    r"\b(?:i|i'm|im|i've|i'd|i'll|we|(?<!\bthe )us|ours|ourselves|we're|we've|you|your|yours|yourself|you're|u|ur|it|its|it's|they|them|their|theirs|they're|he|him|his|she"
    r"|her|hers|this|these|those|here|there|someone|something|anything|everything|stuff|things?|one|ones|that's|what|how|whatever|such|ya)\b|\bthat$|^that\b|\b(?:to|in|of|at|with|for|on|from|about|like|by|into)\s+that\b",
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
    return not (_MODALS | _IRREGULAR | _OF_MANY).isdisjoint(phrase.casefold().split())


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
