"""What stands in L1 besides the system context: the user's memory, and the blocks of the tree's project."""

from dataclasses import dataclass, field
from typing import ClassVar

import orjson
from sqlalchemy import select

from weft.context.items.blocks import ItemForm, render_item
from weft.context.items.item_types import ContextItem, document, url
from weft.context.settings import LayerSettings, resolve_layer_settings
from weft.context.system import Standing
from weft.context.tokens import JOINT
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError, WeftError
from weft.knowledge.notes import Mounted
from weft.runtime.contexts.tree_facts import TreeFacts
from weft.runtime.operations.documents import CreateDocument, WriteInDocument, load_document
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import Actor, agent_row, require_access, require_permission
from weft.runtime.operations.projects import load_project
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import Prefer
from weft.runtime.views.reader import Opened
from weft.store import schema
from weft.store.session import Session
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.document import Document
from weft.tree.reference import Project, ProjectItem, ProjectItemKind

USER_MEMORY = "userMemory"
"""The setting, in preferences and among a person's own."""


@dataclass(slots=True)
class Stood:
    """The blocks, and what could not be read of them."""

    standing: Standing
    memory: set[str] = field(default_factory=set[str])
    """The document that is the user's memory, or would be: its id, and what it was named by."""
    people: frozenset[int] = frozenset()
    """Keys of those whose own settings say which document that is."""
    documents: set[str] = field(default_factory=set[str])
    """The documents of the project's context, likewise."""
    project: str | None = None
    readers: frozenset[str] = frozenset()
    warnings: list[str] = field(default_factory=list[str])


def standing_of(
    opened: Opened, actor: Actor, settings: LayerSettings, mounted: Mounted, readers: frozenset[str]
) -> Stood:
    """An absent block is left out; one that cannot be read is left out too, with a warning.

    Pages of the project are not fetched: `readers` are the tools with which the model can.
    """
    stood = Stood(Standing(), readers=readers)
    try:
        # A member of one tree alone does not see what the grove holds.
        require_access(opened.session, actor, MemberRole.READER)
    except PermissionDeniedError:
        stood.warnings.append("memory and project are left out: they belong to the grove, not to this tree")
        return stood
    memory = _memory(opened.session, actor, settings, stood)
    project = _project_of(opened) if TreeFacts.of(opened).has_project else None
    stood.project = None if project is None else project.id
    context = None if project is None else _project_context(opened.session, project, mounted, stood)
    stood.standing = Standing(
        memory=memory,
        project_prompt=None if project is None else project.system_prompt,
        project_context=context,
    )
    return stood


def memory_name(session: Session, actor: Actor, settings: LayerSettings) -> str | None:
    """The memory of the person who acts, or on whose behalf a model does; else the one that is preferred."""
    for link in actor.chain():
        row = agent_row(session, link.agent)
        if USER_MEMORY not in row.configuration:
            # Nearly all: nothing to read it for.
            continue
        agent = agent_value(row)
        own = agent.configuration.custom.get(USER_MEMORY)
        if agent.type is AgentType.HUMAN and isinstance(own, str) and own.strip():
            return own
    return settings.user_memory


def _memory(session: Session, actor: Actor, settings: LayerSettings, stood: Stood) -> str | None:
    name = memory_name(session, actor, settings)
    stood.people = frozenset(link.agent for link in actor.chain())
    if name is None:
        return None
    document = _document(session, name, "the user's memory", stood, stood.memory)
    if document is None:
        return None
    return document.content


def _document(session: Session, name: str, what: str, stood: Stood, ids: set[str]) -> Document | None:
    ids.add(name)
    try:
        document = load_document(session, name)
    except WeftError as error:
        stood.warnings.append(f"{what} is left out: {error.message}")
        return None
    ids.add(document.id)
    if document.archived_at is not None:
        stood.warnings.append(f"{what} is left out: {document.title!r} is archived")
        return None
    return document


def _project_of(opened: Opened) -> Project | None:
    trees, projects = schema.trees, schema.projects
    named = select(projects.c.ulid).join(trees, trees.c.project == projects.c.key)
    ulid = opened.session.execute(named.where(trees.c.key == opened.key)).scalar_one_or_none()
    return None if ulid is None else load_project(opened.session, ulid)


def _project_context(session: Session, project: Project, mounted: Mounted, stood: Stood) -> str | None:
    texts: list[str] = []
    for item in project.context:
        try:
            texts += _rendered(session, item, mounted, stood)
        except WeftError as error:
            stood.warnings.append(
                f"{item.reference} of project {project.name!r} is left out: {error.message}"
            )
    return JOINT.join(texts) or None


def _rendered(session: Session, item: ProjectItem, mounted: Mounted, stood: Stood) -> list[str]:
    match item.kind:
        case ProjectItemKind.DOCUMENT:
            document = _document(session, item.reference, "a document of the project", stood, stood.documents)
            if document is None:
                return []
            return [render_item(_as_item(document))]
        case ProjectItemKind.FOLDER:
            # Times would change L1 whenever a file is touched.
            notes = mounted.in_folder(item.reference)
            return [render_item(_timeless(each)) for each in notes]
        case ProjectItemKind.URL:
            page = url(item.reference, "")
            return [render_item(page, form=ItemForm.STUB, readers=stood.readers)]


def _as_item(given: Document) -> ContextItem:
    return document(given.id, given.content, title=given.title)


def _timeless(item: ContextItem) -> ContextItem:
    return ContextItem(item=item.item, title=item.title)


_TITLE = "Memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Append a line to the acting person's memory, else to the grove's; a person without one begins it.

    The first line creates the document and makes it the grove's memory, both or neither.
    """

    verb: ClassVar[str] = "remember"
    permission: ClassVar[Permission] = Permission.DOC_WRITE
    access: ClassVar[MemberRole] = MemberRole.EDITOR
    text: str

    def apply(self, scope: Scope) -> Document:
        if not self.text.strip():
            raise InvalidInputError("the text to remember is empty")
        scope.open_grove()
        preferences = scope.transaction.execute(select(schema.grove.c.preferences)).scalar_one()
        settings = resolve_layer_settings(orjson.loads(preferences))
        name = memory_name(scope.transaction, scope.actor, settings)
        if name is None:
            return self._begin(scope)
        return WriteInDocument(document=name, change=self._appended).apply(scope)

    def _begin(self, scope: Scope) -> Document:
        if agent_value(scope.agent).type is not AgentType.HUMAN:
            raise NotFoundError("there is no user memory", hint=Hint(HintKind.REMEMBER))
        require_permission(scope.transaction, scope.actor, Prefer.permission, Prefer.verb)
        require_access(scope.transaction, scope.actor, Prefer.access)
        document = CreateDocument(title=_TITLE, content=f"{self.text.strip()}\n").apply(scope)
        Prefer(settings={"user_memory": document.id}).apply(scope)
        return document

    def _appended(self, text: str) -> str:
        before = text if not text or text.endswith("\n") else f"{text}\n"
        return f"{before}{self.text.strip()}\n"
