"""Schemathesis over the pages and forms of the console: whatever it makes up, the answer is a declared one.

The console has no OpenAPI of its own: one is written here from its routes and from the fields that its templates and
pages name. As for the service, MUNIMENT_TEST_SCHEMATHESIS names the program."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muniment.faces.console.forms import FORM_KEY
from tests.console.test_every_route import ROUTES
from tests.console.test_forms_generated import DECLARED, FORM, NAMES
from tests.console.visitor import read_form_key, remember, sign_in
from tests.http.conftest import run_service

PROGRAM = os.environ.get("MUNIMENT_TEST_SCHEMATHESIS")
SETTINGS = "serve: {requests_per_second: 100000, burst: 100000}\n"
# Left out: what ends the session or begins another one, and the stream, which has no end.
LEFT_OUT = {"/login", "/enter", "/logout", "/live"}
CONFIG = """
headers = {{ Cookie = "${{SESSION}}" }}
request-timeout = 60
warnings = false

[phases]
stateful.enabled = false

[generation]
max-examples = {examples}

[checks]
# All fields of a form are texts; a page may be asked for with one that it does not know, and says so in the page.
positive_data_acceptance.enabled = false
negative_data_rejection.enabled = false
"""


def describe_routes(known: dict[str, str], form_key: str) -> dict[str, Any]:
    """An OpenAPI of the routes: each field is a text, one of the known values of its name, or the form key."""
    texts = {name: {"anyOf": [{"type": "string"}, {"enum": [known[name]]}]} for name in known}
    fields = {name: texts.get(name, {"type": "string"}) for name in NAMES}
    body = {"type": "object", "properties": fields | {FORM_KEY: {"const": form_key}}, "required": [FORM_KEY]}
    query = [{"name": name, "in": "query", "schema": field} for name, field in fields.items()]
    answers: dict[str, dict[str, Any]] = {
        str(status): {"description": "a page", "content": {"text/html": {}}} for status in DECLARED
    }
    answers["200"]["content"] |= {"application/jsonl": {}}
    answers["303"] = {"description": "the page that follows"}
    paths: dict[str, Any] = {}
    for method, path in ROUTES:
        if path in LEFT_OUT or method == "HEAD":
            continue
        inside = re.findall(r"\{([a-z_]+)", path)
        parameters = [{"name": name, "in": "path", "required": True, "schema": texts.get(name, {})} for name in inside]
        operation: dict[str, Any] = {"responses": answers, "parameters": parameters}
        if method == "POST":
            operation["requestBody"] = {"required": True, "content": {FORM: {"schema": body}}}
        else:
            operation["parameters"] = parameters + query
        paths.setdefault(path if path == "/" else f"/console{path}", {})[method.lower()] = operation
    return {"openapi": "3.1.0", "info": {"title": "console", "version": "1"}, "paths": paths}


@pytest.mark.skipif(PROGRAM is None, reason="MUNIMENT_TEST_SCHEMATHESIS names no schemathesis")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("owner", ["ana", None])
def test_schemathesis(environment: dict[str, str], tmp_path: Path, owner: str | None) -> None:
    """By a user's login and an operator's: only declared answers, and no defect."""
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    quick = environment | {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}
    with run_service(quick, tmp_path / "log") as service, sign_in(service, owner=owner, scopes=("admin",)) as client:
        [memory] = remember(service, "My sister lives in Rome")
        known = {"memory_id": memory, "id": memory, "ids": memory, "user": "ana", "stage": "write", "run": "1"}
        (tmp_path / "console.json").write_text(json.dumps(describe_routes(known, read_form_key(client))))
        examples = os.environ.get("MUNIMENT_TEST_EXAMPLES", "30")
        (tmp_path / "schemathesis.toml").write_text(CONFIG.format(examples=examples))
        session = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        command = ["--config-file", "schemathesis.toml", "run", "console.json", "--url", service.url, "--seed", "1"]
        ended = subprocess.run(
            [str(PROGRAM), *command, "--no-color"],
            cwd=tmp_path,
            env=environment | {"SESSION": session},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert client.get("/console/users").status_code == 200, "the session goes on"
        assert service.stop() == 0
        assert "defect:" not in service.log
