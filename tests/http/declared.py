"""Whether an answer is one that the service's OpenAPI declares: its status, and each field of its body."""

import re
from functools import lru_cache
from typing import Any

import httpx
import jsonschema_rs

# Addresses that tests make up, the description itself, and MCP, which has a description of its own.
_UNDECLARED = re.compile(r"/nothing|/canary.*|/openapi\.json|/mcp")


def check_declared(answer: httpx.Response) -> None:
    """Fail for an answer that is not declared."""
    description = read_description(str(answer.url.copy_with(path="/openapi.json", query=None)))
    path, method, status = answer.url.path, answer.request.method.lower(), str(answer.status_code)
    if _UNDECLARED.fullmatch(path):
        return
    matching = [each for each in description["paths"] if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path)]
    template = min(matching, key=lambda each: each.count("{"))  # an address without an id in it goes first
    if method not in description["paths"][template]:
        assert status in ("401", "405"), (method, path, status)
        return
    responses = description["paths"][template][method]["responses"]
    assert status in responses, (method, path, status)
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in responses[status]["content"], (method, path, kind)
    if kind == "application/json":
        answer.read()
        schema = {**responses[status]["content"][kind]["schema"], "components": description["components"]}
        jsonschema_rs.validator_for(schema, validate_formats=True).validate(answer.json())


@lru_cache(maxsize=1)
def read_description(url: str) -> dict[str, Any]:
    """The OpenAPI of a service, in which an object has no fields but its own."""
    description: dict[str, Any] = httpx.get(url).json()
    for schema in description["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return description
