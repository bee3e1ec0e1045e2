"""Every operation on every face: Python, HTTP, the command line, MCP and → commands; each exception with its reason."""

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from tests.covers import covers
from typer.main import get_group

from weft import runtime
from weft.cli.app import app
from weft.commands.catalog import CATALOG
from weft.grove.approvals import Approvals
from weft.grove.document import DocumentHandle
from weft.grove.grove import Grove
from weft.grove.node import NodeHandle
from weft.grove.project import ProjectHandle
from weft.grove.tools import Tools
from weft.grove.tree import TreeHandle
from weft.grove.vault import VaultHandle, Vaults
from weft.mcp_server.tools import TOOLS
from weft.runtime.generation.service import Generations
from weft.runtime.operations.access import Users
from weft.runtime.operations.drafts import Drafts
from weft.runtime.operations.executor import Editing
from weft.runtime.records.group_index import GroupIndex
from weft.runtime.records.streams import Records
from weft.server.app import ROUTERS

FACES = ("python", "http", "cli", "mcp", "command")
_CLASSES = {
    kind.__name__: kind
    for kind in (
        *(Approvals, DocumentHandle, Drafts, Generations, Grove, GroupIndex, NodeHandle, ProjectHandle),
        *(Records, Tools, TreeHandle, Users, VaultHandle, Vaults),
    )
}
PERSON = "persons and the machine: a model does not decide who enters, what is spent, trusted or destroyed"
LAYOUT = "what a person arranges around a conversation; a model asks for it"
SCREEN = "what a person types: a model and a shell write whole texts"
RECORDS = "records of other programs, which bring them over HTTP or Python"
SHELL = "a shell has no use for it"

