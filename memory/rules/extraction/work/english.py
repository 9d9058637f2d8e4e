"""The forms of English clauses that say what became of work.

Each is who it is said of, a class of verbs or of modals, and what comes of it. Where the form alone also tells of other
things, it needs a cue: a sign of deliberation, the place that a norm holds in, what bounds an act, a date."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.signs import Language, Sign, make_filler
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_LEXICON = load_lexicon("work.en")
_VERBS = load_lexicon("verbs.en")
_fill = make_filler(_LEXICON, is_spaced=True)
_PAST = rf"(?:\w+ed|(?:re|un|over|mis)?{join_alternatives(_VERBS.get_words('past') - {'was', 'were', 'had', 'did', 'felt', 'thought'})}|put|cut|set|reset)"

# Parts of a clause.
_WORDS = r"[^,;:.]"  # of the same clause
_PERFECT = r"(?:'ve|'s|\s+(?:have|has|had))?"
_ADVERBS = r"(?:\s+(?:<adverb>|\w+ly))*"
_BESIDE = r"(?:(?:my|our|the)\s+)?[\w-]+(?:\s+[\w-]+)?\s+and\s+i"
_GROUP = r"(?:(?:the|this)\s+(?:whole\s+|entire\s+|ward\s+)?|(?:our|my)\s+(?:[\w-]+\s+){0,2}?)<group>"
_WHO = rf"(?P<who>(?:{_BESIDE}|<self>|{_GROUP}|<everyone>)(?![\w-]){_PERFECT}){_ADVERBS}\s+"
_SELF = rf"(?P<who>(?:{_BESIDE}|<self>)(?![\w-]){_PERFECT}){_ADVERBS}\s+"
_SELF_OR_NONE = rf"(?:{_SELF}|(?P<dropped>)(?:(?:<adverb>|\w+ly)\s+)*?)"
_WHO_OR_NONE = rf"(?:{_WHO}|(?P<dropped>)(?:(?:<adverb>|\w+ly)\s+)*?)"
_PLACE = (
    r"(?:(?:in|at|on|within|for|of)\s+(?:our|my|this|the)\s+(?:[\w-]+\s+){0,2}?<place>s?(?![\w-])"
    r"|(?:around\s+|over\s+|in\s+)?here|at\s+work|on\s+site|in\s+house)"
)
_OBJECT = r"(?P<object>\S.*)"
_NOUNS = rf"(?!(?:the|an?|this|that|my|your|his|her|i|we|it|there|you|they|he|she)\b){_WORDS}{{2,80}}?"

# What may stand before a clause: words that open a talk, and an adverbial up to its comma or its subject.
_OPENING = lazy_compile(
    r"(?:[\s\W]+|(?:ok|okay|so|and|but|well|right|huh|hm+|oh|ah|yes|yeah|no|great|good\s+news|big\s+news|small\s+update|update"
    r"|news|fyi|btw|important|note|also|anyway|alright|listen|heads\s+up|for\s+the\s+record|just\s+so\s+you\s+know"
    r"|by\s+the\s+way|interesting|funny|finally|solved|fixed|done|yay|hooray|phew|because|since|then|now|please|apparently"
    r"|as\s+discussed|quick\s+(?:note|update))\b(?!')(?:[\s,.:;!–—-]+))+",
    re.IGNORECASE,
)
_TIME = lazy_compile(
    r"(?:after|at|on|in|for|since|during|before|with|from|last|this|today|yesterday|tonight|until|by|over|as|within|per"
    r"|across|following|then|meanwhile|eventually|recently|while|given|every|looking)\b[^,;:.]{0,70}(?:[,;:]\s+|(?=$))?",
    re.IGNORECASE,
)
_SUBJECTS = lazy_compile(
    r"\s(?=(?:i|we|the|our|nobody|everyone|every|no|my|it|all|only|two|both|i'm|i've|we're|we've)\b)", re.IGNORECASE
)
_MOST_SUBJECTS = 4  # of an adverbial that no comma ends
_WITHIN = lazy_compile(_fill(rf"{_PLACE},?\s+"), re.IGNORECASE)
_BORDER = lazy_compile(
    r"[,;:.!—–]\s+|\s+-+\s+|\s*\(|\s+(?:and|but|so|because|since|that)\s+|\b(?:means|says|know)\s+(?=the\b)", re.IGNORECASE
)
_MOST_STARTS = 14  # of a sentence of 280 characters


def list_starts(text: str) -> Iterator[int]:
    """The places at which a clause begins, with and without what opens it."""
    given: set[int] = set()
    borders = [0, *(match.end() for match in _BORDER.finditer(text))][:_MOST_STARTS]
    for border in borders:
        places = [border]
        if opening := _OPENING.match(text, border):
            places.append(opening.end())
        for place in tuple(places):
            if lead := _TIME.match(text, place):
                subjects = _SUBJECTS.finditer(text, place, lead.end())
                places += [lead.end(), *(match.end() for match in islice(subjects, _MOST_SUBJECTS))]
            places += [match.end() for match in [_WITHIN.match(text, place)] if match]
        for place in places:
            if place not in given and place < len(text):
                given.add(place)
                yield place


def _make(
    kind: FactKind, pattern: str, *needs: str, is_order: bool = False, is_whole: bool = False
) -> Sign:
    return Sign(
        kind=kind,
        pattern=lazy_compile(_fill(pattern), re.IGNORECASE),
        needs=needs,
        is_order=is_order,
        is_whole=is_whole,
    )


_AUX = r"(?:is|are|was|were|has|have|had|does|do|did|can|will|must|cannot|\w+n't)"
# A clause about a thing: with a verb that is one by its form, or an -s behind a singular subject.
_FINDING = (
    rf"(?P<finding>)(?P<object>(?:(?:the|our|its?|this|that|every|each|a|an|one)\s+(?:[\w'-]+\s+){{0,4}}?[\w'-]*[^s\W]\s+(?:\w+ly\s+)?(?:{_AUX}|\w\w+s|\w\w+ed|{join_alternatives(_VERBS.get_words('past'))})\s+\S"
    rf"|(?:the|our|all|both|most|some|half|none|two|three|no|nobody|there|these|those|in|on|\w+s|\w+)\b{_WORDS}{{0,80}}?\s{_AUX}\s+\S).*)"
)
_DECISIONS = (
    _make("decision", rf"{_WHO_OR_NONE}<decided>(?![\w-])[\s,:]+(?:that\s+)?{_OBJECT}"),
    _make("decision", rf"(?:it was|it's been|it has been|it is|it's){_ADVERBS}\s+(?:decided|agreed|settled)\s+(?:that\s+|to\s+|on\s+)?{_OBJECT}"),
    _make("decision", rf"{_WHO_OR_NONE}<chose>(?![\w-])\s+(?!up\b|off\b|my\b|over\b|part\b){_OBJECT}", "closure", "contrast"),
    _make("decision", rf"{_WHO}<adopted>(?![\w-])\s+(?!up\b|off\b){_OBJECT}", "work"),
    _make("decision", rf"(?P<who><self>)(?:'re|'m|'ll\s+be|\s+are|\s+am|\s+will\s+be){_ADVERBS}(?P<no>\s+not)?\s+<staying>\s+(?!my\s+\w+$|him\b|her\b|them\b|you\b|friends\b|my\b|it\b){_OBJECT}"),
    _make("decision", rf"(?P<who><self>|{_GROUP})(?:'re|'m|'ll\s+be|\s+are|\s+am|\s+is|\s+will\s+be){_ADVERBS}(?P<no>\s+not)?\s+(?P<object><planning>\s+\S.*)", "force"),
    _make("decision", rf"(?:the|our|my|(?:the\s+)?(?:team|board)'s)\s+(?:final\s+|joint\s+|last\s+)?(?:decision|verdict|choice|call|conclusion)\s+(?:is|was|fell\s+on|went\s+to)\s+(?:that\s+|to\s+|for\s+|against\s+)?{_OBJECT}"),
    _make("decision", rf"(?:the\s+|our\s+|my\s+)?<outcome>(?:\s+(?:of|on|for|from)\s{_WORDS}{{2,50}}?)?\s*(?:\s(?:is|was)(?:\s+that)?|:|,)\s+{_OBJECT}", "who", "closure", "colon"),
    _make("decision", rf"(?P<who><self>)(?:'re|'m|\s+are|\s+am){_ADVERBS}\s+(?P<object><ending>\s+(?!my\s+\w+\s+(?:off|at)\b)\S.*)"),
    _make("decision", rf"(?P<who><self>)(?:'re|'m|\s+are|\s+am)\s+(?P<no>not)\s+(?P<object>(?:going\s+to\s+)?\w+(?:ing)?\s+\S.*)", "closure", "force"),
    _make("decision", rf"(?P<who><self>)(?:'ll|\s+will){_ADVERBS}\s+(?:stay|stick|keep|go|carry\s+on|continue)\s+with\s+(?!my\b|you\b|him\b|her\b|them\b){_OBJECT}"),
    _make("decision", rf"(?P<who><self>){_ADVERBS}\s+(?:took|kept|booked|hired|bought|ordered|extended|extend|signed)\s+{_OBJECT}", "deliberation"),
    _make("decision", rf"(?P<topic>(?:the|our|my)\s+(?:new\s+|next\s+)?[\w-]+(?:\s+[\w-]+)?)\s+(?:is|will\s+be)\s+{_OBJECT}", "vote"),
    _make("decision", rf"(?:final\s+)?(?:decision|verdict)(?:\s+of\s+[\w ]{{2,30}})?\s*:\s+{_OBJECT}"),
    _make("decision", r"(?P<object>(?!\S*\b(?:here|there|how|what|that|who|where|as|look|like|way|no|leave|keep)\b)[\w'-]+(?:\s+(?!(?:as|how|that|than)\b)[\w'-]+){0,2}?)\s+it\s+is(?:,?\s+then)?[.!]*$", "start"),
    _make("decision", r"(?P<object><drop>\s+(?:the|that|our|my)\s+(?:[\w'-]+\s+){0,3}<plan>\b.*)"),
    _make("decision", rf"(?P<topic>(?:the|our|my)\s{_WORDS}{{2,60}}?)\s+(?:is|are|was|were|has\s+been|have\s+been)\s+(?:now\s+|officially\s+|finally\s+)?(?:decided|agreed|off\s+the\s+table)(?:\s+on)?[,:;.\s]*(?P<object>.*)"),
    _make("decision", r"(?:that's|it's|this\s+is|that\s+is|it\s+is)\s+(?:now\s+)?(?:final|settled|decided|agreed)\b(?P<tail>)", is_whole=True),
    _make("decision", rf"(?:from\s+now\s+on|going\s+forward|from\s+(?:today|tomorrow|monday|next\s+\w+)\s+on|as\s+of\s+(?:today|tomorrow|monday|next\s+\w+)),?\s+(?:we|i|everyone)\s+(?P<object>(?:will\s+)?<adopt>\s+\S.*)"),
)  # fmt: skip
_RULES = (
    _make("rule", rf"(?:{_PLACE}[,]?\s+)?(?:(?:the|our|my|one|house|team|first|golden|a)\s+){{0,2}}(?:[a-z]+\s+)?<norm>(?:\s+(?:{_PLACE}|for\s+{_WORDS}{{2,40}}?))?\s*(?:\s(?:is|says|are|requires)(?:\s+(?:that|to))?|:|,)\s+(?P<object>\S+\s+\S.*)", "owned"),
    _make("rule", rf"(?:our|my)\s+(?:[\w'-]+\s+){{0,2}}?<own_norm>(?:\s+{_PLACE}|\s+for\s+{_WORDS}{{2,40}}?)?\s+(?:is|says|are|requires)(?:\s+(?:that|to|for))?\s+{_OBJECT}"),
    _make("rule", rf"(?:(?:our|my)\s+(?:[\w'-]+\s+)?<place>|we|i)\s+(?:has|have|keeps?|got)\s+(?:a|the|this|one)\s+(?:[\w-]+\s+)?<own_norm>\s*(?:that|of|to|:|,|not\s+to)\s+{_OBJECT}"),
    _make("rule", rf"as\s+a\s+rule,?\s+(?:we|everyone|nobody)\s+{_OBJECT}"),
    _make("rule", rf"(?:it's|it\s+is)\s+(?:a\s+rule|(?:our\s+|company\s+|standard\s+|house\s+|school\s+)(?:policy|practice|procedure|protocol|rule))\s+(?:{_PLACE}\s+)?(?:that|to|not\s+to)\s+{_OBJECT}"),
    _make("rule", rf"{_PLACE},?\s+(?:<nobody>|no\s+\w+)\s+\w+.*", is_whole=True),
    _make("rule", rf"(?:<nobody>|nothing|no\s+(?!idea|problem|way|time|wonder|doubt)[\w-]+)(?:\s+{_PLACE})?\s+<may>\s+\w+.*", "work", "place", "bound", "stress", is_whole=True),
    _make("rule", rf"<nobody>(?:\s+{_PLACE})?\s+\w+s\s+\w+.*", "work", "place+bound", "strict", "stress", is_whole=True),
    _make("rule", rf"only\s+(?P<topic>{_WORDS}{{2,50}}?)\s+(?:may|can|is\s+allowed|are\s+allowed|gets?\s+to|must|handles?|signs?)\s+\w.*", "work", "place", "bound", "stress", is_whole=True),
    _make("rule", rf"(?:<anybody>(?:\s+who\s+{_WORDS}{{2,60}}?)?|(?:<every>)\s+(?P<topic>{_WORDS}{{2,70}}?))(?:\s+{_PLACE})?\s+<needed>\s+\w.*", "work", "place", "our", "stress", is_whole=True),
    _make("rule", rf"whoever\s+{_WORDS}{{3,60}}?(?:,|\s(?=\w+s\s))\s*\w.*", "place", "owned", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS}s)(?:\s+{_PLACE})?\s+<obliged>\s+\w.*", "work", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>(?:all|our|all\s+our|every)\s+{_WORDS}{{2,60}}?)(?:\s+{_PLACE})?\s+(?:<obliged>|<habit>|<forbidden>)\s+\w.*", "work", "place", "our", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS}s)(?:\s+{_PLACE})?\s+<habit>\s+\w.*", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS})\s+(?:never|always|only(?:\s+ever)?)\s+(?:goes|comes|gets|leaves|stays|is)\s+\w.*", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>(?:two|three|at\s+least\s+\w+|both|a\s+second)\s+{_WORDS}{{2,40}}?)\s+(?:must|have\s+to|need\s+to|has\s+to)\s+{_WORDS}+\b(?:every|each|any|all)\b.*", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS})\s+(?:is|are)\s+(?:always\s+|strictly\s+|absolutely\s+)?<forbidden>\b.*", "work", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS}s)\s+(?:aren't|are\s+not)\s+(?:allowed|permitted|supposed)\s+(?:to|in|on|near)\s+\w.*", is_whole=True),
    _make("rule", rf"(?P<topic>{_NOUNS}s)(?:\s+{_PLACE})?\s+are\s+(?:always|never|only\s+ever)\s+(?:to\s+be\s+)?\w+(?:ed|en|t|id)\b.*", "work", "place", "stress", "for us", is_whole=True),
    _make("rule", rf"(?:every|each)\s+(?:day|week|month|morning|evening|night|shift|\w+day|time)(?:\s+\w+)?,?\s+(?P<topic>(?:the|all|our)\s{_WORDS}{{2,50}}?)\s+(?:gets?|are|is|must\s+be|has\s+to\s+be|have\s+to\s+be)\s+\w+(?:ed|en|t)\b.*", is_whole=True),
    _make("rule", r"(?:[\w-]+\s+){0,2}rule\s+(?:number\s+\w+|no\.?\s*\d|#\s*\d)\b(?P<tail>).*", is_whole=True),
    _make("rule", rf"(?:any|every|each)\s+(?P<topic>{_WORDS}{{2,60}}?)\s+(?:goes|comes|gets|needs|is\s+\w+ed|starts|ends|passes)\s{_WORDS}*\bfirst\b.*", is_whole=True),
    _make("rule", r"<always>\s+(?P<order>\w+)\s+\S.*", "work", "advice+strict", is_order=True, is_whole=True),
    _make("rule", r"from\s+now\s+on,?\s+(?:<always>\s+(?P<order>\w+)|(?:everyone|everybody|all\s+\w+|every\s+\w+|nobody|each\s+\w+)\b)\s.*", "work", "place", "modal", is_order=True, is_whole=True),
    _make("rule", rf"(?:{_PLACE},?\s+)?(?P<who>we|{_GROUP}|everyone|everybody)\s+(?:all\s+)?(?:always|never(?:\s+ever)?|only\s+ever)\s+(?P<order>\w+)\s+\S.*", "work", "place", "strict", is_whole=True),
    _make("rule", rf"(?:{_PLACE},?\s+)?(?P<who>we)\s+(?:don't|do\s+not)\s+(?P<order>\w+)\s+\S.*", "place+strict", "work+bound", "stress", is_whole=True),
    _make("rule", r"i\s+(?:always|never(?:\s+ever)?|only\s+ever|don't)\s+(?P<order>\w+)\s+\S.*", "stress+bound", "work+bound", is_whole=True),
    _make("rule", rf"{_PLACE},?\s+you\s+(?:always|never|must|have\s+to|don't|only|can't|may\s+not|need\s+to)\s+\w.*", is_whole=True),
    _make("rule", rf"no\s+(?!idea|problem|way|time|wonder|doubt|one\b|plans|more\b|luck|sign)(?P<topic>[\w'-]+(?:\s+[\w'-]+){{0,3}}?)\s+(?:without|before|after|during|on|in|at|until|over)\s+\w.*", "work", "place", "stress", is_whole=True),
    _make("rule", r"no\s+(?P<topic>[\w'-]+(?:\s+[\w'-]+)?),\s+(?:ever|no\s+exceptions|under\s+any\s+circumstances)[.!]*$", is_whole=True),
    _make("rule", rf"(?:when|whenever|before|after|every\s+time)\s+(?:we|anyone|someone|anybody|a|an)\s{_WORDS}{{3,70}},\s+(?:the|a|an|we|somebody|someone|both|all|every|each)\b{_WORDS}*?\b(?:must|has\s+to|have\s+to|needs\s+to|need\s+to|always|never)\s.*", is_whole=True),
)  # fmt: skip
_DISCOVERIES = (
    _make("discovery", rf"(?:<turned_out>)(?:\s+that)?,?\s+{_FINDING}"),
    _make("discovery", rf"(?P<topic>(?:the|our)\s{_WORDS}{{2,70}}?)\s+turned\s+out\s+to\s+(?P<object>(?:be|have|come)\s+\S.*)", "exact", "work"),
    _make("discovery", rf"{_WHO_OR_NONE}<traced>\s+{_OBJECT}"),
    _make("discovery", rf"{_SELF_OR_NONE}(?:traced|tracked|pinned|narrowed)\s+(?P<topic>{_WORDS}{{2,60}}?)\s+(?:back\s+|down\s+)?to\s+{_OBJECT}"),
    _make("discovery", rf"{_SELF_OR_NONE}<found_out>(?![\w-])(?:\s+(?:today|yesterday|last\s+night|this\s+morning|the\s+hard\s+way|just\s+now|now|out))*\s+(?:that\s+)?+(?!\w+ing\b){_FINDING}"),
    _make("discovery", rf"{_SELF_OR_NONE}(?:found\s+out|figured\s+out|worked\s+out|discovered|understood|understand|now\s+know|know\s+now|know|learned|learnt|found)\s+(?P<object>why\s+.*?(?:[:–—-]\s|,\s+|;\s|\bbecause\b|\bit\s+(?:is|was)\b).+)"),
    _make("discovery", rf"{_SELF_OR_NONE}(?:found|discovered|spotted|identified|uncovered)\s+(?:out\s+)?(?P<object>(?:the|a|an|two|three|another)\s+(?:[\w'-]+\s+){{0,3}}?<fault>s?\b(?!\s+with\s+(?:him|her|me)).*)"),
    _make("discovery", rf"(?:the|our|one)\s+<cause>(?:\s+(?:of|for|behind|with|why)\s+(?P<topic>{_WORDS}{{2,80}}?)|\s+(?:the|our)\s+{_WORDS}{{2,60}}?)?\s+(?:is|was|were|turned\s+out\s+to\s+be|lies\s+in|came\s+down\s+to)\s+(?:that\s+)?(?P<finding>){_OBJECT}"),
    _make("discovery", rf"it\s+(?:was|were)\s+(?P<object>(?:the|a|an|our)\s{_WORDS}+?)\s+(?:all\s+along|the\s+whole\s+time)\b.*"),
    _make("discovery", rf"(?P<object>(?:the|our|a|an|all|both)\s{_WORDS}{{2,80}}\s(?:is|are|was|were)\s+(?:being\s+)?(?:caused\s+by|to\s+blame|the\s+culprit|due\s+to|worn\s+out|thawed)\b.*)", "evidence", "culprit"),
    _make("discovery", rf"(?P<object>(?:the|our|my|this|these|those)\s{_WORDS}{{2,80}}?\s+(?:\w+s|is|are|was|were|\w+ed)\s{_WORDS}{{2,80}}\s<expected>\b.*)", "exact+evidence", "number"),
    _make("discovery", rf"(?:(?:well|so|and)\s+)?that\s+(?:explains|explained)\s+(?:it|why\b{_WORDS}{{0,60}}?|the\s{_WORDS}{{2,50}}?)\s*[,:;–—-]+\s+(?P<finding>){_OBJECT}"),
    _make("discovery", rf"(?:it|the\s+(?:problem|cause|reason|culprit))\s+(?:wasn't|was\s+not|isn't|is\s+not)\s{_WORDS}{{2,50}}?(?:\s+(?:after\s+all|at\s+all))?(?:[,;–—-]+\s+(?:but\s+|it's\s+|it\s+is\s+|it\s+was\s+)?)(?P<object>(?:the|our|a|an)\s\S.*)"),
    _make("discovery", rf"(?:looking|going|digging|reading|searching)\s+(?:at|through|into|back\s+(?:at|through))\s+(?:the|our|my|all|last){_WORDS}{{2,50}},\s+(?P<finding>)(?P<object>(?:the|our|all|half|most|both|none|two|three|every|there|it\s+(?:looks|seems)|\w+s)\s.*)"),
    _make("discovery", rf"(?:{_SELF}|(?P<dropped>))(?:got|have|received)\s+(?:the|our|my)\s+(?:[\w-]+\s+){{0,3}}?<results>(?:\s+(?:back|in))?{_WORDS}{{0,30}}[,:;–—-]+\s+(?P<finding>)(?P<object>(?:the|our|all|half|most|both|none|two|three|there|every|\w+s)\s.*)"),
    _make("discovery", rf"(?:the|our)\s+(?:[\w-]+\s+){{0,3}}?<results>\s+(?:show|shows|showed|say|says|prove|suggest|confirm|confirms|reveals?|came\s+back)\s*(?:that\s+|[:,]\s+)?(?P<finding>){_OBJECT}"),
    _make("discovery", rf"apparently,?\s+(?P<finding>)(?P<object>(?:our|the)\s+(?:[\w'-]+\s+){{0,4}}?[\w'-]*[^s\W]\s+(?:\w\w+s|isn't|doesn't|can't|has\s+been|was)\s+\S.*)"),
    _make("discovery", r"(?P<object>(?:the|our|this|that)\s[^,;:]{2,60}?\s+(?:silently|secretly)\s+\w+s\b.*)"),
    _make("discovery", rf"(?:{_SELF}|(?P<dropped>))<inspected>\b[^.;]{{2,110}}?(?:[,:;–—-]+\s+(?:and\s+)?|\s+and\s+)(?P<object>(?:the|a|an|our|its?|all|both|most|some|half|none|not|one|two|three|four|every|nobody|no|there|it's|\w+s)\s.*)", "exact"),
    _make("discovery", rf"apparently,?\s+(?P<finding>)(?P<object>(?:the|our|all|a|an|both|some|half|most)\s.*)", "evidence"),
    _make("discovery", rf"(?:interesting|interestingly|strange|huh|funny|weird|surprisingly|surprise)[,:.!]*\s+(?P<object>(?:the|our|my|all|both|a)\s.*)", "number", "evidence", "exact+than"),
)  # fmt: skip
_MEANS = (
    r"(?:\bby\s+\w+ing\b|\b(?:after|since|once|when|as\s+soon\s+as|now\s+that|ever\s+since)\s+(?:i|we)(?:'d|'ve|\s+had|\s+have)?"
    rf"(?:\s+\w+ly)?\s+{_PAST}|\bafter\s+(?:a\s+|\w+ing\s)|\bsince\s+(?:the\s+new|\w+ing)|\b(?:i|we)\s+(?:just\s+|simply\s+|only\s+)?(?:had|needed)\s+to\s+\w+"
    r"|\b(?:it|all\s+it)\s+(?:just\s+|only\s+)?(?:needed|took)\s+|\bwith\s+(?:a|an|the|some|new)\s|\bthanks\s+to\s+(?:the|a)\b)"
)
_THING = rf"(?!(?:i|we|he|she|they|you|my|his|her|their|your|it's|that)\b){_WORDS}{{2,80}}?"
_GOOD = (
    rf"(?:<function>(?:\s+\w+ly|\s+fine)?\s+again|(?:is|are|was|were|'s|been|went|came|has\s+been|have\s+been|got)(?:\s+(?:now|all|finally|completely))?\s+<well>"
    r"|(?:has|have)\s+been\s+(?:fine|stable|quiet|good|perfect|solid)\b|(?:stopped|quit|ceased)\s+(?!<functioning>)\w+ing|no\s+longer\s+(?!<function>)\w+|<vanished>"
    r"|(?:doesn't|don't|hasn't|haven't|didn't)\s+(?!<function>|open|close)[^,;.]{2,40}?\s+(?:any\s*more|again|since)|(?:finishes|takes|runs|loads)\s+in\s+\w+)"
)
_FIXES = (
    _make("fix", rf"<the>\s+(?:\w+\s+)?<remedy>\s+(?:for|to|against|of|with)\s+(?P<topic>{_WORDS}{{2,80}}?)\s*(?:\s(?:is|was|were|turned\s+out\s+to\s+be)|:)\s+(?:to\s+|that\s+|by\s+)?{_OBJECT}"),
    _make("fix", rf"<the>\s+(?:\w+\s+)?<remedy>\s*(?:\s(?:is|was|turned\s+out\s+to\s+be)|:)\s+(?:to\s+|that\s+|by\s+)?{_OBJECT}", "work", "past"),
    _make("fix", rf"{_WHO_OR_NONE}(?:<repaired>)\s+(?P<topic>{_WORDS}{{2,80}}?)[,:]?\s+(?:by|with)\s+(?P<object>(?:\w+ing|an?|the|some|new)\s.*)"),
    _make("fix", rf"{_WHO_OR_NONE}(?:<repaired>)\s+(?P<topic>(?:the|our|a|that|this)\s{_WORDS}{{2,80}}?)\s*[,:;–—-]+\s+(?P<object>(?:(?:it\s+)?(?:just\s+)?(?:had|needed|turned)|\w+ing|i\s|we\s).*)"),
    _make("fix", rf"(?:{_WHO}|(?P<dropped>))(?:got|have|brought)\s+(?P<topic>(?:the|our|that)\s{_WORDS}{{2,60}}?)\s+(?:<mended>|to\s+\w+\s+again|back)(?:\s+up)?(?:\s+again)?\s*(?:\s+(?=by\b|after\b|with\b)|[,:;–—-]+\s+)(?P<object>(?:by|after|with|\w+ing|had|it|i|we|all|just)\b.*)"),
    _make("fix", rf"(?:{_SELF}|(?P<dropped>))managed\s+to\s+(?:fix|stop|solve|repair|cure|save|rescue|get\s+rid\s+of|get|avoid|prevent|silence|unblock|restore)\s+(?P<topic>{_WORDS}{{2,70}}?)\s+(?:by|with)\s+{_OBJECT}"),
    _make("fix", rf"(?P<object>\w+ing\s{_WORDS}{{2,60}}?)\s+(?:<improved>)\s+(?P<topic>{_WORDS}{{2,60}}?)\s+(?:back\b|down\s+(?:from|to|by)\b|from\s+\S+|in\s+half|to\s+\d).*"),
    _make("fix", rf"(?:for\s+(?:the|our|a)\s{_WORDS}{{2,40}}?,\s+)?(?P<object>(?:a|an|the|one|some)\s{_WORDS}{{2,60}}?)\s+(?:was|is)\s+all\s+(?:it|that\s+was)\s+(?:took|needed|takes|needs)\b.*"),
    _make("fix", rf"(?P<topic>{_THING})\s+(?:is|are|was|'s|has\s+been)\s+(?:now\s+|finally\s+|all\s+)?(?:resolved|fixed|solved|sorted(?:\s+out)?|gone|cured|repaired|back\s+up)(?:\s+now)?\s*[,:;.–—-]+\s+(?P<object>\S.*\b(?:i|we|was|were|had|needed|turned|just)\b.*)"),
    _make("fix", rf"(?P<who>i|we)\s+(?:<adverb>\s+|\w+ly\s+)*(?P<object>(?:had\s+to\s+\w+|{_PAST})\s[^;]{{2,80}}?)(?:[,;]\s+(?:and\s+)?|\s+and\s+)(?:now|since\s+then)\s+(?P<topic>(?:the|it|all|everything|my|our)\b{_WORDS}{{0,40}}?)\s+\w+\s+(?:\w+ly\s+|fine\s+|like\s+new\s*)?(?:again\b|like\s+new|properly|normally|fine|smoothly|perfectly).*"),
    _make("fix", rf"(?P<topic>{_THING}\b(?:constantly|always|kept|keeps|every\s+time|all\s+the\s+time|regularly|again\s+and\s+again|over\s+and\s+over){_WORDS}{{0,40}}?)\s+until\s+(?:i|we)\s+(?P<object>(?:<adverb>\s+)?{_PAST}\s.*)"),
    _make("fix", rf"(?P<topic>(?:the|our)\s{_WORDS}{{2,50}}?)\s+finally\s{_WORDS}{{3,60}}?\s(?:now\s+that|since|after|once)\s+(?:i|we)\s+(?P<object>\w+\s.*)"),
    _make("fix", rf"<remedy>(?:\s+found)?\s*:\s+{_OBJECT}"),
    _make("fix", rf"(?P<topic>{_THING})\s+(?:is|was|were|got|has)\s+(?:\w+\s+)?(?:been\s+|finally\s+been\s+)?<repaired>\s+(?:by|with)\s+{_OBJECT}"),
    _make("fix", rf"to\s+(?:fix|solve|resolve|get\s+rid\s+of|get\s+around|avoid|repair|stop|work\s+around|cure)\s+(?P<topic>{_WORDS}{{2,80}}?)\s+(?:we|i){_ADVERBS}\s+(?:had\s+to|have\s+to|need\s+to|needed\s+to|just)\s+{_OBJECT}", "work", "past"),
    _make("fix", rf"what\s+(?:\w+ly\s+|in\s+the\s+end\s+)?(?:<repaired>|<worked>|got)(?!\s+(?:for\s+)?me\b)(?:\s+(?P<topic>{_WORDS}{{2,60}}?))?\s+(?:is|was|were)\s+{_OBJECT}"),
    _make("fix", rf"(?P<object>(?!trying|hoping|looking|waiting|wanting|being)\w+ing\s{_WORDS}{{2,90}}?)\s+(?:<adverb>\s+|\w+ly\s+)*(?:(?:<repaired>)\s+(?!(?:me|but|and|or|so|by|with|in|on|to)\b)(?P<topic>\S.*)|<worked>(?!\s+(?:me|us|him|her)\b)(?:\W.*)?$)"),
    _make("fix", rf"(?P<object>{_THING})\s+(?:<adverb>\s+|\w+ly\s+)*(?:did\s+the\s+trick|solved\s+it|fixed\s+it|cured\s+it|sorted\s+it)\b(?!\s+for\s+me).*"),
    _make("fix", rf"(?P<object>\w+ing\s{_WORDS}{{2,90}}?)\s+made\s+(?!me\b|us\b)(?P<topic>{_WORDS}{{2,60}}?)\s+<go_away>"),
    _make("fix", rf"(?P<topic>{_THING})\s+{_GOOD}{_WORDS}*?(?P<object>{_MEANS}.*)"),
    _make("fix", rf"(?P<topic>{_THING})\s+{_GOOD}{_WORDS}{{0,40}}[,:;–—-]+\s+(?P<object>(?:i|we)\s+(?:<adverb>\s+|\w+ly\s+)*(?:had\s+to\s+\w+|{_PAST})\s.*)"),
    _make("fix", rf"(?:after|once|since|when)\s+(?P<object>(?:(?:i|we)\s+{_PAST}|\w+ing)\s{_WORDS}{{2,80}}),?\s+(?P<topic>{_THING})\s+{_GOOD}"),
    _make("fix", rf"(?P<who>i|we)\s+(?:<adverb>\s+|\w+ly\s+)*(?P<object>{_PAST}\s[^;]{{2,80}}?)(?:[,;]\s+(?:and\s+)?|\s+and\s+)(?:(?:now|since\s+then)\s+)?(?:it|the|everything|all)\b{_WORDS}{{0,50}}?\s*{_GOOD}"),
    _make("fix", rf"(?P<who>i|we)\s+(?:<adverb>\s+|\w+ly\s+)*(?P<object>{_PAST}\s[^;]{{2,80}}?)(?:[,;]\s+(?:and\s+)?|\s+and\s+)now\s+(?:the|it|all|everything)\s+\w+.*", "fault", "again"),
)  # fmt: skip
_TASKS = (
    _make("todo", rf"(?:[\w-]+\s+){{0,3}}?on\s+my\s+<list_place>(?:\s+for\s+[\w ]{{3,20}})?\s*[:,–—-]+\s+(?:to\s+)?{_OBJECT}"),
    _make("todo", rf"(?P<who>i|we)(?:'ve\s+got|\s+have|\s+still\s+have){_ADVERBS}\s+(?P<object>(?:an?|the|two|three|four|five|six|\d+|some|my|our|a\s+few|several)\s{_WORDS}{{2,50}}?\s+to\s+(?:finish|write|send|grade|review|read|file|submit|sign|fix|pay|return|deliver|prepare|mark|check|hand\s+in|fill\s+in|answer|order|correct|do)\b.*)", "dated", "day", "term"),
    _make("todo", rf"(?P<dropped>)<promised>\s+(?!myself)(?:[\w'-]+\s+){{1,3}}?(?:to\s+|(?:that\s+)?(?:i'd|we'd|i\s+would|i'll|we'll)\s+)(?!never\b|always\b){_OBJECT}", "dated", "day", "term"),
    _make("todo", rf"(?:(?:<list>)(?:\s+for\s+[\w ]{{3,20}})?\s*[:,–—-]+|my\s+(?:to-?do\s+list|list)\b{_WORDS}{{0,40}}[:,–—-])\s+{_OBJECT}"),
    _make("todo", rf"(?:please\s+)?<remember>\s+(?:to\s+|about\s+|that\s+i\s+(?:have|need)\s+to\s+){_OBJECT}"),
    _make("todo", rf"(?P<who>(?:i|we)(?:'ve|'m|'re)?){_ADVERBS}\s+still{_ADVERBS}\s+(?:<must>|owe)\s+{_OBJECT}"),
    _make("todo", rf"(?:(?P<who>(?:i|we|me\s+and\s+\w+)(?:'ve|'m|'re)?){_ADVERBS}\s+|(?P<dropped>)(?:(?:<adverb>|\w+ly)\s+)*?)(?:<must>)(?:\s+|:\s+){_OBJECT}", "dated", "day", "term", "work"),
    _make("todo", rf"(?P<dropped>)got\s+to\s+{_OBJECT}", "dated", "day"),
    _make("todo", rf"(?P<who>i|we)'ve{_ADVERBS}\s+got\s+to\s+{_OBJECT}", "dated", "day", "term", "work"),
    _make("todo", rf"(?P<who>i|we){_ADVERBS}\s+owe\s+(?!my\b|it\b|everything|a\s+lot|so\b)(?:[\w'-]+\s+){{1,3}}?(?P<object>(?:an?|the|two|three|some|my|our|those)\s+(?!lot|great|favou?r)\S.*)"),
    _make("todo", rf"(?P<who>i|we)(?:'ve)?{_ADVERBS}\s+<promised>\s+(?!myself)(?:[\w'-]+\s+){{0,3}}?(?:to\s+|(?:that\s+)?(?:i'd|we'd|i\s+would|we\s+would|i'll|we'll)\s+)(?!never\b|always\b){_OBJECT}", "dated", "day", "term", "work"),
    _make("todo", rf"(?P<topic>(?:the|our|my|that|this)\s{_WORDS}{{2,60}}?)\s+(?:is|are)\s+(?:still\s+)?<mine>\b.*", "dated", "day", "term", is_whole=True),
    _make("todo", rf"(?P<topic>(?:the|our|my|that|this)\s{_WORDS}{{2,60}}?)\s+(?:is|are)\s+due\s+(?!in\b)\S.*", "dated", "day", is_whole=True),
    _make("todo", rf"(?P<topic>(?:the|our|my|that|this)\s{_WORDS}{{2,60}}?)\s+(?:still\s+)?(?:needs?|has|have|must)\s+(?:to\s+)?(?:be\s+\w+|go\s+(?:out|back|to)|\w+ing)\b.*", "dated", is_whole=True),
    _make("todo", rf"(?P<who>i|we)'ll\s+(?P<object>(?:send|call|ring|email|finish|submit|file|post|return|order|book|pay|write|fix|check|deliver|print|sign|draft|review)\s.*\b(?:by|before)\s.*)", "dated"),
    _make("todo", rf"(?:tomorrow|tonight|today|on\s+\w+day|\w+day)(?:\s+(?:morning|afternoon|first\s+thing))?(?:\s+first\s+thing)?\s*[:–—]\s+(?P<object>(?!i\b|we\b|the\b)\w+\s+\S.*)", "dated"),
)  # fmt: skip
_HINTS: dict[FactKind, str] = {
    "decision": r"\b(?:<decided>|<chose>|<outcome>|<ending>|not|with|took|kept|booked|hired|bought|ordered|extend|extended|signed|is|will|<adopted>|<staying>|<planning>|decision|verdict|choice|call|conclusion|it is|<drop>|decided|agreed|table|final|settled|now on|forward|as of|on)\b",
    "rule": r"\b(?:<norm>|<own_norm>|<nobody>|no|only|<anybody>|<every>|<obliged>|<habit>|aren't|are|first|two|three|both|second|<forbidden>|<always>|don't|you|must|has|have)\b",
    "discovery": r"\b(?:<turned_out>|turned|<found_out>|explains?|explained|wasn't|isn't|not|looking|going|digging|reading|searching|<results>|understand|traced|tracked|pinned|narrowed|know|<fault>|<cause>|along|whole time|<expected>|silently|secretly|<inspected>|apparently|interesting\w*|strange|huh|funny|weird|surpris\w+|blame|culprit|caused|due|thawed|identified)\b",
    "fix": r"\b(?:<remedy>|<repaired>|<worked>|managed|<improved>|took|needed|until|finally|now|<mended>|<well>|<vanished>|again|stopped|quit|ceased|longer|to|made|any ?more|since|trick|finishes|takes|runs|loads)\b",
    "todo": r"\b(?:<list>|<remember>|<must>|owe|<promised>|<mine>|due|needs?|has|have|must|'?ll|list|day|tomorrow|tonight|today|\w+day)\b",
}  # fmt: skip
_CUES = {
    "closure": r"\b(?:<closure>)(?![\w-])",
    "contrast": r"\b(?:<contrast>)(?![\w-])",
    "force": r"\b(?:<force>)(?![\w-])|\bfrom\s+[\w ]{3,20}\s+on\b|\bstarting\s+(?:\w+day|in|on|next|tomorrow)",
    "who": r"\b(?:we|i|our|us)\b",
    "colon": r":",
    "vote": r"\b(?:vote|voted|poll|show\s+of\s+hands|meeting|agreed)\b",
    "deliberation": r"\b(?:after\s+(?:sleeping|thinking|talking|much|all|a\s+long|some\s+back)|slept\s+on|back\s+and\s+forth|weigh(?:ed|ing)|in\s+the\s+end\b.*\b(?:over|instead)|compar(?:ed|ing)|thought\s+it\s+over)\b",
    "for us": r"\b(?:for\s+us|on\s+our\s+side|with\s+us)\b",
    "start": r"^(?:\W*(?:so|ok|okay|right|fine|alright|then|well)\b[\s,]*)*[\w' -]{2,40}\s+it\s+is\b[^a-z]*(?:then)?[.!]*$",
    "place": rf"\b{_PLACE}",
    "bound": r"\b(?:<bound>)\b",
    "strict": r"\b(?:<strict>)\b",
    "stress": r"(?:[,.:;–—-]\s*|\b)(?:<stress>)\b",
    "our": r"\b(?:our|we)\b",
    "owned": rf"\b(?:our|my|house|team|{_PLACE})\b",
    "modal": r"\b(?:must|have\s+to|has\s+to|may|can|need|needs|should|allowed|goes|go|gets|get)\b",
    "exact": r"\b(?:<exact>)\b|\d|n't\b|\w+er\s+(?:when|if|in|on|than)\b",
    "than": r"\b(?:than|as)\b",
    "number": r"\d|\b(?:two|three|four|five|six|ten|twice|half|thirds?|double|percent)\b",
    "evidence": r"\b(?:<inspected>)\b|\bthermometers?\b|\bno\s+wonder\b",
    "culprit": r"\b(?:culprit|to\s+blame|caused\s+by)\b",
    "past": r"\b(?:was|were|turned\s+out)\b",
    "again": r"\bagain\b|\bin\s+seconds\b|\bfine\b|\bwithout\b|\bsince\b",
    "fault": r"\b(?:<fault>)s?\b",
    "term": r"\b(?:<term>)\b",
    "advice": r"\A(?!.*\byou)",
    "day": r"\bon\s+the\s+\d+(?:st|nd|rd|th)\b|\bby\s+the\s+\d|\b\w+day\b|\bnoon\b",
}


@cache
def load_language() -> Language:
    """The signs and cues of English."""

    def match_words(section: str) -> re.Pattern[str]:
        body = join_alternatives(_LEXICON.get_words(section)).replace(r"\-", r"[\s-]")
        return lazy_compile(rf"\b{body}\b(?!')", re.IGNORECASE)

    things = _fill("<named>")
    return Language(
        name="en",
        signs={"fix": _FIXES, "decision": _DECISIONS, "discovery": _DISCOVERIES, "rule": _RULES, "todo": _TASKS},
        hints={kind: lazy_compile(_fill(pattern), re.IGNORECASE) for kind, pattern in _HINTS.items()},
        cues={name: lazy_compile(_fill(pattern), re.IGNORECASE) for name, pattern in _CUES.items()},
        not_said=lazy_compile(_fill(r"\b(?:<not_said>)\b|^\W*(?:if|would|could|maybe|perhaps|say)\b"), re.IGNORECASE),
        starts=list_starts,
        is_said=is_said,
        work=match_words("work"),
        means=lazy_compile(_fill(r"(?:<means>)\b"), re.IGNORECASE),
        named=lazy_compile(
            rf"\b(?:in|for|of|on)\s+(?:the|our|this|my)\s+(?P<name>(?:(?!the\b|our\b)[\w-]+\s+){{1,2}}{things})\b",
            re.IGNORECASE,
        ),
        names=_LEXICON.get_table("names", ","),
    )


_OTHERS = lazy_compile(_fill(r"(?<![\w'-])(?:<others>)(?![\w'-])"), re.IGNORECASE)
_NO_OBJECT = lazy_compile(_fill(r"(?:<no_objects>)\b"), re.IGNORECASE)
_PERSONAL = lazy_compile(_fill(r"(?:<personal>)(?![\w'-])"), re.IGNORECASE)
_NO_ORDER = lazy_compile(_fill(r"(?:<no_orders>)(?![\w'-])"), re.IGNORECASE)
_NO_TASK = lazy_compile(_fill(r"(?:<no_tasks>)\b"), re.IGNORECASE)
_MOMENT = lazy_compile(_fill(r"\b(?:<moments>)\b"), re.IGNORECASE)
_HABIT = lazy_compile(_fill(r"\b(?:<habits>)\b"), re.IGNORECASE)
_SPEAKER = lazy_compile(_fill(r"(?<![\w'])(?:<speaker>)(?![\w])"), re.IGNORECASE)
# What is told to the assistant in the same breath.
_ORDER = lazy_compile(
    r"(?:^|[,;:.!]\s+|\band\s+)(?:please\s+)?(?:write|translate|summari[sz]e|turn|draft|rewrite|explain|give\s+me|tell\s+me|show\s+me"
    r"|help\s+me|make\s+(?:it|this|me)|can\s+you|could\s+you|list)\b",
    re.IGNORECASE,
)
_TO_ASSISTANT = lazy_compile(r"\b(?:you|your|me)\b", re.IGNORECASE)
_ADDRESS = lazy_compile(r"\b(?:keep|bear)\s+(?:that|this)\s+in\s+mind\b", re.IGNORECASE)
_PLACED = lazy_compile(_fill(_PLACE), re.IGNORECASE)
_DONE = lazy_compile(r"\w+(?:ed|ing)\b", re.IGNORECASE)
_ELIDED = lazy_compile(r"\W*(?:haven't|didn't|not|still|nearly|almost|forgot|had)\b", re.IGNORECASE)  # of `I`
_JOINT = lazy_compile(r"\s*(?:both\s+)?(?:agreed|approved|concluded|voted)\b", re.IGNORECASE)  # never said without a subject
_IF = lazy_compile(r"\b(?:if|would|might|could|maybe|perhaps|probably|hopefully|unless)\b", re.IGNORECASE)
_SUBJECT = lazy_compile(r"\b(?:i|i've|i'm|we|we've|we're|our|my|us)\b", re.IGNORECASE)


def is_said(sign: Sign, match: re.Match[str]) -> bool:
    """Whether a clause in the form of a sign says its kind: of the speaker's own, as a fact, and not of a moment."""
    text, found = match.string, match.groupdict()
    value = (found.get("object") or "").strip()
    head = text[match.start() : match.start("object")] if found.get("object") else found.get("topic") or ""
    before = text[: match.start()]
    if found.get("topic"):
        head = f"{head} {found['topic']}"
    if _OTHERS.search(head) or _IF.search(before) or _REPORT.search(before):
        return False
    if found.get("dropped") is not None and (sign.kind == "decision" and _JOINT.match(text, match.end("dropped"))):
        return False
    if found.get("dropped") is not None and match.start() and before.strip(" ,.;:!-") and not _is_open(before):
        return False
    if sign.kind != "todo" and value and _NO_OBJECT.match(value):
        return False
    if "finding" in found and _PERSONAL.match(value):
        return False
    if sign.kind in ("rule", "todo") and not sign.is_order and _ORDER.search(text):
        return False
    if sign.kind in ("fix", "discovery", "decision"):
        return not (sign.kind == "fix" and _IF.search(text))
    if sign.kind == "rule":
        return not _is_moment(sign, match, found)
    return not (_NO_TASK.match(value) or _HABIT.search(text))


