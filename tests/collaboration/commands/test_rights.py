"""Every set of permissions × every form of every command: what works, what is refused, and that help knows."""

import re

import pytest
from tests.collaboration.commands.samples import samples
from tests.collaboration.commands.workplace import LEGAL, Workplace
from tests.covers import covers

from weft.commands.catalog import CATALOG, ROWS, help_on
from weft.commands.parse import parse
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.grove.grove import Grove
from weft.runtime.contexts.items import AttachAll
from weft.runtime.contexts.linked_documents import may_cross
from weft.runtime.generation.start_call import StartCalls
from weft.runtime.operations import (
    agent_memory,
    collapsed_ranges,
    cursors,
    documents,
    edits,
    metadata,
    nodes,
    references,
)
from weft.runtime.operations.access import admit
from weft.runtime.operations.executor import Caller
from weft.runtime.undo import undo as history
from weft.tree.agent import ANALYST, COLLABORATOR, SUBJECT, Permission

OPERATIONS = {
    "switch": [cursors.Switch],
    "think": [agent_memory.KeepThought],
    "pin": [agent_memory.KeepPin],
    "stash": [agent_memory.KeepStash],
    "recall": [agent_memory.RecallStash],
    "drop": [agent_memory.Unpin, agent_memory.DropStash],
    "respond": [nodes.Append],
    "annotate": [nodes.Annotate],
    "edit": [edits.Edit],
    "merge": [nodes.Merge],
    "split": [edits.Split],
    "join": [edits.Join],
    "attach": [AttachAll],
    "link": [references.LinkTogether],
    "unlink": [references.Unlink],
    "tag": [references.TagTarget],
    "untag": [references.Untag],
    "bookmark": [metadata.Bookmark],
    "unbookmark": [metadata.Unbookmark],
    "prune": [metadata.Prune],
    "restore": [metadata.Restore],
    "exclude": [metadata.Exclude],
    "include": [metadata.Include],
    "collapse": [collapsed_ranges.Collapse],
    "expand": [collapsed_ranges.Expand],
    "undo": [history.Undo],
    "redo": [history.Redo],
    "continue": [StartCalls],
    "write": [documents.WriteInDocument, documents.SaveDocument],
}
LOOKING = {"view", "list", "tree", "search", "help", "memory", "read"}


@covers("permission.inside-the-operations", "command.permission-per-command")
def test_the_operations_behind_a_command_ask_for_what_the_catalog_says():
    assert set(OPERATIONS) | LOOKING == set(CATALOG)
    for name, operations in OPERATIONS.items():
        for operation in operations:
            assert operation.permission is CATALOG[name].permission, name


@covers("permission.inside-the-operations")
def test_readings_ask_too(grove):
    work = Workplace(grove, permissions=())
    see, tree, node = work.session.see, work.tree.id, work.a.id
    looks = [
        lambda: see.row(tree, node),
        lambda: see.facts(tree, [node]),
        lambda: see.place(tree, 0),
        lambda: see.drawn(tree, None, depth=1, summary=False),
        lambda: see.hanging(tree, node, annotations=False, limit=1),
        lambda: see.lineage(tree, node),
        work.session.memory,
        work.session.thoughts,
        lambda: Grove(work.session.caller).search("home"),
    ]
    for look in looks:
        with pytest.raises(PermissionDeniedError, match="loom_aware not enabled"):
            look()
    with pytest.raises(PermissionDeniedError, match="doc_read not enabled"):
        Grove(work.session.caller).document(work.document.id)


def _says(granted) -> str:
    return "+".join(sorted(granted)) or "nothing"


@pytest.mark.long
@covers(
    "command.permission-per-command",
    "permission.requirements",
    "command.help",
)
@pytest.mark.parametrize("granted", LEGAL, ids=_says)
def test_what_is_permitted_works_and_what_is_not_is_refused_and_changes_nothing(grove, granted):
    work = Workplace(grove, permissions=granted, crosses=True)
    _try_everything(work, granted)


@covers("permission.intersection", "security.deputies")
@pytest.mark.parametrize("granted", LEGAL, ids=_says)
@pytest.mark.long
def test_an_agent_of_all_rights_has_those_of_its_caller(grove, granted):
    work = Workplace(grove, crosses=True, within=frozenset(map(Permission, granted)))
    _try_everything(work, granted)


def _try_everything(work: Workplace, granted) -> None:
    worked: set[str] = set()
    for name, form, line in samples(work):
        before = work.events()
        (result,) = work.say(f"→ {line}")
        row = CATALOG[name]
        if row.permission in granted:
            assert result.ok, f"{form}: {result.text}"
            worked.add(form)
        else:
            asked = row.verb or name
            assert result.text == (
                f"✗ PERMISSION_DENIED: {row.permission} not enabled\n"
                f"  hint: request elevated permissions or ask the human to {asked}"
            )
            assert work.events() == before, form
    _check_help(work, granted, worked)


