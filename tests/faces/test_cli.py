"""The commands that look at memories and change them."""

from pathlib import Path

import pytest

import muniment as package
from tests.faces.conftest import Muniment


def test_life_of_a_memory(muniment: Muniment) -> None:
    """A memory is remembered, found, pinned, forgotten, restored, and its history says so."""
    written = muniment("remember", "I am allergic to peanuts", "--json").json
    assert [change["action"] for change in written["changes"]] == ["ADD"]
    memory_id = written["changes"][0]["id"]
    short = memory_id[:8]
    assert "peanuts" in muniment("list").out
    shown = muniment("show", short, "--json").json
    assert (shown["id"], shown["category"], shown["state"], shown["actor_id"]) == (
        memory_id,
        "constraints",
        "active",
        "me",
    )
    assert muniment("pin", short).out.startswith(f"UPDATE {short} [constraints] ")
    assert muniment("show", memory_id, "--json").json["pinned"] is True
    assert muniment("pin", short).out == "Pinned already.\n"
    assert muniment("unpin", short, "--json").json["changes"][0]["action"] == "UPDATE"
    assert muniment("forget", short, "--json").json["changes"][0]["action"] == "DELETE"
    assert muniment("list", "--json").json == {"user": "me", "rev": 4, "total": 0, "offset": 0, "memories": []}
    assert muniment("list", "--state", "soft_deleted", "--json").json["memories"][0]["id"] == memory_id
    refused = muniment("pin", short)
    assert (refused.code, refused.out) == (2, "")
    assert "forgotten" in refused.err
    assert f"`muniment restore {short} --user me`" in refused.err
    assert muniment("unpin", short).out == "Was not pinned.\n"
    assert muniment("restore", short, "--json").json["changes"][0]["action"] == "RESTORE"
    lines = muniment("history", short, "--json").json["history"]
    assert [line["action"] for line in lines] == ["RESTORE", "DELETE", "UPDATE", "UPDATE", "ADD"]
    assert [line["rev"] for line in lines] == [5, 4, 3, 2, 1]
    page = muniment("changes", "--since", "1", "--limit", "3", "--json").json
    assert [(each["rev"], each["memory"]["state"]) for each in page["changes"]] == [
        (2, "active"),
        (3, "active"),
        (4, "soft_deleted"),
    ]
    assert (page["next"], page["rev"], page["changes"][0]["memory"]["pinned"]) == (4, 5, True)
    assert [row.split("\t")[0] for row in muniment("changes", "--since", "3").out.splitlines()] == ["4", "5"]
    assert muniment("changes", "--since", "9").code == 2
    table = muniment("history").out.splitlines()
    assert [row.split("\t")[2] for row in table] == ["RESTORE", "DELETE", "UPDATE", "UPDATE", "ADD"]


def test_a_memory_is_changed_by_hand(muniment: Muniment) -> None:
    """Its words and its importance change, and what it said before comes back."""
    written = muniment("remember", "Production runs on Kubernetes", "--json").json
    short = written["changes"][0]["id"][:8]
    before = muniment("show", short, "--json").json
    edited = muniment("edit", short, "--text", "Production runs on Nomad", "--importance", "5", "--json").json
    assert edited["changes"][0]["text"] == "Production runs on Nomad"
    assert muniment("edit", short, "--importance", "5").out == "It is so already.\n"
    assert muniment("edit", short).code == 2
    assert "Kubernetes" in muniment("restore", short, "--version", str(before["rev"])).out


