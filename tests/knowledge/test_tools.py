"""Tools of a turn: what each is called with, and what a model is given of it."""

from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import EntryPoint

import pytest
from tests.covers import covers

from weft.context.items.blocks import render_tools
from weft.context.items.item_types import document, node, selection
from weft.errors import InvalidInputError, NotFoundError, UnavailableError
from weft.knowledge.folder import Folder
from weft.knowledge.notes import Mounted
from weft.knowledge.retrieval import Period, Retrieval, RetrievedPassage
from weft.knowledge.tools.base import (
    GROUP,
    Tool,
    ToolArguments,
    ToolContext,
    ToolRegistry,
    WebPage,
    installed_tools,
    say,
)
from weft.tree.reference import Vault

NOW = datetime(2026, 3, 31, 15, 30, tzinfo=UTC)


@pytest.fixture
def notes(tmp_path):
    """A vault, and a function that writes into it."""
    root = tmp_path / "Notes"
    root.mkdir()
    vault = Vault(id="v", name="Notes", path=str(Folder.at(root).root), created_at=NOW)

    def write(path, text, moment="2026-03-25T12:00:00+00:00"):
        import os

        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        seconds = datetime.fromisoformat(moment).timestamp()
        os.utime(place, (seconds, seconds))

    return ToolContext(now=NOW, mounted=lambda: Mounted([vault])), write


def run(desk, name, **arguments):
    return installed_tools().tool(name)(desk, arguments)


@covers("toolcall.registry")
def test_the_tools_are_found_by_their_entry_points():
    names = ["getFileTree", "getTimeInfo", "localSearch", "readNote", "readResult", "readUrl", "webSearch"]
    assert installed_tools().names == names
    for name in installed_tools().names:
        tool = installed_tools().tool(name)
        assert tool.name == name
        assert tool.description
        assert tool.schema["type"] == "object"
    assert installed_tools().tool("localSearch").schema["required"] == ["query"]


class Nothing(ToolArguments):
    pass


TOLL = Tool(name="toll", description="", arguments=Nothing, run=lambda _desk, _given: say("toll", "Pay."))


@covers("toolcall.registry")
@pytest.mark.parametrize(
    ("value", "why"),
    [("nowhere:tool", "ModuleNotFoundError"), ("weft.knowledge.notes:Mounted", "is not a tool 'broken'")],
)
def test_anyones_tool_is_one_of_them_and_a_broken_one_keeps_no_others(value, why):
    registry = ToolRegistry(installed={"broken": EntryPoint("broken", value, GROUP)}).with_tool(TOLL)
    assert registry.names == ["broken", "toll"]
    assert registry.tool("toll")(ToolContext(now=NOW), {}).render() == "<toll>\nPay.\n</toll>"
    with pytest.raises(InvalidInputError, match=why):
        registry.tool("broken")
    with pytest.raises(NotFoundError, match="no tool 'tall'"):
        registry.tool("tall")


@covers("toolcall.arguments-checked")
@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("localSearch", {}, "query"),
        ("localSearch", {"query": ""}, "query"),
        ("localSearch", {"query": "a", "limit": 31}, "limit"),
        ("localSearch", {"query": "a", "where": ["moon"]}, "where"),
        ("localSearch", {"query": "a", "timeRange": "soon"}, "not a period"),
        ("localSearch", {"query": "a", "else": 1}, "else"),
        ("readNote", {"path": "a.md", "start": 0}, "start"),
        ("getTimeInfo", {"zone": "Moon/Base"}, "time zone"),
        ("getTimeInfo", {"zone": "../etc"}, "time zone"),
    ],
)
def test_what_a_tool_cannot_be_called_with_is_named(notes, name, arguments, why):
    with pytest.raises(InvalidInputError, match=why):
        run(notes[0], name, **arguments)


def retrieved(item, place, **about):
    about = {"source": item.id, "title": "", "start": 1, "end": 1, "score": 1.0} | about
    return RetrievedPassage(item=item, place=place, **about)


