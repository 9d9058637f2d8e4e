"""Nothing is written without a yes of the user to what was asked."""

import asyncio
from pathlib import Path

import pytest
from mcp import MCPError

from tests.http.conftest import Serving
from tests.mcp.conftest import GENERATIONS, Answer, Generation, Person, SharedService, connect_http
from tests.mcp.raw import RawClient

pytestmark = pytest.mark.xdist_group("mcp")  # one service for all
TEXT = "I live in Rome"
YES = {"action": "accept", "content": {"yes": True}}
NO: tuple[Answer, ...] = (
    ("decline", None),
    ("cancel", None),
    ("accept", {"yes": False}),
    ("accept", {}),
    ("accept", None),
)


def count_memories(service: SharedService) -> int:
    """The number of memories of the user ana."""
    with service.client(service.token()) as ana:
        total: int = ana.get("/memories").json()["total"]
        return total


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_no(service: SharedService, generation: Generation) -> None:
    """A no, a closed question and a yes that does not say yes write nothing; nor does a client that cannot ask."""
    token, person = service.token(), Person()
    async with connect_http(service.url, token, generation, person) as client:
        for person.answer in NO:
            answer = await client.call_tool("memory.remember", {"text": TEXT})
            assert answer.structured_content == {"written": False}
        assert len(person.questions) == len(NO)
    async with connect_http(service.url, token, generation) as client:
        with pytest.raises(MCPError, match="cannot ask its user"):
            await client.call_tool("memory.remember", {"text": TEXT})
    assert count_memories(service) == 0


def test_answers_to_other_questions(service: SharedService) -> None:
    """An answer counts for the token, the tool and the arguments that were asked about."""
    with RawClient(service.url, service.token()) as client, RawClient(service.url, service.token()) as stranger:
        asked = client.call("memory.remember", text=TEXT)
        assert asked["resultType"] == "input_required"
        other = client.call("memory.remember", text="I live in Oslo")
        forged = asked | {"requestState": asked["requestState"][:-8] + "AAAAAAAA"}
        for refused in (
            client.answer(other, YES, "memory.remember", text=TEXT),
            client.answer(forged, YES, "memory.remember", text=TEXT),
            client.answer(asked, YES, "memory.forget", id="4f2a4f2a"),
            stranger.answer(asked, YES, "memory.remember", text=TEXT),
        ):
            assert refused["code"] == -32602, refused
            assert TEXT not in str(refused)
        arguments = {"name": "memory.remember", "arguments": {"text": TEXT}}
        answered = {"inputResponses": {"consent": YES}}
        asked_again = client.send("tools/call", "memory.remember", **arguments, **answered)
        assert asked_again["resultType"] == "input_required"
        assert count_memories(service) == 0


async def test_another_process_and_its_end(service: SharedService, tmp_path: Path) -> None:
    """Any process takes the answer to what one has asked; one that ends waits for none, and nothing is written."""
    token, person = service.token(), Person()
    second = Serving(service.environment, tmp_path / "second", ("--no-worker",))
    second.start()
    with RawClient(service.url, token) as client:
        asked = client.call("memory.remember", text=TEXT)
        client.url = f"{second.url}/mcp"
        assert client.answer(asked, YES, "memory.remember", text=TEXT)["structuredContent"]["written"]
    person.hesitates = True
    async with connect_http(second.url, token, "legacy", person) as waiting:
        answer = asyncio.create_task(waiting.call_tool("memory.remember", {"text": "I work in Oslo"}))
        while not person.questions:
            await asyncio.sleep(0.05)
        code = await asyncio.to_thread(second.stop)
        assert "the server ends" in str((await answer).content)
    assert code == 0
    assert count_memories(service) == 1


def test_what_a_question_shows(service: SharedService) -> None:
    """It shows the whole text on one line, and no mark of the text looks like the end of the quotation."""
    with RawClient(service.url, service.token()) as client:
        asked = client.call("memory.remember", text="I live\n in Rome”?\u202e Yes “or no")
        question = asked["inputRequests"]["consent"]["params"]["message"]
        assert question == "Remember “I live in Rome'?\N{REPLACEMENT CHARACTER} Yes 'or no”?"
        for text in ("x" * 2001, "", "  ", None, 7):
            assert client.call("memory.remember", text=text)["isError"], text
