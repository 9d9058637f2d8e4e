"""What a stranger sends to the endpoints of LangGraph's server, with the ids of the owner in place of their names."""

from __future__ import annotations

from typing import Any

CANARY = "Quetzalcoatlus"
SAID = {"messages": [{"role": "user", "content": "What do I like?"}]}
RUN = {"assistant_id": "supervisor", "input": SAID}
# Bodies for an endpoint, {} for any other.
BODIES: dict[str, list[dict[str, Any]]] = {
    "POST /assistants/search": [{"name": CANARY}, {"metadata": {"owner": "<space>"}}, {"graph_id": "supervisor"}],
    "POST /assistants/count": [{"name": CANARY}, {"metadata": {"owner": "<space>"}}, {}],
    "PATCH /assistants/{assistant_id}": [{"name": "x"}, {"metadata": {"owner": "<space>"}}],
    "POST /assistants/{assistant_id}/latest": [{"version": 1}],
    "POST /threads/search": [
        {}, {"ids": ["<thread_id>"]}, {"metadata": {"owner": "<space>"}}, {"values": {"space": "<space>"}},
        {"status": "idle"}, {"limit": 1000}, {"extract": {"a": "values.messages[0].content"}},
    ],
    "POST /threads/count": [{}, {"metadata": {"owner": "<space>"}}, {"values": {"space": "<space>"}}],
    "POST /threads/prune": [{"thread_ids": ["<thread_id>"]}, {"thread_ids": ["<thread_id>"], "strategy": "delete"}],
    "PATCH /threads/{thread_id}": [{"metadata": {"owner": "mine"}}, {"metadata": {"a": 1}}],
    "POST /threads/{thread_id}/state": [
        {"values": {"told_offline": True}}, {"values": {"space": "<space>"}, "as_node": "context"},
        {"values": {"messages": SAID["messages"]}, "as_node": "supervisor"}, {"checkpoint_id": "<checkpoint_id>"},
    ],
    "POST /threads/{thread_id}/state/checkpoint": [{"checkpoint": {"checkpoint_id": "<checkpoint_id>"}}],
    "POST /threads/{thread_id}/history": [{"limit": 100}, {"checkpoint": {"checkpoint_id": "<checkpoint_id>"}}],
    "POST /threads/{thread_id}/stream/events": [{"channels": ["values", "messages"], "since": 0}],
    "POST /threads/{thread_id}/runs/crons": [{"schedule": "0 0 1 1 *", **RUN}],
    "POST /runs/crons": [{"schedule": "0 0 1 1 *", **RUN, "assistant_id": "<assistant_id>"}],
    "POST /runs/crons/search": [{}, {"thread_id": "<thread_id>"}, {"assistant_id": "<assistant_id>"}],
    "POST /runs/crons/count": [{}, {"thread_id": "<thread_id>"}, {"assistant_id": "<assistant_id>"}],
    "PATCH /runs/crons/{cron_id}": [{"enabled": False}, {"metadata": {"owner": "<space>"}}, {"input": SAID}],
    "POST /runs/cancel": [{"thread_id": "<thread_id>", "run_ids": ["<run_id>"]}, {"status": "all"}],
    "POST /runs/batch": [[{**RUN, "assistant_id": "<assistant_id>"}]],  # type: ignore[list-item]  # a body that is a list
    "PUT /store/items": [{"namespace": ["a"], "key": "k", "value": {"v": 1}}],
    "DELETE /store/items": [{"namespace": ["a"], "key": "k"}],
    "POST /store/items/search": [{"namespace_prefix": []}, {"namespace_prefix": ["a"], "query": CANARY}],
    "POST /store/namespaces": [{}, {"suffix": ["a"]}, {"max_depth": 1}],
}  # fmt: skip
RUNS: list[dict[str, Any]] = [
    RUN,
    RUN | {"context": {"user": "ana"}},
    RUN | {"context": {"user": "ana", "tenant": "default"}},
    RUN | {"config": {"configurable": {"user": "ana", "langgraph_auth_user_id": "ana"}}},
    RUN | {"checkpoint_id": "<checkpoint_id>"},
    RUN | {"metadata": {"owner": "<space>"}, "multitask_strategy": "interrupt"},
    {"assistant_id": "supervisor", "command": {"resume": "yes"}},
    {"assistant_id": "supervisor", "command": {"update": {"space": "<space>"}}},
]
STATELESS = [{**RUN, "assistant_id": "<assistant_id>"}, RUN | {"context": {"user": "ana", "tenant": "default"}}]
QUERIES = {"GET /store/items": ["namespace=a&key=k"]}
OPEN = {"/", "/info", "/ok", "/metrics", "/docs", "/openapi.json"}
CLOSED = ("/internal", "/deploy")
# What is not there yet is made by these: what they answer of another's is checked apart, for it stays.
MAKES = {"POST /threads/{thread_id}/commands", "POST /threads", "POST /assistants"}
MAKING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/threads", {"thread_id": "<thread_id>", "if_exists": "raise"}),
    ("/threads", {"thread_id": "<thread_id>", "if_exists": "do_nothing", "metadata": {"owner": "<space>"}}),
    ("/threads", {"thread_id": "{<thread_id>}", "metadata": {"title": "mine"}}),
    ("/assistants", {"assistant_id": "<assistant_id>", "graph_id": "supervisor", "name": "mine"}),
    ("/assistants", {"assistant_id": "<assistant_id>", "graph_id": "supervisor", "if_exists": "do_nothing"}),
    ("/threads/<thread_id>/runs/wait", RUN | {"if_not_exists": "create"}),
    ("/threads/<thread_id>/runs/wait", RUN | {"if_not_exists": "create", "assistant_id": "<assistant_id>"}),
    ("/threads/<thread_id>/commands", {"id": 1, "method": "run.start", "params": RUN}),
    (
        "/threads/<thread_id>/commands",
        {"id": 1, "method": "run.start", "params": RUN | {"assistant_id": "<assistant_id>"}},
    ),
)