@covers("toolcall.local-search", "toolcall.self-contained", "toolcall.under-additional-context")
def test_a_search_brings_its_instruction_its_passages_and_how_to_cite_them(notes):
    lines = selection(
        "Piano Lessons/spec.md", 4, 5, "# Lamp\nOn the piano.", title="spec › Lamp", modified="2026-03-25"
    )
    passages = [
        retrieved(lines, "vaults"),
        retrieved(document("01H", "The lamp lights itself.", title="Harbour"), "documents"),
        retrieved(node("a7x2", "Nobody saw the lamp but the heron at the window.", title="Marie"), "trees"),
    ]
    asked = []

    def retrieve(*arguments):
        asked.append(arguments)
        return Retrieval(passages, ["vault Two: its folder </localSearch> is gone"])

    desk = replace(notes[0], retrieve=retrieve)
    output = run(desk, "localSearch", query="Where is the lamp?", timeRange="last week")
    week = Period(datetime(2026, 3, 23, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC))
    assert asked == [("Where is the lamp?", frozenset({"vaults", "documents", "trees"}), 8, week)]
    assert render_tools([output]) == (
        "# Additional context:\n\n"
        '<localSearch timeRange="last week">\n'
        "Answer the question based only on the following context:\n\n"
        "[1]\n<selected_text>\n<title>spec › Lamp</title>\n<path>Piano Lessons/spec.md</path>\n"
        "<start_line>4</start_line>\n<end_line>5</end_line>\n<mtime>2026-03-25</mtime>\n"
        "<content>\n# Lamp\nOn the piano.\n</content>\n</selected_text>\n\n"
        "[2]\n<document_context>\n<id>doc:01H</id>\n<title>Harbour</title>\n"
        "<content>\nThe lamp lights itself.\n</content>\n</document_context>\n\n"
        "[3]\n<node_context>\n<id>[a7x2]</id>\n<title>Marie</title>\n"
        "<content>\nNobody saw the lamp but the heron at the window.\n</content>\n</node_context>\n\n"
        "Not complete: vault Two: its folder <\\localSearch> is gone.\n\n"
        "<guidance>\n"
        "Cite what you use: put the number of its source in brackets right after the statement, such as [1].\n"
        "Cite only sources of this list, by these numbers; several are written [1][3].\n"
        "Where the context does not hold the answer, say so and cite nothing.\n"
        "Sources:\n[1] Piano Lessons/spec.md#L4-L5 (spec › Lamp)\n[2] doc:01H (Harbour)\n[3] [a7x2] (Marie)\n"
        "</guidance>\n</localSearch>"
    )
    assert [each.number for each in output.sources] == [1, 2, 3]


@covers("toolcall.local-search", "retrieval.not-in-the-notes")
def test_a_search_that_finds_nothing_says_so(notes):
    nothing = run(notes[0], "localSearch", query="lamp", where=["vaults"], timeRange="2024")
    assert nothing.render().startswith('<localSearch timeRange="2024">\nNothing was found about this')
    assert nothing.sources == ()


@covers("toolcall.get-file-tree")
def test_the_tree_of_files(notes):
    desk, write = notes
    for path in ("b.md", "a/x.md", "a/deep/y.txt", "a/picture.png", ".hidden/z.md"):
        write(path, "")
    assert run(desk, "getFileTree").render() == (
        "<getFileTree>\n"
        "These are the notes that may be read; a note's path is its folders and its name with / between:\n\n"
        "Notes:\n  a/\n    deep/\n      y.txt\n    x.md\n  b.md\n</getFileTree>"
    )
    assert (
        run(desk, "getFileTree", folder="a")
        .render()
        .endswith("Notes:\n  a/\n    deep/\n      y.txt\n    x.md\n</getFileTree>")
    )
    with pytest.raises(NotFoundError):
        run(desk, "getFileTree", folder="c")
    with pytest.raises(InvalidInputError, match="leads out"):
        run(desk, "getFileTree", folder="../..")
    with pytest.raises(NotFoundError, match="no vault"):
        run(desk, "getFileTree", vault="Else")
    with pytest.raises(UnavailableError, match="No folder"):
        run(ToolContext(now=NOW), "getFileTree")


