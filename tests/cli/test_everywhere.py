"""What holds for every command: streams, JSON, common options, exit codes, colour, completion."""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.desk import Desk, SteppingClock
from tests.covers import covers
from tests.proxy.conversations import Desk as ProxyDesk
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

import weft
from weft.cli.app import app
from weft.errors import CODES
from weft.ids import new_ulid
from weft.runtime.collaboration.run_log import RunLog
from weft.runtime.operations.approvals import AskApproval
from weft.runtime.proxy.wires import Wire
from weft.runtime.tools.mcp_servers import McpServer
from weft.runtime.tools.settings import AddToolServer
from weft.store.jobs import enqueue
from weft.store.model_calls import change_run
from weft.tree.approval import ApprovalSubject

EVERY = {
    "new": "new Another",
    "ls": "ls",
    "tree": "tree",
    "read": "read",
    "switch": "switch parent",
    "say": "say hello",
    "edit": "edit ONE hello",
    "merge": "merge ONE TWO --text both",
    "annotate": "annotate ONE hm",
    "split": "split ONE 2",
    "join": "join ONE",
    "type": "type hello --tree Story",
    "commit": "commit --tree Story",
    "bookmark": "bookmark ONE",
    "exclude": "exclude ONE",
    "include": "include ONE",
    "prune": "prune ONE",
    "restore": "restore GONE",
    "search": "search because",
    "context": "context TWO",
    "diff": "diff ONE TWO",
    "compare": "compare ONE TWO",
    "versions": "versions ONE",
    "bookmarks": "bookmarks",
    "collaborate": "collaborate ONE --once Look --agent Aware",
    "prefer": "prefer tokenBuffer=2000",
    "stats": "stats",
    "attach": "attach ONE https://a.b --text page",
    "detach": "detach TWO https://a.b",
    "vault": "vault",
    "vault ls": "vault ls",
    "vault index": "vault index Tests",
    "vault status": "vault status",
    "vault add": "vault add FOLDER",
    "vault show": "vault show Tests",
    "vault rm": "vault rm Tests",
    "tools": "tools",
    "tools ls": "tools ls",
    "tools run": "tools run getTimeInfo",
    "tools policy": "tools policy getTimeInfo ask",
    "tools urls": "tools urls public",
    "tools add": "tools add mcp harbour PYTHON HARBOUR",
    "tools secret": "tools secret harbour TOKEN",
    "tools remove": "tools remove kept",
    "remember": "remember that",
    "tag": "tag ONE good",
    "link": "link ONE doc:Notes",
    "collapse": "collapse ONE TWO start",
    "expand": "expand fold",
    "archive": "archive Story",
    "delete": "delete Story --yes",
    "doc": "doc",
    "doc new": "doc new More",
    "doc ls": "doc ls",
    "doc read": "doc read Notes",
    "doc write": "doc write Notes hello --revision 1",
    "doc history": "doc history Notes",
    "doc rename": "doc rename Notes Better",
    "doc archive": "doc archive Notes",
    "doc delete": "doc delete Notes --yes",
    "project": "project",
    "project ls": "project ls",
    "project new": "project new Essay",
    "project show": "project show Novel",
    "project change": "project change Novel --name Tale",
    "project add": "project add Novel",
    "project remove": "project remove Novel Story",
    "project archive": "project archive Novel",
    "agents": "agents",
    "agents ls": "agents ls",
    "agents add": "agents add Ada",
    "agents archive": "agents archive Muse",
    "agents set": "agents set Muse --temperature 0.5",
    "agents default": "agents default Echo",
    "ask": "ask Why --agent Echo",
    "gen": "gen Hello --agent Echo",
    "do": "do view ONE",
    "summarise": "summarise ONE",
    "spend": "spend",
    "spend cap": "spend cap 5",
    "models": "models anthropic --offline",
    "proxy": "proxy",
    "proxy ls": "proxy ls",
    "proxy requests": "proxy requests 1",
    "proxy lost": "proxy lost Marie",
    "proxy policy": "proxy policy TOKEN fit --window 60000",
    "endpoints": "endpoints",
    "endpoints ls": "endpoints ls",
    "endpoints add": "endpoints add lab https://lab.example/v1",
    "endpoints remove": "endpoints remove kept",
    "keys": "keys",
    "keys ls": "keys ls",
    "keys set": "keys set lab --for lab.example.org",
    "keys rm": "keys rm kept",
    "verify": "verify",
    "provenance": "provenance ONE",
    "timestamp": "timestamp",
    "authority": "authority",
    "authority add": "authority add http://localhost/other --trust TRUST",
    "authority remove": "authority remove http://localhost/tsa",
    "export": "export Marie --out FILE",
    "import": "import EXPORTED --grove OTHER",
    "backup": "backup FILE",
    "migrate": "migrate HERE OTHER",
    "doctor": "doctor",
    "undo": "undo Marie",
    "redo": "redo Marie",
    "history": "history Marie",
    "events": "events --limit 1",
    "jobs": "jobs",
    "jobs ls": "jobs ls",
    "jobs retry": "jobs retry 1",
    "jobs cancel": "jobs cancel 1",
    "telemetry": "telemetry --after now --state SENT",
    "records": "records",
    "records append": "records append notes VALUES",
    "records ls": "records ls notes",
    "records rm": "records rm --name notes --confirm 1",
    "records index": "records index --session s --groups GROUPS",
    "records open": "records open fog --session s",
    "records close": "records close fog --session s",
    "records forget": "records forget r --session s",
    "recipe": "recipe",
    "recipe ls": "recipe ls",
    "recipe show": "recipe show TopicContext",
    "recipe run": "recipe run dialogue --node ONE",
    "approvals": "approvals",
    "approvals ls": "approvals ls --decided",
    "approvals allow": "approvals allow REQUEST --in-tree",
    "approvals deny": "approvals deny REQUEST",
    "approvals grants": "approvals grants",
    "approvals grant": "approvals grant Muse loom_write",
    "approvals revoke": "approvals revoke Muse readUrl --tree Marie",
    "users": "users",
    "users ls": "users ls",
    "users add": "users add eve",
    "users role": "users role ann owner",
    "users token": "users token ann",
    "users tokens": "users tokens",
    "users revoke": "users revoke TOKEN",
    "users archive": "users archive ann",
}
ENDLESS = {"chat", "mcp", "serve"}
"""End when they are told to; they are tried where models and servers are."""


