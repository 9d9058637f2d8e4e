"""Kinds of secrets, the layouts in which people paste them, and what only looks like one."""

from __future__ import annotations

import json
import random
import re
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.rules.redaction.redact import Redactor, needs_no_redaction
from muniment.memory.rules.redaction.secret_data import load_secret_data
from muniment.memory.rules.redaction.token_formats import compute_entropy

REDACTOR = Redactor(load_settings({"HOME": "/nonexistent"}).redact)
APART = Path(__file__).with_name("secrets_apart")
SAID = Path(__file__).parents[3] / "shared" / "data" / "said-dev.json"
LETTERS = {
    "A": string.ascii_letters + string.digits,
    "L": string.ascii_letters,
    "U": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "H": "0123456789abcdef",
    "D": string.digits,
    "Q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "B": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
}
# `<A22>` stands for 22 random letters and digits: no secret stands in this file, and no scanner takes it for one.
KINDS = """\
SG.<A22>.<A43>
pypi-AgEIcHlwaS5vcmc<A80>
whsec_<A32>
GOCSPX-<A28>
shpat_<H32>
shpss_<H32>
dop_v1_<H64>
doo_v1_<H64>
dapi<H32>
hvs.<A95>
AGE-SECRET-KEY-1<Q58>
https://hooks.slack.com/services/T<U10>/B<U10>/<A24>
https://discord.com/api/webhooks/<D18>/<A68>
https://a.blob.core.windows.net/c/f?sv=2022-11-02&sig=<A43>%3D
AccountKey=<A86>==
sk-proj-<A74>T3BlbkFJ<A74>
sk-ant-api03-<A93>AA
AIza<A35>
ya29.<A60>
1//0<A60>
AKIA<B16>
ASIA<B16>
ghp_<A36>
gho_<A36>
ghs_<A36>
github_pat_<A22>_<A59>
glpat-<A20>
gldt-<A20>
xoxb-<D12>-<D12>-<A24>
xoxp-<D12>-<D12>-<D12>-<H32>
xapp-1-<U11>-<D13>-<H64>
sk_live_<A24>
rk_live_<A24>
sk_test_<A24>
hf_<L34>
npm_<A36>
rubygems_<H48>
dckr_pat_<A27>
pul-<H40>
lin_api_<A40>
ntn_<D11><A35>
secret_<A43>
figd_<A40>
PMAK-<H24>-<H34>
key-<H32>
<H32>-us12
sk.eyJ<A60>.<A22>
NRAK-<U27>
glsa_<A32>_<H8>
sntryu_<H64>
dp.pt.<A43>
<D9>:AA<A33>
MTA<A23>.<A6>.<A30>
sl.<A130>
ATATT3<A180>
tskey-auth-<A12>-<A32>
r8_<A37>
gsk_<A52>
xai-<A80>
pscale_tkn_<A43>
sbp_<H40>
EZAK<A54>
shippo_live_<H40>
lsv2_pt_<H32>_<H10>
eyJhbGciOiJIUzI1NiJ9.<A40>.<A43>""".splitlines()
# `<P>` stands for a password, `<W>` for a simple one, `<T>` for a token, `<T1>` and `<T2>` for its halves.
LAYOUTS = r"""my pw is <P>
My password is <P>.
the pwd was <P>, I think
password: <P>
password = "<P>"
PASSWORD=<P>
export DB_PASSWORD='<P>'
db_password: <P>
{"password": "<P>"}
{'passwd': '<P>'}
<password><P></password>
Login: ana / Passwort: <P>
Mein WLAN-Passwort ist <P>
das Kennwort lautet <P>
le mot de passe est <P>
mot de passe : <P>
la contraseña es <P>
contraseña: <P>
a senha é <P>
minha senha: <P>
la password è <P>
het wachtwoord is <P>
пароль: <P>
мой пароль <P>
パスワードは<P>です
비밀번호는 <P>
密码是<P>
我的密码：<P>，别告诉别人
Password:\n<P>
Password\n  <P>\n
**Password**: <P>
**Password:** <P>
- Password: `<P>`
| password | <P> |
| user | ana | password | <P> |
user\tana\tpassword\t<P>
password,<P>
Set-Cookie: sid=<T>; Path=/; HttpOnly
Cookie: theme=dark; session=<T>
https://x.io/login?user=ana&password=<P>&next=/
https://x.io/cb?access_token=<T>&state=a
redirect=%2Flogin%3Fpassword%3D<P>%26next%3D1
token%3D<T>
postgres://ana:<P>@db.x.io:5432/app
curl -u ana:<P> https://x.io
mysql -u root -p<P>
curl -H "Authorization: Bearer <T>" https://x.io
Authorization: Basic <T>==
api_key=<T>
"apiKey": "<T>"
X-Api-Key: <T>
client_secret: <T>
ghp_<T1>\n<T2>
> password: <P>
> -----BEGIN RSA PRIVATE KEY-----\n> <T><T>\n> <T>\n> -----END RSA PRIVATE KEY-----
-----BEGIN OPENSSH PRIVATE KEY-----\n<T><T>\n<T>
my card is 4111/1111/1111/1111
my card is 4111 – 1111 – 1111 – 1111
my card is 4111_1111_1111_1111
my card is 4111 1111 1111 1111
my passphrase is walrus copper tunnel velvet
Seed phrase: walrus copper tunnel velvet anchor ribbon
I changed my password to <P>
<P> is the password""".splitlines()
LOOK_ALIKES = r"""my password is too short
my password is wrong again
my passphrase is too short to be safe for this
My seed phrase is written on paper in the safe at home
das Passwort ist falsch
le mot de passe est trop court
la contraseña es incorrecta
a senha é muito fraca
the password policy is strict
I use a password manager for everything
I forgot my password yesterday
Passwort: vergessen? Hier klicken
| password | required |
Password\nForgot it? Ask the admin
the pw is weak
I have a secret to tell you
my secret is that I love jazz
The token budget is 4096 tokens
max_tokens=4096
the API key rotation policy takes 90 days
commit d5731d775ab9e1f2c3d4e5f60718293a4b5c6d7e broke the build
uuid 123e4567-e89b-12d3-a456-426614174000
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
md5 d41d8cd98f00b204e9800998ecf8427e
ISBN 978-3-16-148410-0
order 2026/11/26-4711
invoice 4111/2222 of 2026
call 1-800-555-0199 today
part number XJ-4711-AB-0815-ZZ99
flight LH4711 on 3 May
serial C02XL0GTJGH5
version 1.2.3-beta.4+build.5678
192.168.178.21 is my router
fe80::1ff:fe23:4567:890a
https://example.com/articles/2026/11/26/how-to-choose-a-password
https://shop.example.com/p/red-shoes-42?size=9&color=blue
Cookie: theme=dark; lang=en
I love cookies with chocolate
sig=none
the SAS course starts on Monday
my sister works at Slack and my brother at Discord
I read about hf_hub_download yesterday
key-value stores are fast
secret_santa_2026 is our event
pat.smith is my colleague
s.oliver is a brand that I like
sk_learn is a library
the dapi endpoint is slow
the glpat prefix belongs to GitLab
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
ACTGACTGACTGACTGACTGACTGACTGACTGACTG
Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogoch
Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
2026-11-26T20:29:54.123456+00:00
52.520008, 13.404954
my customer number is 4711081512
The PIN board hangs in the hall""".splitlines()


