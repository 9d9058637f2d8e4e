"""A question on the console: what is found and why, what is left out and why, what a model gets: P-20, P-21, P-33."""

import json
import re
from html import unescape

import httpx
import pytest

from tests.console.browser import Browser
from tests.console.conversations import HOSTILE, LONG, remember
from tests.console.visitor import read_text, sign_in
from tests.http.conftest import Serving

ASK = "/console/ask"
FACTS = (
    "The user is allergic to peanuts.",
    "The user lives in Lisbon.",
    "The user works as a nurse.",
    "The user's sister is called Maria.",
    "The user drinks tea in the morning.",
)


def ask(client: httpx.Client, text: str, **more: str) -> httpx.Response:
    return client.get(ASK, params={"q": text, "agent": "supervisor", **more})


def read_block(answer: httpx.Response) -> str:
    """The text that a model gets, as the page shows it."""
    found = re.search(r"<pre[^>]*><code>(&lt;recalled-memory.*?)</code>", answer.text, re.DOTALL)
    assert found
    return unescape(found[1])


def test_a_question_is_answered_as_memory_query_answers_it(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    page = ask(ana, "peanuts")
    with serving.client(serving.token()) as api:
        answer = api.post("/memory/query", json={"query": "peanuts", "agent": "supervisor"}).json()
    assert [each["text"] for each in answer["results"]] == ["[activity] The user is allergic to peanuts."]
    block = read_block(page)
    assert json.loads(block.splitlines()[2]) == answer
    tokens = re.search(r"to the letter (\d+) tokens", read_text(page))
    assert tokens
    assert f"{tokens[1]} of 512 tokens" in read_text(page)


def test_each_hit_has_its_score_as_bars_without_the_parts_that_are_nothing(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    with serving.client(serving.token()) as api:
        asked = {"query": "peanuts", "agent": "supervisor", "explain": True}
        [hit] = api.post("/memory/query", json=asked).json()["results"]
    page = ask(ana, "peanuts").text
    rows = re.findall(r'<th scope="row">([^<]+)</th><td>(?:<svg.*?</svg>)?</td><td class="number">([-\d.]+)</td>', page)
    parts = {name: value for name, value in rows if name not in ("Relevance", "Score")}
    assert sorted(parts.values()) == sorted(f"{value:.3f}" for value in hit["parts"].values() if abs(value) >= 0.0005)
    assert dict(rows)["Score"] == f"{hit['score']:.3f}"


def test_what_is_left_out_stands_below_the_cut_that_left_it_out(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS, "The user is allergic to peanuts and walnuts.", "Peanuts are on the user's list.")
    text = read_text(ask(ana, "peanuts", top_k="1"))
    cut = text.index("Cut: at most 1 were asked for")
    assert text.index("The user is allergic to peanuts") < cut < text.index("Peanuts are on the user's list")
    assert "Cut: a relevance of" in text


def test_why_not_says_why_a_memory_is_not_in_the_answer(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    with serving.client(serving.token()) as api:
        listed = {each["text"]: each["id"] for each in api.get("/memories").json()["memories"]}
        lisbon = listed["The user lives in Lisbon."]
        asked = {"query": "peanuts", "agent": "supervisor", "memory_id": lisbon}
        said = api.post("/memory/why-not", json=asked).json()["said"]
    text = read_text(ask(ana, "peanuts", why=lisbon[:8]))
    assert said in text
    assert f"muniment why-not {lisbon} -q peanuts --agent supervisor --user ana" in text


def test_a_memory_of_another_user_is_as_none(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    [foreign] = remember(serving, "Bob hides his money in the oven.", owner="bob")
    answers = [ask(ana, "money", why=given) for given in (foreign, "00000000-0000-0000-0000-000000000001")]
    assert [each.status_code for each in answers] == [404, 404]
    said = {tuple(re.findall(r'role="alert">([^<]*)', each.text)) for each in answers}
    assert said == {("There is no such memory, or it is not yours to see.",)}
    assert "oven" not in answers[0].text
    assert ana.get(ASK, params={"q": "money", "user": "bob"}).status_code == 403


def test_a_token_of_one_agent_asks_as_this_one_alone(serving: Serving) -> None:
    remember(serving, *FACTS)
    with sign_in(serving, owner="ana", agents=("stylist",)) as client:
        page = client.get(ASK)
        assert 'value="stylist"' in page.text
        assert 'value="supervisor"' not in page.text
        assert client.get(ASK, params={"q": "tea", "agent": "supervisor"}).status_code == 403
        assert ask(client, "tea", agent="stylist", category="constraints").status_code == 403


def test_the_fields_of_a_question_are_of_this_one_alone(serving: Serving, ana: httpx.Client) -> None:
    """Empty fields are rendered once for all who have the same choices in the same language."""
    filled = ask(ana, "tea", **{"filter.topic": "oolong", "b.agent": "planner"}).text
    assert re.search(r'<input id="filter\.topic"[^>]* value="oolong"', filled)
    empty = ask(ana, "tea").text
    assert 'id="filter.topic"' in empty
    assert "oolong" not in empty
    chinese = ana.get(ASK, headers={"accept-language": "zh"}).text
    assert ("Filters" in empty, "Filters" in chinese, "筛选" in chinese) == (True, False, True)
    with sign_in(serving, owner="ana", agents=("stylist",)) as client:
        assert 'value="supervisor"' not in client.get(ASK).text


def test_two_settings_stand_side_by_side(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS, "Peanuts are on the user's list.")
    page = ask(ana, "peanuts", compare="yes", **{"b.agent": "supervisor", "b.top_k": "1"})
    text = read_text(page)
    assert "First settings: supervisor" in text
    assert "Second settings: supervisor" in text
    assert page.text.count('<ol class="hits plain">') == 2
    assert text.count("only here") == 1
    assert "--top-k 1" in text


@pytest.mark.parametrize("as_of", ["1", "2999-01-01"])
def test_a_question_is_asked_as_of_a_revision(serving: Serving, ana: httpx.Client, as_of: str) -> None:
    remember(serving, *FACTS)
    answer = ask(ana, "tea", as_of=as_of)
    if as_of == "1":
        assert "1 memory below" in read_text(answer)
        assert f"--as-of {as_of}" in read_text(answer)
    else:
        assert (answer.status_code, "in the future" in read_text(answer)) == (422, True)


def test_a_filter_narrows_the_answer(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    remember(serving, "Peanut butter is a task.", category="tasks")
    assert "allergic" not in read_block(ask(ana, "peanuts", category="tasks"))
    text = read_text(ask(ana, "peanuts", **{"filter.importance_min": "5"}))
    assert "--filter importance_min=5" in text
    assert "Nothing is found" in text
    assert ask(ana, "peanuts", **{"filter.updated_after": "never"}).status_code == 422


def test_the_context_of_a_message_is_what_a_model_gets(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    with serving.client(serving.token()) as api:
        given = api.get("/context", params={"text": "peanuts", "agent": "supervisor"}).json()
    page = unescape(ask(ana, "peanuts", context="yes").text)
    assert given["moving"]
    assert given["moving"] in page


@pytest.mark.parametrize(("name", "value"), [("top_k", "many"), ("budget_tokens", "-1"), ("threshold", "2")])
def test_a_setting_that_cannot_be_is_marked_where_it_stands(ana: httpx.Client, name: str, value: str) -> None:
    answer = ask(ana, "tea", **{name: value})
    assert answer.status_code == 422
    assert f'aria-describedby="{name}-error"' in answer.text
    assert f'value="{value}"' in answer.text


@pytest.mark.parametrize("second", ["", "&compare=yes&b.agent=planner&context=yes&filter.reach=user"])
def test_every_view_of_a_question_is_sound(chromium: Browser, serving: Serving, ana: httpx.Client, second: str) -> None:
    ids = remember(serving, *FACTS, *(f"{each} is what the user said of peanuts" for each in HOSTILE[:-1]))
    path = f"{ASK}?q=peanuts&agent=supervisor{second}&why={ids[0]}"
    chromium.check_page(serving.url, path, ana.cookies.jar)


def test_the_form_of_a_question_is_sound(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    chromium.check_page(serving.url, ASK, ana.cookies.jar)


def test_hostile_words_of_memories_and_questions_are_text(serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *(f"{each} is what the user said of peanuts" for each in HOSTILE[:-1]))
    page = ask(ana, "peanuts").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "{{ 7*7 }}" in page
    for each in HOSTILE[:-1]:
        page = ask(ana, each).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert ask(ana, LONG).status_code in (200, 414)


def test_a_question_is_asked_by_the_keyboard(chromium: Browser, serving: Serving, ana: httpx.Client) -> None:
    remember(serving, *FACTS)
    for script in (True, False):
        with chromium.open_tab(serving.url, ana.cookies.jar, script=script) as tab:
            tab.open(ASK)
            tab.page.locator("#q").focus()
            tab.page.keyboard.type("peanuts")
            with tab.page.expect_navigation():
                tab.page.keyboard.press("Enter")
            assert "allergic to peanuts" in tab.page.locator(".hits").inner_text()
            with tab.page.expect_navigation():
                tab.page.locator(".omitted a").first.press("Enter")
            assert tab.page.locator("#verdict").is_visible()
