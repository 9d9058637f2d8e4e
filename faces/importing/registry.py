"""All formats of other memories, by their names."""

from __future__ import annotations

from muniment.faces.importing.chatgpt import ChatGptFormat
from muniment.faces.importing.claude import ClaudeFormat
from muniment.faces.importing.formats import Format
from muniment.faces.importing.graphiti import GraphitiFormat
from muniment.faces.importing.langgraph_store import LangGraphStoreFormat
from muniment.faces.importing.langmem import LangMemFormat
from muniment.faces.importing.letta import LettaFormat
from muniment.faces.importing.markdown_notes import MarkdownFormat
from muniment.faces.importing.mem0 import Mem0Format

_ALL: tuple[Format, ...] = (
    ChatGptFormat(), ClaudeFormat(), Mem0Format(), LangGraphStoreFormat(), LangMemFormat(), LettaFormat(),
    GraphitiFormat(), MarkdownFormat(),
)  # fmt: skip
FORMATS: dict[str, Format] = {each.name: each for each in _ALL}
