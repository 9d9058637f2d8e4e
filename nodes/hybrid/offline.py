"""The model of an agent for which none is configured: it says what it was given, the same in every run."""

from __future__ import annotations

import json
from collections.abc import Sequence

from muniment.memory.payload import FENCE_CLOSE, FENCE_OPEN
from muniment.memory.ports.llm import AnswerForm, ChatAnswer, ChatMessage, Tool

_HINT = (
    "No model is configured, so I can only repeat what I was given. To talk with a model, set MUNIMENT_MODEL and "
    "OPENAI_API_KEY (and OPENAI_BASE_URL for an endpoint other than OpenAI's) and start again."
)
_NOTHING = "Nothing was recalled for this message."


class OfflineModel:
    """Answers with a hint, and with what stands before the prompt: the reference of the gateway."""

    @property
    def name(self) -> str:
        """Return the name of the model."""
        return "offline"

    async def chat(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[Tool] = (),  # noqa: ARG002 - as the port calls it
        *,
        form: AnswerForm | None = None,  # noqa: ARG002 - as above
    ) -> ChatAnswer:
        """Return the answer."""
        reference = find_reference(messages)
        text = "\n\n".join([_HINT, f"Recalled:\n{reference}" if reference else _NOTHING])
        return ChatAnswer(message=ChatMessage(role="assistant", content=text), model=self.name)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def find_reference(messages: Sequence[ChatMessage]) -> str:
    """Return the recalled lines that stand before the prompt, quoted; empty without any."""
    blocks = [
        message.content.partition(FENCE_OPEN)[2].partition(FENCE_CLOSE)[0]
        for message in messages[:-1]
        if message.role == "user" and message.content.rstrip().endswith(FENCE_CLOSE)
    ]
    lines = [line.strip() for block in blocks for line in block.splitlines()[2:]]  # below the fence and its note
    return "\n".join(f"> {_read_text(line)}" for line in lines if line)


def _read_text(line: str) -> str:
    """Return the text of a recalled item, which is a line of JSON; another line as it is."""
    try:
        item = json.loads(line)
    except ValueError:
        return line
    return str(item.get("text", "")) if isinstance(item, dict) else line