def every_command(group: TyperGroup, path: str = "") -> Iterator[str]:
    for name, command in group.commands.items():
        yield f"{path}{name}"
        if isinstance(command, TyperGroup):
            yield from every_command(command, f"{name} ")


def waiting_request(grove: weft.Grove, tree: str, node: str) -> str:
    """A run that waits for a person, in a process that goes on elsewhere."""
    agent, run = grove.caller.calling("Muse").actor.agent, new_ulid(grove.caller.executor.clock())
    log = RunLog.begin(grove.caller, (tree, node), agent=agent, run=run, runner="agent")
    grove.caller.store.write(
        lambda transaction: change_run(transaction, log.row.tree, run, holder="elsewhere#1", held_until=2**62)
    )
    wanted = AskApproval(
        tree=tree,
        node=node,
        run=run,
        agent="Muse",
        subject=ApprovalSubject.TOOL,
        name="ring",
        description="Ring.",
        call="1",
        arguments={},
        seconds=3_600.0,
    )
    return grove.perform(wanted).id


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Something for every command to work on, and the ids in it."""
    folder = tmp_path_factory.mktemp("prepared")
    desk = Desk(str(folder / "grove.db"))
    desk.ok("new", "Story", "--mode", "buffer", "--text", "Once")
    desk.ok("doc", "new", "Notes", "text")
    desk.ok("agents", "add", "Muse", "--model", "local:small")
    desk.ok("agents", "add", "Aware", "--model", "scripted:echo", "--may", "loom_aware")
    desk.ok("agents", "add", "Echo", "--model", "scripted:echo")
    desk.ok("project", "new", "Novel")
    desk.ok("project", "add", "Novel", "Story")
    with weft.open(desk.address, clock=desk.clock) as opened:
        opened.perform(AddToolServer(server=McpServer(name="kept", command=("true",))))
        opened.caller.executor.store.write(
            lambda transaction: enqueue(transaction, "summary", now=desk.clock())
        )
    desk.ok("new", "Marie")
    one = desk.ok("say", "Why?")
    two = desk.ok("say", "Because.")
    desk.ok("attach", two, "https://a.b", "--text", "page")
    desk.ok("vault", "add", str(Path(__file__).parent), "--name", "Tests")
    gone = desk.ok("say", "gone")
    desk.ok("prune", gone)
    desk.ok("collapse", two, two, "fold")
    desk.ok("approvals", "grant", "Muse", "readUrl")
    with weft.open(desk.address, clock=desk.clock) as opened:
        request = waiting_request(opened, opened.tree("Marie").id, two)
        ProxyDesk(opened).send(Wire.CHAT, {"messages": [{"role": "user", "content": "hello"}]})
    trust = str(Path(__file__).with_name("trust.pem"))
    desk.ok("authority", "add", "http://localhost/tsa", "--trust", trust)
    desk.ok("bookmark", one)
    desk.ok("undo", "Marie")
    desk.ok("records", "append", "notes", stdin="1")
    desk.ok("users", "add", "ann")
    token = desk.json("users", "token", "ann")["id"]
    (folder / "values.json").write_text("[1, 2]")
    (folder / "groups.json").write_text('[{"name": "fog", "items": [{"type": "message", "id": "m"}]}]')
    desk.ok("export", "--out", str(folder / "exported.json"))
    here = str(Path(__file__).parents[1] / "data")
    values = str(folder / "values.json")
    return folder, {
        "ONE": one,
        "TWO": two,
        "GONE": gone,
        "TRUST": trust,
        "FOLDER": here,
        "VALUES": values,
        "GROUPS": str(folder / "groups.json"),
        "TOKEN": token,
        "REQUEST": request,
        "PYTHON": sys.executable,
        "SENT": str(folder / "sent"),
        "HARBOUR": str(Path(here) / "mcp" / "harbour.py"),
    }


STDIN = {"keys set lab --for lab.example.org": "a-key", "tools secret harbour TOKEN": "a-secret"}
"""What commands read that read something."""


@pytest.fixture
def grove(
    prepared: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Desk, dict[str, str]]:
    """A copy of it for one test, and a key that is kept."""
    folder, ids = prepared
    monkeypatch.setenv("WEFT_KEYS", str(tmp_path / "keys.json"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    (tmp_path / "keys.json").write_text('{"kept": "another-key"}')
    (tmp_path / "keys.json").chmod(0o600)
    (tmp_path / "endpoints.json").write_text('{"kept": {"url": "https://kept.example", "private": false}}')
    (tmp_path / "endpoints.json").chmod(0o600)
    shutil.copytree(folder, tmp_path / "copy")
    desk = Desk(str(tmp_path / "copy" / "grove.db"))
    desk.clock.pass_by(seconds=60)
    files = {"FILE": "new", "OTHER": "other.db", "EXPORTED": "copy/exported.json", "HERE": "copy/grove.db"}
    return desk, ids | {name: str(tmp_path / path) for name, path in files.items()}


def test_the_list_of_commands_is_whole() -> None:
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    assert set(every_command(root)) == {*EVERY, *ENDLESS}


@covers("cli.json", "cli.stdout-data-stderr-talk")
@pytest.mark.parametrize(
    "line",
    [
        # It starts a server.
        pytest.param(line, id=name, marks=pytest.mark.outer if name == "tools add" else ())
        for name, line in EVERY.items()
    ],
)
def test_every_command_answers_with_one_json_value_and_talks_on_stderr(
    grove: tuple[Desk, dict[str, str]], line: str
) -> None:
    desk, ids = grove
    answer = desk(*(ids.get(word, word) for word in line.split()), "--json", stdin=STDIN.get(line))
    assert answer.code == 0, answer.err
    assert answer.out.endswith("\n")
    value = json.loads(answer.out)
    assert answer.out.count("\n") == 1
    assert "_" not in "".join(keys_of(value))
    assert not answer.err.startswith("{")


def keys_of(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType] - any JSON
            yield str(key)  # pyright: ignore[reportUnknownArgumentType]
            yield from keys_of(inner)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from keys_of(inner)  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("name", EVERY)
def test_every_command_explains_itself(desk: Desk, name: str) -> None:
    answer = desk(*name.split(), "--help")
    assert answer.code == 0
    assert "--json" in answer.out
    assert not Path(desk.address).exists()


def test_json_on_a_terminal_is_laid_out(marie: Desk) -> None:
    assert marie("ls", "--json", width=80).out.startswith('[\n  {\n    "id"')


def test_common_options_stand_before_or_after_the_command(desk: Desk, tmp_path: Path) -> None:
    other = str(tmp_path / "other.db")
    desk.ok("--grove", other, "new", "There")
    assert "There" in desk.ok("ls", "--grove", other)
    assert json.loads(desk.ok("--json", "ls", "--grove", other))[0]["title"] == "There"
    assert json.loads(desk.ok("--grove", other, "doc", "--json", "ls")) == []
    desk.ok("--grove", "never.db", "ls", "--grove", other)
    assert not Path("never.db").exists()
    assert not Path(desk.address).exists()


def test_the_grove_may_be_named_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, desk: Desk
) -> None:
    monkeypatch.setenv("WEFT_GROVE", str(tmp_path / "named.db"))
    nowhere = Desk("")
    nowhere.address = None  # pyright: ignore[reportAttributeAccessIssue] - as when nothing is set
    nowhere.ok("new", "There")
    assert (tmp_path / "named.db").exists()
    assert desk("ls").code == CODES["STORAGE"].exit


@covers("cli.named-grove-exists")
@pytest.mark.parametrize(
    "line",
    [
        "ls",
        "tree",
        "say x",
        "switch",
        "doc",
        "doc new Notes",
        "agents add Ada",
        "chat",
        "serve",
        "mcp",
        "delete x",
    ],
)
def test_no_other_command_makes_a_named_grove(desk: Desk, line: str) -> None:
    assert "weft new" in desk.fail("STORAGE", *line.split())
    assert list(Path(desk.address).parent.iterdir()) == []


@covers("cli.named-grove-exists")
@pytest.mark.parametrize("line", ["new Marie", "ls --create", "--create doc new Notes"])
def test_new_import_and_create_make_a_named_grove(desk: Desk, line: str) -> None:
    desk.ok(*line.split())
    assert Path(desk.address).exists()


@covers("cli.named-grove-exists")
def test_an_import_makes_a_named_grove(marie: Desk, tmp_path: Path) -> None:
    export = str(tmp_path / "all.json")
    marie.ok("export", "--out", export)
    other = Desk(str(tmp_path / "other.db"))
    other.ok("import", export)
    assert other.json("ls")[0]["title"] == "Marie"


@covers("cli.named-grove-exists")
def test_a_grove_named_by_option_or_environment_must_exist(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = tmp_path / "typo.db"
    by_option = CliRunner().invoke(app, ["ls", "--grove", str(missing)])
    monkeypatch.setenv("WEFT_GROVE", str(missing))
    by_environment = CliRunner().invoke(app, ["ls"])
    for result in (by_option, by_environment):
        assert result.stderr == (
            f"✗ STORAGE: there is no grove at {missing}\n"
            "  hint: check the path, or create it: weft new TITLE, or add --create\n"
        )
        assert result.exit_code == CODES["STORAGE"].exit
    assert list(tmp_path.iterdir()) == []


@covers("grove.created-on-first-use")
def test_the_default_grove_is_created_by_the_first_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert CliRunner().invoke(app, ["ls"]).exit_code == 0
    assert (tmp_path / "weft" / "grove.db").exists()


@covers("cli.exit-codes", "error.format")
def test_the_exit_code_is_the_errors_class(marie: Desk) -> None:
    assert marie.fail("NOT_FOUND", "read", "zzzz") == (
        "✗ NOT_FOUND: node [zzzz] does not exist in this tree\n"
    )
    assert marie.fail("INVALID_INPUT", "exclude", "no!") == (
        "✗ INVALID_INPUT: 'no!' is not a node id\n"
        "  hint: use a local id such as a7x2, a ULID, or a prefix of at least 4 characters\n"
    )
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    marie.fail("PERMISSION_DENIED", "ls", "--as", "Muse")
    marie.fail("CONFLICT", "agents", "add", "Muse")
    marie.fail("LIMIT_EXCEEDED", "say", stdin=b"x" * (16 * 1024 * 1024 + 1))
    marie.fail("INVALID_INPUT", "ls", "--grove", "gopher://x")
    codes = {"NOT_FOUND": 3, "INVALID_INPUT": 2, "PERMISSION_DENIED": 4, "CONFLICT": 6, "LIMIT_EXCEEDED": 5}
    assert {code: CODES[code].exit for code in codes} == codes


def test_a_command_that_cannot_be_read_is_told_in_the_same_shape(desk: Desk) -> None:
    assert desk.fail("INVALID_SYNTAX", "raed") == (
        "✗ INVALID_SYNTAX: no such command 'raed'\n  hint: did you mean redo or read? see weft --help\n"
    )
    assert desk.fail("INVALID_SYNTAX", "edit") == (
        "✗ INVALID_SYNTAX: missing argument 'NODE'\n  hint: see weft edit --help\n"
    )
    assert "no such option: --loud" in desk.fail("INVALID_SYNTAX", "doc", "ls", "--loud")
    assert desk.fail("INVALID_SYNTAX", "nonsense") == (
        "✗ INVALID_SYNTAX: no such command 'nonsense'\n  hint: see weft --help\n"
    )
    assert desk.fail("INVALID_SYNTAX", "doc", "wirte") == (
        "✗ INVALID_SYNTAX: no such command 'wirte'\n  hint: did you mean write? see weft doc --help\n"
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls --limit many", "'--limit' / '-n': 'many' is not a whole number"),
        ("ls --limit 0", "'--limit' / '-n': 0 is less than 1"),
        ("serve --port 65536", "'--port' / '-p': 65536 is more than 65535"),
        ("gen --temperature hot", "'--temperature': 'hot' is not a number"),
        ("jobs retry first", "'JOB': 'first' is not a whole number"),
        ("new Marie --mode essay", "'essay' is not one of 'dialogue', 'buffer'"),
    ],
)
def test_a_value_of_the_wrong_type_names_its_option(desk: Desk, line: str, reason: str) -> None:
    assert reason in desk.fail("INVALID_SYNTAX", *line.split())


def test_a_clock_that_went_back_is_refused_unless_accepted(marie: Desk) -> None:
    marie.clock.pass_by(seconds=-3_600)
    assert "--accept-clock" in marie.fail("UNAVAILABLE", "say", "Why?")
    marie.ok("say", "Why?", "--accept-clock")
    marie.clock.pass_by(seconds=-3_600)
    marie.ok("--accept-clock", "say", "Because.")


def test_interrupting_leaves_without_a_word(marie: Desk) -> None:
    class Interrupting(SteppingClock):
        def __call__(self) -> int:
            raise KeyboardInterrupt

    marie.clock = Interrupting()
    answer = marie("say", "Why?")
    assert (answer.out, answer.err, answer.code) == ("", "", 130)


@covers("cli.no-color")
def test_colour_is_for_terminals_that_want_it(marie: Desk) -> None:
    marie.ok("agents", "add", "Muse", "--model", "local:small")
    marie.ok("say", "Because.", "--author", "Muse")
    for words in (("tree",), ("read",), ("ls",)):
        assert "\x1b[" in marie(*words, width=80, env={}).out
        assert "\x1b" not in marie(*words, width=80, env={"NO_COLOR": "1"}).out
        assert "\x1b" not in marie(*words, width=80, env={"TERM": "dumb"}).out
        assert "\x1b" not in marie(*words).out


def test_weft_alone_shows_what_it_can_do(desk: Desk) -> None:
    answer = desk()
    assert answer.code == 0
    for name in EVERY:
        assert name.split()[0] in answer.out


def test_the_version_is_told(desk: Desk) -> None:
    assert desk.ok("--version") == f"weft {weft.__version__}"
    assert desk.json("--version") == {"version": weft.__version__}


def completed(desk: Desk, line: str) -> list[str]:
    """What bash is offered at the end of a line."""
    words = line.split(" ")
    env = {"_WEFT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return desk(env=env).out.split()


@covers("cli.completion")
def test_the_shell_completes_commands_options_and_what_is_in_the_grove(marie: Desk) -> None:
    said = marie.ok("say", "Why?")
    edited = marie.ok("edit", said, "Why not?").replace("'", ".1")
    marie.ok("new", "A longer title")
    marie.ok("doc", "new", "Notes")
    assert completed(marie, "weft re") == ["read", "remember", "restore", "redo", "records", "recipe"]
    assert "--headings" in completed(marie, "weft read --he")
    assert "--json" in completed(marie, "weft read --js")
    assert {said, edited} < set(completed(marie, "weft --tree Marie read "))
    assert marie.ok("read", f"Marie/{edited}") == "Why not?"
    assert completed(marie, "weft tree Mar") == ["Marie"]
    assert len(completed(marie, "weft tree ")) == 2
    assert completed(marie, "weft doc read N") == ["Notes"]
    assert completed(marie, "weft say --as h") == ["human"]
    assert set(completed(marie, "weft switch p")) == {"parent", "previous"}


def test_completion_is_silent_where_there_is_no_grove(desk: Desk) -> None:
    assert completed(desk, "weft read ") == []
    assert not Path(desk.address).exists()


def test_the_same_commands_work_on_every_store(address: str) -> None:
    desk = Desk(address)
    desk.ok("new", "Marie")
    said = desk.ok("say", "Why?")
    desk.ok("edit", said, "Why not?")
    desk.ok("tag", said, "good")
    desk.ok("doc", "new", "Notes", "text")
    desk.ok("link", said, "doc:Notes")
    assert len(desk.ok("tree").splitlines()) == 3
    assert desk.ok("read", said) == "Why?"
    assert desk.json("prune", said)["nodes"] == 1
    assert desk.json("delete", "Marie", "--yes")["nodes"] == 3
    desk.fail("NOT_FOUND", "read", said)


@covers("cli.help-can-be-pasted")
def test_nothing_in_help_breaks_when_it_is_pasted_into_a_shell(desk):
    pages = {name: desk(*name.split(), "--help").out for name in ("", *EVERY)}
    for name, page in pages.items():
        # Quotation marks that a shell does not know, and dashes that are no hyphens.
        assert not re.search("[“”‘’„«»]|[–—]-?[a-z]", page), name
        for command in re.findall(r"weft [a-z]+ '[^'\n]*'|weft [a-z]+ \"[^\"\n]*\"", " ".join(page.split())):
            assert shlex.split(command), command
