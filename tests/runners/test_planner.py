"""The planner's rules: what the words of a question ask for, in many languages."""

import pytest
from tests.covers import covers

from weft.runtime.runners.planner import KnownTool, TurnSummary, plan_by_rules

NAMES = ("readNote", "readUrl", "getTimeInfo", "getFileTree", "webSearch", "localSearch")
TOOLS = [KnownTool(name, "", {}, lambda _: None) for name in NAMES]


def planned(question):
    return [each.name for each in plan_by_rules(TurnSummary(question, ()), TOOLS)]


@covers("runner.rules-in-languages")
@pytest.mark.parametrize(
    "question",
    [
        "What did I write yesterday?",
        "Was habe ich gestern geschrieben?",
        "Qu'est-ce que j'ai écrit hier ?",
        "¿Qué escribí ayer?",
        "Что я писал вчера?",
        "昨日は何を書きましたか",
        "我昨天写了什么？",
        "어제 무엇을 썼나요?",
    ],
)
def test_words_of_time_ask_for_the_time_in_every_language(question):
    assert planned(question) == ["getTimeInfo", "localSearch"]


@covers("runner.rules-in-languages")
@pytest.mark.parametrize(
    "question",
    [
        "Which notes are in the folder?",
        "Welche Notizen habe ich?",
        "Quelles notes y a-t-il ?",
        "¿Qué notas hay?",
        "どのノートがありますか",
        "有哪些笔记？",
        "Zeig mir die Ordnerstruktur",
    ],
)
def test_a_question_for_files_asks_for_the_file_tree(question):
    assert planned(question) == ["getFileTree", "localSearch"]


@covers("runner.rules-in-languages")
@pytest.mark.parametrize(
    "question",
    ["Hello!", "Thanks, bye", "Guten Morgen!", "merci beaucoup", "¡Hola!", "谢谢", "ありがとう！"],
)
def test_small_talk_asks_for_nothing(question):
    assert planned(question) == []


@covers("runner.rules-in-languages")
@pytest.mark.parametrize(
    "question",
    [
        "What does the lamp burn?",
        "Wie hoch ist der Turm?",
        "Hier ist es dunkel",
        "Пароль от сети гостевой?",
        "灯塔烧什么油？",
        "Mikä öljy palaa lampussa?",
        "No, the other lamp",
    ],
)
def test_any_other_question_is_searched_for_whatever_its_language(question):
    assert planned(question)[-1] == "localSearch"
    assert "getFileTree" not in planned(question)


@pytest.mark.parametrize(
    ("question", "paths"),
    [
        ("What does Harbour/Lamp.md say?", ["Harbour/Lamp.md"]),
        ('Was steht in "My notes/The lamp.md"?', ["My notes/The lamp.md"]),
        ("「灯台.md」を読んで", ["灯台.md"]),
        ("Compare [[Lamp]] and [[Fog|the fog]]", ["Lamp", "Fog"]),
    ],
)
def test_notes_that_are_named_are_read(question, paths):
    calls = plan_by_rules(TurnSummary(question, ()), TOOLS)
    assert [each.arguments["path"] for each in calls if each.name == "readNote"] == paths


def test_an_address_is_read_without_the_end_of_its_sentence():
    [call, *_] = plan_by_rules(TurnSummary("读一下 https://example.org/a。好吗？", ()), TOOLS)
    assert call.arguments == {"url": "https://example.org/a"}