def test_other_names(muniment: Muniment) -> None:
    """Names are added, listed and taken away; a memory is found by them."""
    written = muniment("remember", "Production runs on Kubernetes", "--alias", "k8s", "--json").json
    id_, short = written["changes"][0]["id"], written["changes"][0]["id"][:8]
    assert muniment("alias", short, "kube", "K8S").out.startswith(f"UPDATE {short} ")
    assert muniment("alias", short).out == "k8s\nkube\n"
    assert muniment("alias", short, "--json").json == {"id": id_, "aliases": ["k8s", "kube"]}
    assert muniment("show", short, "--json").json["aliases"] == ["k8s", "kube"]
    assert "Kubernetes" in muniment("query", "kube", "--agent", "supervisor").out
    assert muniment("alias", short, "kube").out == "It has these names already.\n"
    assert muniment("alias", short, "--remove", "K8s", "--json").json["changes"][0]["action"] == "UPDATE"
    muniment("alias", short, "--remove", "kube")
    assert muniment("alias", short).out == "No other names.\n"
    refused = muniment("alias", short, "x" * 81)
    assert (refused.code, refused.out) == (2, "")
    assert "81 characters; allowed: 80" in refused.err


def test_projects_sources_and_ends(muniment: Muniment) -> None:
    """What holds in a project is found there alone, with its source; an end is shown, and one that is over refused."""
    place = ("--project", "harbour", "--app", "editor")
    kept = ("remember", "We build with pnpm", *place, "--reach", "project", "--source", "docs/build.md")
    muniment(*kept, "--expires", "2999-01-01", "--json")
    assert "pnpm" not in muniment("list").out
    assert "pnpm" not in muniment("query", "pnpm", "--agent", "supervisor").out
    for project in (("--project", "harbour"), ("--everywhere",)):
        assert "(source: docs/build.md) (in project harbour alone)" in muniment("list", *project).out
    asked = ("query", "pnpm", "--agent", "supervisor", "--project", "harbour")
    assert "(source: docs/build.md)" in muniment(*asked).out
    [hit] = muniment(*asked, "--return", "full", "--json").json["results"]
    assert (hit["source"], hit["reach"], hit["project_id"]) == ("docs/build.md", "project", "harbour")
    assert muniment(*asked, "--filter", "source=other", "--json").json["results"] == []
    told = muniment("show", hit["id"], "--json").json
    assert (told["app_id"], told["expires_at"]) == ("editor", "2999-01-01T00:00:00+00:00")
    why = muniment("why-not", hit["id"], "--query", "pnpm", "--agent", "supervisor", "--project", "office")
    assert "out of reach: It is found in its project harbour alone, and the query is made from office." in why.out
    for wrong in (("--reach", "project"), ("--reach", "moon"), ("--expires", "2001-01-01"), ("--expires", "soon")):
        assert muniment("remember", "I live in Rome", *wrong).code == 2, wrong


def test_relations(muniment: Muniment) -> None:
    """A relation is kept once, and its part in error is named."""
    kept = muniment("relate", "Wayfinder", "depends on", "Kafka", "--json").json["changes"][0]
    assert (kept["action"], kept["text"]) == ("ADD", "Wayfinder depends on Kafka.")
    assert muniment("relate", "Wayfinder", "depends on", "Kafka").out == "Known already.\n"
    assert "Wayfinder" in muniment("query", "What depends on Kafka?", "--agent", "supervisor").out
    refused = muniment("relate", "Wayfinder", "depends on", "x" * 121)
    assert (refused.code, refused.out) == (2, "")
    assert "object: 121 characters" in refused.err