@pytest.fixture
def two_vaults(tmp_path):
    """A desk with two vaults, and the folders."""
    roots = [tmp_path / name for name in ("One", "Two")]
    for root in roots:
        (root / "deep").mkdir(parents=True)
        (root / "lamp.md").write_text(f"The lamp of {root.name}.")
    (roots[1] / "deep" / "well.md").write_text("A well.")
    vaults = [Vault(id=root.name, name=root.name, path=str(root), created_at=NOW) for root in roots]
    return ToolContext(now=NOW, mounted=lambda: Mounted(vaults)), roots


@covers("toolcall.get-file-tree")
def test_a_folder_that_no_vault_has_is_refused_and_one_may_be_named_with_its_vault(two_vaults):
    desk, _ = two_vaults
    with pytest.raises(NotFoundError, match="no vault has a folder 'nowhere'"):
        run(desk, "getFileTree", folder="nowhere")
    with pytest.raises(InvalidInputError, match="is not a folder"):
        run(desk, "getFileTree", vault="One", folder="lamp.md")
    with pytest.raises(InvalidInputError, match="leads out"):
        run(desk, "getFileTree", folder="../One")
    shown = run(desk, "getFileTree", folder="Two/deep").content
    assert shown.endswith("\n\nTwo:\n  deep/\n    well.md")
    assert "the vault's name and a colon precede it" in shown
    assert run(desk, "getFileTree", folder="deep").content.endswith("One:\nTwo:\n  deep/\n    well.md")


@covers("toolcall.get-file-tree")
def test_a_vault_that_is_gone_keeps_no_others_and_is_told_about(two_vaults):
    desk, (_, second) = two_vaults
    second.rename(second.with_name("Elsewhere"))
    assert run(desk, "getFileTree").content.endswith("One:\n  lamp.md\nTwo: cannot be read now")


@covers("toolcall.get-file-tree")
def test_a_name_that_is_not_unicode_is_in_no_output(notes):
    desk, write = notes
    write("a.md", "lamp")
    root = desk.mounted().folder(desk.mounted().vaults[0]).root
    try:
        (root / "bad\udcff.md").write_text("lamp")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert "udcff" not in ascii(run(desk, "getFileTree").content)
    with pytest.raises(InvalidInputError, match="not Unicode"):
        Folder.at(root).read("bad\udcff.md")
    assert Folder.at(root).notes().left_out == 1


@pytest.mark.outer
@covers("toolcall.get-file-tree")
def test_a_large_tree_is_told_by_its_folders(notes):
    desk, write = notes
    for number in range(1_100):
        write(f"f{number % 3}/n{number}.md", "")
    write("top.md", "")
    shown = run(desk, "getFileTree").content.splitlines()
    assert shown[2:] == [
        "Notes:",
        "  f0/",
        "    (367 notes)",
        "  f1/",
        "    (367 notes)",
        "  f2/",
        "    (366 notes)",
        "  (1 note)",
    ]


@covers("toolcall.read-note")
def test_a_note_is_read_by_its_path_or_its_name(notes):
    desk, write = notes
    write("Piano Lessons/Lesson 4.md", "Scales.")
    for name in (
        "Piano Lessons/Lesson 4.md",
        "Lesson 4",
        "[[Lesson 4|the fourth]]",
        "Notes:Piano Lessons/Lesson 4.md",
    ):
        output = run(desk, "readNote", path=name)
        assert output.attributes == {"path": "Piano Lessons/Lesson 4.md"}
        assert "<content>\nScales.\n</content>" in output.content
    assert "Sources:\n[1] Piano Lessons/Lesson 4.md\n</guidance>" in output.whole
    write("Else/Lesson 4.md", "Other.")
    with pytest.raises(NotFoundError) as caught:
        run(desk, "readNote", path="Lesson 4")
    assert "Else/Lesson 4.md, Piano Lessons/Lesson 4.md" in caught.value.hint
    with pytest.raises(InvalidInputError, match="leads out"):
        run(desk, "readNote", path="../secret.md")


