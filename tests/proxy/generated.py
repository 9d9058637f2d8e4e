"""Requests and answers by chance, as raw text: what a client or an upstream may send, and hardly ever does."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from muniment.testing import Answer

WHITE = ("", "", "", " ", "\n", "\t", "\r\n  ", "   ")
# Text of JSON strings as it may be written: raw, escaped, with half characters that only an escape can hold.
STRINGS = (
    '""',
    '"plain"',
    '"Zürich 🏔"',
    '"\\u00fc\\u4e2d\\ud83c\\udfd4"',
    '"\\/\\b\\f\\n\\r\\t\\"\\\\"',
    '"a\u2028b"',
    '"\\u0000"',
    '"]}"',
    '"{\\"messages\\": []}"',
    '"\\ud800"',
    '"messages"',
    '"\u200e\u202e"',
    '"\x7f"',
)
SCALARS = (
    "0",
    "-0",
    "-0.0",
    "1.0",
    "1.50",
    "1e400",
    "1E+2",
    "-1.7976931348623157e308",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890",
    "true",
    "false",
    "null",
)
KEYS = (
    "model",
    "temperature",
    "seed",
    "stop",
    "logit_bias",
    "metadata",
    "x",
    "x",
    "\\u0078",
    "message",
    "Messages",
    "messages ",
    "ключ",
    "n",
)
IMAGE = base64.b64encode(bytes(range(256))).decode()
PARTS = (
    f'{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{IMAGE}","detail":"low"}}}}',
    f'{{"type":"input_audio","input_audio":{{"data":"{IMAGE}","format":"wav"}}}}',
    '{"type": "text", "text": "What is this?", "cache_control" : {"type":"ephemeral"}}',
    '{"type":"file","file":{"file_id":"file-1"}, "weight": 1.0}',
)
# What a decoder of brotli makes of it is `brotli, brotli, brotli`.
BROTLI = base64.b64decode("GxUA+B2pU5+7cAkiJlcsdJnG9hb6hAPoBw==")
NAMES = (
    "X-Odd",
    "x-odd",
    "X-Request-Id",
    "openai-organization",
    "x-ratelimit-remaining-requests",
    "Set-Cookie",
    "retry-after",
    "X-Empty",
    "ETag",
    "Cache-Control",
)
VALUES = (
    "a",
    "",
    "1",
    "caf\u00e9".encode().decode("latin-1"),
    "a, b;q=0.5",
    '"x"',
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "=?utf-8?q?x?=",
    "a" * 2000,
)
STATUSES = (
    200,
    201,
    202,
    203,
    206,
    207,
    226,
    299,
    300,
    301,
    302,
    307,
    308,
    400,
    401,
    402,
    403,
    404,
    405,
    408,
    409,
    413,
    415,
    418,
    422,
    425,
    429,
    431,
    451,
    499,
    500,
    501,
    502,
    503,
    504,
    507,
    529,
    599,
)


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A body as raw text: what stands before the value of `messages`, each message, and what stands after it."""

    before: str
    messages: Sequence[str]
    after: str
    white: str

    @property
    def body(self) -> bytes:
        """The whole of it."""
        return (self.before + "[" + f",{self.white}".join(self.messages) + "]" + self.after).encode()


def make_value(dice: Random, depth: int = 0) -> str:
    """Any JSON value."""
    kind = dice.random()
    if depth > 3 or kind < 0.4:
        return dice.choice(SCALARS)
    if kind < 0.7:
        return dice.choice(STRINGS)
    white, inner = dice.choice(WHITE), [make_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    if kind < 0.85:
        return f"[{white}{f',{white}'.join(inner)}{white}]"
    return "{" + white + ",".join(f'"{dice.choice(KEYS)}"{white}:{white}{one}' for one in inner) + white + "}"


def make_message(dice: Random, number: int, *, role: str) -> str:
    """A message whose text has its number, so that no two are one."""
    white = dice.choice(WHITE)
    if role == "user" and dice.random() < 0.3:
        parts = [f'{{"type":"text","text":"Look at number {number}."}}', *dice.sample(PARTS, dice.randrange(1, 3))]
        content = f"[{f',{white}'.join(parts)}]"
    else:
        content = dice.choice((f'"number {number} \\u00e9 {dice.choice(("é", "🏔", "]", "{"))} "', f'"number {number}"'))
    members = [f'"role"{white}:"{role}"', f'"content":{white}{content}']
    if dice.random() < 0.3:
        members.append(f'"x_unknown": {make_value(dice, 2)}')
    if dice.random() < 0.2:
        members.append('"name":"ana"')
    dice.shuffle(members)
    return "{" + white + f"{white},".join(members) + white + "}"


def make_request(dice: Random, number: int) -> RawRequest:
    """A chat with a system prompt, some turns, and unknown fields on both sides of its messages."""
    white = dice.choice(WHITE)

    def make_members() -> list[str]:
        members = [f'"{dice.choice(KEYS[1:])}"{white}:{white}{make_value(dice)}' for _ in range(dice.randrange(5))]
        return [member for member in members if not member.startswith('"n"')]

    turns = [
        make_message(dice, number * 100 + place, role=("user", "assistant")[place % 2])
        for place in range(1 + 2 * dice.randrange(3))
    ]
    system = [make_message(dice, number * 100 + 99, role="system")] if dice.random() < 0.7 else []
    before = ['"model":"tiny-1"', *make_members()]
    dice.shuffle(before)
    after = make_members()
    return RawRequest(
        "{" + white + f",{white}".join(before) + f',"messages"{white}:{white}',
        [*system, *turns],
        white + "".join(f",{white}{member}" for member in after) + "}" + white,
        white,
    )


def make_answer(dice: Random) -> Answer:
    """An answer of any status that has a body, packed or not, at once or in chunks, with odd headers."""
    plain = dice.choice(
        (
            b"",
            b"{}",
            b'{"choices": [], "odd": 1.0}',
            b"\x00\xff\xfe",
            b"not json",
            json.dumps({"a": "b" * 70_000}).encode(),
            b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}',
        )
    )
    encoding = dice.choice(("", "gzip", "deflate", "br", "odd", "gzip, gzip"))
    pack = {"gzip": gzip.compress, "deflate": zlib.compress, "br": lambda _: BROTLI}.get(encoding)
    packed = pack(plain) if pack else plain
    if encoding == "gzip, gzip":
        packed = gzip.compress(gzip.compress(plain))
    headers = [(dice.choice(NAMES), dice.choice(VALUES)) for _ in range(dice.randrange(6))]
    headers.append(
        ("Content-Type", dice.choice(("application/json", "text/plain; charset=latin-1", "application/x-odd")))
    )
    if encoding:
        headers.append(("Content-Encoding", encoding))
    dice.shuffle(headers)
    body: bytes | tuple[bytes, ...] = packed
    if dice.random() < 0.4:
        cuts = sorted(dice.sample(range(len(packed) + 1), min(3, len(packed))))
        body = tuple(packed[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(packed)], strict=True))
    return Answer(status=dice.choice(STATUSES), headers=tuple(headers), body=body)
