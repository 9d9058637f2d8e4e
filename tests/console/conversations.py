"""Conversations of the user ana, spoken beside a service on its database: with the graph, and without."""

from collections.abc import Sequence
from datetime import timedelta

from langchain_core.messages import HumanMessage

from muniment.graph.checkpointer import open_thread_saver
from muniment.graph.supervisor import build
from muniment.graph.turn import make_thread_key
from muniment.memory import bootstrap
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.nodes.state import Input, Who
from tests.conftest import alone
from tests.http.conftest import Serving

LONG = "x" * 10_000
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}",
    "记" * 280,
    "אני גר בתל אביב",
    "zero\u200bwidth",
    LONG,
)


def read_settings(serving: Serving) -> Settings:
    """The settings of a memory beside the service."""
    return load_settings(serving.environment)


def make_scope(serving: Serving, thread: str, owner: str = "ana") -> Scope:
    """The scope of a thread of ana's."""
    return Scope(owner=owner, tenant=serving.tenant, actor=owner, session=thread, thread=thread)


def talk_without_graph(
    serving: Serving, exchanges: Sequence[tuple[str, str]], thread: str = "main", owner: str = "ana"
) -> None:
    """Learn and record exchanges as a program of its own does: what memory gave is known by fingerprints alone."""
    alone(_talk(serving, make_scope(serving, thread, owner), exchanges))


async def _talk(serving: Serving, scope: Scope, exchanges: Sequence[tuple[str, str]]) -> None:
    async with bootstrap.create_memory(read_settings(serving)) as memory:
        for number, (said, reply) in enumerate(exchanges):
            await _exchange(memory, scope, number, said, reply)


async def _exchange(memory: Memory, scope: Scope, number: int, said: str, reply: str) -> None:
    thread, at = scope.thread or "", memory.now()
    message = Turn.make(session=thread, key=f"u{number}", role="user", text=said, at=at, thread=thread)
    brief = await memory.brief(scope, "supervisor", said)
    if len(said) <= 4_000:
        await memory.learn(scope, message)
    use = ToolUse(key=f"c{number}", name="memory_query", arguments={"query": said[:20]}, result="1 found", at=at)
    call = memory.conversation.make_tool_turn(scope, use)
    answer = Turn.make(
        session=thread,
        key=f"a{number}",
        role="assistant",
        text=reply,
        at=memory.now() + timedelta(microseconds=2),
        thread=thread,
        recalled=memory.conversation.shingle_hashes(brief.stable, brief.header, *brief.bullets),
    )
    await memory.conversation.record(scope, [message, call, answer])


def talk_with_graph(serving: Serving, messages: Sequence[str], thread: str = "main", owner: str = "ana") -> None:
    """Speak with the supervisor, without a model, over checkpoints in the database."""
    alone(_say(serving, messages, thread, owner))


async def _say(serving: Serving, messages: Sequence[str], thread: str, owner: str) -> None:
    settings = read_settings(serving).model_copy(update={"tenant": serving.tenant})
    key = make_thread_key(make_scope(serving, thread, owner).space, thread)
    async with bootstrap.create_memory(settings) as memory, open_thread_saver(settings) as saver:
        graph = build(memory, None, settings).compile(checkpointer=saver)
        for text in messages:
            await graph.ainvoke(
                Input(messages=[HumanMessage(text)]),
                {"configurable": {"thread_id": key}},
                context=Who(user=owner, tenant=serving.tenant, thread=thread),
            )


def remember(serving: Serving, *texts: str, owner: str = "ana", category: str = "activity") -> list[str]:
    """Keep texts as they are, and return the ids of all memories of the user, the newest first."""

    async def keep() -> list[str]:
        scope = Scope(owner=owner, tenant=serving.tenant)
        async with bootstrap.create_memory(read_settings(serving)) as memory:
            await memory.load(scope, [{"text": each, "category": category} for each in texts])
            return [str(each.id) for each in await memory.list(scope)]

    return alone(keep())
