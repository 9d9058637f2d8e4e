"""What stands under a secret's name: a value, a word of the sentence, or where the value is."""

from __future__ import annotations

import random
import string

import pytest

from muniment.memory.config.settings import load_settings
from muniment.memory.rules.redaction.redact import Redactor

REDACTOR = Redactor(load_settings({"HOME": "/nonexistent"}).redact)


@pytest.mark.parametrize(
    "text",
    [
        "the password is {}", "La parola d'ordine è {}", "la nostra parola d'ordine è {}", "la clave es {}",
        "nuestra clave es {}", "la clave del éxito es {}", "nasze hasło to {}", "naše heslo je {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("word", ["friendship", "solidarietà", "constancia", "jednota"])
def test_a_plain_word_in_a_sentence_needs_an_owner(text: str, word: str) -> None:
    """Without one, and after a name that also means a motto, a word of small letters is what the sentence says."""
    assert REDACTOR.sanitize_text(text.format(word)) == text.format(word)


@pytest.mark.parametrize(
    "text",
    [
        "my wifi password is {}", "our password is {}", "the router password is {}", "the password for my disk is {}",
        "mein WLAN-Passwort ist {}", "le mot de passe du wifi est {}", "password: {}", "Hasło: {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("word", ["blaubeere", "swordfish"])
def test_a_plain_word_is_a_password_where_it_has_an_owner(text: str, word: str) -> None:
    """Or what it opens is said, or it stands after a label."""
    assert word not in REDACTOR.sanitize_text(text.format(word))


@pytest.mark.parametrize("quality", ["ancient", "alphanumeric", "mandatory", "case-sensitive", "uncrackable", "weak"])
def test_what_is_said_of_a_password_is_none(quality: str) -> None:
    for text in (f"my password is {quality}", f"our router password was {quality}."):
        assert REDACTOR.sanitize_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "existingSecret: postgres-credentials", 'existingSecret: "postgres-credentials"',
        "adminPasswordKey: db-password",
        "imagePullSecrets:\n  - name: regcred", "client_secret: billing-client-secret", "--secret=my-secret",
        "connect(user=user, password=db_password)", "password: dbPassword", "password = getpass()", "password=%s",
        "password = :password", "password VARCHAR(255) NOT NULL", "password: [REDACTED]", "API_KEY=sk-...",
        "postgres://user:password@localhost/db", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "LED_PIN=13",
        "pin: GPIO17",
        '"key": "en.home.title.2024"', "credentials: see 1Password", "密码：至少8位", "パスワード：8文字以上",
    ],
)  # fmt: skip
def test_what_says_where_a_secret_is_or_how_it_looks_is_none(text: str) -> None:
    """A name of one, a variable, a call, a type, a place to fill in, a pin of a chip, a rule."""
    assert REDACTOR.sanitize_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=my_secret_password", 'password: "db_password"', "password: zork-plinth",
        "client_secret: zork-plinth",
        "postgres://ana:x@localhost/db", "LOGIN_PIN=4711", "pin: 4711", "密码：开门大吉123",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_reference_is_redacted(text: str) -> None:
    assert "[redacted:" in REDACTOR.sanitize_text(text)


SECRETS = ("kR7vqz2m", "Ab3$kd9!", "Tr0ub4dor&3")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "text",
    [
        'new NetworkCredential("bob", "{}")', "smtp.login('bob@x.io', '{}')", "requests.get(url, auth=('bob', '{}'))",
        'DriverManager.getConnection(url, "bob", "{}")', "mysqli_connect('localhost', 'bob', '{}', 'db')",
        'conn.setPassword("{}")', '.withPassword("{}")', 'ConvertTo-SecureString "{}" -AsPlainText',
        'val secret = "{}"', '#define WIFI_PASS "{}"', '<string name="password">{}</string>',
        '<setting name="Password"><value>{}</value></setting>', '<input type="password" class="a" value="{}">',
        '{{"Key": "DB_PASSWORD", "Value": "{}"}}', "localhost:5432:db:bob:{}", "jdbc:oracle:thin:bob/{}@h:1521/x",
        "wpa_passphrase Home {}", "SSID: Home\nKey: {}", "WLAN: Home\nSchlüssel: {}",
        "user bob pass {}", "u/p: bob/{}",
        "default login is admin/{}", "Mot de passe Wi-Fi : {}", "What's the password?\n{}", "Q: password? A: {}",
        "user: what's the wifi password?\nbob: {}", "set my password as {}", "set password to: {}", "wifi密码{}",
        "{} (password)", "{} - that's my password", "{} <- pw", "Recovery codes:\n1. {}", "🔑 {}", "Password ➜ {}",
        "bob@corp.example:{}", "bob@corp.example / {} is the staging login", "admin / {}   <- staging",
        "root@10.0.0.4 {}",
        "User      Password\nbob       {}", "~/.pgpass: db2.example.org:5432:*:audit:{}",
        'name,password\nForum,"{},x"\n', "aws configure set aws_secret_access_key \\\n  {}",
        "test login for the reviewers: ana@x.example / {}",
    ],
)  # fmt: skip
def test_layouts_of_code_and_of_chats(text: str, secret: str) -> None:
    """Arguments of calls, elements, labels, questions and their answers, and what stands before its name."""
    assert secret not in REDACTOR.sanitize_text(text.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        'getSecret("prod-db-2")', 'new NetworkCredential("bob", password)', 'throw new InvalidToken("expired2")',
        'connect("db1.example.com", "ana")', 'login("bob", readPassword())', 'new PasswordField("Password")',
        '<string name="password_hint">At least 8 characters</string>', "SSID: Home\nKey: WPA2",
        "Password length: 12ab",
        "Forgot your password?\nContact support", "user: bob, ski pass",
        "A-113x - password reset", "boarding pass is LH4711",
        "git@github.com:org2/repoX1y2.git", "admin/Ab3dE4f/users", "root:x:0:0", "bob@x.example | E4711a",
        "admin / editor2",
        "2026 is the pin year",
        '<input type="password" name="password" autocomplete="current-password" placeholder="Password">',
        "password: ********\napi key: xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
        "my password is state-of-the-art", "User      Role\nbob       Admin2",
    ],
)  # fmt: skip
def test_what_only_looks_like_such_a_layout_stays(text: str) -> None:
    assert REDACTOR.sanitize_text(text) == text