def _check_help(work: Workplace, granted, worked: set[str]) -> None:
    """Help lists just what has worked, and of the rest why it did not."""
    if "loom_aware" not in granted:
        assert work.one("help").error.code == "PERMISSION_DENIED"
        return
    text = work.ok("help")
    forms = {form for row in ROWS for form in row.notations}
    listed = {line.removeprefix("  → ") for line in text.splitlines() if line.startswith("  → ")}
    assert {
        form for form in forms if any(each == form or each.startswith(f"{form} · ") for each in listed)
    } == worked
    refused = dict(re.findall(r"not permitted \((\w+) not enabled\): (.*)", text))
    for row in ROWS:
        if row.permission in granted:
            assert row.name not in ", ".join(refused.values()).split(", ")
        else:
            assert row.name in refused[row.permission].split(", ")
            assert f"not permitted: {row.permission} not enabled" in work.ok(f"help {row.name}")


@covers("command.help", "command.leaving-the-tree")
def test_help_tells_who_may_not_leave_the_tree(work):
    assert 'not permitted (crossTree not enabled): search "query" in:grove' in work.ok("help")
    assert 'search "query" in:grove · not permitted: crossTree not enabled' in work.ok("help search")
    assert work.one('search "home" in:grove').error.code == "PERMISSION_DENIED"
    roaming = Workplace(work.loom, crosses=True)
    assert 'search "query" in:grove\n' in roaming.ok("help")
    assert "crossTree" not in roaming.ok("help search")


@pytest.mark.long
@covers("permission.roles")
def test_the_three_roles_can_do_what_they_are_for(grove):
    for role, permitted in ((COLLABORATOR, 36), (ANALYST, 13), (SUBJECT, 0)):
        work = Workplace(grove, permissions=role)
        names = {name for name, _, line in samples(work) if work.one(line).ok}
        assert len(names) == permitted


@covers("permission.intersection")
def test_a_caller_whose_rights_make_no_sense_is_refused(work):
    with pytest.raises(InvalidInputError, match="loom_write requires loom_aware"):
        work.new_session(within=frozenset({Permission.LOOM_WRITE}))


@covers("permission.intersection")
def test_a_user_who_was_let_into_one_tree_works_there_alone_and_without_documents(grove):
    here, there = Workplace(grove), Workplace(grove)
    user = grove.users.add(f"visitor {here.number}", role=None)
    grove.users.set_role(user.name, "editor", tree=here.tree.id)
    admitted = admit(grove.caller.executor, grove.users.issue(user.name)[0])
    visitor = type(grove)(Caller(grove.caller.executor, admitted.actor))
    done = visitor.do(f"→ bookmark {here.a.local_id}", tree=here.tree.id)
    assert done.error is None
    with pytest.raises(NotFoundError):
        visitor.do(f"→ view {there.a.local_id}", tree=there.tree.id)
    for line in (f'read doc:"{here.document.title}"', f'write doc:"{here.document.title}" append "x"'):
        assert visitor.do(line, tree=here.tree.id).error.code == "PERMISSION_DENIED"
    assert visitor.do('search "village" in:grove', tree=here.tree.id).text.count("[") == 1


@covers("permission.intersection", "command.leaving-the-tree")
def test_a_person_may_leave_the_tree_and_a_model_that_acts_for_one_that_may_not_cannot(work):
    loom = work.loom
    store = loom.read.store
    roaming = Workplace(loom, crosses=True)
    with store.read() as session:
        assert may_cross(session, loom.read.actor)
        assert not may_cross(session, work.session.caller.actor)
        assert may_cross(session, roaming.session.caller.actor)
        through = Grove(work.session.caller).calling(roaming.agent.id)
        assert not may_cross(session, through.read.actor)


def test_help_on_a_command_is_in_the_catalogs_words(work):
    assert work.ok("help switch") == help_on("switch", COLLABORATOR, crossing=False)
    assert parse("help switch").name == "help"


@covers("command.help")
def test_who_may_not_leave_the_tree_is_shown_no_link_to_another_and_may_take_one_away(loom, work):
    other = loom.plant("Other Voices", "far")
    loom.link(work.a, other)
    assert "tree:" not in work.ok("help link")
    assert '  → unlink ID from ID|doc:"…"|tree:"…"\n' in work.ok("help unlink")
    assert "crossTree not enabled" in work.no(f'link {work.b.local_id} to tree:"Other Voices"')
    assert work.ok(f'unlink {work.a.local_id} from tree:"Other Voices"').startswith("✓ unlinked")


@covers("command.help")
def test_help_on_a_command_that_has_no_other_name_names_none(work):
    assert work.ok("help undo") == (
        "✓ undo · take your last operation back\n  → undo\n  permitted by loom_write"
    )
