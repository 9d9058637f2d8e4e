"""Chinese words that the extraction rules know."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import lazy_compile

RELATIONS: dict[str, tuple[str, str]] = {  # as said: predicate, standard word
    **dict.fromkeys(("老婆", "妻子", "太太", "媳妇", "老公", "丈夫", "爱人", "配偶", "先生"), ("spouse", "配偶")),
    **dict.fromkeys(("男朋友", "女朋友", "男友", "女友", "对象", "未婚夫", "未婚妻", "伴侣"), ("partner", "伴侣")),
    **dict.fromkeys(("爸爸", "父亲", "老爸", "爸"), ("father", "父亲")),
    **dict.fromkeys(("妈妈", "母亲", "老妈", "妈"), ("mother", "母亲")),
    **dict.fromkeys(("哥哥", "弟弟", "大哥", "二哥", "哥"), ("brother", "兄弟")),
    **dict.fromkeys(("姐姐", "妹妹", "大姐", "姐"), ("sister", "姐妹")),
    **dict.fromkeys(("儿子", "大儿子", "小儿子"), ("son", "儿子")),
    **dict.fromkeys(("女儿", "大女儿", "小女儿", "闺女"), ("daughter", "女儿")),
    **dict.fromkeys(("好朋友", "朋友", "闺蜜", "哥们", "死党"), ("friend", "朋友")),
    **dict.fromkeys(("老板", "上司", "领导", "经理"), ("boss", "上司")),
    **dict.fromkeys(("爷爷", "外公", "姥爷"), ("grandfather", "祖父")),
    **dict.fromkeys(("奶奶", "外婆", "姥姥"), ("grandmother", "祖母")),
    **dict.fromkeys(("猫", "狗", "猫咪", "狗狗", "小狗", "小猫", "宠物", "兔子", "鹦鹉", "仓鼠"), ("pet", "宠物")),
    "最好的朋友": ("best_friend", "好友"), "孩子": ("child", "孩子"), "同事": ("colleague", "同事"), "同学": ("classmate", "同学"),
    "室友": ("roommate", "室友"), "邻居": ("neighbour", "邻居"), "老师": ("teacher", "老师"), "导师": ("mentor", "导师"), "教练": ("coach", "教练"),
    "医生": ("doctor", "医生"), "房东": ("landlord", "房东"), "表哥": ("cousin", "表亲"), "表姐": ("cousin", "表亲"), "表弟": ("cousin", "表亲"),
    "表妹": ("cousin", "表亲"), "堂哥": ("cousin", "堂亲"), "堂弟": ("cousin", "堂亲"), "叔叔": ("uncle", "叔叔"), "舅舅": ("uncle", "舅舅"),
    "阿姨": ("aunt", "阿姨"), "姑姑": ("aunt", "姑姑"), "合伙人": ("business_partner", "合伙人"),
}  # fmt: skip
ONE_AT_A_TIME = frozenset({"spouse", "partner", "father", "mother", "boss", "best_friend"})
RELATION = "(?:" + "|".join(sorted(RELATIONS, key=len, reverse=True)) + ")"
KIN = "(?:" + "|".join(sorted((word for word, (name, _) in RELATIONS.items() if name in (
    "spouse", "partner", "father", "mother", "brother", "sister", "son", "daughter", "grandfather", "grandmother",
) and word not in ("先生", "太太", "对象", "爱人", "伴侣", "哥", "姐", "大哥", "大姐")), key=len, reverse=True)) + r")(?!们|节|级|堂|妈|爸)"  # fmt: skip
SURNAMES = "王李张刘陈杨黄赵周吴徐孙朱马胡郭林何高梁郑罗宋谢唐韩曹许邓萧冯曾程蔡彭潘袁于董余苏叶吕魏蒋田杜丁沈姜范江傅钟卢汪戴崔任陆廖姚方金邱夏谭韦贾邹石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾赖武康贺严尹钱施牛洪龚"
NAME = (
    r"(?:["
    + SURNAMES
    + r"][\u4e00-\u9fff]{1,2}|[小老阿大][\u4e00-\u9fff]|(?:欧阳|司马|上官|诸葛)[\u4e00-\u9fff]{1,2}|[A-Z][A-Za-z'-]{1,20}(?:\s[A-Z][A-Za-z'-]{1,20})?)"
)
# A given name alone: two characters that are no usual word before a verb.
GIVEN_NAME = (
    r"(?!"
    + RELATION
    + r")(?:[小阿](?![学时心说区狗猫孩组声气吃费路店])[\u4e00-\u9fff]|(?!其实|平时|以前|之前|以后|从小|一直|真的|终于|打算|准备|周末|刚刚|经常|偶尔|特别|非常|比较|有点|后来|居然|竟然|突然|可能|应该|大概|早上|晚上|上午"
    r"|下午|中午|单位|公司|学校|身体|生日|名字|工作|性格|家里|手机|老家|同事|朋友|同学|老板|领导|总部|部门|团队|客户|对方|医生|老师|孩子|有人|别人|本人|自己|其他|父母|爸妈|大家|超级|天天|每天|好像|好多|很多|全家|毕业|大学|高中|初中|暑假|寒假|假期|国庆|春节|过年|放假|长期|短期|暂时|临时|常年|整天|成天|独自|正好|刚好|本来|确实|果然|最后|仍然|依然|始终|永远|几乎|随时|时常|老是|通常|常常|往往|主要|基本|大多|怀孕|退休|生病|住院)"
    r"[^小阿我你您他她它咱们的了是在不也很都最还就才现目前今明昨后去年月日周天对从会能要想和跟给把被让已刚常总说叫上下这那哪谁什怎一二三两几个有没人名家真每只用为，。！？\W\da-zA-Z_]{2})"
)
ANY_NAME = r"(?:[\u4e00-\u9fff·]{2,6}|[A-Za-z][A-Za-z'-]{1,20}(?:\s[A-Z][A-Za-z'-]{1,20})?)"
TRADE = (
    r"(?:[\u4e00-\u9fffA-Za-z]{0,8}(?:工程师|程序员|设计师|教师|老师|医生|护士|律师|会计师?|经理|主管|总监|顾问|教授|讲师|研究员|分析师|架构师|记者|编辑|作家|翻译|司机|厨师|警察|消防员|公务员|演员|歌手|画家"
    r"|摄影师|咨询师|药剂师|建筑师|运营|销售|客服|店员|服务员|创业者|自由职业者|学生|研究生|博士生|大学生|博主|导演|飞行员|农民|军人|科学家|技术员|管理员|业务员|快递员|教练|导游|木匠|铁匠|花匠|裁缝|电工|焊工|水管工|瓦工|理发师|化妆师|面包师|咖啡师|调酒师|兽医|牙医|助产士|保安|保姆|秘书|法官|检察官|渔民|音乐家|舞蹈家))"
)
CONDITION = r"(?:[12一二]型)?(?:糖尿病|高血压|哮喘|癫痫|痛风|胃病|胃炎|关节炎|偏头痛|抑郁症|焦虑症|贫血|失眠症?|鼻炎|湿疹|心脏病|近视|色盲|多动症|乳糜泻|低血糖)"
LANGUAGE = r"(?:中文|英文|英语|普通话|粤语|日语|日文|法语|法文|德语|德文|韩语|韩文|西班牙语|俄语|意大利语|葡萄牙语|阿拉伯语|上海话|闽南语|四川话)"

ADVERBS = r"(?:现在|目前|平时|一直|一向|其实|真的|也|还|特别|很|非常|最|比较|已经|从小|就|都|又|正在|正|刚|终于|最近|居然|竟然|突然|早就|超级?|蛮|挺|更|以后|之后|今年)*"
ME = r"^我" + ADVERBS
END = r"(?:啦|的说|哦|呀|啊|哈|呢|吧)*$"
_LIST = lazy_compile(r"、|和|以及|跟|与")
_UNCLEAR = lazy_compile(r"你|您|(?<![其吉维])他|她|它|咱|我们|这(?!么)|那(?!么)|哪|大家|某")


def replace_pronouns(words: str) -> str | None:
    """Words with the speaker named as the user; None if another pronoun leaves open who or what is meant."""
    return None if not words or _UNCLEAR.search(words) else words.replace("我", "用户")


def split_list(words: str) -> list[str]:
    """The things of an enumeration, or the one thing there is."""
    parts = _LIST.split(words)
    some = parts if len(parts) > 1 and all(1 < len(part) <= 6 for part in parts) else [words]
    return [told for part in some if (told := replace_pronouns(part.strip())) and len(told) <= 30]
