"""The pages tell the truth: links lead somewhere, names exist, the tour can be walked."""

import importlib
import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.generate import command_paths
from tests.covers import covers
from typer.main import get_command

import weft
from weft.cli.app import app
from weft.cli.session import Settings
from weft.sample.harbour import AGENT, plant_samples
from weft.tree.node import Status

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
COMMANDS = set(command_paths(get_command(app)))

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CALL = re.compile(r"(?:^|[\s|/])weft ([^|\n]+)")
PYTHON_NAME = re.compile(r"(?<![\w./-])(weft|loom)((?:\.[a-zA-Z_]\w*)+)")

NOUNS = {
    *("Agent", "Annotation", "Attempt", "Blob", "Branch point", "Buffer mode", "Content", "Context item"),
    *("Cursor", "Dialogue mode", "Document", "Edge", "Event", "Grove", "Leaf", "Link", "Local id"),
    *("Membership", "Metadata", "Mode", "Node", "Path", "Position", "Project", "Provenance"),
    *("Raw response", "Request record", "Role", "Root", "Siblings", "Source", "Status", "Tag"),
    *("Timestamp", "Token", "Tree", "Turn", "User", "Vault", "Version", "Working buffer"),
}


@pytest.fixture(params=PAGES, ids=NAMES)
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


def prose_of(page: Path) -> str:
    """What a reader sees of a page, without its blocks of code."""
    return FENCE.sub("", COMMENT.sub("", page.read_text()))


def slug_of(heading: str) -> str:
    """A heading as the anchor that it gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def code_of(page: Path) -> Iterator[str]:
    """Every piece of code: spans in the prose, and the lines of blocks that are typed."""
    yield from SPAN.findall(prose_of(page))
    for language, block in FENCE.findall(COMMENT.sub("", page.read_text())):
        if language == "console":
            yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))
        elif language == "pycon":
            yield from (line[4:] for line in block.splitlines() if line.startswith((">>> ", "... ")))
        elif language == "python":
            yield from block.splitlines()


def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose_of(page)):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), f"{link} is not there"
        if anchor:
            anchors = {slug_of(heading) for heading in HEADING.findall(prose_of(target))}
            assert anchor in anchors, f"{link} names no heading"


def test_every_command_on_a_page_exists(page: Path) -> None:
    for call in (found for code in code_of(page) for found in CALL.findall(code)):
        words = [word for word in re.split(r"\s+", call) if re.fullmatch(r"[a-z]+", word)]
        first = call.split()[0]
        if first.startswith("-") or first.isupper():
            continue
        assert (first,) in COMMANDS, f"there is no weft {first}"
        members = {path[1] for path in COMMANDS if path[0] == first and len(path) > 1}
        if members and len(words) > 1:
            assert words[1] in members, f"there is no weft {first} {words[1]}"


@pytest.mark.outer
def test_every_python_name_on_a_page_exists(page: Path) -> None:
    for module, dotted in (found for code in code_of(page) for found in PYTHON_NAME.findall(code)):
        thing: object = weft if module == "weft" else weft.Grove
        path = module
        for name in dotted.strip(".").split("."):
            path = f"{path}.{name}"
            thing = getattr(thing, name, None) or imported(path)
            if isinstance(thing, property):
                break


def imported(name: str) -> object:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise AssertionError(f"there is no {name}") from None


def test_no_page_names_a_place_on_the_machine_that_wrote_it(page: Path) -> None:
    assert not re.search(r"/(tmp|root|home|work|Users)/", page.read_text())


@covers("docs.chain-needs-timestamps")
@pytest.mark.parametrize("name", ["docs/tree.md", "docs/glossary.md"])
def test_the_docs_say_what_a_chain_does_not_stop_and_what_does(name: str) -> None:
    text = " ".join((ROOT / name).read_text().split())
    assert re.search(r"does not stop someone who re(writes|does) everything", text)
    assert "timestamp" in text


def test_the_glossary_has_every_noun_once_and_in_order() -> None:
    words = HEADING.findall((ROOT / "docs/glossary.md").read_text())[1:]
    assert words == sorted(words, key=str.lower)
    assert len(set(words)) == len(words)
    assert set(words) >= NOUNS, NOUNS - set(words)


def test_every_decision_is_listed_and_tells_context_choice_and_consequence() -> None:
    index = (ROOT / "docs/index.md").read_text()
    for decision in sorted((ROOT / "docs/decisions").glob("*.md")):
        text = decision.read_text()
        assert f"decisions/{decision.name}" in index
        assert text.startswith(f"# {decision.name[:4]} · ")
        for part in ("**Context.**", "**Choice.**", "**Consequence.**"):
            assert part in text


@pytest.mark.outer
def test_the_sample_shows_what_a_grove_can_hold(fresh_loom: weft.Grove) -> None:
    samples = plant_samples(fresh_loom)
    nodes = [row.node for row in fresh_loom.read.outline(samples.marie.id)]
    assert any(node.metadata.bookmarked for node in nodes)
    assert any(node.metadata.excluded for node in nodes)
    assert any(node.edited_from for node in nodes)
    assert any(node.attachments for node in nodes)
    assert any(node.status is Status.INTERRUPTED for node in nodes)
    assert any(node.edge and len(node.edge.sources) == 2 for node in nodes)
    assert any(row.annotations for row in fresh_loom.read.outline(samples.marie.id))
    assert fresh_loom.read.agent(AGENT).model_ref == "local:sample"
    assert fresh_loom.links(samples.notes)
    assert "harbour" in fresh_loom.tags(samples.letter)
    assert samples.letter.working_buffer
    edited = next(node for node in samples.letter.path if node.edited_from)
    authors = {span.author_id for span in samples.letter.node(edited.id).authorship}
    assert len(authors) == 2


def run_tour(folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "examples/tour.py"), str(folder), *arguments]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.stderr == ""
    return ended.stdout


@pytest.mark.long
def test_the_tour_prints_everything_where_nobody_can_press_enter_and_plants_once(tmp_path: Path) -> None:
    for _ in range(2):
        shown = run_tour(tmp_path / "sample")
        assert "7/7" in shown
        assert "\x1b" not in shown
    with weft.open(tmp_path / "sample" / "grove.db") as grove:
        assert sorted(tree.title for tree in grove.trees()) == ["Marie", "The letter"]


@pytest.mark.long
def test_what_the_tour_suggests_can_be_done(tmp_path: Path) -> None:
    shown = run_tour(tmp_path / "sample").partition("7/7")[2]
    commands = [line for line in shown.splitlines() if line.startswith("WEFT_GROVE=")]
    assert len(commands) > 5
    for command in commands:
        place, script, *words = shlex.split(command)
        assert script == ".venv/bin/weft"
        settings = Settings(address=place.removeprefix("WEFT_GROVE="))
        assert app(words, standalone_mode=False, obj=settings) == 0
    with weft.open(tmp_path / "sample" / "grove.db") as grove:
        assert grove.tree("The letter").text.endswith(" Inside lay a key.")


@pytest.mark.long
def test_in_a_terminal_the_tour_waits_and_q_ends_it(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, str(ROOT / "examples/tour.py"), str(tmp_path)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as tour:
        os.close(theirs)
        shown = read_until(ours, b"q ends")
        os.write(ours, b"q\n")
        assert tour.wait(timeout=20) == 0
    os.close(ours)
    assert b"1/7" in shown
    assert b"2/7" not in shown


def read_until(terminal: int, words: bytes) -> bytes:
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 4096)
    return shown
