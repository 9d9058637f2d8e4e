"""English verbs whose forms stemming does not bring together: who asks what somebody bought says "did they buy".

Only such as say something: what is given, made or kept is asked for with any verb. A form that is more often another word
(`bit`, `found`, `left`, `felt`) is not here."""

from __future__ import annotations

from functools import cache

from muniment.memory.rules.language import tokens

_VERBS = """
begin began begun; bite bitten; blow blew blown; break broke broken; bring brought; build built; burn burnt; buy bought
catch caught; choose chose chosen; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven
eat ate eaten; fall fell fallen; feed fed; fight fought; fly flew flown; forget forgot forgotten; freeze froze frozen
grow grew grown; hang hung; hide hid hidden; hold held; lead led; learn learnt; lend lent; lose lost; meet met; pay paid
ride rode ridden; ring rang rung; rise rose risen; run ran; sell sold; send sent; shake shook shaken; shine shone; shoot shot
show shown; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend spent; stand stood
steal stole stolen; stick stuck; sting stung; strike struck; swear swore sworn; sweep swept; swim swam swum; teach taught
tear tore torn; throw threw thrown; understand understood; wake woke woken; wear wore worn; win won; write wrote written
"""


def list_verb_forms(term: str) -> tuple[str, ...]:
    """A keyword and those that are the same verb, itself first."""
    return (term, *_load_forms().get(term, ()))


@cache
def _load_forms() -> dict[str, tuple[str, ...]]:
    verbs = [dict.fromkeys(map(tokens.stem_word, verb.split())) for verb in _VERBS.replace("\n", ";").split(";")]
    return {one: tuple(other for other in verb if other != one) for verb in verbs for one in verb}
