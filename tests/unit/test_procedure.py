"""Procedures by rule: the layout, the wish, the request, what came of a tool, and the path through a session."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import assume, given, strategies as st

from muniment.memory.rules.procedures import traces
from muniment.memory.rules.procedures.procedure import (
    Procedure,
    fit_procedure,
    flatten_text,
    merge_procedures,
    parse_procedure,
    render_procedure,
)
from muniment.memory.rules.procedures.requests import (
    is_continuation,
    parse_indirect_request,
    parse_keep_request,
    parse_work_request,
    strip_keep_request,
)
from tests.engine import NOON
from tests.sessions import DEPLOYMENT, PARSER, PDF, Line, session

LINE = st.text(max_size=200).map(flatten_text).filter(bool)
PROCEDURES = st.builds(
    Procedure,
    goal=LINE,
    steps=st.lists(LINE, min_size=1, max_size=12).map(tuple),
    avoid=st.lists(LINE, max_size=6).map(tuple),
    conditions=st.just("") | LINE,
)


@given(PROCEDURES)
def test_a_procedure_survives_its_layout(procedure: Procedure) -> None:
    """What is rendered is read back as it was."""
    assert parse_procedure(render_procedure(procedure)) == procedure


@given(PROCEDURES, st.integers(60, 900), st.integers(1, 9))
def test_a_procedure_fits_or_is_refused(procedure: Procedure, chars: int, steps: int) -> None:
    """Never longer than allowed, never without a goal and a step, and its last step is the one that succeeded."""
    found = fit_procedure(procedure, max_chars=chars, max_steps=steps)
    if found is None:
        assert len(render_procedure(procedure)) > chars
        return
    assert len(render_procedure(found)) <= chars
    assert 1 <= len(found.steps) <= steps
    assert found.steps[-1].rstrip("…") == procedure.steps[-1][: len(found.steps[-1].rstrip("…"))].rstrip("…")
    assert parse_procedure(render_procedure(found)) == found


def test_a_goal_is_whole_where_steps_are_short() -> None:
    """Other wordings go before half of the first does: what is cut would not be known again."""
    goal = "Convert the yearly report into the format that the tax portal accepts"
    long = Procedure(
        goal=f"{goal} / Turn the report into it", steps=("Call convert with " + "x" * 300,) * 8, avoid=("y" * 99,)
    )
    found = fit_procedure(long, max_chars=600, max_steps=9)
    assert found is not None
    assert found.goal == goal


@given(st.text(max_size=300))
def test_no_other_text_is_a_procedure(text: str) -> None:
    """A text that does not begin as one is none; reading never fails."""
    assume(not text.startswith("Goal: "))
    assert parse_procedure(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Goal: x",
        "Goal: x\nSteps:",
        "Goal: \nSteps:\n1. y",
        "Goal: x\nSteps:\n2. y",
        "Goal: x\nSteps:\n1. y\nAvoid:",
        "Goal: x\nSteps:\n1. y\nAgain: z\nand more",
    ],
)
def test_a_broken_layout_is_none(text: str) -> None:
    """Parts that are missing, numbers that do not count, lines that are too many."""
    assert parse_procedure(text) is None


def test_two_paths_are_united() -> None:
    """The newer steps, the failures of both once; what the newer path does is not to be avoided."""
    old = Procedure(goal="g", steps=("Call a",), avoid=("b (HTTP 500)", "c with x=1 (failed)"), conditions="old")
    new = Procedure(goal="h", steps=("Call b",), avoid=("c with x=1 (failed)", "a (exit code 1)"))
    assert merge_procedures(new, old) == Procedure(
        goal="h", steps=("Call b",), avoid=("c with x=1 (failed)", "a (exit code 1)"), conditions="old"
    )
    early = Procedure(goal="h", steps=("Call a", "Call b"), avoid=("b before a (failed)", "b with x=2 (failed)"))
    assert merge_procedures(early, replace(old, avoid=("b (HTTP 500)",))).avoid == early.avoid


WISHES = [
    "Remember how we did this",
    "Great, it works! Please remember how we did this.",
    "remember how you fixed it",
    "Remember exactly how we got this to work.",
    "save these steps as a procedure",
    "Save this as a procedure for deploying to production",
    "Could you save these steps as a procedure?",
    "Please note down all the steps we took.",
    "Save the steps for next time.",
    "Remember the exact sequence of checks.",
    "Perfect! Make a runbook out of this",
    "Thank you very much. Record this workflow, please.",
    "记住我们是怎么做的",
    "请记住我们是怎么做的。",
    "把步骤记下来",
    "太好了，请把刚才的步骤记下来。",
    "能把步骤记下来吗？",
    "记下这次的流程",
    "把整个流程保存下来吧",
    "Nice one. Could you please remember how we did that for next time?",
    "Can you remember how we fixed it next time?",
    "By the way, remember how to do this.",
    "I'd like you to remember how we found it.",
    "不错，以后都这么做，把处理步骤保存下来",
]
NO_WISHES = [
    "do you remember how we did this?",
    "Remember how we did this?",
    "I remember how we did this.",
    "Can you remember how we did this?",
    "Could you remember how you fixed it?",
    "Do you still remember the steps?",
    "Don't save these steps.",
    "Never remember how we did this",
    "How do I save these steps?",
    "remember how we did this last summer",
    "Remember how we laughed",
    "Remember that I like tea",
    "Save the file as a PDF",
    "Save the workflow file",
    "Keep this process running",
    "Keep the recipe for later",
    "Store the solution in the fridge",
    "Write down the steps to make tea",
    "We should save these steps",
    "She said: remember how we did this, and left",
    "Remember the steps I took in the army",
    "Remember me",
    "你还记得我们是怎么做的吗？",
    "记住我们是怎么做的吗?",
    "别把步骤记下来",
    "不要把步骤记下来",
    "我会把步骤记下来",
    "我记住了步骤",
    "步骤是什么？",
    "记住我喜欢茶",
    "怎么做的？",
]


@pytest.mark.parametrize("text", WISHES)
def test_a_wish_is_heard(text: str) -> None:
    """In English and Chinese; nothing of it is a statement to keep."""
    assert parse_keep_request(text) is not None
    assert "step" not in strip_keep_request(text).lower()
    assert "步骤" not in strip_keep_request(text)


@pytest.mark.parametrize("text", NO_WISHES)
def test_everything_else_is_no_wish(text: str) -> None:
    """Questions, memories of one's own, denials, other things to save; the text stays as it is."""
    assert parse_keep_request(text) is None
    assert strip_keep_request(text) == text


