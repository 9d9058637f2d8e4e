"""Everything known of a person, from the first page of the console."""

import json

import httpx

from tests.console.visitor import remember, sign_in
from tests.http.conftest import Serving


def test_the_first_page_leads_to_everything_known(serving: Serving, ana: httpx.Client) -> None:
    """A page, a PDF and JSON, in the language of the console; a form that there is not is an error of the address."""
    remember(serving, "Keeps bees on the roof")
    first = ana.get("/console/overview").text if ana.get("/").status_code != 200 else ana.get("/").text
    for form in ("html", "pdf", "json"):
        assert f'href="/console/dossier?form={form}"' in first
    ana.cookies.set("muniment_language", "zh")
    page = ana.get("/console/dossier", params={"form": "html"})
    assert page.headers["content-disposition"].startswith("attachment; ")
    assert "关于ana的全部信息" in page.text
    assert "Keeps bees on the roof" in page.text
    assert ana.get("/console/dossier", params={"form": "pdf"}).content[:5] == b"%PDF-"
    assert ana.get("/console/dossier", params={"form": "docx"}).status_code == 422


def test_an_operator_gets_that_of_the_user_they_look_at(serving: Serving) -> None:
    """The picker of users counts, and a token of some agents gets nothing."""
    remember(serving, "Keeps bees on the roof")
    remember(serving, "Repairs old clocks", owner="ben")
    with sign_in(serving, owner=None, scopes=("admin",)) as operator:
        answer = operator.get("/console/dossier", params={"user": "ben", "form": "json"})
        assert json.loads(answer.content)["person"]["user"] == "ben"
        assert "clocks" in answer.text
        assert "bees" not in answer.text
    with sign_in(serving, owner="ana", agents=("stylist",)) as some:
        assert some.get("/console/dossier").status_code == 403
