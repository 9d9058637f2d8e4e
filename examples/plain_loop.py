"""A plain loop over the client of openai, with memory in a file: no Postgres, and nothing in the loop knows of it.

It runs as it is, without a key: the model is a script on this machine. Put your own client in its place."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI

from muniment import load_settings
from muniment.chain import ChatLoop, Host, Identity
from muniment.plugin.opening import open_plugin
from muniment.testing import ScriptedOpenAI, tool_call


def run_tests(package: str) -> str:
    """Run the tests of a package."""
    return f"{package}: 12 passed"


def answer_chat(body: dict[str, Any]) -> str | dict[str, Any]:
    """The script: it calls the tool where tests are asked for, or repeats what stands before it."""
    last = body["messages"][-1]
    if last["role"] == "user" and "tests" in last["content"]:
        return tool_call("run_tests", {"package": "billing"})
    return "\n".join(f"  {message['role']}: {message['content']}" for message in body["messages"])


async def main() -> None:
    """Tell it something in one session, and see in another what stands before the model."""
    settings = load_settings()
    settings = settings.model_copy(update={"plugin": settings.plugin.model_copy(update={"enabled": True})})
    talks = {"monday": "Use pnpm, conventional commits, short answers.", "tuesday": "Run the tests of billing."}
    with ScriptedOpenAI(answer_chat) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
            for session, text in talks.items():
                async with open_plugin(settings) as plugin, Host([plugin]) as host:
                    loop = ChatLoop(
                        host=host,
                        client=client,
                        model="scripted",
                        identity=Identity(user="example", session=session, project="billing"),
                        tools=[run_tests],
                    )
                    print(f"> {text}\n{(await loop.send_text(text)).text}")


if __name__ == "__main__":
    asyncio.run(main())