def fill(shape: str, draw: random.Random) -> tuple[str, list[str]]:
    """A shape with its places filled, and what must not be left of it."""
    secrets = []

    def draw_text(match: re.Match[str]) -> str:
        kind, size = match[1], int(match[2] or 0)
        if kind == "W":
            text = "".join(draw.choices(string.ascii_lowercase, k=6)) + "".join(draw.choices("23456789", k=2))
        elif kind == "P":
            text = "".join(draw.choices(LETTERS["L"], k=5)) + "".join(draw.choices(LETTERS["D"], k=4)) + "x"
        elif kind == "T":
            text = (
                "".join(draw.choices(LETTERS["A"], k=19)) + "7" + ("" if size else "".join(draw.choices("abc1", k=8)))
            )
        else:
            text = "".join(draw.choices(LETTERS[kind], k=size))
        secrets.append(text)
        return text

    text = re.sub(r"<([ALUlHDQBPTW])(\d*)>", draw_text, shape.replace("\\n", "\n").replace("\\t", "\t"))
    return text, secrets or re.findall(r"\d{4}(?=\D*$)|\w+$", text)


def read_list(name: str) -> list[str]:
    """The lines of a list that was written apart from the rules."""
    return (APART / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def leaks(shape: str, frames: tuple[str, ...]) -> bool:
    """Whether a part of the secret is left in any of the frames."""
    draw = random.Random(shape)
    for frame in frames:
        text, secrets = fill(shape, draw)
        redacted = REDACTOR.sanitize_text(frame.format(text))
        if any(secret in redacted for secret in secrets if len(secret) > 5) or "[redacted:" not in redacted:
            return True
    return False


def test_kinds_of_secrets_are_redacted() -> None:
    """Of 65 kinds at most three are left, in a sentence, in Chinese and alone."""
    assert len(KINDS) == 65
    missed = [kind for kind in KINDS if leaks(kind, ("{}", "use {} please", "use {}.", "密钥{}，谢谢"))]
    assert len(missed) <= 3, missed


def test_layouts_of_secrets_are_redacted() -> None:
    """Of 64 layouts at most ten are left."""
    assert len(LAYOUTS) == 64
    missed = [layout for layout in LAYOUTS if leaks(layout, ("{}", "Hi!\n{}\nThanks"))]
    assert len(missed) <= 10, missed


@pytest.mark.parametrize("name", ["kinds", "layouts"])
def test_lists_that_were_written_apart_from_the_rules(name: str) -> None:
    """Of 200 more kinds and 300 more layouts, in many languages, one in twenty may be left."""
    shapes = read_list(name)
    assert len(shapes) >= 200
    missed = [shape for shape in shapes if leaks(shape, ("{}",))]
    assert len(missed) <= 0.05 * len(shapes), missed


def test_look_alikes_that_were_written_apart_from_the_rules() -> None:
    """Of 300 more texts without a secret, one in a hundred may be redacted."""
    texts = [text.replace("\\n", "\n").replace("\\t", "\t") for text in read_list("look_alikes")]
    assert len(texts) >= 300
    redacted = [text for text in texts if "[redacted:" in REDACTOR.sanitize_text(text)]
    assert len(redacted) <= 0.01 * len(texts), redacted


@pytest.mark.parametrize("text", LOOK_ALIKES)
def test_what_looks_like_a_secret_stays(text: str) -> None:
    text = text.replace("\\n", "\n")
    assert REDACTOR.sanitize_text(text) == text


def list_texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from list_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from list_texts(item)


def test_nothing_of_everyday_messages_is_taken_for_a_secret() -> None:
    if not SAID.exists():
        pytest.skip("needs the messages of ../shared/data/said-dev.json")
    texts = [text for text in list_texts(json.loads(SAID.read_text(encoding="utf-8"))) if "[redacted:" not in text]
    assert len(texts) > 500
    assert not [text for text in texts if "[redacted:" in REDACTOR.sanitize_text(text)]


def test_a_quick_search_passes_over_no_name_and_no_kind() -> None:
    """What the quick search lets through is never looked at again."""
    words = load_secret_data("password_words")
    for kind in ("passwords", "keys", "phrases", "logins", "codes", "doors"):
        for name in (name for names in words.get_table(kind, ",").values() for name in names):
            spelled = name.rstrip("*")
            for text in (f"a {spelled} 1234 b", f"A {spelled.upper()} 1234 B"):
                assert not needs_no_redaction(text), text
    for kind in KINDS:
        assert not needs_no_redaction(fill(kind, random.Random(kind))[0]), kind


def measure(text: str) -> float:
    """The processor time of a redaction, the better of two."""
    times = []
    for _ in range(2):
        start = time.process_time()
        REDACTOR.sanitize_uncached(text)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize(
    "fragment",
    [
        "password is ", "password for a ", "pw\n", "pin 1 ", "1 ", "<td>a</td>", "| password ", "%3D", "key: ", "密码",
        "name key=", "my seed phrase is walrus ", "datadog key 8f14e45fceea167a5a36dedd4bea2543 ", "a1b2c3d4\n",
        "login: a / ",
    ],
)  # fmt: skip
def test_no_fragment_makes_redaction_slow(fragment: str) -> None:
    """A text made of it takes less than ten times as long as one of ordinary words that is searched as thoroughly."""
    size = 50_000
    ordinary, hostile = ((unit * size)[:size] for unit in ("lorem ipsum dolor sit amet ", fragment))
    REDACTOR.sanitize_uncached(hostile[:1_000])
    assert measure(hostile) < 10 * measure(f"password: {ordinary}")


@pytest.mark.parametrize(("text", "bits"), [("", 0.0), ("aaaa", 0.0), ("abab", 1.0), ("abcd", 2.0)])
def test_entropy(text: str, bits: float) -> None:
    assert compute_entropy(text) == bits
