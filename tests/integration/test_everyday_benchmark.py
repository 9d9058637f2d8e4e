"""The benchmark of everyday questions: it tells right from wrong, and its data are what they are said to be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import everyday

USER = {
    "language": "en",
    "memories": [
        {"category": "activity", "text": "The user repaired the old lighthouse lamp"},
        {"category": "profile", "text": "The user keeps eleven quince trees"},
    ],
    "questions": [
        {"text": "Who repaired the old lighthouse lamp?", "evidence": [0]},
        {"text": "Who keeps eleven quince trees?", "evidence": [0]},
    ],
    "unanswerable": ["Which parrot whistles?", "Were eleven quince trees repaired?"],
}


@pytest.fixture
def server(cluster_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds the tests' server and an embedder that needs no model."""
    monkeypatch.setenv("MUNIMENT_DATABASE_URL", cluster_url)
    monkeypatch.setenv("MUNIMENT_EMBEDDER", "hash-256")


def test_a_wrong_answer_counts_as_wrong(server: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the answers are evidence, half of the strangers' questions get nothing, and only the tune half is
    listed."""
    file = tmp_path / "users.json"
    users = [{**USER, "id": half, "half": half} for half in (*everyday.HALVES, "later")]
    file.write_text(json.dumps({"users": users}), encoding="utf-8")
    assert everyday.main([str(file), "--misses", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["rows"]) == 2 * 2 * 6  # halves, English and all, with everything and without each ingredient
    for row in found["rows"]:
        counts = (row["users"], row["answerable"], row["unanswerable"])
        assert (*counts, row["found"], row["first"], row["silent"]) == (1, 2, 2, 0.5, 0.5, 0.5)
    assert [(one["user"], one["wrong"]) for one in found["misses"]] == [("tune", "not found"), ("tune", "not silent")]


def test_everyday_questions_are_asked_with_and_without(server: None, capsys: pytest.CaptureFixture[str]) -> None:
    """A small run has both halves and languages, each asked with the settings as they are and without each
    ingredient."""
    assert everyday.main(["--limit", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["users"] for row in rows] == [*[1] * 12, *[2] * 6] * 2
    assert [row["without"] for row in rows] == [None, *everyday.INGREDIENTS] * 6
    assert rows[0]["found"] > rows[1]["found"]  # a job is told by the trade, and no word of the question is in that
    assert all(0 <= row["first"] <= row["found"] <= 1 for row in rows)


def test_what_lies_beside_is_searched_too(server: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Turns of others in each space, or all who speak a language in one: a stranger's question then gets what it asks
    for."""
    users, talk = tmp_path / "users.json", tmp_path / "talk.json"
    other = {**USER, "memories": [{"category": "activity", "text": "A green parrot whistles"}], "questions": []}
    users.write_text(
        json.dumps({"users": [{**USER, "id": "a", "half": "tune"}, {**other, "id": "b", "half": "held-out"}]})
    )
    turn = {"speaker": "Vera", "dia_id": "D1:1", "text": "A green parrot whistles"}
    session = {"session_1": [turn], "session_1_date_time": "1:56 pm on 8 May, 2023"}
    talk.write_text(json.dumps({"sample_id": "v", "conversation": session, "qa": []}))

    def silent(*more: str) -> float:
        assert everyday.main([str(users), "--half", "tune", *more, "--json"]) == 0
        return float(json.loads(capsys.readouterr().out)["rows"][0]["silent"])

    assert silent() == 0.5
    assert silent("--beside", str(talk)) == 0.0
    assert everyday.main([str(users), "--together", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["silent"] == 0.0
    assert everyday.main([str(users), "--beside", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err


def test_a_further_half_is_read_by_its_name_and_never_listed(
    server: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The later half comes from its own file, and nobody is told what went wrong in it."""
    file = tmp_path / "later.json"
    file.write_text(json.dumps({"users": [{**USER, "id": "later", "half": "later"}]}), encoding="utf-8")
    monkeypatch.setitem(everyday.FURTHER, "later", file)
    assert everyday.main(["--half", "later", "--misses", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(row["half"], row["users"], row["found"]) for row in found["rows"]} == {("later", 1, 0.5)}
    assert found["misses"] == []


def test_the_data_alternate_between_the_halves() -> None:
    """Nobody has chosen who is looked at; each has few memories, questions that these answer, and others."""
    raw = json.loads(everyday.DATA.read_text(encoding="utf-8"))["users"]
    assert [one["half"] for one in raw] == [everyday.HALVES[n % 2] for n in range(len(raw))]
    for user in everyday.read(everyday.DATA, everyday.HALVES):
        answered = [one for one in user.questions if one.evidence]
        assert 3 <= len({one.text for one in user.memories}) == len(user.memories) <= 12
        assert 3 <= len(answered) <= 6
        assert 2 <= len(user.questions) - len(answered) <= 4


def test_the_later_half_has_other_users_of_both_languages() -> None:
    """Twenty of each language, who are not those of the first file, with three questions each that nothing answers."""
    users = everyday.read(everyday.FURTHER["later"], ["later"])
    assert [one.language for one in users] == ["en"] * 20 + ["zh"] * 20
    assert len({one.id for one in (*users, *everyday.read(everyday.DATA, everyday.HALVES))}) == 40 + 42
    for user in users:
        texts = {one.text for one in user.memories}
        answered = [one for one in user.questions if one.evidence]
        assert 3 <= len(texts) == len(user.memories) <= 12
        assert 3 <= len(answered) <= 6
        assert len({one.text for one in user.questions}) == len(user.questions) == len(answered) + 3
        assert all(one.evidence <= texts for one in answered)
