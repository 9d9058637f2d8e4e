"""The requests of a run to its model: which messages, and in what order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from muniment.agent.gateway_reference import REFERENCE_RULE
from muniment.memory.ports.llm import ChatMessage
from muniment.nodes.chain.prompt_window import find_start


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What stays the same in all requests of a run. An empty `reference` is none."""

    system: str
    reference: str
    history: tuple[ChatMessage, ...]
    prompt: str

    def build(self, skills: Sequence[str], steps: Sequence[ChatMessage]) -> list[ChatMessage]:
        """Return the messages of a request: system prompt, activated skills, recalled reference, history, prompt, and
        the tool calls of this run with their results. None is merged with another."""
        before = [*skills, *([self.reference] if self.reference else [])]
        return [
            ChatMessage(role="system", content=self.system),
            *(ChatMessage(role="user", content=text) for text in before),
            *self.history,
            ChatMessage(role="user", content=self.prompt),
            *steps,
        ]


def build_system_prompt(instructions: str, curated: str, *, has_gateway: bool) -> str:
    """Return the system prompt: the instructions, the curated blocks, and with a gateway the rule for what it
    recalls. Without one it is the same text up to the rule."""
    return "\n\n".join(filter(None, [instructions, curated, REFERENCE_RULE if has_gateway else ""]))


def build_history(
    messages: Sequence[AnyMessage],
    asked: Sequence[str],
    max_chars: int,
    max_tokens: int,
    count_tokens: Callable[[str], int],
) -> tuple[ChatMessage, ...]:
    """Return the messages of a thread before those that were `asked` now: what a person and the agent have said.

    Those of more than `max_chars` are left out, and the early ones of a thread of more than `max_tokens`."""
    said = [each for each in messages if isinstance(each, HumanMessage | AIMessage) and each.id not in asked]
    said = [each for each in said if 0 < len(str(each.text)) <= max_chars]
    start = find_start(said, set(), max_tokens, count_tokens)
    return tuple(
        ChatMessage(role="user" if isinstance(each, HumanMessage) else "assistant", content=str(each.text))
        for each in said[start:]
    )
