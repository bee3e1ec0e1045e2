"""Every public callable against every permission: who lacks what it needs is refused, and only then."""

import contextlib
import dataclasses
import inspect
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers

import weft
from weft.errors import PermissionDeniedError, WeftError
from weft.grove.agent import AgentHandle
from weft.grove.approvals import Approvals
from weft.grove.document import DocumentHandle
from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.project import ProjectHandle
from weft.grove.runs import CollaborationOptions, GroveRuns
from weft.grove.tools import Tools
from weft.grove.tree import TreeHandle
from weft.grove.vault import VaultHandle, Vaults
from weft.providers.base import ProviderRegistry
from weft.runtime.contexts.layers import Contexts, Layers
from weft.runtime.contexts.options import ContextOptions
from weft.runtime.coordination.idempotency import Idempotency
from weft.runtime.coordination.jobs import JobBoard
from weft.runtime.coordination.leases import Leases
from weft.runtime.evidence.provenance_view import Evidence, ProvenanceHandle
from weft.runtime.generation.options import GenerationOptions
from weft.runtime.generation.service import Generations
from weft.runtime.operations.access import Users
from weft.runtime.operations.drafts import Drafts, ReadMarks
from weft.runtime.operations.metadata import Exclude
from weft.runtime.operations.references import TargetRef
from weft.runtime.proxy.sessions import ProxyRecords
from weft.runtime.records.group_index import GroupIndex
from weft.runtime.records.recipes import Recipes
from weft.runtime.records.streams import Records
from weft.runtime.runners.options import AskOptions, PreviewOptions
from weft.runtime.runners.service import Runners
from weft.runtime.summaries.service import Summaries
from weft.runtime.transfer.import_jobs import ImportOptions, Imports, new_upload
from weft.runtime.views.reader import Reader
from weft.testing import Scripted
from weft.tree.agent import Agent, Permission
from weft.tree.content import ToolCall
from weft.tree.record import RecordDraft, RecordPlace
from weft.tree.reference import TargetKind

LOOK, WRITE, GENERATE = Permission.LOOM_AWARE, Permission.LOOM_WRITE, Permission.LOOM_GENERATE
READ, SAVE = Permission.DOC_READ, Permission.DOC_WRITE
REQUIRES = {WRITE: {LOOK}, GENERATE: {LOOK}, SAVE: {READ}}
"""What else an agent has to lose with a permission."""


FOREIGN = Path(__file__).parent.parent / "data" / "imports" / "helm.json"
RUN = "01M7PPS3BY19DC0DYA88YA8KWV"


@dataclass
class Desk:
    """Everything that can be called on, as one agent has it."""

    grove: Grove
    tree: TreeHandle
    node: NodeHandle
    document: DocumentHandle
    project: ProjectHandle
    vault: VaultHandle
    agent: AgentHandle
    provenance: ProvenanceHandle
    folder: Path

    @property
    def lease(self):
        """As the owner holds it."""
        return self.grove.acting_as("human").leases.acquire(self.tree.id, self.node.id, run=RUN)

    @property
    def target(self):
        return TargetRef(TargetKind.NODE, self.node.id, self.tree.id)


@dataclass(frozen=True)
class Rule:
    needs: frozenset
    call: Any = None
    """Of a desk and the member; None: it is called without arguments, a property is read."""


def rule(*needs, call=None):
    return Rule(frozenset(needs), call)


def free(*names):
    return dict.fromkeys(names, rule())


def looks(*names):
    return dict.fromkeys(names, rule(LOOK))


def writes(*names):
    return dict.fromkeys(names, rule(WRITE))


def at(*needs):
    """Called with the ids of the tree and the node."""
    return rule(*needs, call=lambda desk, do: do(desk.tree.id, desk.node.id))


def of_tree(*needs):
    return rule(*needs, call=lambda desk, do: do(desk.tree.id))


def raise_error(results):
    if results.error is not None:
        raise results.error


