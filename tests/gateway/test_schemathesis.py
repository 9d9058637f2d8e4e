"""Schemathesis over the gateway's OpenAPI: whatever it makes up, the answer is a declared one.

Its program is named as for the tests of `muniment serve`: tests/http/test_schemathesis.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.gateway.test_process import converse, make_user
from tests.http.conftest import Serving

PROGRAM = os.environ.get("MUNIMENT_TEST_SCHEMATHESIS")
SETTINGS = "serve: {requests_per_second: 100000, burst: 100000}\n"
CONFIG = """
hooks = "hooks.py"
request-timeout = 60
warnings = false

[phases]
stateful.enabled = false

[generation]
max-examples = {examples}

[checks]
# A name that cannot be shown is a string, too.
positive_data_acceptance.enabled = false
"""
HOOKS = """
import os

import schemathesis


@schemathesis.hook
def map_body(context, body):
    # Bodies of somebody unknown would never reach a route; what is no valid name stays as it is.
    names = [body.get("user_id"), body.get("user_key")] if isinstance(body, dict) else [None]
    if all(isinstance(name, str) and 0 < len(name) <= 200 for name in names):
        return {**body, "user_id": "ana", "user_key": os.environ["USER_KEY"]}
    return body
"""


@pytest.mark.skipif(PROGRAM is None, reason="MUNIMENT_TEST_SCHEMATHESIS names no schemathesis")
@pytest.mark.timeout(1200)
def test_schemathesis(gateway_process: Serving, tmp_path: Path) -> None:
    """Examples, coverage and fuzzing, of bodies that are right and that are wrong, have declared answers alone."""
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    gateway_process.environment["MUNIMENT_CONFIG"] = str(tmp_path / "settings.yaml")
    key = make_user(gateway_process.environment)
    gateway_process.start()
    converse(gateway_process.url, key)
    (tmp_path / "schemathesis.toml").write_text(CONFIG.format(examples=os.environ.get("MUNIMENT_TEST_EXAMPLES", "50")))
    (tmp_path / "hooks.py").write_text(HOOKS)
    command = [
        "--config-file",
        "schemathesis.toml",
        "run",
        f"{gateway_process.url}/openapi.json",
        "--seed",
        "1",
        "--no-color",
    ]
    ended = subprocess.run(
        [str(PROGRAM), *command],
        cwd=tmp_path,
        env=gateway_process.environment | {"USER_KEY": key},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert gateway_process.stop() == 0
    assert "defect:" not in gateway_process.log
