"""Two known statements by their words alone: what rules may make one of without asking anybody, and what not."""

from __future__ import annotations

import pytest

from muniment.memory.rules.merging.consolidate import guard_judgement, judge_pair
from muniment.memory.rules.merging.restatements import has_same_words, is_corrected, is_unrelated
from muniment.memory.rules.merging.wording import compare_texts
from muniment.memory.rules.statements.parse import parse_statement
from muniment.memory.rules.statements.people import has_swapped_people
from tests.unit.test_consolidate import PROFILE, pair


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("The user's favourite colour is teal", "Teal is the user's favorite color", True),
        ("Rosa has an appointment on 12 May 2026", "On 2026-05-12 Rosa has an appointment", True),
        ("Rosa has an appointment on 12 May 2026", "Rosa has an appointment on May 13, 2026", False),
        ("Rosa has three children", "Rosa has 3 children", True),
        ("Rosa has a goat", "Rosa wants a goat", False),
        ("Rosa is in favour of night trains", "Rosa is against night trains", False),
        ("Rosa swims 4 times a week", "Rosa swims 4 times a month", False),
        ("Rosa's favourite colour is teal", "Rosa's least favourite colour is teal", False),
        ("王芳会说法语", "王芳会说德语", False),
    ],
)
def test_a_word_more_is_a_word_that_counts(a: str, b: str, same: bool) -> None:
    """Spelling, order and the way of writing a number or a day do not; what is wanted, against or least does."""
    assert (
        has_same_words(parse_statement(a), parse_statement(b))
        is has_same_words(parse_statement(b), parse_statement(a))
        is same
    )


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("The user's bank is Ferrum", "The user's bank is Solis", True),
        ("Rosa's deadline for the talk is 3 May", "Rosa's deadline for the talk was moved to 9 May", True),
        ("Rosa's deadline for the talk is 3 May", "Rosa's deadline for the tax report was moved to 9 May", False),
        ("Rosa's deadline for the tax report is 3 May", "Rosa's deadline for the talk was moved to 9 May", False),
        ("Rosa swims 4 times a week", "Rosa swims 5 times a week now", True),
        ("Rosa swims 4 times a week", "Rosa rows 4 times a week now", False),
        ("Rosa met Theo on 3 May 2026", "Rosa met Theo on 4 May 2026", False),
        ("Rosa likes olives", "Rosa does not like olives", True),
        ("Rosa does not like olives", "Rosa likes the smell of olives", False),
        ("The user's boss is reading Emma", "The user's boss is reading Dune", False),
        ("The user is in favour of rent control", "The user is in favour of night trains", False),
        ("The user is at table 8 of the blue room", "The user is at table 8 of the red room", False),
        ("The user's wife is in the choir", "The user's wife is in the chess club", False),
        ("The user's wife works at Ferrum", "The user's wife works at Solis", True),
        ("The banjo is what Ines plays", "The banjo is what Theo plays", False),
    ],
)
def test_only_what_says_so_takes_the_place_of_another(old: str, new: str, found: bool) -> None:
    """Another value of the same definite thing, a change that is told, or a denial of just that."""
    assert is_corrected(parse_statement(new), parse_statement(old)) is found


@pytest.mark.parametrize(("older", "newer", "found"), [
    ("每天放学都是王老师去接孩子", "每天放学都是姜师傅去接孩子", "different"),
    ("周五是王芳值班", "周五是李强值班", "different"),
    ("小伍帮章主任代收快递", "章主任搬走了，小伍的快递改由夏宇代收", "different"),
    ("The talk about bees is given by Simon", "The talk about bees is given by Gwen", "different"),
    ("The osteopath was Kathy's tip to Nkechi", "The osteopath was recommended to Ned by Adriana", "different"),
    ("Victor is Hull's godparent", "Hull is a godparent of Victor", "different"),
    ("Lina Brook reports to the user", "The user reports to Lina Brook", "different"),
    ("Victor lent the user a saw on 3 May", "The user lent Victor a saw on 3 May", "different"),
    ("On 3 May the user lent Victor a saw", "The user lent Victor a saw on 3 May", "same"),
    ("Victor is the user's tutor", "The user's tutor is Victor", "same"),
    ("武华给用户补了牙", "用户给武华补了牙", "different"),
    ("The user's spouse is Bill's godparent", "The user's spouse is Lina's godparent", "different"),
    ("Lena recommended the osteopath to Julia", "Lena recommended Julia to the osteopath", "different"),
    ("Lena goes from Riga to Lyon on 3 May", "On 3 May Lena goes to Lyon from Riga", "same"),
    ("Victor is Professor Hull's godparent", "Professor Hull is a godparent of Victor", "different"),
    ("Victor is Hull's godparent", "Victor is the godparent of Hull", "same"),
    ("The user's boss is Ann Lee", "The user's boss is Bob Ray", "supersedes"),
    ("用户的导师是王芳", "用户的导师是李强", "supersedes"),
])  # fmt: skip
def test_a_part_that_others_play_is_no_value(older: str, newer: str, found: str) -> None:
    """Who does a thing one day, by whom it is done, and who is what to whom, does not take another's place by the
    rules."""
    assert judge_pair(pair(older, newer), PROFILE, ())[0] == found


