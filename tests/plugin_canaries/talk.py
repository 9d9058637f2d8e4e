"""A talk in which a person pastes secrets and tells stories, in English and Chinese, and what of it may be nowhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

PRIVATE_KEY = "\n".join(
    (
        "-----BEGIN RSA PRIVATE KEY-----",
        *(f"MIIEowIBAAKCAQEAcanary{n}0Zx7Qv9LmTnR4KcYpWd8sHfJbUe2GaXo5Ni" for n in range(6)),
        "-----END RSA PRIVATE KEY-----",
    )
)
SECRETS = (
    "sk-" + "cAnA4rYpR0j7" * 4,
    "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4eFg7h"[:36],
    "AKIA" + "QZ7CANARY3XW5LMP",
    "tr0ub4dor-Zinnober-88",
    "MIIEowIBAAKCAQEAcanary3",
    "zi88-mima-7Q",
)
KEY, TOKEN, CLOUD, PASSWORD, _, PASSWORD_ZH = SECRETS
STORIES = (
    (
        "Last night we walked along the quorlin harbour with my brother until the lights went out, and I told him that "
        "you would probably laugh at us, because we had forgotten the boat, the bread, the map, and at last each other."
    ),
    "Yesterday my colleagues laughed about the brintle meeting until we all had to cry, and I laughed with them.",
    (
        "Always check the lantern list twice before the release goes out on Friday because the old pager in the "
        "cellar rings all night until somebody finds the switch by the stairs."
    ),
    "we sat in the kitchen for hours and my mother sang an old song while you were on the phone with us",
)
STORIES_ZH = (
    "昨天晚上我和弟弟沿着琉璃湾走了很久，一直走到灯都灭了，我还跟他说你一定会笑话我们，因为我们忘了船、面包和地图。",
    "我妈妈在厨房里唱了一个晚上的鸢尾谣，而你一直在打电话。",
)
# Words of the stories of which nothing is distilled: of the last one the person wants something to be remembered.
MARKERS = ("quorlin", "brintle", "琉璃湾", "鸢尾谣")
_SENTENCE = re.compile(r"[^.。]+")
_RUN = 25  # words in a row, which are raw words wherever they stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A turn: what the person says, the tools' results, and the reply."""

    text: str
    reply: str = "All right."
    tools: tuple[tuple[str, dict[str, Any], str, bool], ...] = ()


TALK = (
    Said(text=f"use pnpm, conventional commits, short answers. {STORIES[0]}"),
    Said(
        text=f"Always deploy with the key {KEY}. {STORIES[1]}",
        reply=f"Noted, the key is {KEY}. You said: {STORIES[1]}",
    ),
    Said(
        text=f"We decided to use Redis for the cart. My password is {PASSWORD}. {STORIES[3]}",
        reply=f"I will remember the password {PASSWORD}.",
    ),
    Said(text=f"Here is my key:\n{PRIVATE_KEY}\nNever commit directly to main.", reply=PRIVATE_KEY),
    Said(
        text=f"Run the build with AWS_ACCESS_KEY_ID={CLOUD}, please.",
        tools=(
            ("shell", {"command": f"npm run build --token {TOKEN}"}, f"{TOKEN}: error TS2307\nexit code 1", True),
            ("shell", {"command": f"curl -u ana:{PASSWORD} https://x.example"}, f"{STORIES[0]}\n{KEY}", False),
            ("shell", {"command": f"npm run build --token {TOKEN}"}, f"built with {CLOUD}\nexit code 0", False),
        ),
        reply=f"It works with {CLOUD}. {STORIES[0]}",
    ),
    Said(text=f"我们决定用 Redis 做缓存。{STORIES_ZH[0]}", reply=STORIES_ZH[0]),
    Said(text=f"我的密码是 {PASSWORD_ZH}。以后请用中文回答。{STORIES_ZH[1]}", reply=f"密码是 {PASSWORD_ZH}"),
    Said(text=f"Which key was it, {TOKEN}? {STORIES[1]}", reply=f"{TOKEN}, you said."),
    Said(text=STORIES[2]),
    Said(text=f"Remember this: {STORIES[3]}"),
    Said(text=f"What is next for the cart and its Redis? {STORIES[0]}"),
    Said(text="/memory"),
    Said(text="/memory why"),
)


def list_raw(stories: Iterable[str] = (*STORIES, *STORIES_ZH)) -> Iterator[str]:
    """Every sentence of the stories, and every run of 25 words: raw words, wherever they stand."""
    for story in stories:
        yield from (sentence.group().strip() for sentence in _SENTENCE.finditer(story))
        words = story.split()
        yield from (" ".join(words[n : n + _RUN]) for n in range(len(words) - _RUN + 1))


def find_words(data: bytes | str, words: Iterable[str]) -> list[str]:
    """Those of the words that stand in some bytes in any case, as text, as JSON writes them, or in hexadecimal."""
    seen = (data if isinstance(data, bytes) else data.encode("utf-8", "replace")).lower()
    return [word for word in words if any(form.lower() in seen for form in list_forms(word))]


def list_forms(word: str) -> tuple[bytes, ...]:
    """How a word may be written."""
    return word.encode(), json.dumps(word)[1:-1].encode(), word.encode().hex().encode()
