"""Whose a Chinese clause is: one without a subject goes on with the last one, in facts and in notes alike."""

import re
from datetime import UTC, datetime

import pytest

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.extract import extract_statements

USER = "用户|我"
SAID_AT = datetime(2026, 11, 23, 10, 0, tzinfo=UTC)

# A message; then for each thing said in it whose it is (the names it goes by) and its words.
TOLD: list[tuple[str, list[tuple[str, str]]]] = [
    # pets
    ("我家有只狗叫旺财，今年七岁了，特别怕打雷", [("狗|旺财", "七岁|7 ?岁"), ("狗|旺财", "怕打雷")]),
    ("我养了一只乌龟，已经十年了，叫石头", [("乌龟", "石头")]),
    ("我的猫叫咪咪，它只吃鱼，我对猫毛过敏", [("猫|咪咪", "只吃鱼"), (USER, "猫毛")]),
    ("我弟弟的狗叫可乐，今年两岁，很喜欢游泳", [("狗|可乐", "两岁|2 ?岁"), ("狗|可乐", "游泳")]),
    ("我家的兔子叫雪球，三岁，不爱吃胡萝卜", [("兔子|雪球", "三岁|3 ?岁"), ("兔子|雪球", "胡萝卜")]),
    ("我邻居养了三只猫，对狗毛过敏", [("邻居", "三只猫|3 ?只猫"), ("邻居", "狗毛")]),
    # work
    ("我老板是广东人，每天都喝早茶", [("老板", "广东"), ("老板", "早茶")]),
    ("我们经理姓周，住在龙岗，下个月要调去珠海", [("经理", "周"), ("经理", "龙岗"), ("经理", "珠海")]),
    ("我同事小林刚生了孩子，现在在休产假", [("同事|小林", "休产假")]),
    ("我老板的儿子在哈佛读书，学法律", [("儿子", "哈佛"), ("儿子", "法律")]),
    ("我们团队有五个人，组长叫老赵，喜欢钓鱼", [("组长|老赵", "钓鱼")]),
    ("我客户是一家日本公司，每周一开会", [("客户", "日本公司")]),
    ("我教练叫马克，是英国人，每周三给我上课", [("教练|马克", "英国人")]),
    ("我公司在浦东，有两百多人，我是产品经理", [("公司", "浦东"), (USER, "产品经理")]),
    # kin
    ("我妈妈有高血压，每天吃降压药", [("妈妈", "高血压"), ("妈妈", "降压药")]),
    ("我爸退休了，现在每天去公园下棋", [("爸", "退休"), ("爸", "下棋")]),
    ("我爷爷今年九十岁，住在乡下，不会用手机", [("爷爷", "九十岁|90 ?岁"), ("爷爷", "乡下"), ("爷爷", "手机")]),
    ("我姐姐叫王敏，在杭州做护士，我在上海做会计", [("姐姐|王敏", "护士"), (USER, "会计")]),
    ("我弟弟不吃辣，但是我特别喜欢吃酸的", [("弟弟", "不吃辣"), (USER, "吃酸")]),
    ("我老公是程序员，经常加班，我是老师", [("老公", "程序员"), ("老公", "加班"), (USER, "老师")]),
    ("我表哥在澳大利亚读博士，学的是生物，明年毕业", [("表哥", "澳大利亚"), ("表哥", "生物")]),
    ("我妈叫李秀英，她对青霉素过敏，我对海鲜过敏", [("妈|李秀英", "青霉素"), (USER, "海鲜")]),
    (
        "我丈夫在德国出生，会说四种语言，不过我只会说中文",
        [("丈夫", "德国"), ("丈夫", "四种|4 ?种"), (USER, "只会说中文")],
    ),
    ("我儿子今年上小学了，喜欢恐龙，每天都要听故事", [("儿子", "小学"), ("儿子", "恐龙"), ("儿子", "故事")]),
    ("我妹妹怀孕了，预产期在三月", [("妹妹", "怀孕"), ("妹妹", "预产期")]),
    ("我岳父是军人，脾气很大，不喜欢我养狗", [("岳父", "军人"), ("岳父", "脾气")]),
    ("我孙女会弹钢琴，弹得特别好，拿过奖", [("孙女", "钢琴"), ("孙女", "拿过奖")]),
    ("我奶奶去世了，她以前是小学老师", [("奶奶", "去世"), ("奶奶", "小学老师")]),
    ("我爱人姓刘，四川人，特别能吃辣", [("爱人", "四川"), ("爱人", "吃辣")]),
    ("我有两个孩子，大的八岁，小的三岁", [("孩子", "八岁|8 ?岁"), ("孩子", "三岁|3 ?岁")]),
    ("我女朋友属兔，生日是五月三号", [("女朋友", "五月三号|5月3日|0?5-0?3")]),
    # others' people
    ("我女儿的老师姓陈，教数学，住在学校旁边", [("老师", "陈"), ("老师", "数学"), ("老师", "学校旁边")]),
    ("我儿子的同学叫乐乐，今年六岁", [("同学|乐乐", "六岁|6 ?岁")]),
    ("我妻子的弟弟在银行上班，住在苏州", [("弟弟", "银行"), ("弟弟", "苏州")]),
    ("我妹妹的男朋友是医生，对花生过敏", [("男朋友", "医生"), ("男朋友", "花生")]),
    ("我哥结婚了，他老婆是日本人，会做寿司", [("哥", "结婚"), ("老婆", "日本人"), ("老婆", "寿司")]),
    ("我室友的女朋友是护士，经常上夜班", [("女朋友", "护士"), ("女朋友", "夜班")]),
    ("我妈妈的医生姓吴，今年五十岁，住在徐汇", [("医生", "吴"), ("医生", "五十岁|50 ?岁"), ("医生", "徐汇")]),
    # friends
    ("我有个朋友叫阿杰，在温哥华开餐馆", [("朋友|阿杰", "餐馆")]),
    ("我最好的朋友叫小雅，她住在柏林，是个画家", [("朋友|小雅", "柏林"), ("朋友|小雅", "画家")]),
    ("我室友是韩国人，他不吃猪肉，我什么都吃", [("室友", "韩国"), ("室友", "猪肉"), (USER, "什么都吃")]),
    ("我的房东是个老太太，一个人住，今年八十了", [("房东", "老太太"), ("房东", "八十|80")]),
    ("我昨天跟老同学吃饭，他在华为上班，住在东莞", [("同学", "华为"), ("同学", "东莞")]),
    ("我跟女朋友住在一起，她在读研究生，我已经工作了", [("女朋友", "研究生"), (USER, "已经工作")]),
    ("我闺蜜刚离婚，带着两个孩子，住在娘家", [("闺蜜", "离婚"), ("闺蜜", "孩子"), ("闺蜜", "娘家")]),
    ("我不吃香菜，我先生也不吃，但他爱吃榴莲", [(USER, "香菜"), ("先生", "榴莲")]),
    # things
    ("我买了一辆特斯拉，是红色的，上个月刚提的车", [("特斯拉", "红色")]),
    ("我的手机是华为的，用了四年了，电池不太行", [("手机", "华为"), ("手机", "四年|4 ?年"), ("手机", "电池")]),
    ("我在写一本小说，主角叫林风，是个侦探，住在伦敦", [("主角|林风", "侦探"), ("主角|林风", "伦敦")]),
    ("我家在三楼，没有电梯，我每天爬楼梯", [("家", "三楼|3 ?楼"), ("家", "电梯"), (USER, "爬楼梯")]),
    # the user
    ("我住在南京，在一家医院工作，今年三十五岁", [(USER, "南京"), (USER, "医院"), (USER, "三十五岁|35 ?岁")]),
    (
        "我叫陈晨，今年二十八岁，住在武汉",
        [(USER, "陈晨"), (USER + "|陈晨", "二十八岁|28 ?岁"), (USER + "|陈晨", "武汉")],
    ),
    ("我是素食者，对坚果过敏，不喝酒", [(USER, "素食"), (USER, "坚果"), (USER, "不喝酒")]),
    ("我上个月换了工作，现在在字节跳动做设计师", [(USER, "字节跳动"), (USER, "设计师")]),
    ("我妈住在青岛，我住在大连，在海事局上班", [("妈", "青岛"), (USER, "大连"), (USER, "海事局")]),
    ("我小时候住在哈尔滨，现在住在三亚", [(USER, "哈尔滨"), (USER, "三亚")]),
    # trips
    ("我下周五去东京出差，住在新宿", [(USER, "东京"), (USER, "新宿")]),
    ("我下个月去成都旅游，住在春熙路附近的酒店", [(USER, "成都"), (USER, "春熙路")]),
    ("我八月要去法国度假，住在尼斯，待两个星期", [(USER, "法国"), (USER, "尼斯")]),
    ("我妈下周去海南，住在我姨家", [("妈", "海南"), ("妈", "住在(?:我|用户的?)姨家")]),
]