def test_what_shares_no_word_takes_nothing_s_place() -> None:
    """A name and a year are no common matter; one word is."""
    goat, lesson = parse_statement("Selma has a hedgehog in 2026"), parse_statement("Selma taught two children in 2026")
    assert is_unrelated(goat, lesson)
    assert not is_unrelated(goat, parse_statement("Selma gave her hedgehog to Theo"))


@pytest.mark.parametrize(("a", "b", "two"), [
    ("Whenever Aunt Bell works nights, Nicola Ashby minds the toddler",
        "Whenever Nicola Ashby works nights, Aunt Bell minds the toddler", True),
    ("Whenever Aunt Bell works nights, Nicola Ashby minds the toddler",
        "Nicola Ashby minds the toddler whenever Aunt Bell works nights", False),
    ("Ana minds Ben's sister", "Ben minds Ana's sister", True),
    ("Ana minds Ben's sister", "Ben's sister is minded by Ana", False),
    ("Petra invited Nico's guests", "Nico invited Petra's guests", True),
    ("Lena told Tom that Ben is ill", "Lena told Ben that Tom is ill", True),
    ("To Nico's party Petra has invited twelve", "Petra has invited twelve to Nico's party", False),
    ("Ana is taller than Ben", "Ben is taller than Ana", True),
    ("The user's sister lent the user's brother a saw", "The user's brother lent the user's sister a saw", True),
    ("Ana goes only if Ben goes", "Ben goes only if Ana goes", True),
    ("Only if Ben goes Ana goes", "Ana goes only if Ben goes", False),
    ("用户的舅妈把彭程拉黑了", "彭程把用户的舅妈拉黑了", True),
    ("Shelley is the user's swim coach's plus-one", "The user's swim coach is Shelley's plus-one", True),
    ("The user's boss is Ana's godparent", "Ana's godparent is the user's boss", False),
    ("The user's boss is Ana", "Ana is the user's boss", False),
    ("Άνθη suspects 佐藤さん of lying", "佐藤さん suspects Άνθη of lying", True),
    ("Hull's tutor is Victor", "Victor is the tutor of Hull", False),
    ("Ana shares a desk with Ben", "Ben shares a desk with Ana", False),
    ("张磊去接李娜的孩子", "李娜去接张磊的孩子", True), ("去接张磊的孩子的是李娜", "李娜去接张磊的孩子", False),
    ("欧阳静的导师是司马宁", "司马宁是欧阳静的导师", False),
])  # fmt: skip
def test_who_does_what_to_whom_is_told_by_what_stands_beside_them(a: str, b: str, two: bool) -> None:
    """The same words may be said of the same people the other way round; an order of its own is no other part."""
    assert (
        has_swapped_people(parse_statement(a), parse_statement(b))
        is has_swapped_people(parse_statement(b), parse_statement(a))
        is two
    )
    assert (
        guard_judgement("same", pair(a, b), ())
        == guard_judgement("supersedes", pair(a, b), ())
        == ("different" if two else "same")
        or not two
    )


def test_a_declared_change_is_of_the_same_people() -> None:
    """Somebody else whom a statement is about is no new value, wherever the name stands."""
    older = "The flat agreed that Nils does the dishes"
    assert judge_pair(pair(older, "The flat agreed that Hugh now does the dishes"), PROFILE, ())[0] == "different"
    assert judge_pair(pair(older, "The flat agreed that Nils now does the windows"), PROFILE, ())[0] == "supersedes"
    turned = pair("Ana reports to Ben on 3 May", "Ben reports to Ana on 4 May instead of 3 May")
    assert guard_judgement("supersedes", turned, ()) == judge_pair(turned, PROFILE, ())[0] == "different"


