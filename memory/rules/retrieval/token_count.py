"""How many tokens a text costs at most, whichever of the current byte-pair vocabularies the model has.

The vocabularies are those of GPT-4, GPT-4o, Llama 3, Qwen 2 and 3, DeepSeek, Gemini, and the published one of Claude.
What follows from all of them: a digit, a mark or a byte is at most one token; nearly every two small letters are a pair
that is merged, so that of a word no two pieces in a row are single letters: at most two tokens for three letters. Common
words cost much less, hence the words below, whose costs were measured in every one of these vocabularies.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import WordCache

# Words of one token after a space, and of at most two elsewhere or with a capital. Their group says more of them: one token
# `alone`, that is without a space, or with a `capital` after one, or with an ending after one. With another usual ending
# it is two there; a `fixed` word has none.
_WORDS: Mapping[str, str] = {
    "alone capital s ed ing": (
        "account act add age allow answer apply ask attack back block bond book bound brand burn call car care cause "
        "change check claim clear click close collect color command comment compare complete condition connect "
        "consider construct contact contract convert copy count cover create date document double dream edit end enter "
        "estimate expand export face fail figure file fill film filter fire float flow follow force form forward fund "
        "gain generate grade grant hand handle head help hope host house implement import include inform interest "
        "issue join kick kill label land last le learn like limit line link list listen live load lock look love mark "
        "me model mount move name need note number offer open order own pack pair park perform pick place plant point "
        "pool position post present print project provide pull question quote race range rank rate re record remember "
        "repeat report represent request rest return review reward roll round rule sample save scale score screen "
        "select sense show sign sort sound space star support talk target test time tour track trade train trust try "
        "turn type use view visit vote wait walk weight wire work"
    ),
    "capital s ed ing": (
        "assume battle capture combine continue crack cry define design detail determine develop divide download "
        "finance flood guide jump market measure monitor prepare prevent protect pump register schedule seal season "
        "serve share shift spell start state store supply thread transform travel treat trigger wonder"
    ),
    "alone capital ed ing": (
        "adapt address adjust clean conduct cool correct direct dry express fix focus found heat index install invest "
        "lower match miss mix not pass please press push rush slow switch touch us wash watch we"
    ),
    "alone capital s ed": (
        "aid amount arm author base be center coin colour commission contest credit culture di eye fine frame ground "
        "hat hook impact li part peak picture power pre reply respect root see single skill title unit value"
    ),
    "alone capital s ing": (
        "bank bear beat bee bill bit board break camp case cast come cop de do draw drive fall farm feed fight find "
        "flower function game give hang hide hold image keep know lead light los make mean mine parent poll profile "
        "read reason rise route send sing take tell wind write"
    ),
    "s ed ing": (
        "affect aim appear argue arrive assist belong carry coat concern consist contain contribute couple decide "
        "declare decline deliver demand deny depend discover examine exist explain explore extend identify ignore "
        "indicate lack lift mention occupy operate promote reflect regard relate remain remind retain scream seat seem "
        "smile suggest vary warn worry"
    ),
    "capital ed ing": (
        "approach bake coach cook delete draft finish gather guess hack imagine launch march obtain paint pitch shock "
        "twist wish"
    ),
    "capital s ed": (
        "award debate fear gift guard honor interview matter murder protest recall station subject term thank "
        "transport tweet"
    ),
    "capital s ing": (
        "bomb bring broadcast deal drink feel grow hear meet network pound shoot signal speak sport spread stand "
        "stream think throw tower trail"
    ),
    "alone capital ing": (
        "box branch buy catch even fast fish foot go have inn lay long mail mate near pay play research say sleep st "
        "the will"
    ),
    "alone capital s": (
        "action actor ad agent al an angel animal app apple application area argument art article artist as assessment "
        "baby bag ball band bar basic begin bell bet bird black blog boat body bone boot border brain building button "
        "ca can cap card cat category cell cent centre chain chair chapter character chart chip city client club co "
        "collection company computer connection construction content control core cost course court cup custom "
        "customer cut danger data direction dog door down driver drop drug editor effect egg element email energy "
        "entry environment equal error event expression extension fact factor factory failure family fan father field "
        "final fit flag flat flight floor food forest friend front future ga gate gear general get girl goal god good "
        "green gun ha hall he heart height her hi hill history hit hole home hour http human idea in information "
        "instruction instrument is it job joint kid kind king la lane law leader leg les let letter level lip loan "
        "local location lot machine male man map master material men metal mile mill million mind mission mode mother "
        "motor nation net new night no non object odd office oil one operation option origin other our out owner page "
        "pain panel paper partner party path patient payment per period person pet phone photo plain plan plane planet "
        "plate platform player plot pop port prime pro problem procedure product production protein put quarter rain "
        "refer relation resolution right risk river road rock role room rose row run salt san sea section selection "
        "session set ship shop short shot side sit site skin sky solution son song specific speed spot stop sub super "
        "table task tea ten text that tip ton tool top topic total town tree under union up user video vision volume "
        "wa wall war water week well wheel white win window wing winner wood word worker writer yard ye year your zero"
    ),
    "ed ing": (
        "acquire adopt attend bore breath compete crush defeat defend dress earn heal investigate knock locate marry "
        "organize publish qualify reach recover relax restore retire settle stretch tune"
    ),
    "s ed": (
        "ally encounter favor fee hate intend leak photograph recommend rent repair ruin screw smell suck suit talent "
        "tend tire wound"
    ),
    "capital s": (
        "addition adult adventure airport army battery beginning budget cable cancer candidate career chamber champion "
        "chicken classic comic communication competition consumer convention corp county crew crime death debt "
        "decision definition department description development director discussion disorder distribution division "
        "dollar duty economic economy edition election electronic expert facility fellow firm foundation garden "
        "generation government heaven institution investigation investment lady manager member memory minister moment "
        "month motion mountain movement multiple novel ocean organisation organization population president pressure "
        "prison professional professor protection publication reaction reform region regulation relative religion sale "
        "scene secret setting settlement sister situation soul spirit spring standard step stock storm story strategy "
        "string student style sugar tank teacher team their theme theory thing thought thousand ticket tradition "
        "transfer transition treatment trial trip visitor wine"
    ),
    "alone s": "aspect ear eat finger folk fuel ideal lesson portion profit ride sell stick wear",
    "alone capital": (
        "about absolute active adam additional after again air all along am among and any anything are around at "
        "attention bad basis bay been below ben best better big blind blood boost born boss both boy boys bright bus "
        "but by cannot cash class classes cold common complex corn cream creation dad dark day days dead did done dr "
        "due during each easy ed eight elect else employment empty ever every evil ex facebook fair false far fat few "
        "first five for former four fox free fresh from full fun gender getting global gold gone got grand great "
        "groups had half happy hard heavy hell hello here hero hey high him ho hot how ice if ill im inc internal into "
        "iron items jack just key known large late later left legal life lord lost low mad made main many marine mass "
        "max may media mental mess met mid middle might mobile mom more most mr much music must my national native "
        "never next nice nine none nor normal now of off often oh ok old on once or over past perfect personal plus "
        "prior private progress public pure quick quite ran random rather ray ready real received required rich roman "
        "running safe said sam same sat seen self sent shall she simple since six small smart so soft solid some soon "
        "sorry success such sun systems tax tech than then there they this thus tiny to today tom too two und unique "
        "until upon upper van very way weather web went were west what when while who why wide wild with within "
        "without woman won wrong yet you"
    ),
    "alone capital fixed": (
        "ability above accept access activity actual actually advanced agency almost already also although always "
        "analysis annual another anti aside assembly attempt available average avoid away background balance because "
        "before between birth blue bottom bridge build built business central channel charge chemical chief child "
        "children choice choose christ church code committee context could creative critical cross current cycle daily "
        "die distance does early earth edge either electric engine english ensure era escape especially example "
        "examples except exchange exercise expect expected extra fake female fly given glass google group growth "
        "health horse hospital identity important income increase individual industry initial inside instance instead "
        "insurance john journal lake language league leave length library lie little message method money movie "
        "natural nature negative nothing notice official online only orange original otherwise outside peace people "
        "percent performance perhaps phase physical piece policy positive possible practice previous price primary "
        "process program proof properties property quality radio raise really reference release remove replace "
        "requires resources school search series services seven size social source split square stone surface system "
        "unless update urban usually via voice want wave website whatever where whether which whole wife women world "
        "worth would written yellow zone"
    ),
    "s": (
        "admit apartment appointment belief billion blow bottle breed cheer combination conclusion contrast "
        "contribution decade emotion employer expectation feeling hurt incident intention interaction journalist knee "
        "lose manner meal minute occasion occur pilot prefer requirement resident sector seek shoe shoulder sight "
        "slide spend tape tear toward trend trick truck victim"
    ),
    "capital": (
        "according administration affairs against ancient approved beach bowl broad brothers brown came captain "
        "certain chest climate coast congress constitution corporate crown dear deep delivery depression diet "
        "different digital dinner east education educational environmental equipment everything exact faith fantasy "
        "flying foreign forget frank freedom gay glad golden golf guy higher hunt increased indeed independent "
        "internet introduction labor labour luck lucky magic major management maximum mayor meat medium methods milk "
        "minimum minor moon morning nobody nuclear overall police poor popular queen rapid recent regional regular "
        "republic revolution sad saw says schools scientific seeing several sharp sick silver simply sir snow sold "
        "solo sources squad staff statistics status stay steam still strange stress strong stuff summer sure survey "
        "sweet taken television till tonight traditional traffic trump understanding vice warm winter young"
    ),
    "capital fixed": (
        "academic across advance aircraft album alcohol alternative anyone anyway apart apparently approximately "
        "assistance assistant attorney audience authority basically behavior behind besides beyond broken brother "
        "camera campaign capital century chairman challenge chance civil coffee college commercial community concept "
        "conference conflict conservative countries country crazy criminal cultural currently damage dance defense "
        "degree democratic despite device devices difference disease display district doctor drama earlier eastern "
        "effective emergency employees enemy enjoy episode estate europe eventually everybody everyone evidence "
        "executive experience extreme fault favorite feature features federal festival fifth financial football "
        "fourth further giant goes greatest historical hopefully hotel however hundred industrial institute "
        "intelligence international island journey judge justice kingdom kitchen knowledge liberal literature "
        "magazine marriage maybe medical memory military ministry modern museum neither north northern obviously okay "
        "originally parliament planning political politics potential preferences pretty previously prince prize "
        "probably programme promise purchase purpose rare reality receive reduce representative reserve resistance "
        "response restaurant result revenue royal rural safety science second secure security senator senior service "
        "shape shopping should significant similar smoke society software someone something sometimes south special "
        "species specifically speech stadium stage steel storage straight street strength strike studio successful "
        "supreme temperature therefore these third those though three through together tomorrow tournament true truth "
        "twenty twitter typical typically ultimately unable unfortunately universe university useful valley various "
        "victory village wake welcome western whenever yeah youth youtube"
    ),
    "alone": (
        "able ago bare cloth consistent etc felt fully grown hair healthy heard held ii least lies lying neck paid "
        "pieces played plays pm proper quiet raised them tight tv vs ways weak"
    ),
    "alone fixed": (
        "activities agree alone aware awesome confidence confirmed controlled essential latest matches mouth movies "
        "onto require usual whose"
    ),
    "": (
        "accurate afford ahead alive angry announced attract began bigger busy butt calm caught cheap cheat combat "
        "cute cutting damn debut dont dying efforts excellent excited expansion fantastic feet fell forever formal "
        "frequent grew guys huge illegal impress improved individuals involved jail kinda knew largest lol loud lunch "
        "meant narrow opposition permanent piss pray produced programs proposed putting realized reduced released "
        "removed retail scare seconds severe shame shown shut sitting slight spent steal stuck supposed teach told "
        "took troops wants weapons whom winning worst wow"
    ),
    "fixed": (
        "accident advantage advice afraid afternoon agreed anywhere appointed attitude authorities believe biggest "
        "birthday blame bought boyfriend broke brought businesses capable capacity careful chosen clothes committed "
        "communities constraints coverage daughter definitely describe desire difficult discuss domestic drunk dude "
        "effort enough entire everywhere exclusive expensive experienced experiences familiar famous fashion follows "
        "funny gave goals gonna gotta highest honest immediately importance impossible improve increasing influence "
        "injury instructions interests itself joke kept laugh lawyer leaves leaving literally maintenance managed "
        "massive noticed numerous obvious opposite particular personality personnel perspective pinned planned plenty "
        "policies possibly powerful presence prices produce proud prove realize reasonable recalled receiving "
        "referred relevant religious semantic sentence serious seriously shirt somebody somewhere spoke "
        "suicide surgery surprise taste taught taxes terrible threat tone tough truly twice understand understood "
        "variety violence wanna wanted waste wedding weekend weird worse wrote yesterday yourself"
    ),
}
# Names, of one token with a capital after a space, and of at most two elsewhere.
_NAMES = (
    "africa african alex america american americans april asia asian august australia australian boston brazil britain "
    "british california canada canadian charles chicago china chinese chris christian christmas clinton conversation "
    "council daniel david december england entertainment european february florida france french friday george german "
    "germany governor harry henry india indian iran ireland israel italian italy jackson james january japan japanese "
    "jersey jesus jewish joe johnson jones july june korea lee london louis martin mary mexico michael mike monday "
    "muslim november obama october officers ohio pacific paris paul republican richard robert russia russian saturday "
    "scotland scott scottish secretary senate smith soldiers southern spain spanish statement steve studies study "
    "suddenly sunday taylor texas thomas thursday tony tuesday uk wales washington wednesday william williams york"
)
# Characters outside ASCII that are one token at most, and two; any other is as many as it has bytes.
_ONE = (
    "‐‑–—―‘’“”„•′、。「」【】あいうえおかがきくけこさしすせそただちってでとどなにのはばまみめもよらりるれ"
    "わをんアィイウェエオカキクグコサシジスセタッテデトドパフブプマムメュョラリルレロン・ー一万三上下不与专业东个中串"
    "为主么义之也书了事二于五些交产京人今从他付代以们件价任份企优会传但位体何余作你使例供保信修元先入全公共关其具内册"
    "再写出击分列则初利别到制力功加务动包化北区十华单南即参及反发取变口只可台右号司合同名后向否含启和四回国图土在地场"
    "处备复外多大天失头如子字存学安完定实客家容密对导将小少尔就州工左已平年并广开异式引当录形影径待得微您成我或户所手"
    "打找技投报排接推提效数整文料断新方族无日时明易星是更最月有服期未本机来查标样核格模止正此步注流海清游点片版物特生"
    "用由电画界登的监目直相知码示社种科秒称移第类系组经结给络统编能自至英行表西见视角解计认议记论设证试话询该详语误说"
    "请读身辑输达过运近还这进连述退送选通速都配释里重量金销错键门闭问间陆限院除音页项验黑가값개게경고과구그기나내니다"
    "당대동되된리만문번보복부사상서성세수시식야에여열요용우원으은을음의이인일입자작장재정제주지째하한할해호화환！（）"
    "，－．／０１２３４５６７８９：；＞？～"
)
_TWO = (
    "‒‖‚‛‟†‡‣․‧‰‵‸‹›※‽‿〃〄々〆〇〈〉《》『』〒〓〔〕〖〗〘〙〚〛〜〝〞〟〠〡〢〣〤〰〼〽ぁぃぅぇぉ"
    "ぎぐげござじずぜぞぢつづぬねぱひびぴふぶぷへべぺほぼぽむゃやゅゆょろゎゐゑゔゝゞァゥォガギケゲゴザズゼソゾダチヂ"
    "ツヅナニヌネノハバヒビピヘベペホボポミモャヤユヨヮワヰヱヲヴヵヶヽヾ丁七且世丝丢两严丰临丹丽举久乌乎乏乐乘九习乡"
    "买乱予争云互亚亡亦享亮亲亿什仅介仍令仪伊伍休众伙伟伤伦伯估伴伸似低住佛佳依侧侵便促俄俗倍倒候借债值倾假偏做停健偶"
    "偷偿储像允兄充光克免党八六兰兴兵典养兼兽冒军农冠冰冲决况冷净准减几凡凭凯刀切刊刑划刘刚创判券刺刻剂前剧剩副办助努"
    "励劳势勇勒医千升午半协卖博占卡卫印危却卷厂厅历厉压厌厚原去县又友双受叙叛古句另叫召史叶吃各吉吓吗吧吨听吸呀呈告员"
    "呢周味呼命品哈响哥哦哪哭哲唐售唯唱商啊啦善喜喝器因团园困围固圆圈圣圳址均坏坐块坚坛坡坦型埃城域培基堂堡塑塔塞填境"
    "墓墙增墨士声夏夜够太夫央夺奇奉奋奏奖套奥女奴奶她好姆始姐姑姓委孕孙季孤孩宁它守宗官宜宝审宣室宪宫害宽宾富察寻封射"
    "尊尚尝尤尺尼尽局屁层居届屋展属山岁岛岸川巡巧巨差己巴币市布师希帐帝带席帮常幅幕干幸幻幼庄庆床序库应底店府废度座庭"
    "康延建弃弄弟张弱弹强归彩役彻彼往征很律徒德心必忆忍志忘忙忠快念忽怀态怎怒怕怖思急性怪总恋恐恢恨恩息恶情惊惠惨惯想"
    "愈意感愿戏战截戴房才扎托执扩扫扬扰批承把抓抗折抢护抱抵抽担拉拍拒拖招拜拟拥择括拿持挂指按挑挥捕损换据授掉掌探控措"
    "描插握揭援搜摄摆摇摩撒撤播操支收改攻放政故敌敏救教敢散敦敬斗斯施旁旅旗既旦旧早映春昨显晚晨普景智暂暗暴曲曼曾替朋"
    "朗望朝木末术杀杂权李材村束条杯杰松板极构析林果枪架某染树校根案档桥检棒森楚楼概次欢欧欲款歌武死殊残殖段毁母每毒比"
    "毕毛毫民气水永求汇汉江污汽沉沙没河油治沿法泛波泰泽洁洋洗洛洞津洲活派测济浙浪消涉润涨液深混渐温港湖湾源满漂演漫火"
    "灭灯灵灾焦然照爆爱父爷爸牌牙牛状率王玛玩环现班球理甚田甲申男留略白百皆皇皮益盖盗盘盛盟盾省看真眼着睡督石础硬确碍"
    "碰礼祖祝神票禁福离秀私秘租积程税稳究穷空穿突窗立站竞竟章童端笑笔符等筑答策筹签简算管箱篇籍米粉粮精素索紧累红约级"
    "纪纯纳纵纷纸纽线练细织终绍绑绕绘绝继绩绪续维综绿缓缘缩缺网罗罚罢罪置署美群老考者而耳耶聊职联聚肉股肤肥肯育胁背胜"
    "胞胡致舞航般舰船良色艺艾节花苏若苦苹范草荐荡荣药荷获菜菲营萨落藏虑虚虽血街衡衣补袋被袭裁裂装要覆观规览觉触言誉警"
    "订讨让训讯讲许访评识诉词译诗诚诞诸诺课谁调谈谋谓谢谷象豪貌贝负贡财责败账货质贫购贯贴贵贷贸费资赌赏赖赚赛赞赢走赶"
    "起超越趋趣足跑距跟跨路跳践车轨转轮软轻载较辆辈辖辞辩辱边迁迅迎返远违迟迪迫迷迹追适逃透逐递途造逼遇遍道遗遭遵避邀"
    "那邦邮邻部采野针钟钢钮钱铁银链锁锦镇镜长闻阅队防阳阴阵阶阻阿附际陈降险陪陷随隐隔障隶难雄雅集雇雨雪零雷需震露青静"
    "非靠面革顶顺须顾顿颁预领频颗题颜额风飞食馆首香马驱驶驻驾高黄黎默龙＂＃＄％＆＇＊＋＜＝＠ＡＢＣＤＥＦＧＨＩＪＫＬ"
    "ＭＮＯＰＱＲＳＴＵＶＷＸＹＺ［＼］＾＿｀ａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ｛｜｝"
)

_ASCII = lazy_compile(r"[\x00-\x7f]+")
_LETTERS, _HIGH = string.ascii_letters.encode(), bytes(range(128, 256))
_NOT_MARKS = _LETTERS + _HIGH + b" "
# Letters stay, a space is a `_`, which then begins the word behind it, and anything else parts words.
_CUT = bytes(byte if byte in _LETTERS else 95 if byte == 32 else 32 for byte in range(256))
# A space stays, a mark is a `.`; nothing else matters.
_CLASS = bytes(32 if byte == 32 else 46 if byte in string.punctuation.encode() else 0 for byte in range(256))
# Runs in which any two neighbours are a pair that all vocabularies merge, but for the pairs behind them; the space before a
# letter is one of the run. A capital or a rare letter may stand alone.
_RUN = re.compile(rb"_?[A-Zjqxz]|_?[a-ik-pr-wy]+")
_UNMERGED = re.compile(b"(?=%b)" % b"|".join(b"bw gk gv kf lw mh nw wv yf yh yv".split()))
# Marks of JSON that are merged wherever they stand: how many tokens fewer they are than marks.
_MERGED = ((b'": "', 1), (b'", "', 1), (b'"}, {"', 2))


class _Wide(dict[str, int]):
    """The cost of a character outside ASCII: its bytes, or those of its normal form where a vocabulary is for that one."""

    def __missing__(self, char: str) -> int:
        normal = unicodedata.normalize("NFKC", char), unicodedata.normalize("NFC", char), char
        return max(len(form.encode("utf-8", "surrogatepass")) for form in normal)


def _inflect_word(word: str) -> Mapping[str, str]:
    """A word with the usual endings, by ending."""
    if word.endswith("e"):
        past, lasting, doer = f"{word}d", f"{word[:-1]}ing", f"{word}r"
    else:
        past, lasting, doer = f"{word[:-1]}ied" if word.endswith("y") else f"{word}ed", f"{word}ing", f"{word}er"
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return {"s": many, "ed": past, "ing": lasting, "er": doer, "ly": f"{word}ly"}


def _list_form_costs(word: str, group: Sequence[str]) -> Mapping[str, int]:
    """The costs of a word of a group as it may be found, that is after a `_` or not."""
    large = word.capitalize()
    costs = {f"_{word}": 1, word: 2 - ("alone" in group), f"_{large}": 2 - ("capital" in group), large: 2}
    endings = {} if "fixed" in group else _inflect_word(word)
    return costs | {f"_{form}": 2 - (ending in group) for ending, form in endings.items()}


def _build_known_costs() -> Mapping[bytes, int]:
    """The cost of everything that may be found and is known; the least that any of its words says."""
    costs = {b"_": 1}
    for group, words in _WORDS.items():
        for word in words.split():
            for form, cost in _list_form_costs(word, group.split()).items():
                costs[form.encode()] = min(cost, costs.get(form.encode(), cost))
    for name in _NAMES.split():
        costs |= {f"_{name.capitalize()}".encode(): 1, name.capitalize().encode(): 2}
    return costs | {form.encode(): 1 for letter in string.ascii_letters for form in (letter, f"_{letter}")}


_KNOWN_COSTS = _build_known_costs()
_WIDE = _Wide(dict.fromkeys(_TWO, 2) | dict.fromkeys(_ONE, 1))


def count_tokens(text: str) -> int:
    """The most tokens that a text costs: 0 for an empty one, at least one for a word, mark or digit."""
    raw = text.encode("utf-8", "surrogatepass")
    return _count_marks(text, raw) + _sum_costs(_split_words(raw))


def count_tokens_within(text: str, limit: int) -> int | None:
    """As `count`; None for more than `most`, which mostly shows before the words are looked at: each costs one at least."""
    raw = text.encode("utf-8", "surrogatepass")
    left = limit - _count_marks(text, raw)
    if left < 0 or len(found := _split_words(raw)) > left:
        return None
    cost = _sum_costs(found)
    return limit - left + cost if cost <= left else None


def _split_words(raw: bytes) -> list[bytes]:
    return raw.translate(_CUT).replace(b"_", b" _").split()


def _sum_costs(words: list[bytes]) -> int:
    return sum(map(_word_costs.__getitem__, words))


def _count_marks(text: str, raw: bytes) -> int:
    """What marks, digits and all outside ASCII cost."""
    marks = len(raw.translate(None, _NOT_MARKS)) - sum([fewer * raw.count(piece) for piece, fewer in _MERGED])
    # A space before a mark is a part of it, as one before a word is.
    spaces = raw.translate(_CLASS).count(b" .")
    wide = 0 if text.isascii() else sum(map(_WIDE.__getitem__, _ASCII.sub("", text)))
    return marks - spaces + wide


def _compute_word_cost(word: bytes) -> int:
    """The most that a word costs; by its letters where nothing else is known of it."""
    known = _KNOWN_COSTS.get(word)
    if known is not None:
        return known
    return sum([(2 * len(run) + 1) // 3 for run in _RUN.findall(word)]) + len(_UNMERGED.findall(word))


_word_costs = WordCache(_compute_word_cost, max_words=65_536)