_REPORT = lazy_compile(
    r"\b(?:said|says|told|tells|claims?|claimed|thinks?|believes?|wrote|writes|asked|asks|say|read|heard|suggested|recommends?"
    r"|reads|states|mentioned|apparently\s+(?:he|she|they))\b",
    re.IGNORECASE,
)


def _is_open(before: str) -> bool:
    """Whether a clause without a subject has the speaker's behind words that only open it, or behind their own clause."""
    if _ELIDED.match(before):
        return True
    rest = before
    if opening := _OPENING.match(rest):
        rest = rest[opening.end() :]
    if not rest.strip(" ,.;:!-") or (time := _TIME.match(rest)) and not rest[time.end() :].strip():
        return True
    return bool(_SUBJECT.search(rest))


def _is_moment(sign: Sign, match: re.Match[str], found: dict[str, str | None]) -> bool:
    """Whether what looks like a rule is told to somebody, or is done once."""
    rest = _ADDRESS.split(match.string[match.start() :], maxsplit=1)[0]
    if _MOMENT.search(match.string) or (_TO_ASSISTANT.search(rest) and not _PLACED.search(match.string)):
        return True
    order = found.get("order") or ""
    if order and (_NO_ORDER.fullmatch(order) or (sign.is_order and _DONE.fullmatch(order))):
        return True
    return sign.is_order and _SPEAKER.search(match.string[: match.start()]) is not None