def test_query(muniment: Muniment) -> None:
    """An agent finds what it may read, as bullets, in full, and explained."""
    muniment("remember", "I am allergic to peanuts")
    muniment("remember", "Hand in the tax form", "--category", "tasks")
    found = muniment("query", "peanuts allergy", "--agent", "supervisor")
    assert (found.code, found.out) == (0, "- [constraints] The user is allergic to peanuts\n")
    assert muniment("query", "peanuts allergy", "--agent", "supervisor", "--user", "other").out == ""
    assert muniment("query", "peanuts allergy", "--agent", "stylist").out == ""
    bullets = muniment("query", "tax form", "--agent", "planner", "--categories", "tasks,goals", "--json").json
    assert (set(bullets), bullets["format"]) == ({"format", "rev", "results"}, 2)
    assert [set(one) for one in bullets["results"]] == [{"id", "text"}]
    assert len(bullets["results"][0]["id"]) == 8
    assert muniment("show", bullets["results"][0]["id"], "--json").json["category"] == "tasks"
    assert bullets["results"][0]["text"].startswith("[tasks] ")
    options = ("--return", "full", "--explain", "--json", "--top-k", "1", "--budget", "400", "--threshold", "0.1")
    full = muniment("query", "tax form", "--agent", "executor", *options).json
    assert set(full) == {"format", "rev", "results", "tokens", "stages", "left_out"}
    assert full["results"][0]["category"] == "tasks"
    assert full["results"][0]["score"] > 0.1
    assert full["results"][0]["confidence"] == muniment("show", full["results"][0]["id"], "--json").json["confidence"]
    assert set(full["results"][0]["channels"]) <= {"dense", "keyword", "relation"}
    assert full["tokens"] <= 400
    told = muniment("query", "tax form", "--agent", "executor", "--explain").out
    assert "score" in told
    assert "tokens, at revision 2" in told


def test_users_are_apart(muniment: Muniment) -> None:
    """One user's id is nobody else's."""
    memory_id = muniment("remember", "I live in Porto", "--user", "ana", "--json").json["changes"][0]["id"]
    for command in ("show", "history", "pin", "unpin", "forget", "restore"):
        outcome = muniment(command, memory_id, "--user", "ben", "--json")
        assert (outcome.code, outcome.json["error"]["type"]) == (4, "NotFound"), command
    assert "Porto" in muniment("list", "--user", "ana").out


def test_abbreviated_ids(muniment: Muniment) -> None:
    """An id may be shortened while it is one memory's; else all that begin so are named."""
    ids = [f"abcd000{n}-0000-4000-8000-00000000000{n}" for n in range(2)]
    exported = muniment_rows(muniment, ids)
    assert muniment("import", "-", "--format", "jsonl", "--user", "twin", said=exported).code == 0
    assert muniment("show", "ABCD0001", "--user", "twin", "--json").json["id"] == ids[1]
    several = muniment("show", "abcd", "--user", "twin")
    assert several.code == 2
    assert all(one in several.err for one in ids)
    for typed, code in {"abc": 2, "zzzz": 2, "dddd": 4, "x" * 36: 2, "abcd0001-0000-4000-8000-000000000009": 4}.items():
        outcome = muniment("show", typed, "--user", "twin")
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1), typed


def muniment_rows(muniment: Muniment, ids: list[str]) -> str:
    """An export of two memories with these ids."""
    muniment("remember", "I live in Porto", "--user", "source")
    muniment("remember", "I am allergic to peanuts", "--user", "source")
    text = muniment("export", "--user", "source").out
    for old, new in zip(
        (one["id"] for one in muniment("list", "--user", "source", "--json").json["memories"]), ids, strict=True
    ):
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("arguments", "code", "kind", "told"),
    [
        (["query", "x"], 2, "BadInput", "--agent"),
        (["query", "x", "--agent", "nobody"], 2, "BadInput", "planner"),
        (["query", "x", "--agent", "planner", "--categories", "nope"], 2, "BadInput", "procedural"),
        (["query", "x", "--agent", "stylist", "--categories", "tone,tasks"], 3, "Denied", "preferences, style, tone"),
        (["query", "x", "--agent", "planner", "--top-k", "0"], 2, "BadInput", "top_k"),
        (["query", "x", "--agent", "planner", "--threshold", "2"], 2, "BadInput", "threshold"),
        (["query", "x", "--agent", "planner", "--return", "poem"], 2, "BadInput", "bullets, full"),
        (["list", "--user", ""], 2, "BadInput", "--user"),
        (["list", "--user", "a\nb"], 2, "BadInput", "--user"),
        (["list", "--user", "a" * 201], 2, "BadInput", "200"),
        (["list", "--state", "asleep"], 2, "BadInput", "soft_deleted"),
        (["list", "--categories", "nope"], 2, "BadInput", "profile"),
        (["list", "--limit", "many"], 2, "BadInput", "--limit"),
        (["remember", "It is so", "--category", "nope"], 2, "BadInput", "profile"),
        (["remember", "x" * 200_000], 2, "TooLarge", "100"),
        (["chat", "--thread", ""], 2, "BadInput", "--thread"),
        (["frobnicate"], 2, "BadInput", "muniment --help"),
        (["list", "--frobnicate"], 2, "BadInput", "muniment list --help"),
        (["embedder", "switch", "unheard-of"], 5, "BadConfig", "bge-small-en-v1.5-int8"),
    ],
)  # fmt: skip
def test_refused(muniment: Muniment, arguments: list[str], code: int, kind: str, told: str) -> None:
    """What cannot be is refused by its exit code, in one line that says what can."""
    outcome = muniment(*arguments, "--json")
    assert outcome.code == code, outcome
    assert outcome.json["error"]["type"] == kind
    assert told in outcome.json["error"]["message"]
    assert outcome.err == ""


