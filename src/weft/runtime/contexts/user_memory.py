"""The user's memory: a document at the beginning of every request in layers."""

from dataclasses import dataclass
from typing import ClassVar

import orjson
from sqlalchemy import select

from weft.context.layers.settings import resolve_layer_settings
from weft.error_hints import Hint, HintKind
from weft.errors import InvalidInputError, NotFoundError
from weft.runtime.contexts.system_blocks import memory_name
from weft.runtime.operations.documents import CreateDocument, WriteInDocument
from weft.runtime.operations.node_values import agent_value
from weft.runtime.operations.permissions import require_access, require_permission
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.settings import Prefer
from weft.store import schema
from weft.tree.access import MemberRole
from weft.tree.agent import AgentType, Permission
from weft.tree.document import Document

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
            raise InvalidInputError("remember what?")
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