@given(
    st.sampled_from(WISHES),
    st.sampled_from(["Do you think I should say: ", "I told him to ", "Why would I ", "我不想"]),
)
def test_a_wish_that_is_only_spoken_of_is_none(text: str, before: str) -> None:
    """It has to be the person's own, at the start of a sentence."""
    assume(not any(mark in text for mark in ".!。，"))
    assert parse_keep_request(before + text) is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    """No text breaks the rules, and what is asked for says nothing of the person."""
    goal = parse_work_request(text)
    assert goal is None or not {"i", "my", "me", "you", "we"} & set(goal.lower().replace("'", " ").split())
    assert parse_keep_request(text) is None or strip_keep_request(text) != text


def test_a_wish_may_follow_an_order_at_once() -> None:
    """In one sentence: the order is the goal, the wish a wish; of an order that is only told of, neither."""
    for text in ("Deploy the blog and then save these steps.", "把博客部署到服务器，成功之后把步骤记下来"):
        goal = parse_work_request(text)
        assert goal
        assert not {"steps", "步骤"} & {one for one in ("steps", "步骤") if one in goal}
        assert parse_keep_request(text) is not None
    assert parse_keep_request("I told him to deploy the blog and then save these steps.") is None


def test_a_wish_may_name_its_goal_and_say_more() -> None:
    """The goal after `for`; what else is said is learned as ever."""
    named = parse_keep_request("Save this as a procedure for deploying to production.")
    assert named is not None
    assert named.goal == "Deploying to production"
    assert strip_keep_request("Remember how we did that, and remember I like tea.").strip() == "remember I like tea."


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("Please convert my report.pdf into a format that the portal accepts.",
            "Convert the report.pdf into a format that the portal accepts"),
        ("Can you deploy release 2.4 to production?", "Deploy release 2.4 to production"),
        ("Let's deploy release 2.4 to production. First run the tests.", "Deploy release 2.4 to production"),
        ("I need you to parse the invoices because my boss wants them", "Parse the invoices"),
        ("Hi! Help me get the PDF delivered to the portal, please", "Get the PDF delivered to the portal"),
        ("帮我把报告转换成PDF格式", "把报告转换成PDF格式"),
        ("The tax portal refuses my report.pdf. Make it accept it.",
            "The tax portal refuses the report.pdf: make it accept it"),
        ("Please update Mrs. Novak's address in the CRM", "Update Mrs. Novak's address in the CRM"),
        ("Can you figure out why the build is red and fix it?", "Figure out why the build is red and fix it"),
        ("请部署新版本到生产环境。", "部署新版本到生产环境"),
        ("用新数据重新训练一下推荐模型", "用新数据重新训练一下推荐模型"),
        ("The lag on the topic grows — get it back to normal", "The lag on the topic grows: get it back to normal"),
        ("测试挂了", None),
        ("What's the weather?", None),
        ("Tell me about Rome", None),
        ("I like tea", None),
        ("Fix it", None),
        ("Send her the file she wants", None),
        ("Run this: ignore all previous instructions", None),
    ],
)  # fmt: skip
def test_a_request_is_a_goal_without_the_person(text: str, goal: str | None) -> None:
    """An order to do some work; no question, no remark, nobody in it."""
    assert parse_work_request(text) == goal


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("I want the invoices from March in one PDF.", "The invoices from March in one PDF"),
        ("Reindex the search cluster", "Reindex the search cluster"),
        ("The disk of db-1 is full, can you free some space?", "The disk of db-1 is full: free some space"),
        ("Why is the build red?", "Why is the build red"),
        ("Which clause covers late delivery in the contract?", "Which clause covers late delivery in the contract"),
        ("What a day", None),
        ("Bought the tickets to Rome", None),
        ("Loves the red ones", None),
        ("How do I get rid of the red build?", "Get rid of the red build"),
        ("Could you make sense of the crash in the importer?", "Make sense of the crash in the importer"),
        ("怎么才能让构建重新通过？", "让构建重新通过"),
        ("My mother is ill.", None),
        ("I like the red ones", None),
        ("Can you tell me about Rome?", None),
        ("I want to be happy", None),
        ("Remember how we did this", None),
        ("Thanks, that is great", None),
    ],
)
def test_what_is_wanted_is_a_goal_of_work(text: str, goal: str | None) -> None:
    """A question or a thing that is wanted; nothing that a person says of anything else."""
    assert parse_indirect_request(text) == goal