# The subject of a sentence before, of several, and of what is asked to be remembered.
ACROSS: list[tuple[str, list[tuple[str, str]]]] = [
    ("我妹妹叫小雨。她在银行上班，今年三十岁。", [("姐妹|妹妹|小雨", "银行"), ("姐妹|妹妹|小雨", "三十岁|30 ?岁")]),
    ("我家有只猫叫年糕。今年三岁了。", [("猫|年糕", "三岁|3 ?岁")]),
    ("我儿子五岁，怕黑。他对花生过敏。我对芒果过敏", [("儿子", "花生"), (USER, "芒果")]),
    ("我有一个五岁的女儿，对牛奶过敏，我对花粉过敏", [("女儿", "牛奶"), (USER, "花粉")]),
    ("我喜欢的女孩在图书馆工作，喜欢猫", [("女孩", "图书馆"), ("女孩", "喜欢猫")]),
    ("我妹妹在深圳一家医院上班，她明年要结婚了", [("妹妹|姐妹", "深圳"), ("妹妹|姐妹", "结婚")]),
    ("我教的学生都是小学生，喜欢画画", [("学生", "喜欢画画")]),
    ("我姐老公是医生，对花粉过敏", [("老公", "医生"), ("老公", "花粉")]),
    ("昨天老板请客，去了海底捞", [("老板", "海底捞")]),
    ("记住我老婆的生日是六月八号，对花生过敏", [("老婆", "花生")]),
    ("请记住：我儿子的班主任姓刘，住在对面小区", [("班主任", "刘"), ("班主任", "对面小区")]),
]

