"""The forms in which people refer to earlier work, English and Chinese: classes of verbs, subjects and times, and the
patterns that join them.

A form is a resumption (a verb of taking up again, and a definite object or none), a memory (the speakers and a verb of
having talked, decided or worked, or a thing that both are taken to know), or a time (an occasion before this one that a
thing belongs to). No word of a class is a reference by itself."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from muniment.memory.rules.language.lazy_regex import lazy_compile

ReferenceKind: TypeAlias = Literal["resumption", "memory", "time"]

# English.

_LEAD = (
    r"(?:(?:please|pls|ok|okay|so|hey|hi|hello|now|then|and|also|well|alright|right|great|good|morning|thanks|yes|yeah"
    r"|let's|lets|let\s+us|can|could|would|will|shall|should|may|might|must|we|you|i|i'd|i'll|we'll|i'm|want|like|love|need"
    r"|try|have|to|ready|time|just|going|gonna|help|me|us|today|again|finally|actually|first|next|do|don't|forget)"
    r"[\s,]+){0,8}"
)
_BEGIN = r"(?:^|[.!?,;:\n(—–-]\s*|\b(?:and|then|but)\s+)"
_AGAIN = (
    r"(?:continue|resume|proceed|carry\s+on|keep\s+going|keep\s+at\s+it|go\s+on|revisit|back\s+to"
    r"|pick\s+(?:(?:it|this|that|things|the\s+\w+)\s+)?(?:back\s+)?up"
    r"|(?:get|go|come|jump|circle|switch|turn|dive)\s+back\s+(?:in\s*)?to|return\s+to"
    r"|(?:continue|resume|keep|get\s+back\s+to)\s+(?:work|working|hacking|building|coding|debugging)(?:\s+on)?"
    r"|(?:finish|complete|wrap)(?:\s+(?:up|off))?(?=\s+(?:the|our|my|that|what|those|where)\b))"
)
# The rest of the clause, in which nothing may point at what is at hand.
_REST = r"(?P<rest>[^.!?;\n]{0,200})"
RESUMPTION = lazy_compile(rf"(?i){_BEGIN}{_LEAD}(?P<verb>{_AGAIN})\b(?!['-]){_REST}")
# What is at hand, the course of this talk, or an activity that goes on by itself: nothing to take up again.
NOT_EARLIER = lazy_compile(
    r"(?i)\b(?:this|these|following|below|above|attached|pasted|quoted)\b|^\s+to\b|^\s+(?:\w+ing)\s*$"
    r"|^\s+(?:reading|counting|listing|scrolling|watching|listening|generating|typing|translating|quoting)\b"
    r"|^\s+(?:the\s+)?(?:next|same|main|home|previous|first|last)\s+(?:page|line|screen|menu|step|slide|chapter|item)\b"
    r"|^\s+(?:the|my|a|an)\s+(?:\w+\s+){0,2}(?:sentence|story|poem|sequence|song|paragraph|joke|list|series|pattern|rhyme"
    r"|dialogue|essay|quote|verse|line)\b"
)
# Verbs whose name is a noun elsewhere, too, need a definite object.
NOUN_LIKE = lazy_compile(r"(?i)resume$")
DEFINITE = lazy_compile(
    r"(?i)\s*(?:(?:with|on|from|at)\s+)?(?:$|(?:the|our|my|your|that|those|where|what|it|work|working|last|yesterday)\b)"
)
_TALKED = (
    r"(?:discuss(?:ed)?|talk(?:ed)?|sp[eo]ak|spoke|chat(?:ted)?|sa(?:id|y)|t(?:old|ell)|mention(?:ed)?|ask(?:ed)?"
    r"|explain(?:ed)?|suggest(?:ed)?|recommend(?:ed)?|propos(?:ed?)|promis(?:ed?)|g[ia]ven?|sen[dt]|show(?:ed|n)?)"
)
_SETTLED = (
    r"(?:decid(?:ed?)|agreed?|settled?|ch[o]+se|pick(?:ed)?|plan(?:ned)?|go\s+with|went\s+with|com[e]\s+up\s+with"
    r"|came\s+up\s+with|conclud(?:ed?)|adopt(?:ed)?|set(?:\s+up)?|establish(?:ed)?|land(?:ed)?\s+on|end(?:ed)?\s+up)"
)
_WORKED = (
    r"(?:d[io]d?|done|were|was|been|had|us(?:ed?)|wr(?:ote|ite)|built|build|ma[dk]e|fix(?:ed)?|solv(?:ed?)|resolv(?:ed?)|tr(?:ied|y)"
    r"|start(?:ed)?|beg[au]n|work(?:ed|ing)?|implement(?:ed)?|design(?:ed)?|configur(?:ed?)|nam(?:ed?)|call(?:ed)?|put"
    r"|chang(?:ed?)|f(?:ou|i)nd|leave|left|stop(?:ped)?|finish(?:ed)?|pause(?:d)?|handl(?:ed?)|deploy(?:ed)?|learn(?:ed|t)?"
    r"|debug(?:ged)?|migrat(?:ed?)|refactor(?:ed)?|investigat(?:ed?)|doing|writing|building)"
)
_ANY_OF = rf"(?:{_TALKED}|{_SETTLED}|{_WORKED})"
_ADVERB = r"(?:\s+(?:already|ever|just|originally|actually|previously|once|all|both|initially|finally|last|even|also))?"
_PAST_OF = r"(?:\s+(?:had|have|were|was|'d|'ve)|'d|'ve)?"
_JOINS = (
    r"(?:as|like|than|what|which|where|how|why|when|who|whatever|wherever|that|it|ones?|things?"
    r"|(?:the|that|those)\s+(?:[\w'-]+\s+){1,4})"
)
_MEMORIES = (
    # "the approach we discussed", "where we left off", "what you suggested", "as I told you"
    rf"\b{_JOINS}\s*\bwe{_PAST_OF}{_ADVERB}\s+{_ANY_OF}\b",
    rf"\b(?:as|like|what|which|the\s+(?:[\w'-]+\s+){{1,3}})\s*\bi{_PAST_OF}{_ADVERB}\s+(?:told|mentioned|said|asked|explained|gave|given|sent|showed|shown)\b",
    (
        rf"\b(?:as|like|what|which|the\s+(?:[\w'-]+\s+){{1,3}})\s*\byou{_PAST_OF}{_ADVERB}\s+(?:told|mentioned|said|suggested|recommended"
        r"|proposed|wrote|made|fixed|found|built|gave)\b"
    ),
    # "where were we", "what did we decide", "did we ever fix it", "what was I working on"
    rf"\b(?:did|have|had|were|was|do)\s+we{_ADVERB}(?:\s+{_ANY_OF}\b|\s*[?？,.]|\s*$|\s+on\b|\s+at\b|\s+again\b)",
    rf"\b(?:did|have|had)\s+(?:i|you){_ADVERB}\s+{_TALKED}\b",
    r"\bwhat\s+(?:was|were)\s+(?:i|we)\s+(?:working|doing|up\s+to)\b",
    (
        r"\bwhat(?:'s|\s+is|\s+was|\s+were)\s+(?:still\s+)?(?:(?:the|our|my)\s+)?(?:plan|decision|status|left|open|pending|next\s+steps?"
        r"|conclusion|todos?|to-dos?|open\s+(?:tasks?|items?|points?|todos?))\b"
    ),
    r"\b(?:do|can|could|don't)\s+you\s+(?:still\s+)?(?:remember|recall|know)\b[^.\n]{0,40}\b(?:we|i|our|my|last|when)\b",
    r"\b(?:do|can|don't)\s+you\s+(?:still\s+)?(?:remember|recall)\b",
    r"^\W*(?:still\s+)?remember\s+(?:when|how|what|the|our|that|last|where)\b[^.\n]{0,80}[?？]",
    r"\bremind\s+me\s+(?:what|how|where|why|which|who|of\s+(?:the|our|my|what))\b",
    r"\bi(?:'ve|\s+have|\s+had|'d)?\s+(?:already\s+)?(?:told|given|sent|shown)\s+you\b|\byou\s+(?:already\s+)?know\s+(?:how|what|which|my|that)\s+i\b",
    r"\bthe\s+(?:\w+\s+)?way\s+(?:i|we)\s+(?:(?:always|usually|normally)\s+)?(?:want|like|prefer|do|did)\b",
    r"\bas\s+(?:previously\s+|already\s+)?(?:discussed|agreed|decided|planned|mentioned|promised)\b|\b(?:per|from|after)\s+our\b",
    # how far a piece of work is
    (
        r"\b(?:any|what)\s+(?:news|updates?|progress)\s+(?:on|with|about)\b|\bwhere\s+are\s+we\s+(?:with|on|at)\b"
        r"|\bhow\s+far\s+(?:did|have|are|were)\s+(?:we|i|you)\b|\b(?:follow|circl)\w*\s+(?:up|back)\s+on\b|\bstatus\s+of\s+(?:the|our|my)\b"
    ),
    # what the speaker has told of themselves
    r"\bwhat(?:'s|\s+is|\s+are|\s+was)\s+my\s+\w+(?:\s+\w+)?\s*[?？]|\bwhich\s+\w+\s+do\s+i\s+(?:usually\s+|normally\s+)?(?:use|prefer|like)\b",
    # "as usual", "the same as before", "like last time"
    r"\b(?:as|like|than|the|my|our|per)\s+usual\b|\bas\s+(?:always|before|previously)\b|\blike\s+(?:before|always)\b",
    (
        r"\bsame\b[^.?!\n]{0,40}\b(?:as|like)\s+(?:before|always|usual|yesterday|last|earlier|previously|in|on|for"
        r"|the\s+(?:last|other))\b"
    ),
    # what both are taken to know
    (
        r"\b(?:our|my|the\s+(?:project|team|repo)(?:'s)?)\s+(?:(?!own\b)[\w-]+\s+){0,2}(?:conventions?|rules?|guidelines?|standards?|preferences?"
        r"|policy|policies|decisions?|agreement|usual|style\s+guide|code\s+style|coding\s+style|checklist|todo\s*list|to-dos?|todos?"
        r"|backlog|roadmap)\b"
    ),
    # what fails once more has failed before
    (
        r"\b(?:fail\w*|br(?:eak|oke)\w*|crash\w*|errors?|happen\w*|red|down|flak\w*|stuck|tim(?:es?|ed|ing)\s+out|hang\w*|hung|leak\w*"
        r"|throw\w*|shows?|showing|appear\w*|getting|got|hitting|seeing|back)\b[^.?!\n]{0,40}\bagain\b"
    ),
    r"\b(?:is|are|'s|came|comes|has\s+come)\s+back\b(?!\s+(?:to|in|from|at|on|up|soon)\b)",
)
MEMORY = lazy_compile("(?i)(?:" + "|".join(_MEMORIES) + ")", re.MULTILINE)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_BEFORE = (
    rf"(?:yesterday(?:\s+(?:morning|afternoon|evening))?|last\s+(?:time|session|week|month|night|sprint|year|{_DAY})|the\s+other\s+day"
    rf"|(?:a\s+few|a\s+couple\s+of|two|three|several|some|\d+)\s+(?:days|weeks|months|sessions)\s+ago|earlier\s+(?:today|this\s+\w+)"
    rf"|this\s+morning|(?:on\s+)?{_DAY}|(?:the\s+)?(?:last|previous|earlier|prior)\s+(?:session|conversation|chat|discussion|meeting|call))"
)
_TIMES = (
    r"\b(?:the\s+)?last\s+time\b(?!\s+(?:i\s+(?:went|was)|he|she|they)\b)",
    (
        r"\b(?:last|previous|earlier|prior|past|other)\s+(?:[\w-]+\s+)?(?:session|conversation|chat|discussion|task|work|attempt|decision"
        r"|project|thread|assignment)s?\b"
    ),
    rf"\bwe\b[^.?!\n]{{0,60}}\b(?:{_BEFORE}|before|earlier|previously|already)\b|\b{_BEFORE}[\s,]+we\b",
    rf"\b(?:the|that|those|our|my)\s+(?:[\w'/-]+\s+){{1,4}}(?:from|of|since)\s+{_BEFORE}\b",
    rf"\b(?:from|since)\s+(?:{_BEFORE}|before|earlier)\s*(?:$|[,.!?])",
    r"\bback\s+(?:then|when\s+(?:we|i)|in\s+(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|spring|summer|autumn|fall|winter|20)\w*)",
    r"\b(?:yesterday|last\s+(?:week|month|night|sprint))['’]s\s+(?!(?:news|weather|game|match|date|price|paper)\b)\w+",
    r"\b(?:the|that|our|my)\s+(?:unfinished|half-finished|half-done|interrupted|remaining|pending|open)\s+\w+",
)
TIME = lazy_compile("(?i)(?:" + "|".join(_TIMES) + ")")

OCCASION = lazy_compile(rf"(?i)\b(?:from|of|since|on)?\s*{_BEFORE}(?:['’]s)?\b|\b(?:before|earlier|previously|again)\b")

# Chinese.

_LEAD_ZH = (
    r"(?:请|麻烦|帮我|帮忙|那么?|好的?|嗯|行|我们|咱们?|我|你|来|先|"
    r"想|要|可以|能不能|能|今天|现在|接下来|再|就|让|对了|下面|[，,\s])*"
)
_BEFORE_ZH = (
    r"(?:上次|上回|上一次|上一回|前一次|昨天|昨晚|前天|前几天|前两天"
    r"|上周|上星期|上个月|先前|此前|早前|早些时候|那天|之前|以前)"
)
_VERB_ZH = (
    r"(?:讨论|说|聊|谈|讲|提|决定|定|商量|约定|约|做|改|写|修|用|选|试|搭|配|解决|处理|留|停|弄|搞|建|设计|实现|采用|敲定|安排|排查|调|查"
    r"|规划|计划|遇到|碰到|修复|推荐|建议|给|记|卡|进行)"
)
_AGAIN_ZH = r"(?:继续|接着|接上|恢复|回到|接回|拾起|捡起来?|重新拾起|重新开始|往下做|延续)"
RESUMPTION_ZH = lazy_compile(
    rf"(?:^|[。！？!?，,；;：:\n\s]){_LEAD_ZH}(?P<verb>{_AGAIN_ZH})(?P<rest>[^。！？!?；;\n]{{0,100}})"
)
NOT_EARLIER_ZH = lazy_compile(
    r"[这下以][面个段篇下]?(?:内容|文件|文章|文本|段|篇|面|下)|以下|上面|^(?:教育|深造|下一[页步章个]|首页|主页|(?:往下)?(?:阅读|念|读|数|翻译|播放|看|说|讲))"
)
# These two also say what comes next or where somebody goes: they need an object that is known.
THEN_ZH = lazy_compile("接着|回到|恢复")
DEFINITE_ZH = lazy_compile(
    rf"\s*(?:$|吧|来|把|从|{_BEFORE_ZH}|那[个次边段]?|我们|咱们|原来|未完|没[做写完]|做|写|弄|搞|改|干|聊|讲|往下|剩)"
)
_MEMORIES_ZH = (
    rf"(?:我们|咱们?|你我)[^，。！？\n]{{0,10}}?{_VERB_ZH}(?:过|到哪|到了哪|好的|下来?的|完的|出来?的|的是|了(?:什么|哪|多少|几|吗))",
    rf"(?:我们|咱们)(?:{_BEFORE_ZH}|当时|最后|到底|后来|最终)[^，。！？\n]{{0,12}}?{_VERB_ZH}",
    rf"(?:说|讲|谈|约|商量|定)(?:好|定)了?的|定下来的|{_VERB_ZH}过的|讨论过",
    rf"我(?:{_BEFORE_ZH}|跟你|和你|有没有|是不是)[^，。！？\n]{{0,8}}?(?:说|讲|提|告诉|交代|要求|问)",
    rf"(?:以前|之前|曾经|早就|已经)[^，。！？\n]{{0,6}}?{_VERB_ZH}过",
    rf"(?:你|您){_BEFORE_ZH}[^，。！？\n]{{0,8}}?{_VERB_ZH}",
    r"还?记(?:不记)?得[^。！？\n]{0,40}(?:吗|么|不|[?？])|还记得|(?:提醒|告诉)我一?下?(?:我们|上次|之前)",
    r"(?:到|做到|进行到|讲到|写到|停在|卡在)(?:哪里?|哪儿|哪一?步|什么(?:地方|程度))(?:了|来着)",
    r"(?:进度|进展|做得|弄得|写得|搞得)[^，。！？\n]{0,4}(?:怎么样|如何|到哪)|按照?约定|如前所述",
    r"我(?:叫|喜欢|常用|住|偏好|习惯)[^，。！？\n]{0,6}(?:什么|哪)",
    r"来着\s*[?？。]?\s*$",
    rf"老样子|老规矩|老问题|照旧|一如既往|(?:跟|和|与|同|像|按照?|照)(?:着)?(?:{_BEFORE_ZH}|往常|平时|平常|惯例|老)",
    r"(?:我们|咱们|团队|项目|我)的(?:\w{0,4})(?:规范|约定|惯例|规矩|规则|决定|偏好|习惯|风格指南|待办|清单|计划)",
    r"还(?:有|剩)(?:什么|哪些|多少)[^，。！？\n]{0,6}(?:没|待|要|未|任务|待办|事)?(?:做|办|完成|写|弄|任务|待办|事|活)",
    r"[又再](?:次)?(?:失败|报错|挂|崩|出错|坏|红|不行|超时|卡|出现|犯|断|炸|报|遇到|碰到|不通过)|同样的(?:错误|问题|报错|毛病)",
)
MEMORY_ZH = lazy_compile("|".join(_MEMORIES_ZH))
_TIMES_ZH = (
    r"上次|上回|上一次|上一回|前一次",
    r"那(?:次|回|时候?)[^，。！？\n]{0,6}(?:也|怎么|为什么|是|的|用|定|说|我们)|当时[^，。！？\n]{0,10}(?:怎么|为什么|谁|什么|说|定|用|选|解决|决定)",
    r"(?:昨天|昨晚|前天|前几天|前两天|上周|上星期|上个月|那天)(?:我们|咱们|的(?!天气|新闻|比赛)|那[个次段]|没|剩|做|写|改|聊|讨论|说|弄|搞|修|定|卡|停)",
    r"(?:^|[，,。；;：:！!？?\s]|我们|咱们|你|我|跟|和|像|按|照|用|把|着|续|到|同|与|是|在用)\s*(?:之前|以前|先前|此前)(?:的|那|说|做|定|讨论|聊|用|写|改|弄|没|选|决定|提|遇|修|讲|我们)",
    r"(?:没|未)(?:做|写|弄|改|完成|搞|处理|解决|修)完?的|没完成的|未完成的|剩下的(?:工作|任务|部分|活|那)",
)
TIME_ZH = lazy_compile("|".join(_TIMES_ZH))
OCCASION_ZH = lazy_compile(rf"{_BEFORE_ZH}的?|^[吧来把做写弄搞改干聊讲]")