@pytest.mark.parametrize(("older", "newer"), [
    ("The user's son sits on the board", "The user's son-in-law sits on the board"),
    ("Łukasz told Олег that the bridge is closed", "Łukasz told Иванна that the bridge is closed"),
    ("Елена heard from Phil that the bridge is closed", "Élodie heard from Phil that the bridge is closed"),
    ("有Tony哥在，章小鱼就不喝酒", "有章小鱼在，Tony哥就不喝酒"), ("用户替游经理值了夜班", "游经理替用户值了夜班"),
    ("季风比用户大五岁", "隆叔比用户大五岁"), ("Tony哥爱喝茶", "Terry哥爱喝茶"),
    ("سامر checks the beehives daily", "Each week 田村さん checks the beehives"),
    ("坐在后面的是Kevin", "坐在后面的是万里"),
    ("Lilian几乎迷了路", "有一次向阳差点迷了路"),
])  # fmt: skip
def test_a_name_is_a_name_in_any_script(older: str, newer: str) -> None:
    """Capitals have accents and are Cyrillic; a Latin name may stand between Chinese characters, with a title behind
    it."""
    assert (
        guard_judgement("same", pair(older, newer), ())
        == guard_judgement("supersedes", pair(older, newer), ())
        == "different"
    )


@pytest.mark.parametrize(("older", "newer"), [
    ("Ana coaches the women's eight", "Ana does not coach the women's four"),
    ("2026年12月4日送茶叶的是牛主任", "2026年6月13日送茶叶的是牛主任的同事"),
    ("用户差点在古镇的前街迷路", "用户差点在大学城南区迷路"), ("用户有个姑姑叫秀兰", "用户有个姑姑叫淑珍"),
        ("魏紫萱在备考雅思", "魏紫萱在备考托福"), ("QQ音乐是潘悦听歌用的软件", "QQ音乐是金晓燕听歌用的软件"),
        ("Silvia belays Savita at the wall", "Silvia has Savita as a belayer at the wall"),
        ("Celeste has endorsed Percival", "Celeste has an endorsement from Percival"),
        ("The user's partner is not on speaking terms with Skip",
            "The user's partner is not on speaking terms with Bo"),
        ("The user's cottage is let to Hunter", "The user's cottage is insured through Hunter"),
])  # fmt: skip
def test_another_number_is_another_thing(older: str, newer: str) -> None:
    """What is said not to be so of one boat, or one day, takes nothing from another."""
    assert judge_pair(pair(older, newer), PROFILE, ())[0] == "different"


@pytest.mark.parametrize(("older", "newer"), [
    ("The user's aunt is taller than Ana", "The user's aunt is taller than Ben"),
    ("The user is often mistaken for Ana", "The user is often mistaken for Ben"),
    ("Bo is suing the Marks over a hedge", "Bo is suing the Markses over a hedge"),
    ("Bo has stopped lending money to Ana", "Bo no longer lends money to Ben"),
    ("黄蕾和孙丽是小学同学", "孙丽和黄蕾是大学同学"), ("安冉暗恋的是庄严", "安冉暗恋的是申青"),
    ("Ana checks the beehives", "سمير checks the beehives"),
    ("Bo's tech lead is having Nick over for tea", "Nick is having Bo's tech lead over for tea"),
])  # fmt: skip
def test_what_may_be_so_of_several_is_no_value(older: str, newer: str) -> None:
    """Who is taller than one may be taller than another, and what is over with one is not what was with another."""
    assert judge_pair(pair(older, newer), PROFILE, ())[0] == "different"


def test_times_are_no_common_matter() -> None:
    """Two habits of every Wednesday have nothing else in common."""
    assert is_unrelated(
        parse_statement("Every Wednesday Yuki has lunch"), parse_statement("Every morning Yuki meditates")
    )


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Bo buys bread at the bakery on Mondays", "Bo buys bread at the market on Mondays"),
        ("Bo swims in the harbour", "Bo swims in the bay"),
    ],
)
def test_another_place_is_another_thing_however_near_the_embedder_has_it(a: str, b: str) -> None:
    """On the way in, too, where the embedder vouches for two statements that differ in a place alone."""
    assert (
        compare_texts(parse_statement(a), parse_statement(b), is_vouched=True)
        == compare_texts(parse_statement(b), parse_statement(a), is_vouched=True)
        == "different"
    )


@pytest.mark.parametrize(("a", "b", "same"), [
    ("Every Wednesday Yuki has lunch with Vera", "Yuki eats out every Wednesday", False),
    ("Yuki rows on Mondays", "Mondays are when Yuki rows", True),
    ("Yuki has lunch on Mondays", "Yuki has lunch with Vera on Mondays", True),
    ("郭燕周末去钓鱼", "郭燕周六要跟苏青划船", False),
])  # fmt: skip
def test_what_says_the_same_names_the_same_people(a: str, b: str, same: bool) -> None:
    """A statement that leaves somebody out is another one, whatever a model says, and takes nobody's place, unless the
    other says all that it says."""
    assert (
        guard_judgement("same", pair(a, b), ())
        == guard_judgement("same", pair(b, a), ())
        == ("same" if same else "different")
    )


