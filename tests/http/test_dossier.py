"""`GET /dossier`: everything known of a user over HTTP, for whom a token speaks and for nobody else."""

import json

import httpx

from tests.http.conftest import Serving
from tests.http.test_endpoints import keep


def test_a_dossier_over_http(serving: Serving, ana: httpx.Client) -> None:
    """A page, a PDF and JSON with their media types and names of files; in the language that is asked for."""
    keep(ana, "Keeps bees on the roof")
    page = ana.get("/dossier")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''dossier-ana.html"
    assert "Keeps bees on the roof" in page.text
    assert "关于ana的全部信息" in ana.get("/dossier", params={"language": "zh"}).text
    pdf = ana.get("/dossier", params={"format": "pdf"})
    assert (pdf.headers["content-type"], pdf.content[:5]) == ("application/pdf", b"%PDF-")
    rows = json.loads(ana.get("/dossier", params={"format": "json"}).content)
    assert rows["person"]["user"] == "ana"
    assert ana.get("/dossier", params={"format": "docx"}).status_code == 422


def test_a_dossier_is_for_whole_tokens_of_the_user(serving: Serving, ana: httpx.Client) -> None:
    """A token of some agents gets none, and one of another user gets that user's."""
    keep(ana, "Keeps bees on the roof")
    with serving.client(serving.token(agents=("stylist",))) as some:
        assert some.get("/dossier").status_code == 403
    with serving.client(serving.token(owner="ben")) as ben:
        assert "bees" not in ben.get("/dossier").text
        assert ben.get("/dossier", params={"user": "ana"}).status_code == 403
