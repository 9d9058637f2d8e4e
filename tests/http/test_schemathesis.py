"""Schemathesis over the OpenAPI: whatever it makes up, the answer is a declared one.

It needs an environment of its own. Install it, as with `uv tool install 'schemathesis>=4.32'`, and let
MUNIMENT_TEST_SCHEMATHESIS name its program."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.http.conftest import Serving, run_service
from tests.http.test_endpoints import keep

PROGRAM = os.environ.get("MUNIMENT_TEST_SCHEMATHESIS")
SETTINGS = "serve: {requests_per_second: 100000, burst: 100000}\n"
HOOKS = """
import schemathesis


@schemathesis.serializer("application/jsonl")
def encode_lines(context, value):
    return value if isinstance(value, bytes) else str(value).encode()
"""
CONFIG = """
hooks = "hooks.py"
headers = {{ Authorization = "Bearer ${{TOKEN}}" }}
request-timeout = 60
warnings = false

[parameters]
"path.memory_id" = "{id}"

[phases]
stateful.enabled = false

[generation]
max-examples = {examples}

[checks]
# A text that is no date is a string, too, and a user that a token is not for is a valid name.
positive_data_acceptance.enabled = false

[[operations]]
include-name = "GET /memory/changes"
headers = {{ Authorization = "Bearer ${{TOKEN}}", Accept = "application/json" }}
"""
STORE = """
[[operations]]
include-path-regex = "^/v1/store/"
headers = {{ Authorization = "Bearer ${{TOKEN}}", Muniment-Store-Protocol = "1", Muniment-Store-Tenant = "{tenant}", \
X-Muniment-User = "ana" }}
parameters = {{ "query.user" = "ana" }}
"""


@pytest.mark.skipif(PROGRAM is None, reason="MUNIMENT_TEST_SCHEMATHESIS names no schemathesis")
@pytest.mark.timeout(1200)
def test_schemathesis(environment: dict[str, str], tmp_path: Path) -> None:
    """Examples, coverage and fuzzing, of requests that are right and that are wrong, have declared answers alone."""
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    quick = {"MUNIMENT_CONFIG": str(tmp_path / "settings.yaml")}
    with run_service(environment | quick, tmp_path / "log") as service:
        ended = run_schemathesis(service, environment, tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        # A host of the plugin: the right version, tenant and user, so that what is made up reaches the items.
        hosted = ("--include-path-regex", "^/v1/store/")
        ended = run_schemathesis(service, environment, tmp_path, *hosted, more=STORE.format(tenant=service.tenant))
        assert ended.returncode == 0, ended.stdout + ended.stderr
        service.tenant = "default"  # an operator, whose token speaks for no user
        operated = ("--include-path-regex", "^/v1/(config|admin)")
        ended = run_schemathesis(service, environment, tmp_path, *operated, owner=None)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert service.stop() == 0
        assert "defect:" not in service.log


def run_schemathesis(
    service: Serving,
    environment: dict[str, str],
    folder: Path,
    *options: str,
    owner: str | None = "ana",
    more: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run it with a token that may do everything, the id of a memory that is there, and `more` of its configuration."""
    token = service.token(scopes=("admin",), owner=owner)
    headers = {"Authorization": f"Bearer {token}"} | ({} if owner else {"X-Muniment-User": "ana"})
    with httpx.Client(base_url=service.url, headers=headers) as ana:
        id_ = str(keep(ana, "My sister lives in Rome")["id"])
    examples = os.environ.get("MUNIMENT_TEST_EXAMPLES", "50")
    (folder / "schemathesis.toml").write_text(CONFIG.format(id=id_, examples=examples) + more)
    (folder / "hooks.py").write_text(HOOKS)
    command = ["--config-file", "schemathesis.toml", "run", f"{service.url}/openapi.json", "--seed", "1", "--no-color"]
    return subprocess.run(
        [str(PROGRAM), *command, *options],
        cwd=folder,
        env=environment | {"TOKEN": token},
        capture_output=True,
        text=True,
        check=False,
    )
