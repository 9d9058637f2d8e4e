"""The forms of Chinese clauses that say how something was repaired: what was done, and that it works again."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import END, OBJECT, WHO, WORDS, make_sign

FIXES = (
    make_sign("fix", rf"(?P<topic>{WORDS}{{2,30}}?)的?<remedy>(?:就)?(?:是|：|:){OBJECT}"),
    make_sign("fix", rf"<repair>(?P<topic>{WORDS}{{2,30}}?)的<remedy>(?:就)?(?:是|：|:){OBJECT}"),
    make_sign("fix", rf"{WHO}<adverb>*(?:通过|靠|用(?!户))(?P<object>{WORDS}{{2,40}}?)<repaired>(?P<topic>{WORDS}+).*"),
    make_sign(
        "fix",
        rf"(?P<topic>{WORDS}{{2,30}}?)<adverb>*是?(?:通过|靠|用)"
        rf"(?P<object>{WORDS}{{2,40}}?)<repaired>的?了?{END}.*",
    ),
    make_sign(
        "fix",
        rf"(?P<topic>{WORDS}{{2,30}}?)(?<![不没])(?:<well_again>|<repaired>)[，,：:；;。！!\s]+"
        rf"(?P<object>{WORDS}{{0,12}}?<act>\S.*)",
    ),
    make_sign(
        "fix",
        rf"(?P<lead>{WORDS}{{0,14}}?)(?P<object><act>.{{2,60}}?)(?:[，,]|就|以后|之后|后|才|再|然后"
        rf"|结果){WORDS}{{0,16}}?(?<![不没])(?:<well_again>|<repaired>){END}.*",
    ),
    make_sign(
        "fix",
        rf"(?P<lead>{WORDS}{{0,14}}?)(?P<object><act>.{{2,60}}?)(?:就|就再也|再也|后来就)(?:没再|没有再|不再"
        rf"|不)(?!<function>)\S{{1,6}}了?{END}.*",
    ),
    make_sign(
        "fix",
        rf"(?!我|他|她|你|雨|雪)(?P<object>{WORDS}{{0,10}}?[^了，,；;。]{{1,3}}了(?!我|他"
        rf"|她){WORDS}{{1,20}}?(?:之后|以后|后)?)[，,]?\s*(?P<topic>{WORDS}{{0,12}}?)就(?:没再|没有再|不再"
        rf"|不)(?!<function>|<bodily>)\S{{1,6}}了{END}.*",
    ),
    make_sign(
        "fix",
        rf"(?!他|她|你|雨|雪)(?P<object>{WORDS}{{0,10}}?(?:[^了，,；;。]{{1,3}}了{WORDS}{{1,20}}?"
        rf"|{WORDS}{{2,24}}?(?:之后|以后|后))(?:之后|以后|后)?)[，,]?\s*(?P<topic>{WORDS}{{1,14}}?)"
        rf"(?:又能\S{{1,4}}了|恢复正常|正常了|再没{WORDS}{{1,6}}过|再也没{WORDS}{{1,6}}过?"
        rf"|一下子?就好了){END}.*",
    ),
    make_sign(
        "fix",
        rf"(?P<topic>{WORDS}{{2,30}}?)(?:搞定了|解决了|修好了|好了|治好了)[，,：:；;]+\s*"
        rf"(?P<object>\S.{{3,60}}?(?:就行|就可以了|就好了|就好|即可|就没事了|所致|搞的鬼)){END}.*",
    ),
    make_sign(
        "fix",
        rf"(?P<object>{WORDS}{{2,40}}?)(?:之后|以后|完|后)[，,]?"
        rf"(?P<topic>{WORDS}{{0,20}}?)就<well_again>{END}.*",
    ),
    make_sign("fix", rf"(?P<topic>{WORDS}{{2,30}}?)只?要(?P<object>{WORDS}{{2,40}}?)就<well_again>{END}.*"),
)
