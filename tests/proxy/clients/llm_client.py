"""Says texts with `llm`, in an environment that has it; it is spoken to as openai_client.py is.

Its model stands in `extra-openai-models.yaml` of a folder of its own, which LLM_USER_PATH names."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def look_up(what: str) -> str:
    """Look something up."""
    return "It is so."


def converse(given: dict[str, Any]) -> list[list[str]]:
    """Say each text in a conversation of its own."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LLM_USER_PATH"] = folder
        model = {
            "model_id": "proxied",
            "model_name": "tiny-1",
            "api_base": given["base_url"],
            "api_key_name": "proxied",  # a key that is given to a chain is that of its first request only
            "supports_tools": True,
        }
        Path(folder, "keys.json").write_text(json.dumps({"proxied": given["api_key"]}), encoding="utf-8")
        Path(folder, "extra-openai-models.yaml").write_text(json.dumps([model]), encoding="utf-8")  # JSON is YAML
        import llm  # reads the folder's name when it is imported

        return [
            [
                llm.get_model("proxied")
                .chain(text, tools=[look_up] if turn["tools"] else None, stream=turn["stream"])
                .text()
                for text in turn["texts"]
            ]
            for turn in given["rounds"]
        ]


if __name__ == "__main__":
    print(json.dumps(converse(json.load(sys.stdin))))
