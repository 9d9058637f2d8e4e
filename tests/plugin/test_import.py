"""What importing the plugin costs a host."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys, time
began = time.process_time()
from muniment.plugin import open_plugin
from muniment.plugin.stores.local.store import open_local_store
print(json.dumps({"seconds": time.process_time() - began, "modules": sorted(sys.modules)}))
"""
DRIVERS = {"psycopg", "psycopg_pool", "openai", "langchain_core", "langgraph", "onnxruntime", "httpx2"}


def test_import_loads_no_driver_and_takes_little() -> None:
    """At most .4 s of processor time with the local store, the best of three: other work makes any of them slower."""
    answers = [
        json.loads(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert not DRIVERS & {*answers[0]["modules"]}
    assert min(each["seconds"] for each in answers) <= 0.4
