"""The last states of threads in an archive and in a person's own file, from a real graph's checkpoints."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from muniment.faces.dossier.files import DossierForm, write_dossier
from muniment.faces.transfer.archive import check_archive, write_archive
from muniment.graph.checkpointer import open_saver
from muniment.graph.threads.states import stream_thread_states
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from tests.graph.conftest import Talk

ANA, BEN, CY = Scope(owner="ana"), Scope(owner="ben"), Scope(owner="cy")
SECRET = "sk-proj-Ab3dE6gH9jK2mN5pQ8sT1vW4"


def list_said(row: dict[str, Any]) -> list[str]:
    """What the messages of a state say."""
    return [str(each["content"]) for each in row["values"]["messages"]]


async def test_an_archive_has_the_last_state_of_each_thread(
    database_url: str, talk: Callable[..., Talk], settings: Settings, tmp_path: Path
) -> None:
    """All of a user in one archive: each thread with its messages as of its last turn, in order, redacted; of another
    person's threads nothing; and the list of checksums covers them."""
    async with open_saver(database_url) as saver:
        speaking = talk(saver=saver)
        await speaking.say("I am allergic to walnuts.", thread="food")
        await speaking.say("Good morning to you.", thread="food")
        await speaking.say(f"My api key is {SECRET}, and I keep bees.", thread="bees")
        await speaking.say("I collect old maps.", thread="maps", user="ben")
        memory = speaking.memory
        for who in (ANA, BEN, CY):
            with (tmp_path / f"{who.owner}.zip").open("w+b") as file:
                states = stream_thread_states(settings, who.space, memory.conversation.redact)
                await write_archive(memory, who, file, states)
    rows = {who.owner: read_threads(tmp_path / f"{who.owner}.zip") for who in (ANA, BEN, CY)}
    assert [len(each) for each in rows.values()] == [2, 1, 0]
    food, bees = sorted(rows["ana"], key=lambda row: "food" not in row["thread"])
    asked = [each["content"] for each in food["values"]["messages"] if each["type"] == "human"]
    assert asked == ["I am allergic to walnuts.", "Good morning to you."]
    assert len(food["values"]["messages"]) == 4
    assert any("keep bees" in said for said in list_said(bees))
    assert food["checkpoint"]
    assert food["at"]
    assert SECRET not in json.dumps(rows)
    assert "maps" not in json.dumps(rows["ana"])
    assert "walnuts" not in json.dumps(rows["ben"])
    assert "threads.jsonl" in {each["name"] for each in check_archive(tmp_path / "ana.zip")}


def read_threads(path: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(path) as archive:
        return [json.loads(line) for line in archive.read("threads.jsonl").splitlines()]


async def test_a_persons_file_has_what_threads_go_on_from(database_url: str, talk: Callable[..., Talk]) -> None:
    """Complete: what checkpoints hold of a person is said in the page, and is in the JSON word for word."""
    async with open_saver(database_url) as saver:
        speaking = talk(saver=saver)
        await speaking.say("I am allergic to walnuts.", thread="food")
        await speaking.say("I collect old maps.", thread="maps", user="ben")
        page, rows = io.BytesIO(), io.BytesIO()
        await write_dossier(speaking.memory, ANA, DossierForm.html, "en", page)
        await write_dossier(speaking.memory, ANA, DossierForm.json, "en", rows)
    (thread,) = json.loads(rows.getvalue())["records"]["threads"]
    assert "I am allergic to walnuts." in list_said(thread)
    assert "(messages: 2)" in page.getvalue().decode()
    assert "old maps" not in page.getvalue().decode() + rows.getvalue().decode()