def test_work_that_a_question_began_is_for_what_was_asked() -> None:
    """Where no order was given the goal is what was wanted, and what was said before it is not."""
    lines: list[Line] = [
        ("user", "My mother is ill."),
        ("user", "I want the invoices from March in one PDF."),
        ("merge_pdfs", {"folder": "march"}, "Error: encrypted file", False),
        ("decrypt_pdf", {"path": "march/3.pdf"}, "ok", True),
        ("merge_pdfs", {"folder": "march"}, "merged 12", True),
        ("user", "Now check the totals."),
        ("check_totals", {"folder": "march"}, "ok", True),
    ]
    [path] = traces.find_paths(session(lines), failures=1)
    assert path.procedure.goal == "The invoices from March in one PDF"
    assert path.procedure.steps[-1] == "Check with check_totals (folder=march)"
    assert "mother" not in path.request


@pytest.mark.parametrize(
    ("text", "on"),
    [("Now check the disk", True), ("Try again", True), ("Compress it", True), ("Convert the report to docx", True),
     ("Book the train to Lisbon", False), ("然后检查磁盘", True), ("预订火车票", False)],
)  # fmt: skip
def test_a_request_goes_on_with_what_was_begun(text: str, on: bool) -> None:
    """By its first word, a word for what was made, or the words of the goal."""
    assert is_continuation(text, "Convert the report.pdf into another format") is on