def test_each_of_a_list_of_codes_is_redacted() -> None:
    text = "Recovery codes:\n1. ab12-cd34\n2. ef56-gh78\n3. ij90-kl12\nKeep them safe"
    assert REDACTOR.sanitize_text(text).count("[redacted:password]") == 3
    assert REDACTOR.sanitize_text("password: hunter22\nhost01.example.com").endswith("\nhost01.example.com")


@pytest.mark.parametrize("text", ["481516 is your verification code", "G-481516 is your Google verification code"])
def test_a_code_before_its_name_is_redacted(text: str) -> None:
    assert "481516" not in REDACTOR.sanitize_text(text)


@pytest.mark.parametrize("size", [32, 40, 64, 100])
def test_a_long_random_token_is_redacted_wherever_it_stands(size: int) -> None:
    """Nine in ten of them; the others look like an address of a blockchain or happen to have few changes."""
    draw = random.Random(size)
    tokens = ["".join(draw.choices(string.ascii_letters + string.digits, k=size)) for _ in range(100)]
    assert sum(token in REDACTOR.sanitize_text(f"I got {token} today") for token in tokens) <= 20


@pytest.mark.parametrize(
    "text",
    [
        "the sheet id is 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms", "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
        "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU", "class MyVeryLongHttp2ClientConnectionPoolManagerImpl3",
        "https://drive.google.com/open?id=1AbCdEfGhIjKlMnOpQrStUvWxYz12345x", "chatcmpl-9XyZ8aBcD7eFgH6iJkL5mNoP4qRsT",
        "Message-ID: <CAKgT0UdA3dE4fG5hI6jK7lM8nO9pQ0rS1tU2vW3xY4@mail.example>",
        "data:font/woff2;base64,d09GMgABAAAAAAf8AAoAAAAAEUAAAAeyAAEAAAAA",
        "requestId=Ab3dE4fG5hI6jK7lM8nO9pQ0rS1tU2vW3xY4",
    ],
)  # fmt: skip
def test_an_address_an_id_and_data_stay(text: str) -> None:
    assert REDACTOR.sanitize_text(text) == text


def test_words_that_hyphens_join_are_a_passphrase() -> None:
    text = "my passphrase is copper-walrus-juggles-eleven-teacups and I think I should change it"
    assert "walrus" not in REDACTOR.sanitize_text(text)