def prepared_of(desk):
    """As the owner would prepare it."""
    return Layers.of(desk.grove.acting_as("human").caller).at(
        desk.tree.id, desk.node.id, ContextOptions(agent="Echo")
    )


def sent_of(desk):
    return desk.grove.acting_as("human").generations.sent(desk.tree.id, desk.node.id)


def kept_of(desk):
    owner = Layers.of(desk.grove.acting_as("human").caller)
    return owner.keep(prepared_of(desk))


CONTEXT = rule(LOOK, call=lambda desk, do: do(desk.tree.id, desk.node.id, ContextOptions()))
GENERATED = rule(GENERATE, call=lambda desk, do: do(agent="Echo"))
OPTIONS = GenerationOptions(agent="Echo")
SELF = rule(WRITE, call=lambda desk, do: do(desk.node, "word"))
ASKED = rule(GENERATE, WRITE, call=lambda _, do: do("Why?", agent="Echo"))
ASKED_STREAM = rule(GENERATE, WRITE, call=lambda _, do: do("Why?", agent="Echo").result())
PREVIEW = PreviewOptions(runner="chat")
QUESTION = AskOptions("Why?", agent="Echo")
STREAM = rule(GENERATE, call=lambda desk, do: list(do(agent="Echo")))
WITH_TEXT = rule(WRITE, call=lambda desk, do: do("Words."))
NOTE = rule(READ, call=lambda desk, do: do("Snow.md"))
RECIPE = {
    "kala": {"kind": "SegKala", "sessionId": "s", "end": 1_700_000_000, "windowSeconds": 3_600},
    "model": {"filters": [], "components": [{"kind": "yoj", "name": "messages", "framing": ""}]},
}
PLACE = {"user": "u", "project": "p", "session": "s", "topic": "t", "stream": "messages"}

