"""What the console sends beside its pages: files of others as they are, small, kept by the browser: P-33."""

import gzip
import hashlib
import re
from importlib.resources import files

import httpx

from muniment.faces import console
from muniment.faces.console.static_files import list_vendored, load_static_files
from tests.http.conftest import Serving

STATIC = files(console) / "static"
OTHERS = ".min."  # in the name of each file of somebody else


def test_files_of_others_are_those_of_the_list() -> None:
    listed = {each.file: each.sha256 for each in list_vendored()}
    found = {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in STATIC.iterdir()}
    assert listed == {name: digest for name, digest in found.items() if OTHERS in name}


def test_every_licence_is_shown(ana: httpx.Client) -> None:
    shown = ana.get("/console/licences").text
    for each in list_vendored():
        assert each.sha256 in shown
        assert f"{each.name} {each.version}" in (STATIC / "licences.txt").read_text(encoding="utf-8")


def test_scripts_of_others_are_small() -> None:
    scripts = [each for each in STATIC.iterdir() if each.name.endswith(".js") and OTHERS in each.name]
    assert sum(len(gzip.compress(each.read_bytes())) for each in scripts) <= 60_000


def test_the_console_adds_little_to_the_wheel() -> None:
    """Everything of the package, as a wheel packs it: each file by itself."""
    waiting, size = [files(console)], 0
    while waiting:
        for each in waiting.pop().iterdir():
            if each.is_dir():
                waiting.append(each)
            elif not each.name.endswith(".pyc"):
                size += len(gzip.compress(each.read_bytes()))
    assert size <= 400_000


def test_a_static_file_is_kept_and_has_its_digest_in_its_name(serving: Serving) -> None:
    for file in load_static_files().values():
        answer = httpx.get(serving.url + file.address)
        assert answer.content == file.body
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["content-type"] == file.media_type
        assert hashlib.sha256(file.body).hexdigest()[:16] in file.address
        assert httpx.get(serving.url + file.address, headers={"Accept-Encoding": "identity"}).content == file.body


def test_no_other_file_is_sent(serving: Serving) -> None:
    for name in ("console.css", "vendored.txt", "..%2fapp.py", "%2e%2e/app.py", "console.0000000000000000.css"):
        assert httpx.get(f"{serving.url}/console/static/{name}").status_code == 404


def test_the_first_page_is_light(ana: httpx.Client) -> None:
    """The page and all that it loads, as it goes over the wire."""
    page = ana.get("/")
    addresses = re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page.text)
    sent = [int(ana.get(address).headers["content-length"]) for address in addresses]
    assert len(page.content) + sum(sent) <= 90_000