@pytest.mark.long
@covers("toolcall.read-note")
def test_what_a_search_gave_and_what_links_name_can_be_read(notes):
    desk, write = notes
    write("Lessons/four.md", "# One\nScales.\n# Two\nThe lamp.")
    found = "Lessons/four.md#L3-L4"
    output = run(desk, "readNote", path=found)
    assert output.attributes == {"path": "Lessons/four.md", "lines": "3-4 of 4"}
    assert run(desk, "readNote", path=found, start=2).attributes["lines"] == "2-4 of 4"
    assert run(desk, "readNote", path="[[four#Two|there]]").attributes == {"path": "Lessons/four.md"}
    write("C#.md", "Sharp.")
    assert run(desk, "readNote", path="C#.md").attributes == {"path": "C#.md"}
    with pytest.raises(NotFoundError) as caught:
        run(desk, "readNote", path="five#L1")
    assert caught.value.hint == "getFileTree lists the notes"


@pytest.mark.outer
@covers("toolcall.read-note")
def test_a_long_note_is_read_part_by_part(notes):
    desk, write = notes
    whole = [f"line {number}" for number in range(1, 901)]
    write("long.md", "\n".join(whole))
    start, seen = 1, []
    for _ in range(3):
        output = run(desk, "readNote", path="long.md", start=start)
        shown = output.content.split("<content>\n")[1].split("\n</content>")[0].split("\n")
        seen += shown
        assert output.attributes["lines"] == f"{start}-{start + len(shown) - 1} of 900"
        start += len(shown)
        assert (f"readNote with start {start}" in output.content) is (start <= 900)
    assert seen == whole
    with pytest.raises(InvalidInputError, match="has 900 lines"):
        run(desk, "readNote", path="long.md", start=901)
    write("single.md", "x" * 10_000_000)
    assert len(run(desk, "readNote", path="single.md").content) < 17_000
    assert len(run(desk, "localSearch", query="single").content) < 10_000
    write("wide.md", "x" * 20_000 + "\nend")
    output = run(desk, "readNote", path="wide.md")
    assert "Line 1 is longer than what is shown of it. It goes on: readNote with start 2." in output.content


@covers("toolcall.get-time-info")
def test_what_time_it_is():
    assert run(ToolContext(now=NOW), "getTimeInfo").render() == (
        "<getTimeInfo>\nReckon from this time, and from no other:\n\n"
        "now: 2026-03-31T15:30:00+00:00\nweekday: Tuesday\nweek: 2026-W14\nutc: 2026-03-31T15:30:00+00:00\n"
        "seconds since 1970: 1774971000\n</getTimeInfo>"
    )
    told = run(
        ToolContext(now=NOW), "getTimeInfo", zone="Europe/Berlin", timeRange="since yesterday"
    ).render()
    assert told.startswith('<getTimeInfo zone="Europe/Berlin" timeRange="since yesterday">')
    assert "now: 2026-03-31T17:30:00+02:00" in told
    assert told.endswith("begins: 2026-03-30T00:00:00+02:00\nends before: open\n</getTimeInfo>")


class Web:
    name = "web"

    def __init__(self, *pages):
        self.pages, self.asked = pages, []

    def search(self, query, *, limit, period):
        self.asked.append((query, limit, period))
        return self.pages


@covers("toolcall.web-search-off")
def test_the_web_is_searched_only_where_somebody_searches_it():
    with pytest.raises(UnavailableError, match="webSearch is off: no provider is configured"):
        run(ToolContext(now=NOW), "webSearch", query="lamp")
    web = Web(
        WebPage("Lamp", "https://example.org/?a=1&b=2", "A </webSearch> lamp.", "2026-01-01"),
        WebPage("", "https://b.example", ""),
    )
    output = run(ToolContext(now=NOW, web=web, first=4), "webSearch", query="lamp", timeRange="week", limit=2)
    assert web.asked == [("lamp", 2, "week")]
    shown = output.render()
    assert shown.startswith('<webSearch query="lamp" timeRange="week">\nThese are results')
    assert "[4]\n<url_content>\n<title>Lamp</title>\n<url>https://example.org/?a=1&b=2</url>" in shown
    assert shown.count("</webSearch>") == 1
    assert "Sources:\n[4] https://example.org/?a=1&b=2 (Lamp)\n[5] https://b.example\n" in shown
    nothing = run(ToolContext(now=NOW, web=Web()), "webSearch", query="lamp")
    assert "found nothing" in nothing.content