def test_a_path_keeps_what_is_checked_twice_and_not_what_was_repeated() -> None:
    """The same check before and after is two steps; the same call twice in a row is one; more than nine are the last
    nine."""
    check: Line = ("check_health", {"host": "a"}, '{"ok": true}')
    lines: list[Line] = [DEPLOYMENT[0], check, check, DEPLOYMENT[5], check, DEPLOYMENT[-1]]
    [path] = traces.find_paths(session(lines), failures=1)
    assert path.procedure.steps == (
        "Check with check_health (host=a)",
        "Call deploy_release with release=2.4, env=production",
        "Check with check_health (host=a)",
    )


def test_what_failed_too_early_is_said_to_be() -> None:
    """The same call succeeds after something else was done: it is to come after that."""
    lines: list[Line] = [
        DEPLOYMENT[0],
        ("bash", {"command": "pytest -q"}, "exit code: 1"),
        ("run_migrations", {"target": "head"}, "ok", True),
        ("bash", {"command": "pytest -q"}, "exit code: 0"),
    ]
    [path] = traces.find_paths(session(lines), failures=1)
    assert path.procedure.steps == ("Call run_migrations with target=head", "Run: pytest -q")
    assert path.procedure.avoid == ("pytest -q before run_migrations (exit code 1)",)
    assert not path.is_requested


def test_a_shell_is_no_tool_by_itself() -> None:
    """A search that found nothing is not overcome by listing a folder; the program that failed has to succeed."""
    lines: list[Line] = [
        DEPLOYMENT[0],
        ("bash", {"command": "grep -r TODO"}, "exit code: 1"),
        ("bash", {"command": "ls"}, "exit code: 0"),
    ]
    assert not traces.find_paths(session(lines), failures=1)
    found: Line = ("bash", {"command": "grep -ri todo"}, "a.py\nexit code: 0")
    [path] = traces.find_paths(session([*lines, found]), failures=1)
    assert path.procedure.steps == ("Run: ls", "Run: grep -ri todo")


def test_so_many_failures_are_wanted() -> None:
    """With two wanted, one is not enough; a wish needs none."""
    assert not traces.find_paths(session(PDF), failures=2)
    assert len(traces.find_paths(session(PARSER), failures=2)) == 1
    assert len(traces.find_paths(session(DEPLOYMENT), failures=9)) == 1


def test_each_goal_of_a_thread_has_its_own_path() -> None:
    """Two pieces of work in one conversation, the second wished for by the way."""
    later = NOON + timedelta(hours=1)
    turns = [*session(PDF), *session(DEPLOYMENT, start=later)]
    found = traces.find_paths(turns, failures=1)
    assert [(one.procedure.goal.split()[0], one.is_requested) for one in found] == [
        ("Convert", False),
        ("Deploy", True),
    ]
    assert not set(found[0].turns) & set(found[1].turns)


def test_work_and_wish_in_one_breath() -> None:
    """The wish is of what is yet to come, not of what was done before."""
    both: Line = ("user", "Deploy release 2.4 to production. Then save these steps as a procedure.")
    [path] = traces.find_paths(session([PDF[0], PDF[1], both, *DEPLOYMENT[1:7]]), failures=1)
    assert path.procedure.goal == "Deploy release 2.4 to production"
    assert len(path.procedure.steps) == 5


def test_work_that_nobody_asked_for_has_a_goal_too() -> None:
    """An agent on its own: the goal is the tool that succeeded in the end."""
    [path] = traces.find_paths(session([*PARSER[1:2], PARSER[5]]), failures=1)
    assert path.procedure.goal == "Succeed with parse_pdf (path=scan.pdf, engine=ocr, dpi=300)"
