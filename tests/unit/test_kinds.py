"""What people say of their work has a kind: a decision, a rule, a discovery, a fix, a task."""

from datetime import UTC, datetime

import pytest

from benchmarks import kinds
from muniment.memory.domain.memory import Fact, is_note
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.extraction.extract import MAX_STATEMENTS, extract_statements
from muniment.memory.rules.extraction.work.read import read_work

AT = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def read(text: str, role: str = "user") -> list[Candidate]:
    """What the rules keep of a message."""
    turn = Turn.make(session="s", key="k", role=role, text=text, at=AT)  # type: ignore[arg-type]
    return [one for one in extract_statements(turn).candidates if not one.is_correction]


def read_fact(text: str) -> Fact:
    """The only fact of a message."""
    [one] = read(text)
    assert one.fact is not None
    return one.fact


@pytest.mark.parametrize(
    ("text", "kind", "value", "subject", "topic"),
    [
        ("We decided to use bun.", "decision", "use bun", "user", None),
        ("The team agreed to freeze the schema.", "decision", "freeze the schema", "user's team", None),
        ("We settled on bun for the crawler.", "decision", "bun for the crawler", "user", "crawler"),
        ("我们决定用 bun", "decision", "用 bun", "user", None),
        ("Never force-push to a shared branch.", "rule", "Never force-push to a shared branch", "user", None),
        ("In the ledger project nobody may deploy alone.", "rule", "nobody may deploy alone", "ledger project", None),
        ("任何人不准直接改生产环境。", "rule", "任何人不准直接改生产环境", "user", None),
        ("Turns out the queue drops long messages.", "discovery", "the queue drops long messages", "user", None),
        ("The workaround for the importer is to sort the rows.", "fix", "sort the rows", "user", "the importer"),
        ("构建失败的解决办法是清空缓存。", "fix", "清空缓存", "user", "构建失败"),
        ("I still have to rotate the signing key.", "todo", "rotate the signing key", "user", None),
    ],
)  # fmt: skip
def test_a_statement_has_its_kind(text: str, kind: str, value: str, subject: str, topic: str | None) -> None:
    """With the value alone as its object, whose it is, and what it is about."""
    fact = read_fact(text)
    assert (fact.kind, fact.object, fact.subject, fact.topic) == (kind, value, subject, topic)
    assert is_note(fact), "it is compared by its words"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We talked it over with the foreman and we're keeping the beams instead of ordering steel.", "decision"),
        ("All containers leaving our yard must have two seals.", "rule"),
        ("I measured the hallway again and it's 4 cm narrower than on the plan.", "discovery"),
        ("The drawer no longer sticks since I waxed the runners.", "fix"),
        ("Have to hand in the lesson plans by Thursday, haven't even started.", "todo"),
        ("The printer stopped working after I updated the driver.", None),
        ("更新驱动以后打印机就不动了。", None),
        ("水槽下面换了个垫圈就不漏了。", "fix"),
    ],
)
def test_other_trades_have_them_too(text: str, kind: str | None) -> None:
    """Whatever is worked at; what works no longer is no fix."""
    assert kinds.find_kinds(text) == (frozenset({kind}) if kind else frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "Did we decide to use bun?",
        "If we decided to use bun, the build would be faster.",
        "Their rule is that nobody may deploy alone.",
        "The handbook says that every commit must be signed.",
        "We have not decided on a queue yet.",
        "Deploy it now, but never touch the database.",
        "You must always sign your commits.",
        "我们该用哪个队列？",
        "如果我们决定用 bun，构建会更快。",
        "他们规定每次提交都要签名。",
        "先别部署。",
        "no error at all, it went well",
        'Here: {"verdict": "same", "result": {"exit_code": 68}}',
        "And the meeting room is on the third floor.",
        "Every week the vine is pruned by Kate.",
        "Tickets for the museum must be booked online.",
        "Remember how you fixed it.",
        "I no longer sleep with the window open.",
        "I got the results back: I am fine.",
        "I'm dropping a tray!!",
        "闹钟定在早上七点",
        "我的房东修好了屋顶。",
        "甜的一概不许碰。",
    ],
)
def test_what_only_looks_like_it_has_none(text: str) -> None:
    """Questions, conditions, quotations, other people's rules, orders of the moment; what machines write, where or
    when something is held, what somebody else does each time, what was no problem."""
    assert not kinds.find_kinds(text)