TABLE = {
    Grove: {
        **free("name", "close"),
        # Rooms: what they do is checked there.
        **free(
            "approvals",
            "contexts",
            "drafts",
            "evidence",
            "generations",
            "groups",
            "idempotency",
            "imports",
            "jobs",
            "layers",
            "proxy",
            "leases",
            "read_marks",
            "runs",
        ),
        **free("read", "recipes", "records", "runners", "summaries", "tools", "users", "vaults"),
        # The program that opened the grove chooses whom it acts as.
        **dict.fromkeys(("acting_as", "calling"), rule(call=lambda _, do: do("human"))),
        **looks("agents", "events", "history", "me", "preferences", "projects", "trees", "verify"),
        **dict.fromkeys(("tree",), rule(LOOK, call=lambda desk, do: do(desk.tree.id))),
        **dict.fromkeys(("node",), rule(LOOK, call=lambda desk, do: do(desk.node.id))),
        "agent": rule(LOOK, call=lambda _, do: do("Echo")),
        "project": rule(LOOK, call=lambda _, do: do("Lamps")),
        "links": rule(LOOK, call=lambda desk, do: do(desk.node)),
        "tags": rule(LOOK, call=lambda desk, do: do(desk.node)),
        "search": rule(LOOK, call=lambda _, do: do("lamp")),
        "follow": rule(LOOK, call=lambda _, do: next(iter(do(after="now", timeout=0.01)), None)),
        "blob": rule(LOOK, call=lambda _, do: do("0" * 64)),
        "do": rule(LOOK, call=lambda desk, do: raise_error(do("→ tree", tree=desk.tree.id))),
        "export": rule(LOOK, READ, call=lambda desk, do: do(desk.folder / "out.json", overwrite=True)),
        "backup": rule(LOOK, READ, call=lambda desk, do: do(desk.folder / "copy.db", overwrite=True)),
        "plant": rule(WRITE),
        "ask": ASKED,
        "ask_stream": ASKED_STREAM,
        "perform": rule(WRITE, call=lambda desk, do: do(Exclude(tree=desk.tree.id, node=desk.node.id))),
        "add_agent": rule(WRITE, call=lambda _, do: do("Another", model_ref="scripted:echo")),
        "calibrate": rule(WRITE, call=lambda _, do: do("scripted:echo")),
        "create_project": rule(WRITE, call=lambda _, do: do("Another")),
        "fetch_timestamps": rule(WRITE),
        "import_": rule(WRITE, call=lambda desk, do: do(desk.folder / "tree.json")),
        "import_conversations": rule(WRITE, call=lambda _, do: do(FOREIGN)),
        "link": rule(WRITE, call=lambda desk, do: do(desk.node, desk.tree)),
        "unlink": rule(WRITE, call=lambda desk, do: do(desk.node, desk.tree)),
        "tag": SELF,
        "untag": SELF,
        "prefer": rule(WRITE, call=lambda _, do: do(truncation_strategy="stopAtLimit")),
        "put_blob": rule(WRITE, call=lambda _, do: do(b"bytes")),
        "set_authorities": rule(WRITE, call=lambda _, do: do({})),
        "timestamp": rule(WRITE),
        "reindex": rule(WRITE),
        **writes("redo", "undo"),
        "document": rule(READ, call=lambda _, do: do("Notes")),
        "documents": rule(READ),
        "remember": rule(SAVE, WRITE, call=lambda _, do: do("A line.")),
        "write_document": rule(SAVE, call=lambda _, do: do("Another", "Text.")),
    },
    TreeHandle: {
        **free("counters", "id", "mode", "title", "value"),
        **looks(
            "branch_points", "chat", "context", "cursor", "groups", "hidden", "history", "leaves", "path"
        ),
        **looks("envelope", "refresh", "root", "stats", "text", "verify", "working_buffer", "be_present"),
        "search": rule(LOOK, call=lambda _, do: do("lamp")),
        "node": rule(LOOK, call=lambda desk, do: do(desk.node.id)),
        "export": rule(LOOK, call=lambda _, do: do("markdown")),
        "switch": rule(LOOK, call=lambda desk, do: do(desk.node)),
        "do": rule(LOOK, call=lambda _, do: raise_error(do("→ tree"))),
        **writes("archive", "close", "commit", "describe", "redo", "summarise", "unarchive", "undo"),
        "say": WITH_TEXT,
        "type": WITH_TEXT,
        "prefer": rule(WRITE, call=lambda _, do: do(truncation_strategy="stopAtLimit")),
        "delete": rule(WRITE, call=lambda desk, do: do(confirm=desk.tree.id)),
        "collapse": rule(WRITE, call=lambda desk, do: do(desk.tree.value.root, desk.node, "all")),
        "expand": rule(WRITE, call=lambda _, do: do("all")),
        "uncollapse": rule(WRITE, call=lambda _, do: do("all")),
        "erase": rule(WRITE, call=lambda _, do: do(0, 1)),
        "merge": rule(WRITE, call=lambda desk, do: do([desk.node, desk.tree.value.root], "Both.")),
        "generate": GENERATED,
        "stream": STREAM,
        # The words are said first.
        "ask": ASKED,
        "ask_stream": ASKED_STREAM,
        "collaborate": rule(GENERATE, WRITE, call=lambda _, do: do("Helper", "Hello.")),
    },
    NodeHandle: {
        **free("attachments", "author_id", "author_type", "content", "content_hash", "created_at", "depth"),
        **free("edge", "edited_from", "id", "kind", "local_id", "metadata", "role", "status", "summary"),
        **free("citations", "text", "tree_id", "value"),
        **looks("annotations", "author", "authorship", "chat", "children", "context", "envelope", "manifest"),
        **looks("path", "prepare", "processed_text", "provenance", "refresh", "sent", "siblings", "switch"),
        **looks("tree", "verify", "versions"),
        "head": rule(LOOK, call=lambda _, do: do(1)),
        "tail": rule(LOOK, call=lambda _, do: do(1)),
        "diff": rule(LOOK, call=lambda desk, do: do(desk.tree.value.root)),
        **writes("bookmark", "exclude", "include", "join", "prune", "restore", "summarise", "timestamp"),
        **writes("unbookmark"),
        "annotate": WITH_TEXT,
        "edit": WITH_TEXT,
        "say": WITH_TEXT,
        "attach": rule(WRITE, READ, call=lambda _, do: do("Snow.md")),
        "detach": rule(WRITE, call=lambda _, do: do("x")),
        "merge": rule(WRITE, call=lambda desk, do: do(desk.tree.value.root, content="Both.")),
        "split": rule(WRITE, call=lambda _, do: do(3)),
        "generate": GENERATED,
        "preflight": GENERATED,
        "stream": STREAM,
    },
    DocumentHandle: {
        **free("id", "revision", "text", "title", "value"),
        "section": rule(call=lambda _, do: do("Notes")),
        "revisions": rule(READ),
        "at": rule(READ, call=lambda _, do: do(1)),
        "summarise": rule(READ, WRITE),
        "archive": rule(SAVE),
        "unarchive": rule(SAVE),
        "close": rule(SAVE),
        "delete": rule(SAVE, call=lambda desk, do: do(confirm=desk.document.id)),
        "save": rule(SAVE, call=lambda _, do: do("Other words.")),
        "save_section": rule(SAVE, call=lambda _, do: do("Notes", "Other words.")),
    },
    ProjectHandle: {
        **free("context", "id", "name", "revision", "system_prompt", "value"),
        **looks("trees"),
        "at": rule(LOOK, call=lambda _, do: do(1)),
        **writes("archive", "unarchive"),
        "add": rule(WRITE, call=lambda desk, do: do(desk.tree)),
        "remove": rule(WRITE, call=lambda desk, do: do(desk.tree)),
        "change": rule(WRITE, call=lambda _, do: do(name="Lights")),
    },
    VaultHandle: {
        **free("id", "name", "path", "value"),
        "index": rule(READ),
        "notes": rule(READ),
        "status": rule(READ),
        "unmount": rule(WRITE),
    },
    Vaults: {
        "all": rule(READ),
        "mount": rule(WRITE, call=lambda desk, do: do(desk.folder)),
        "active_note": NOTE,
        "items": NOTE,
        "note": NOTE,
        "selection": NOTE,
        "folder": rule(READ, call=lambda _, do: do("notes")),
        "tag": rule(READ, call=lambda _, do: do("#winter")),
        "search": rule(READ, call=lambda _, do: do("lamp")),
    },
    AgentHandle: {
        **free("id", "name", "value"),
        "run": rule(GENERATE, WRITE, call=lambda desk, do: do("Hello.", tree=desk.tree.id).result()),
        "resume": rule(GENERATE, call=lambda desk, do: do(tree=desk.tree.id).result()),
    },
    ProvenanceHandle: {
        **free("certified_at", "chain", "replaced_keys", "value"),
        **looks("manifest", "raw_response", "request", "trace"),
        "save_bundle": rule(LOOK, call=lambda desk, do: do(desk.folder / "node.zip")),
    },
    Reader: {
        **looks("agents", "latest_tree", "projects", "trees"),
        "agent": rule(LOOK, call=lambda _, do: do("Echo")),
        "project": rule(LOOK, call=lambda _, do: do("Lamps")),
        "find": rule(LOOK, call=lambda desk, do: do(desk.node.id)),
        "history": of_tree(LOOK),
        "revision": of_tree(LOOK),
        "tool_result": rule(LOOK, call=lambda desk, do: do(desk.tree.id, 100_001)),
        **dict.fromkeys(
            (
                "bookmarks",
                "branch_points",
                "cursor",
                "events",
                "groups",
                "hidden",
                "leaves",
                "outline",
                "presence",
                "skeleton",
                "tree",
            ),
            of_tree(LOOK),
        ),
        "path": of_tree(LOOK),
        "working_buffer": of_tree(LOOK),
        **dict.fromkeys(("authorship", "children", "node", "siblings", "versions"), at(LOOK)),
        "difference": rule(LOOK, call=lambda desk, do: do(desk.tree.id, desk.node.id, desk.tree.value.root)),
        "numbered": rule(LOOK, call=lambda desk, do: do(desk.tree.id, 1, 2)),
        "leads_to": rule(LOOK, call=lambda desk, do: do(desk.tree.id, desk.node.id, desk.node.id)),
        "links": rule(LOOK, call=lambda desk, do: do(desk.target)),
        "tags": rule(LOOK, call=lambda desk, do: do(desk.target)),
        "documents": rule(READ),
        "document_sizes": rule(READ),
        "document": rule(READ, call=lambda _, do: do("Notes")),
        "revisions": rule(READ, call=lambda _, do: do("Notes")),
    },
    Contexts: {
        "at": CONTEXT,
        "manifest": CONTEXT,
        "preferences": rule(LOOK),
    },
    Layers: {
        "at": CONTEXT,
        "envelope": CONTEXT,
        "manifest": CONTEXT,
        "preferences": rule(LOOK),
        "processed_text": at(LOOK),
        "sent": at(LOOK),
        "keep": rule(GENERATE, call=lambda desk, do: do(prepared_of(desk))),
        "report": rule(GENERATE, call=lambda desk, do: do(kept_of(desk), 1)),
    },
    Approvals: {
        "all": rule(LOOK),
        "allow": rule(WRITE, call=lambda _, do: do("nothing")),
        "deny": rule(WRITE, call=lambda _, do: do("nothing")),
        "grants": of_tree(LOOK),
        "grant": rule(WRITE, call=lambda desk, do: do(desk.tree, "Echo", tool="readUrl")),
    },
    GroveRuns: {
        "active": rule(LOOK),
        "read": rule(LOOK, call=lambda _, do: do("nothing")),
        "steps": rule(LOOK, call=lambda _, do: do("nothing")),
        "text": rule(LOOK, call=lambda _, do: do("nothing")),
        "stop": rule(GENERATE, call=lambda _, do: do("nothing")),
        "stop_attempt": rule(GENERATE, call=lambda _, do: do("nothing")),
        "view": rule(LOOK),
        "generate": rule(GENERATE, call=lambda desk, do: do(desk.tree.id, desk.node.id, OPTIONS)),
        "ask": rule(WRITE, GENERATE, call=lambda desk, do: do(desk.tree.id, AskOptions(text="Why?"))),
        "collaborate": rule(
            WRITE, GENERATE, call=lambda desk, do: do(desk.tree.id, CollaborationOptions(text="Why?"))
        ),
    },
    Drafts: {
        "all": of_tree(LOOK),
        "read": at(LOOK),
        "keep": rule(WRITE, call=lambda desk, do: do(desk.tree.id, desk.node.id, "It was")),
        "commit": at(WRITE),
    },
    ReadMarks: {"state": of_tree(LOOK), "mark": of_tree(LOOK)},
    Tools: {
        # A tool gives what the agent may see: without documents and notes, where it may not read them.
        "run": rule(call=lambda _, do: do("localSearch", query="snow")),
        "run_all": rule(
            call=lambda _, do: do([ToolCall(id="1", name="localSearch", arguments={"query": "snow"})])
        ),
        "asking": rule(call=lambda _, do: do(lambda _: True)),
        "service": rule(),
        "set_policy": rule(WRITE, call=lambda _, do: do("localSearch", "ask")),
        "set_urls": rule(WRITE, call=lambda _, do: do("public")),
        "servers": rule(LOOK),
        "add_mcp": rule(WRITE, call=lambda _, do: do("none", "no-such-command-here")),
        "remove_mcp": rule(WRITE, call=lambda _, do: do("harbour")),
    },
    Summaries: {
        "model": rule(LOOK),
        "node": at(WRITE),
        "tree": of_tree(WRITE),
        "close_tree": of_tree(WRITE),
        "work_off": rule(WRITE),
        "choose_model": rule(WRITE, call=lambda _, do: do("none")),
        "switch": rule(WRITE, call=lambda _, do: do(on=True)),
        "document": rule(READ, WRITE, call=lambda _, do: do("Notes")),
        "close_document": rule(SAVE, call=lambda _, do: do("Notes")),
    },
    JobBoard: {
        "all": rule(LOOK),
        "cancel": rule(WRITE, call=lambda _, do: do(1)),
        "retry": rule(WRITE, call=lambda _, do: do(1)),
    },
    Imports: {
        "all": rule(LOOK),
        "report": rule(LOOK, call=lambda _, do: do("01")),
        "conversations": rule(LOOK, call=lambda _, do: do("01")),
        "stop": rule(WRITE, call=lambda _, do: do("01")),
        "require_permission": rule(WRITE),
        # It says whether this agent may read a report, and reveals nothing else.
        "may_read": rule(call=lambda _, _do: None),
        "start": rule(
            WRITE,
            call=lambda desk, do: do(new_upload(desk.grove.caller.store, 1), ImportOptions(dry_run=True)),
        ),
    },
    Leases: {
        "holder": at(LOOK),
        "acquire": at(WRITE),
        "renew": rule(WRITE, call=lambda desk, do: do(desk.lease)),
        "release": rule(WRITE, call=lambda desk, do: do(desk.lease)),
    },
    Idempotency: {
        # The work that is done once is checked itself.
        "once": rule(call=lambda _, do: do("op", "key", {}, dict)),
        "scope_of": rule(call=lambda _, do: do("op")),
    },
    Evidence: {
        **dict.fromkeys(("manifest", "provenance", "raw_response", "request", "verify_node"), at(LOOK)),
        "timestamps": of_tree(LOOK),
        "verify_tree": of_tree(LOOK),
        "verify_grove": rule(LOOK),
        "write_bundle": rule(
            LOOK, call=lambda desk, do: do(desk.tree.id, desk.node.id, desk.folder / "node.zip")
        ),
    },
    Generations: {
        **free("registry"),
        **looks("answering_agent", "caps", "default_agent", "spent"),
        "sent": at(LOOK),
        "check_sent": rule(call=lambda desk, do: do(sent_of(desk))),
        "choose_default": rule(WRITE, call=lambda _, do: do("Echo")),
        "set_cap": rule(WRITE, call=lambda _, do: do(1)),
        "generate": rule(GENERATE, call=lambda desk, do: do(desk.tree.id, desk.node.id, OPTIONS)),
        "preflight": rule(GENERATE, call=lambda desk, do: do(desk.tree.id, desk.node.id, OPTIONS)),
        "stream": rule(GENERATE, call=lambda desk, do: list(do(desk.tree.id, desk.node.id, OPTIONS))),
    },
    Runners: {
        "start": rule(GENERATE, WRITE, call=lambda desk, do: do(desk.tree.id, QUESTION).wait()),
        "preview": rule(LOOK, call=lambda desk, do: do(desk.tree.id, desk.node.id, PREVIEW)),
    },
    Records: {
        "append": rule(WRITE, call=lambda _, do: do("messages", {"text": "x"})),
        "append_all": rule(
            WRITE,
            call=lambda _, do: do(
                [RecordDraft(place=RecordPlace(stream="messages"), document={"value": "x"})]
            ),
        ),
        "append_in_parts": rule(
            WRITE,
            call=lambda _, do: do(
                [RecordDraft(place=RecordPlace(stream="messages"), document={"value": "x"})]
            ),
        ),
        "count": rule(LOOK, call=lambda _, do: do(PLACE)),
        "delete": rule(WRITE, call=lambda _, do: do(PLACE, confirm=0)),
        "list": rule(LOOK, call=lambda _, do: do("messages")),
        "streams": rule(LOOK),
    },
    GroupIndex: {
        "index": rule(WRITE, call=lambda _, do: do({"sessionId": "s", "groups": [{"name": "g"}]})),
        "remove": rule(WRITE, call=lambda _, do: do("s", "r")),
        "set_state": rule(WRITE, call=lambda _, do: do({"sessionId": "s", "group": "g", "expanded": True})),
    },
    ProxyRecords: {
        **looks("sessions", "usage"),
        "session": rule(LOOK, call=lambda _, do: do(1)),
        "requests": rule(LOOK, call=lambda _, do: do(1)),
        "history": at(LOOK),
        "compactions": of_tree(LOOK),
        "set_policy": rule(WRITE, call=lambda _, do: do("owner", "fit")),
    },
    Recipes: {
        **free("names"),
        "preset": rule(call=lambda _, do: do("kala")),
        "at": rule(LOOK, call=lambda desk, do: do(desk.node)),
        "run": rule(LOOK, call=lambda _, do: do(RECIPE)),
    },
    Users: {
        **looks("list", "tokens"),
        "roles": rule(LOOK, call=lambda _, do: do("Ann")),
        "add": rule(WRITE, call=lambda _, do: do("Ben")),
        "archive": rule(WRITE, call=lambda _, do: do("Ann")),
        "issue": rule(WRITE, call=lambda _, do: do("Ann", expires_at=datetime(2100, 1, 1, tzinfo=UTC))),
        "revoke": rule(WRITE, call=lambda _, do: do("x")),
        "set_role": rule(WRITE, call=lambda _, do: do("Ann", "reader")),
    },
}
LAST = {"archive", "close", "close_tree", "delete", "prune", "undo", "unmount"}
HANDLES = {TreeHandle, NodeHandle, DocumentHandle, ProjectHandle, VaultHandle, AgentHandle}
INHERITED = {Contexts: Reader, Layers: Reader}
INSIDE = {
    "answering",
    "answering_agents",
    "cache_of",
    "context",
    "end_of",
    "gather",
    "opened",
    "pinned",
    "request",
}
"""Of contexts: steps of the assembly, which work in a session that was checked when it was opened."""


