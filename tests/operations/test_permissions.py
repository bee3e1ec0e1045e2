"""Who may do what: checked inside the operations, whatever face calls them."""

import dataclasses
import inspect
import itertools

import pytest
from tests.covers import covers

from weft.error_hints import Face
from weft.errors import NotFoundError, PermissionDeniedError, WeftError
from weft.runtime import operations
from weft.runtime.operations import (
    agent_memory,
    agents,
    attachments,
    collapsed_ranges,
    cursors,
    documents,
    edits,
    metadata,
    nodes,
    projects,
    references,
    trees,
)
from weft.runtime.operations.agents import ChangeAgent
from weft.runtime.operations.permissions import Actor
from weft.runtime.undo import undo as history
from weft.runtime.views.reader import Reader
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission

MODULES = (
    *(agent_memory, agents, attachments, collapsed_ranges, cursors, documents, edits),
    *(history, metadata, nodes, projects, references, trees),
)
OPERATIONS = [
    value
    for module in MODULES
    for value in vars(module).values()
    if inspect.isclass(value)
    and dataclasses.is_dataclass(value)
    and hasattr(value, "apply")
    and value.__module__ == module.__name__
    and not value.__name__.startswith("_")
]


def test_every_operation_says_what_it_needs():
    assert len(OPERATIONS) > 30
    for operation in OPERATIONS:
        assert isinstance(operation.verb, str), operation
        assert isinstance(operation.permission, Permission), operation
        assert isinstance(operation.access, MemberRole), operation