def test_who_takes_no_others_place_is_not_forgotten() -> None:
    """A later statement that names nobody instead of somebody is no later value of the same."""
    lunch = pair("Every Wednesday Yuki has lunch with Vera", "Yuki eats lunch out every Friday")
    assert guard_judgement("supersedes", lunch, ()) == "different"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("The interest rate of Ana's mortgage is 3.05 percent",
            "The interest rate of Ana's mortgage has gone from 3.05 to 4.35 percent", "supersedes"),
        ("The interest rate of Ana's mortgage is 3.05 percent",
            "The interest rate of Ben's mortgage has gone from 3.05 to 4.35 percent", "different"),
        ("Wendy's car is insured with Direct Line", "Wendy has moved the car insurance from Direct Line to Ergo",
            "supersedes"),
        ("Wendy's boat is insured with Direct Line", "Wendy has moved the car insurance from Direct Line to Ergo",
            "different"),
        ("Ana's CI pipeline runs on Jenkins", "Ana's CI pipeline has been migrated from Jenkins to Travis CI",
            "supersedes"),
        ("Ana knows Jenkins well", "Ana's CI pipeline has been migrated from Jenkins to Travis CI", "different"),
        ("Ana likes Lebanese food best", "Ana likes Japanese food best these days, no longer Lebanese", "supersedes"),
        ("熊大伟2026年7月5日和艾琳去办房产过户", "熊大伟和艾琳办房产过户的日子从2026年7月5日改到了2026年2月27日",
            "supersedes"),
        ("熊大伟2026年7月5日和艾琳去办房产过户", "熊大伟和文静办房产过户的日子从2026年7月5日改到了2026年2月27日",
            "different"),
        ("何平安每周给用户打5次电话", "用户给何平安打电话从每周5次改成了6次", "different"),
        ("用户每周给何平安打5次电话", "用户给何平安打电话从每周5次改成了6次", "supersedes"),
        ("彭菲2026年12月22日交简章的初稿", "彭菲改在2026年9月10日交简章的初稿", "supersedes"),
    ],
)  # fmt: skip
def test_what_says_itself_what_it_takes_the_place_of_takes_it(old: str, new: str, found: str) -> None:
    """With the old value in it, of the same thing and the same people."""
    assert judge_pair(pair(old, new), PROFILE, ())[0] == found


@pytest.mark.parametrize(
    ("a", "b", "verdict_"),
    [
        ("Invoice 12 was paid", "Invoice 13 was paid", "different"),
        ("Chapter 3 explains recursion", "Chapter 4 explains recursion", "different"),
        ("Note 41: the box is in room 7", "Note 42: the box is in room 9", "different"),
        ("Day 2: rain", "Day 3: rain", "different"),
        ("Step 2: open port 80", "Step 2: open port 81", "supersedes"),
        ("Opening at 9: the shop", "Opening at 10: the shop", "supersedes"),
        ("Server web1 runs in Frankfurt", "Server web2 runs in Frankfurt", "different"),
        ("Flight LH123 leaves at 9", "Flight LH123 leaves at 10", "supersedes"),
        ("Order 12 boxes of paper", "Order 15 boxes of paper", "supersedes"),
        ("Our room 4 has a broken window", "Our room 7 has a broken window", "different"),
        ("Parcel 3 of 9 arrived at gate 7", "Parcel 4 of 9 arrived at gate 7", "different"),
        ("3号房间漏水", "4号房间漏水", "different"),
        ("5号出发", "6号出发", "supersedes"),
        ("Weight 72 kg this week", "Weight 70 kg this week", "supersedes"),
        ("May 12 is the deadline", "May 14 is the deadline", "supersedes"),
        (
            "The user has certificate number 3 of the course",
            "The user has certificate number 4 of the course",
            "different",
        ),
        ("The user finished chapter 3", "The user finished chapter 4", "different"),
        ("The user has read part 1 of Dune", "The user has read part 2 of Dune", "different"),
        ("The user finished chapter 3", "The user finished chapter 4 now", "supersedes"),
        ("The user is on chapter 3", "The user is on chapter 4", "supersedes"),
        ("The user is reading chapter 3", "The user is reading chapter 4", "supersedes"),
        ("The user stays in room 12", "The user stays in room 14", "supersedes"),
        ("The user has an iPhone 13", "The user has an iPhone 14", "supersedes"),
        ("Ana scored 12 points", "Ana scored 15 points", "supersedes"),
        ("用户看完了第3集", "用户看完了第4集", "different"),
        ("用户支付了12号发票", "用户支付了13号发票", "different"),
        ("用户住在第3层", "用户住在第4层", "supersedes"),
    ],
)
def test_a_number_may_be_a_name(a: str, b: str, verdict_: str) -> None:
    """Behind the first noun, without a unit, it tells one of several from the next."""
    assert compare_texts(parse_statement(b), parse_statement(a)) == verdict_
