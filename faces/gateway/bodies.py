"""The bodies of the gateway's requests, as OpenAPI shows them. Each field is wanted, and no other is taken."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_core import PydanticCustomError

from muniment.faces.http.bodies import Body
from muniment.memory.domain.layers.chat import RecallScope

CHAT_PREFIX = "chat:"
MAX_MESSAGES = 50
_MAX_NAME_CHARS = 200
_LATEST_MS = 253_370_678_399_999  # 9998-12-30: later times have no date in another zone


def _check_number(value: Any) -> Any:
    """Refuse what is no number: a text of digits, and true. 8.0 is a whole number, as in JSON Schema."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


def _name_field(what: str) -> Any:
    return Field(
        pattern=r"^[A-Za-z0-9_.\-]{1,128}$", min_length=1, max_length=128, description=f"The {what}; else `default`."
    )


AppName = Annotated[str, _name_field("application")]
ProjectName = Annotated[str, _name_field("project")]
SessionName = Annotated[
    str,
    Field(
        pattern=f"^{CHAT_PREFIX}",
        min_length=len(CHAT_PREFIX) + 1,
        max_length=_MAX_NAME_CHARS,
        description="`chat:` and the id of the conversation.",
    ),
]


class IdentityBody(Body):
    """Who asks, and for which application and project: in any other ones nothing of it is found."""

    user_id: Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)]
    user_key: Annotated[
        SecretStr, Field(min_length=1, max_length=_MAX_NAME_CHARS, description="Of `muniment gateway user create`.")
    ]
    app_id: AppName
    project_id: ProjectName


class SearchBody(IdentityBody):
    """What to recall for a message."""

    conversation_id: Annotated[
        str,
        Field(
            min_length=1,
            max_length=_MAX_NAME_CHARS - len(CHAT_PREFIX),
            description="The chat, whose session is `chat:` and this.",
        ),
    ]
    query: Annotated[str, Field(min_length=1, description="The message; `*` asks for what is newest.")]
    scope: Annotated[list[RecallScope], Field(min_length=1, max_length=3, description="Where to look.")]
    top_k: Annotated[int, Field(ge=1, le=100), BeforeValidator(_check_number)]


class MessageBody(Body):
    """A message of a chat."""

    sender_id: Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)]
    role: Literal["user", "assistant"]
    timestamp: Annotated[
        int, Field(ge=1, le=_LATEST_MS, description="Milliseconds since 1970 in UTC."), BeforeValidator(_check_number)
    ]
    content: Annotated[str, Field(min_length=1)]


class AddBody(IdentityBody):
    """Messages of a chat, oldest first."""

    session_id: SessionName
    messages: Annotated[list[MessageBody], Field(min_length=1, max_length=MAX_MESSAGES)]


class FlushBody(IdentityBody):
    """A chat from whose messages memories are built now."""

    session_id: SessionName