def arguments(operation, tree, node):
    """Something for every field, so that an operation can be built."""
    known = {"tree": tree.id, "node": node.id, "parent": node.id, "confirm": "no", "nodes": [node.id]}
    return {
        field.name: known.get(field.name, "x")
        for field in dataclasses.fields(operation)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


@covers("permission.inside-the-operations", "op.permission-checked-in-one-place", "permission.requirements")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_an_operation_is_refused_without_its_permission(loom, operation):
    tree = loom.plant("Marie")
    node = tree.say("Why?")
    others = [
        p for p in Permission if p is not operation.permission and not _requires(p, operation.permission)
    ]
    agent = loom.add_agent(
        f"without {operation.__name__} {tree.id}", model_ref="t:m", permissions=_closed(others)
    )
    with pytest.raises(PermissionDeniedError, match=f"{operation.permission} not enabled") as caught:
        loom.acting_as(agent.id).perform(operation(**arguments(operation, tree, node)))
    hint = caught.value.hint
    assert hint.on(Face.AGENT) == f"request elevated permissions or ask the human to {operation.verb}"
    call = hint.on(Face.PYTHON).removeprefix("let it: ")
    assert operation.permission in eval(call, {"grove": loom, "ChangeAgent": ChangeAgent}).permissions
    assert hint.on(Face.CLI).endswith(
        " ".join(f"--may {p}" for p in sorted(loom.read.agent(agent.id).permissions))
    )


def _requires(permission, other):
    return {"loom_write": "loom_aware", "loom_generate": "loom_aware", "doc_write": "doc_read"}.get(
        permission
    ) == other


def _closed(permissions):
    return [p for p in permissions if all(not _requires(p, q) or q in permissions for q in Permission)]


@covers("permission.requirements")
def test_looking_needs_loom_aware(loom):
    tree = loom.plant("Marie")
    subject = loom.add_agent(f"subject {tree.id}", model_ref="t:m")
    theirs = loom.acting_as(subject.id)
    for look in (
        theirs.trees,
        lambda: theirs.tree(tree.id),
        lambda: theirs.read.path(tree.id),
        theirs.agents,
    ):
        with pytest.raises(PermissionDeniedError, match="loom_aware not enabled"):
            look()
    with pytest.raises(PermissionDeniedError, match="doc_read not enabled"):
        theirs.documents()


@covers("agent.loom-aware-default", "permission.loom-aware-is-the-agents-flag", "agent.any-participant")
def test_people_are_loom_aware_and_models_are_not_unless_told(loom):
    person = loom.add_agent(f"person {len(loom.agents())}", type=AgentType.HUMAN)
    model = loom.add_agent(f"model {len(loom.agents())}", model_ref="t:m")
    assert person.loom_aware
    assert person.permissions == frozenset(Permission)
    assert not model.loom_aware
    assert model.permissions == frozenset()


@covers("permission.intersection")
def test_an_agent_acts_with_no_more_than_its_callers_rights(loom):
    tree = loom.plant("Marie")
    helper = loom.add_agent(f"helper {tree.id}", model_ref="t:m", permissions=["loom_aware", "loom_write"])
    viewer = loom.add_agent(f"viewer {tree.id}", model_ref="t:m", permissions=["loom_aware"])
    gate = loom.caller.executor
    keys = _keys(loom, helper.id, viewer.id)
    operation = metadata.Exclude(tree=tree.id, node=tree.value.root)
    gate.perform(Actor(keys[0]), operation)
    with pytest.raises(PermissionDeniedError, match="loom_write not enabled"):
        gate.perform(Actor(keys[0], caller=Actor(keys[1])), operation)


def _keys(loom, *ulids):
    with loom.caller.executor.store.read() as session:
        rows = {row.ulid: row.key for row in session.execute(schema.agents.select())}
    return [rows[ulid] for ulid in ulids]


@covers("agent.type-immutable", "agent.archivable")
def test_an_agents_type_stays_and_an_archived_agent_does_nothing(loom):
    assert "type" not in agents.ChangeAgent.__dataclass_fields__
    person = loom.add_agent(f"leaver {len(loom.agents())}", type=AgentType.HUMAN)
    tree = loom.plant("Marie")
    theirs = loom.acting_as(person.id)
    node = theirs.tree(tree.id).say("mine")
    loom.perform(agents.ArchiveAgent(agent=person.id))
    with pytest.raises(PermissionDeniedError, match="is archived"):
        theirs.perform(nodes.Append(tree=tree.id, content="x"))
    assert tree.node(node.id).value.author_id == person.id
    loom.perform(agents.ArchiveAgent(agent=person.id, restore=True))
    theirs.perform(nodes.Append(tree=tree.id, content="x"))


def test_models_do_not_manage_agents(loom):
    model = loom.add_agent(f"ambitious {len(loom.agents())}", model_ref="t:m", permissions=list(Permission))
    with pytest.raises(PermissionDeniedError, match="models cannot manage agents"):
        loom.acting_as(model.id).add_agent("minion", model_ref="t:m", permissions=list(Permission))


def test_changing_an_agent_keeps_what_is_not_given(loom):
    model = loom.add_agent(
        f"plain {len(loom.agents())}", model_ref="t:m", system_prompt="Be brief.", temperature=0.5
    )
    changed = loom.perform(agents.ChangeAgent(agent=model.id, permissions=["loom_aware"]))
    assert changed == dataclasses.replace(model, permissions=frozenset({Permission.LOOM_AWARE}))
    with pytest.raises(WeftError, match="there is an agent"):
        loom.perform(agents.ChangeAgent(agent=model.id, name="HUMAN"))


@covers("user.roles", "user.single-user-never-asks")
@pytest.mark.parametrize(("grove_role", "tree_role"), list(itertools.product([None, *MemberRole], repeat=2)))
def test_a_users_role_is_the_greater_of_grove_and_tree(loom, grove_role, tree_role):
    tree = loom.plant("Marie")
    actor = _member(loom, tree, grove_role, tree_role)
    rank = max(MemberRole(role).rank if role else 0 for role in (grove_role, tree_role))
    attempts = {
        1: lambda: Reader(loom.caller.executor.store, actor).path(tree.id),
        2: lambda: loom.caller.executor.perform(actor, nodes.Append(tree=tree.id, content="x")),
        3: lambda: loom.caller.executor.perform(actor, trees.DeleteTree(tree=tree.id, confirm=tree.id)),
    }
    if grove_role is None:
        with pytest.raises(PermissionDeniedError, match="this needs the role"):
            Reader(loom.caller.executor.store, actor).documents()
    seen = [found.id for found in Reader(loom.caller.executor.store, actor).trees()]
    assert (tree.id in seen) == (rank > 0)
    assert grove_role is not None or set(seen) <= {tree.id}
    for needed, attempt in attempts.items():
        if rank >= needed:
            attempt()
        else:
            # Without any role the tree does not exist.
            refusal = ("this needs the role", PermissionDeniedError) if rank else ("no tree", NotFoundError)
            with pytest.raises(refusal[1], match=refusal[0]):
                attempt()


def _member(loom, tree, grove_role, tree_role):
    from weft.runtime.operations.permissions import ROLE_RANKS

    agent = loom.add_agent(f"member {tree.id}", type="human")
    (key,) = _keys(loom, agent.id)

    def enrol(transaction):
        user = transaction.insert(
            schema.users,
            {"ulid": tree.id, "name": tree.id, "agent": key, "created_at": 0, "archived_at": None},
        )
        (tree_key,) = [row.key for row in transaction.execute(schema.trees.select()) if row.ulid == tree.id]
        for place, role in ((0, grove_role), (tree_key, tree_role)):
            if role is not None:
                row = {"tree": place, "user": user, "role": ROLE_RANKS.index(role)}
                transaction.add(schema.memberships, row)
        return user

    return Actor(key, user=loom.caller.executor.store.write(enrol))


def test_operations_are_one_folder():
    assert operations.__doc__ is not None