def test_errors_are_one_line(muniment: Muniment) -> None:
    """Without --json an error is one line on standard error, and standard output stays empty."""
    denied = muniment("query", "x", "--agent", "stylist", "--categories", "tasks")
    assert (denied.code, denied.out) == (3, "")
    assert denied.err.startswith("muniment: error: agent 'stylist' may not read tasks")
    assert denied.err.count("\n") == 1
    assert muniment("list", "--frobnicate").err.startswith("muniment: error: No such option")


def test_configuration(muniment: Muniment, tmp_path: Path) -> None:
    """A broken configuration names its file, line and key; a wrong embedder names the command that fixes it."""
    broken = tmp_path / "broken.yaml"
    broken.write_text("recall:\n  top_q: 3\n")
    refused = muniment("list", MUNIMENT_CONFIG=str(broken))
    assert refused.code == 5
    assert f"{broken}, line 2: recall.top_q" in refused.err
    broken.write_text("recall: [\n")
    refused = muniment("chat", "--json", MUNIMENT_CONFIG=str(broken))
    assert refused.code == 5
    assert str(broken) in refused.json["error"]["message"]
    assert refused.json["error"]["line"] in (1, 2)
    muniment("remember", "I live in Porto")
    for command in (["list"], ["chat"], ["export"], ["status"]):
        refused = muniment(*command, MUNIMENT_EMBEDDER="bge-small-en-v1.5-int8")
        assert (refused.code, refused.out) == (5, ""), command
        assert "muniment embedder switch bge-small-en-v1.5-int8" in refused.err


def test_embedder_switch(muniment: Muniment) -> None:
    """After a switch the new embedder finds what the old one stored, and the old one is refused."""
    muniment("remember", "I live in Porto")
    assert muniment("embedder", "switch", "hash-256", "--json").json == {
        "embedder": "hash-256",
        "texts": 0,
        "switched": True,
    }
    new = "bge-small-en-v1.5-int8"
    switched = muniment("embedder", "switch", new, "--json").json
    assert (switched["embedder"], switched["texts"], switched["switched"]) == (new, 1, True)
    assert f"MUNIMENT_EMBEDDER={new}" in muniment("list").err
    found = muniment("query", "Where does the user live?", "--agent", "supervisor", MUNIMENT_EMBEDDER=new)
    assert "Porto" in found.out


def test_database_down(muniment: Muniment) -> None:
    """A database that does not answer is exit code 6, with the variable that names it."""
    for command in (["list"], ["chat"], ["status"], ["migrate"]):
        down = muniment(*command, MUNIMENT_DATABASE_URL="postgresql://localhost:9/none")
        assert (down.code, down.out, down.err.count("\n")) == (6, "", 1), command
        assert "MUNIMENT_DATABASE_URL" in down.err


