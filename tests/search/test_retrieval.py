"""Passages of notes, documents and trees that answer a question."""

import os
from datetime import UTC, datetime

import pytest
from tests.contexts.shelves import Desk
from tests.covers import covers

from weft.errors import InvalidInputError, NotFoundError
from weft.knowledge.retrieval import Period
from weft.runtime.search.retrieval import retrieve


@pytest.fixture
def desk(loom, tmp_path):
    return Desk(loom, tmp_path / "Notes")


def places(retrieval):
    return [(each.source, each.start, each.end) for each in retrieval.passages]


def sources(retrieval):
    return [each.source for each in retrieval.passages]


@covers("retrieval.passages", "toolcall.local-search")
def test_a_passage_carries_its_note_its_headings_and_its_lines(desk):
    desk.write(
        "Sea/tower.md", "---\ntitle: The tower\n---\n# Stairs\nNinety.\n\n# Light\n## Lamp\nLit at dusk.\n"
    )
    answer = retrieve(desk.grove.caller, "When is the lamp lit?")
    best = answer.passages[0]
    assert (best.source, best.title, best.headings) == ("Sea/tower.md", "The tower", ("Light", "Lamp"))
    assert (best.start, best.end, best.text) == (7, 9, "# Light\n## Lamp\nLit at dusk.")
    assert (best.place, best.vault) == ("vaults", desk.name)
    assert best.item.id == "Sea/tower.md#L7-L9"
    assert best.item.title == "The tower › Light › Lamp"
    assert answer.warnings == ()


@covers("retrieval.not-in-the-notes")
def test_a_question_that_no_note_answers_finds_nothing(desk):
    desk.write(
        "tower.md", "The keeper lights the lamp in the tower at dusk, and what is left is for the night."
    )
    assert sources(retrieve(desk.grove.caller, "Who lights the lamp?")) == ["tower.md"]
    assert sources(retrieve(desk.grove.caller, "What is the capital of Mongolia?")) == []


@covers("retrieval.words-of-a-question")
@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("路由器恢复出厂设置：按住按钮十秒。", "怎么把路由器恢复出厂设置？"),
        ("ルーターを再起動するには、ボタンを十秒押します。", "ルーターはどうやって再起動しますか？"),
        ("Der Schlüssel liegt unter der Fußmatte.", "Wo liegt der SCHLUESSEL, unter der Fussmatte?"),
    ],
)
def test_any_script_is_searched(desk, text, question):
    desk.write("one.md", text)
    desk.write("other.md", "Something else, entirely about herons: 天气很好。")
    assert sources(retrieve(desk.grove.caller, question))[:1] == ["one.md"]


@covers("toolcall.time-range", "retrieval.passages")
def test_only_notes_that_were_changed_then_are_found(desk):
    for path, year in (("old.md", 2025), ("new.md", 2026)):
        desk.write(path, "The lamp.")
        seconds = datetime(year, 1, 5, tzinfo=UTC).timestamp()
        os.utime(desk.folder / path, (seconds, seconds))
    caller = desk.grove.caller
    assert sorted(sources(retrieve(caller, "lamp"))) == ["new.md", "old.md"]
    this = Period(datetime(2026, 1, 1, tzinfo=UTC), None)
    assert sources(retrieve(caller, "lamp", period=this)) == ["new.md"]
    assert sources(retrieve(caller, "lamp", period=Period(None, datetime(2025, 1, 1, tzinfo=UTC)))) == []


@covers("retrieval.passages")
def test_no_note_takes_all_the_room(desk):
    desk.write("long.md", "\n".join(f"# {number}\nThe lamp." for number in range(20)))
    desk.write("short.md", "A single lamp somewhere in a text that is about something else, really.")
    found = retrieve(desk.grove.caller, "lamp")
    assert sources(found).count("long.md") == 3
    assert "short.md" in sources(found)
    assert len(retrieve(desk.grove.caller, "lamp", limit=2).passages) == 2


@covers("retrieval.passages")
def test_vaults_are_chosen_by_name_and_a_path_that_two_have_is_told_apart(desk, tmp_path):
    desk.write("lamp.md", "The lamp.")
    second = tmp_path / "Second"
    second.mkdir()
    (second / "lamp.md").write_text("The lamp.")
    vault = desk.grove.vaults.mount(second, f"B{desk.name}")
    caller = desk.grove.caller
    assert sorted(sources(retrieve(caller, "lamp"))) == sorted(["lamp.md", f"B{desk.name}:lamp.md"])
    assert sources(retrieve(caller, "lamp", vaults=[vault.name])) == [f"B{desk.name}:lamp.md"]
    with pytest.raises(NotFoundError):
        retrieve(caller, "lamp", vaults=["Moon"])
    second.rename(second.with_name("Elsewhere"))
    gone = retrieve(caller, "lamp")
    assert sources(gone) == ["lamp.md"]
    assert [f"vault B{desk.name}: there is no folder" in each for each in gone.warnings[:1]] == [True]
    vault.unmount()


@covers("toolcall.arguments-checked")
def test_a_question_without_words_is_refused(desk):
    with pytest.raises(InvalidInputError, match="no word to look for"):
        retrieve(desk.grove.caller, "?!")
