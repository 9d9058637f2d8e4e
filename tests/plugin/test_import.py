"""What importing the plugin costs a host."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, sys, time
began = time.process_time()
import asyncio, sqlite3, numpy
libraries = time.process_time() - began
from muniment.plugin import open_plugin
from muniment.plugin.stores.local.store import open_local_store
print(json.dumps({"seconds": time.process_time() - began, "libraries": libraries, "modules": sorted(sys.modules)}))
"""
DRIVERS = {"psycopg", "psycopg_pool", "openai", "langchain_core", "langgraph", "onnxruntime", "httpx2"}


def test_import_loads_no_driver_and_takes_little() -> None:
    """P-8: at most three times what the libraries take that a local store rests on, the best of three."""
    answers = [
        json.loads(subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    assert not DRIVERS & {*answers[0]["modules"]}
    assert min(each["seconds"] / each["libraries"] for each in answers) <= 3