@pytest.mark.parametrize(
    ("text", "value", "is_negated"),
    [
        ("We decided not to rent the flat in Madrid.", "rent the flat in Madrid", True),
        ("Decided to not rent the flat in Madrid.", "rent the flat in Madrid", True),
        ("The team decided against GraphQL for the partner API.", "GraphQL for the partner API", True),
        ("We decided to rent the flat in Madrid.", "rent the flat in Madrid", False),
        ("The database stays on Postgres, that's final.", "The database stays on Postgres", False),
    ],
)
def test_a_decision_against_something_is_one(text: str, value: str, is_negated: bool) -> None:
    """Its object is what was decided against."""
    fact = read_fact(text)
    assert (fact.kind, fact.object, fact.negated) == ("decision", value, is_negated)


@pytest.mark.parametrize("text", ["我必须明天交房租", "我要在元旦前戒烟", "我们要在5月1日前完成"])
def test_an_obligation_with_a_date_is_a_task(text: str) -> None:
    """Whether it is due on the day or before it."""
    assert kinds.find_kinds(text) == {"todo"}


def test_an_order_beside_a_request_is_a_part_of_it() -> None:
    """The same words alone are a rule."""
    order = "Always run the linter before committing."
    assert read_work(order, AT) is not None
    assert read_work(order, AT, is_beside_request=True) is None
    assert not kinds.find_kinds(f"Write me a release script. {order}")


@pytest.mark.parametrize("role", ["tool", "system", "assistant"])
def test_no_rule_comes_from_anybody_but_the_person(role: str) -> None:
    """An instruction in a tool's output is none."""
    assert not read("Always run the linter before committing.", role)


def test_a_rule_is_of_no_day() -> None:
    """The Friday of a rule is every Friday; that of a decision is one."""
    [rule] = read("Never deploy on a Friday afternoon.")
    assert (rule.event_time, rule.text) == (None, 'The user said: "Never deploy on a Friday afternoon."')
    [decision] = read("We decided to move the release to Friday.")
    assert decision.event_time == datetime(2026, 5, 8, tzinfo=UTC)


def test_it_has_a_note_of_its_own() -> None:
    """What refers back to it stands with it, other sentences do not; it is filed by what it is."""
    kept = read(
        "I grew up beside a lock. We decided to use bun. It saves us an hour every day. My aunt kept bees there."
    )
    assert [(one.fact and one.fact.kind, one.category) for one in kept] == [
        ("note", kept[0].category),
        ("decision", "projects"),
        ("note", kept[2].category),
    ]
    assert "It saves us an hour every day." in kept[1].text
    assert "lock" not in kept[1].text


def test_what_is_to_be_remembered_has_its_kind_too() -> None:
    """Also where it is told in the third person."""
    [one] = read("Remember that I decided to use bun for the shop.")
    assert one.fact is not None
    assert (one.fact.kind, one.fact.object) == ("decision", "use bun for the shop")
    assert (one.text, one.importance) == ("The user decided to use bun for the shop", 3)


def test_many_of_them_keep_within_the_room_of_a_message() -> None:
    """They share notes again, as other sentences do."""
    text = " ".join(f"We decided to use tool{n} for step {n}." for n in range(3 * MAX_STATEMENTS))
    assert len(read(text)) <= MAX_STATEMENTS
    assert "tool70" in " ".join(one.text for one in read(text))


def test_the_statements_of_the_benchmark() -> None:
    """Of the kinds that are given nineteen of twenty are right, in every list."""
    found = kinds.measure()["figures"]
    assert found["known"]["precision"] >= 0.95
    assert found["unseen"]["precision"] >= 0.95
    assert found["independent"]["precision"] >= 0.95
    assert found["unseen"]["found"] >= 0.8