TABLE: dict[str, tuple[str, str, str, str, str]] = {
    # operation: Python, HTTP, command line, MCP, → command; a name, or the reason why there is none
    "AddAgent": ("Grove.add_agent", "addAgent", "agents add", PERSON, PERSON),
    "AddToken": ("Users.issue", "addToken", "users token", PERSON, PERSON),
    "AddToolServer": ("Tools.add_mcp", PERSON, "tools add", PERSON, PERSON),
    "AddUser": ("Users.add", PERSON, "users add", PERSON, PERSON),
    "AllowApproval": ("Approvals.allow", "allowApproval", "approvals allow", PERSON, PERSON),
    "Annotate": ("NodeHandle.annotate", "annotate", "annotate", "annotate", "annotate"),
    "Append": ("TreeHandle.say", "append", "say", "respond", "respond"),
    "AppendRecords": ("Records.append_all", "appendRecords", "records append", RECORDS, RECORDS),
    "Archive": ("TreeHandle.archive", "archive", "archive", PERSON, PERSON),
    "ArchiveAgent": ("Grove.perform", "archiveAgent", "agents archive", PERSON, PERSON),
    "ArchiveDocument": ("DocumentHandle.archive", "archiveDocument", "doc archive", PERSON, PERSON),
    "ArchiveProject": ("ProjectHandle.archive", "archiveProject", "project archive", PERSON, PERSON),
    "ArchiveUser": ("Users.archive", "archiveUser", "users archive", PERSON, PERSON),
    "AssignProject": ("ProjectHandle.add", "assignProject", "project add", LAYOUT, LAYOUT),
    "Attach": ("NodeHandle.attach", "attach", "attach", "attach", "attach"),
    "Bookmark": ("NodeHandle.bookmark", "bookmark", "bookmark", "bookmark", "bookmark"),
    "Calibrate": ("Grove.calibrate", "calibrate", SHELL, PERSON, PERSON),
    "ChangeAgent": ("Grove.perform", "changeAgent", "agents set", PERSON, PERSON),
    "ChangeProject": ("ProjectHandle.change", "changeProject", "project change", LAYOUT, LAYOUT),
    "Collapse": ("TreeHandle.collapse", "foldRange", "collapse", "collapse", "collapse"),
    "CommitBuffer": ("TreeHandle.commit", "commitBuffer", "commit", SCREEN, SCREEN),
    "CommitDraft": ("Drafts.commit", "commitDraft", SCREEN, SCREEN, SCREEN),
    "CreateDocument": ("Grove.write_document", "createDocument", "doc new", "new_document", "write"),
    "CreateProject": ("Grove.create_project", "createProject", "project new", LAYOUT, LAYOUT),
    "DeleteDocument": ("DocumentHandle.delete", "deleteDocument", "doc delete", PERSON, PERSON),
    "DeleteRecords": ("Records.delete", RECORDS, "records rm", RECORDS, RECORDS),
    "DeleteTree": ("TreeHandle.delete", "deleteTree", "delete", PERSON, PERSON),
    "DenyApproval": ("Approvals.deny", "denyApproval", "approvals deny", PERSON, PERSON),
    "Describe": ("TreeHandle.describe", "describe", SHELL, LAYOUT, LAYOUT),
    "Detach": ("NodeHandle.detach", "detach", "detach", LAYOUT, LAYOUT),
    "DropStash": ("Grove.do", "runCommands", "do", "drop", "drop"),
    "Edit": ("NodeHandle.edit", "edit", "edit", "edit", "edit"),
    "Erase": ("TreeHandle.erase", "erase", SCREEN, SCREEN, SCREEN),
    "Exclude": ("NodeHandle.exclude", "exclude", "exclude", "exclude", "exclude"),
    "Expand": ("TreeHandle.expand", "expandRange", "expand", "expand", "expand"),
    "ForgetGroups": ("GroupIndex.remove", "removeGroups", "records forget", RECORDS, RECORDS),
    "Generating": ("NodeHandle.generate", "generate", "gen", "continue", "continue"),
    "Grant": ("Approvals.grant", "grant", "approvals grant", PERSON, PERSON),
    "ImportConversation": ("Grove.import_conversations", "startImport", "import", PERSON, PERSON),
    "ImportFile": ("Grove.import_", "startImport", "import", PERSON, PERSON),
    "Include": ("NodeHandle.include", "include", "include", "include", "include"),
    "IndexGroups": ("GroupIndex.index", "indexGroups", "records index", RECORDS, RECORDS),
    "Join": ("NodeHandle.join", "join", "join", "join", "join"),
    "KeepPin": ("Grove.do", "runCommands", "do", "pin", "pin"),
    "KeepStash": ("Grove.do", "runCommands", "do", "stash", "stash"),
    "KeepThought": ("Grove.do", "runCommands", "do", "think", "think"),
    "LinkTogether": ("Grove.link", "linkTogether", "link", "link", "link"),
    "Merge": ("TreeHandle.merge", "merge", "merge", "merge", "merge"),
    "MountVault": ("Vaults.mount", "mountVault", "vault add", PERSON, PERSON),
    "OpenGroup": ("GroupIndex.set_state", "setGroupState", "records open", RECORDS, RECORDS),
    "Plant": ("Grove.plant", "plantTree", "new", "new_tree", LAYOUT),
    "Prefer": ("Grove.prefer", "prefer", "prefer", PERSON, PERSON),
    "PreferInTree": ("TreeHandle.prefer", "preferInTree", "prefer", PERSON, PERSON),
    "Prune": ("NodeHandle.prune", "prune", "prune", "prune", "prune"),
    "RecallStash": ("Grove.do", "runCommands", "do", "recall", "recall"),
    "Redo": ("TreeHandle.redo", "redo", "redo", "redo", "redo"),
    "RemoveToolServer": ("Tools.remove_mcp", PERSON, "tools remove", PERSON, PERSON),
    "RequestTimestamp": ("NodeHandle.timestamp", PERSON, "timestamp", PERSON, PERSON),
    "Restore": ("NodeHandle.restore", "restore", "restore", "restore", "restore"),
    "RevokeToken": ("Users.revoke", "revokeToken", "users revoke", PERSON, PERSON),
    "SaveDocument": ("DocumentHandle.save", "saveDocument", "doc write", "write", "write"),
    "SaveSummary": ("NodeHandle.summarise", SHELL, "summarise", LAYOUT, LAYOUT),
    "SetAuthorities": ("Grove.set_authorities", PERSON, "authority add", PERSON, PERSON),
    "SetCap": ("Generations.set_cap", "setCap", "spend cap", PERSON, PERSON),
    "SetProxyPolicy": ("Grove.perform", "setProxyPolicy", "proxy policy", PERSON, PERSON),
    "SetRole": ("Users.set_role", "setRole", "users role", PERSON, PERSON),
    "SetToolPolicy": ("Tools.set_policy", "setToolPolicy", "tools policy", PERSON, PERSON),
    "SetUrlAccess": ("Tools.set_urls", "setUrlAccess", "tools urls", PERSON, PERSON),
    "Split": ("NodeHandle.split", "split", "split", "split", "split"),
    "Switch": ("TreeHandle.switch", "switch", "switch", "switch", "switch"),
    "TagTarget": ("Grove.tag", "tagTarget", "tag", "tag", "tag"),
    "TypeText": ("TreeHandle.type", "typeText", "type", SCREEN, SCREEN),
    "Unarchive": ("TreeHandle.unarchive", "unarchive", "archive", PERSON, PERSON),
    "Unbookmark": ("NodeHandle.unbookmark", "unbookmark", "bookmark", "unbookmark", "unbookmark"),
    "Uncollapse": ("TreeHandle.uncollapse", "expandRange", "expand", LAYOUT, LAYOUT),
    "Undo": ("TreeHandle.undo", "undo", "undo", "undo", "undo"),
    "Unlink": ("Grove.unlink", "unlink", "link", "unlink", "unlink"),
    "UnmountVault": ("VaultHandle.unmount", "unmountVault", "vault rm", PERSON, PERSON),
    "Unpin": ("Grove.do", "runCommands", "do", "drop", "drop"),
    "Untag": ("Grove.untag", "untag", "tag", "untag", "untag"),
    "WriteInDocument": ("DocumentHandle.save_section", "saveDocument", "doc write", "write", "write"),
}