# Words of a stay, and the words of its journey without which they would tell a home.
STAYS = {"新宿": "东京", "春熙路": "成都", "尼斯": "法国", "姨家": "海南", "哈尔滨": "小时候"}


def read(message: str) -> list[str]:
    """The texts that a message leaves, facts and notes."""
    turn = Turn.make(session="s", key="1", role="user", text=message, at=SAID_AT)
    return [candidate.text for candidate in extract_statements(turn, most=3).candidates]


def find_owner(text: str, words: re.Match[str], names: set[str]) -> str | None:
    """The name that stands last before the words: whose they are as the text reads."""
    named = list(re.finditer("|".join(sorted(names, key=len, reverse=True)), text[: words.start()]))
    return named[-1][0] if named else None


@pytest.mark.parametrize(("message", "told"), [*TOLD, *ACROSS], ids=[message for message, _ in [*TOLD, *ACROSS]])
def test_a_clause_is_of_whom_it_is_said(message: str, told: list[tuple[str, str]]) -> None:
    texts = read(message)
    names = {name for owner, _ in [*told, (USER, "")] for name in owner.split("|")}
    for owner, words in told:
        found = [(text, match) for text in texts for match in re.finditer(words, text)]
        assert found, (words, texts)
        assert {find_owner(text, match, names) for text, match in found} <= set(owner.split("|")), (words, texts)
    for stay, journey in STAYS.items():
        assert all(journey in text for text in texts if stay in text), texts


def test_a_note_has_the_subject_of_its_clause() -> None:
    """Or the clauses before it, where the subject is not certain."""
    assert "用户的祖父（爷爷）住在乡下，不会用手机" in read("我爷爷今年九十岁，住在乡下，不会用手机")
    assert '用户说："我们老师是北京人，喜欢京剧"' in read("我们老师是北京人，喜欢京剧")
    assert "用户的室友的女朋友是护士，经常上夜班。" in read("我室友的女朋友是护士，经常上夜班")


def test_two_parents_are_not_one() -> None:
    """What is said of several is no fact about the last."""
    texts = read("我妈妈叫张丽，爸爸叫李强，都住在长沙")
    assert [text for text in texts if "长沙" in text] == ["用户的妈妈叫张丽，爸爸叫李强，都住在长沙。"]


def test_a_sentence_with_too_many_facts_keeps_the_important_ones() -> None:
    texts = read("我叫周涛，四十岁，在成都开出租车，有高血压")
    assert "用户患有高血压" in texts
    assert all(any(word in text for text in texts) for word in ("周涛", "四十岁", "出租车"))