def members(kind):
    """The public names of a class, without data of its instances."""
    inherited = set(dir(INHERITED[kind])) if kind in INHERITED else set()
    fields = {field.name for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    own = {name for name in dir(kind) if not name.startswith("_")} - inherited - {"of"}
    return own - (fields if kind not in HANDLES else set()) - (INSIDE if kind in INHERITED else set())


def rooms_of(grove):
    """What the grove's properties give, by class."""
    names = [name for name, member in inspect.getmembers(Grove) if isinstance(member, property)]
    rooms = {}
    for name in names:
        with contextlib.suppress(PermissionDeniedError):
            room = getattr(grove, name)
            rooms.setdefault(type(room), room)
    return {kind: room for kind, room in rooms.items() if kind.__module__.startswith("weft.runtime.")} | {
        Vaults: grove.vaults,
        Tools: grove.tools,
        Approvals: grove.approvals,
        GroveRuns: grove.runs,
    }


def have(desk, kind):
    """The desk's object of a class."""
    own = {type(each): each for each in vars(desk).values()}
    return own[kind] if kind in own else rooms_of(desk.grove)[kind]


def providers():
    return ProviderRegistry({"scripted": Scripted(lambda *_: "Yes.")})


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A grove with one of everything, and for each permission an agent that lacks it."""
    folder = tmp_path_factory.mktemp("template")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "Snow.md").write_text("Snow in the yard. #winter")
    with weft.open(str(folder / "grove.db"), providers=providers()) as grove:
        grove.summaries.choose_model("none")
        grove.add_agent("Echo", model_ref="scripted:echo", permissions=[])
        grove.add_agent("Helper", model_ref="scripted:echo", permissions=list(Permission))
        for lacking in Permission:
            grove.add_agent(f"without {lacking}", type="human", permissions=sorted(held_without(lacking)))
        grove.create_project("Lamps", system_prompt="Be brief.")
        grove.write_document("Notes", "# Notes\n\nOn lamps.")
        grove.vaults.mount(notes)
        tree = grove.plant("Tea", "A lamp is lit.")
        tree.root.generate(agent="Echo")
        grove.users.add("Ann", role=None)
        other = grove.plant("Other", "Else.")
        grove.export(folder / "tree.json", [other])
        other.delete(confirm=other.id)
    return folder


def held_without(lacking):
    """All permissions but one, and but those that require it."""
    return {each for each in Permission if each is not lacking and lacking not in REQUIRES.get(each, ())}


def desks_of(grove, folder):
    """A desk for each agent; what the handles hold was read before."""
    tree = grove.tree("Tea")
    handles = {
        "tree": tree,
        "node": tree.cursor,
        "document": grove.document("Notes"),
        "project": grove.project("Lamps"),
        "vault": grove.vaults.all()[0],
        "agent": grove.agent("Helper"),
    }
    provenance = tree.cursor.provenance()
    for lacking in Permission:
        visitor = grove.acting_as(f"without {lacking}")
        own = {name: type(handle)(visitor, handle.value) for name, handle in handles.items()}
        evidence = ProvenanceHandle(visitor.evidence, provenance.value)
        yield lacking, Desk(grove=visitor, folder=folder, provenance=evidence, **own)


@covers("permission.callables-enumerated")
def test_the_table_has_every_public_callable_and_no_other(template):
    with weft.open(str(template / "grove.db"), providers=providers()) as grove:
        assert rooms_of(grove).keys() - {Agent} <= TABLE.keys()
    for kind, rules in TABLE.items():
        assert members(kind) == rules.keys(), kind.__name__


@covers("permission.callables-enumerated", "permission.inside-the-operations")
@pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.__name__)
def test_a_callable_is_refused_exactly_to_those_who_lack_what_it_needs(template, tmp_path, kind):
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    cells = [(name, lacking) for name in TABLE[kind] for lacking in Permission]
    expected = {cell for cell in cells if not TABLE[kind][cell[0]].needs <= held_without(cell[1])}
    with weft.open(str(tmp_path / "grove.db"), providers=providers()) as grove:
        desks = dict(desks_of(grove, tmp_path))
        # Refusals first: they change nothing. What takes things away comes last.
        order = sorted(cells, key=lambda cell: (cell not in expected, cell[0] in LAST))
        refused = {cell for cell in order if is_refused(desks[cell[1]], kind, cell[0])}
    assert refused == expected


def is_refused(desk, kind, name):
    try:
        call = TABLE[kind][name].call
        on = have(desk, kind)
        member = getattr(on, name)
        if call is not None:
            call(desk, member)
        elif not isinstance(inspect.getattr_static(kind, name), property) and callable(member):
            member()
    except PermissionDeniedError:
        return True
    except WeftError:
        return False
    return False


@covers("permission.documents-of-copies")
def test_documents_are_exported_and_backed_up_only_by_those_who_may_read_them(template, tmp_path):
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    with weft.open(str(tmp_path / "grove.db"), providers=providers()) as grove:
        visitor = grove.acting_as(f"without {READ}")
        with pytest.raises(PermissionDeniedError, match="cannot export documents") as refused:
            visitor.export(tmp_path / "all.json")
        assert refused.value.hint == "name trees to export: they hold no documents"
        with pytest.raises(PermissionDeniedError, match="cannot back up documents"):
            visitor.backup(tmp_path / "copy.db")
        assert not (tmp_path / "all.json").exists()
        assert not (tmp_path / "copy.db").exists()
        assert visitor.export(tmp_path / "tea.json", ["Tea"]).trees == 1
        document = grove.document("Notes")
        document.delete(confirm=document.id)
        assert visitor.export(tmp_path / "all.json").trees == 1
        assert visitor.backup(tmp_path / "copy.db").bytes