def test_embedded_server(muniment: Muniment, environment: dict[str, str], home: Path) -> None:
    """With no database named, one starts by itself, `status` starts nothing, and `stop` stops it."""
    del environment["MUNIMENT_DATABASE_URL"], environment["MUNIMENT_OWNER_URL"]
    environment["MUNIMENT_HOME"] = str(home)
    assert muniment("status", "--json").json["running"] is False
    assert muniment("stop", "--json").json == {"stopped": False}
    assert muniment("migrate", "--json").json["applied"][0].startswith("0001_")
    assert muniment("migrate").out == "The database is up to date.\n"
    assert muniment("remember", "I live in Porto").code == 0
    running = muniment("status", "--json").json
    assert running["running"] is True
    assert running["space"]["active"] == 1
    assert muniment("stop").out == "Stopped.\n"
    assert muniment("list").out.count("Porto") == 1


def test_status(muniment: Muniment) -> None:
    """The status of a named database tells counts and revision of one user's space, and no address."""
    muniment("remember", "I live in Porto")
    status = muniment("status", "--json").json
    assert (status["database"], status["running"], status["embedder"]) == ("MUNIMENT_DATABASE_URL", True, "hash-256")
    assert (status["space"]["rev"], status["space"]["active"]) == (1, 1)
    assert status["budget"] == {"daily_tokens": 1_000_000, "tokens_left": 1_000_000}
    assert "space.rev" in muniment("status").out
    assert "host" not in muniment("status").out


def test_help(muniment: Muniment) -> None:
    """Every command explains itself with an example; the version is the package's."""
    assert muniment("--version").out == f"muniment {package.__version__}\n"
    overview = muniment().out
    assert "Exit codes" in overview
    assert muniment("--help").out == overview
    for name in ("chat", "query", "import", "embedder switch"):
        assert f"muniment {name}" in muniment(*name.split(), "--help").out.replace("MUNIMENT_EMBEDDER=", "")


def test_odd_texts(muniment: Muniment) -> None:
    """Bytes that are no text, other scripts and other people's commands are kept or refused whole."""
    assert muniment("remember", b"I live in S\xe3o Paulo").code == 0
    assert muniment("remember", "أنا أحب القهوة 😀👨‍👩‍👧", "--category", "preferences").code == 0
    assert muniment("remember", "Robert'); DROP TABLE muniment.memories", "--category", "knowledge").code == 0
    assert muniment("remember", "I like \x1b[31mred\x07 wine", "--category", "preferences").code == 0
    listed = muniment("list")
    assert "القهوة" in listed.out
    assert "DROP TABLE" in listed.out
    assert "S�o" in listed.out
    assert not set(listed.out) & {"\x1b", "\x07"}
    assert muniment("list", "--user", b"\xff").code == 2


def test_import_of_strange_rows_names_the_line(muniment: Muniment, tmp_path: Path) -> None:
    """Every complaint about a file names its line, and nothing of the file is kept."""
    file = tmp_path / "rows.jsonl"
    good = '{"text": "The user plays chess", "category": "interests"}\n'
    for bad, told in {
        "nope": "no JSON", "[1]": "object", '{"category": "tasks"}': "text",
        '{"text": "x", "category": "nope"}': "'category'",
        '{"text": "x", "type": "poem"}': "field 'type'", "[" * 100_000: "JSON",
    }.items():  # fmt: skip
        file.write_text(good + "\n" + bad + "\n")
        refused = muniment("import", str(file), "--format", "jsonl", "--user", "strict")
        assert (refused.code, f"{file}, line 3" in refused.err, told in refused.err) == (2, True, True), refused.err
    file.write_bytes(good.encode() + b'{"text": "\xff"}\n')
    assert "line 2: is not UTF-8" in muniment("import", str(file), "--format", "jsonl").err
    assert muniment("import", str(tmp_path / "none"), "--format", "jsonl").code == 2
    assert muniment("import", str(tmp_path), "--format", "jsonl").code == 2
    assert muniment("list", "--user", "strict").out == ""