INNER = {
    **dict.fromkeys(("AskApproval", "CloseApproval"), "a run asks for and closes its approvals itself"),
    **dict.fromkeys(("KeepEnvelope", "KeepResult", "ReportCached"), "generations keep what they sent"),
    **dict.fromkeys(("Certify", "CheckToolServer"), "background work notes what another machine answered"),
    "AttachAll": "Attach, for several items",
    "CloseUnfinished": "the proxy closes what a dead process left",
    "ChangeSettings": "the one writer of the settings, below the operations that name them",
    "Extend": "the lease of a generation",
    "ImportChat": "one chat of an import",
    "Recording": "the proxy, which records what other programs send",
    "ShareEmbedded": "the first use of the embedded model",
}
"""Operations that nothing outside the runtime calls, and why."""


def operations() -> Iterator[type[Editing]]:
    for module in pkgutil.walk_packages(runtime.__path__, "weft.runtime."):
        importlib.import_module(module.name)
    pending = list(Editing.__subclasses__())
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        # Tests make operations of their own.
        if "verb" in vars(kind) and kind.__module__.startswith("weft."):
            yield kind


def command_names() -> set[str]:
    names: set[str] = set()

    def walk(group, before: str) -> None:
        for name, command in group.commands.items():
            names.add(f"{before}{name}")
            if hasattr(command, "commands"):
                walk(command, f"{before}{name} ")

    walk(get_group(app), "")
    return names


REASONS = {PERSON, LAYOUT, SCREEN, RECORDS, SHELL}


@covers("op.same-on-every-face", "http.every-operation")
def test_every_operation_is_in_the_table_of_faces():
    assert {kind.__name__ for kind in operations()} == TABLE.keys() | INNER.keys()


@covers("op.same-on-every-face")
@pytest.mark.parametrize("face", FACES)
def test_what_the_table_names_is_there(face):
    http = {
        route.operation_id for router in ROUTERS for route in router.routes if hasattr(route, "operation_id")
    }
    known = {
        "python": {f"{name}.{each}" for name, kind in _CLASSES.items() for each in dir(kind)},
        "http": http,
        "cli": command_names() if face == "cli" else set(),
        "mcp": set(TOOLS),
        "command": set(CATALOG),
    }[face]
    named = {operation: row[FACES.index(face)] for operation, row in TABLE.items()}
    missing = {operation: name for operation, name in named.items() if name not in known | REASONS}
    assert missing == {}


@covers("op.same-on-every-face")
@pytest.mark.parametrize(("face", "known"), [("mcp", TOOLS), ("command", CATALOG)])
def test_every_tool_and_command_that_writes_is_named_by_an_operation(face, known):
    reading = {
        *(
            "agents",
            "context",
            "documents",
            "help",
            "list",
            "memory",
            "read",
            "search",
            "tree",
            "trees",
            "view",
        )
    }
    named = {row[FACES.index(face)] for row in TABLE.values()}
    assert set(known) - reading - named == set()
