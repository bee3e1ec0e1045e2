"""The handle of a project."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.argument_checks import checks_arguments
from weft.grove.handle import Handle
from weft.grove.tree import TreeHandle
from weft.runtime.operations.projects import (
    ArchiveProject,
    AssignProject,
    ChangeProject,
)
from weft.tree.reference import Project, ProjectItem, item_from_text

if TYPE_CHECKING:
    pass


def items_of(context: Sequence[ProjectItem | str]) -> list[ProjectItem]:
    """Context as people write it: `doc:TITLE`, `folder:VAULT/PATH`, a url."""
    return [item_from_text(item) if isinstance(item, str) else item for item in context]


@checks_arguments
class ProjectHandle(Handle[Project]):
    """One project at one revision."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<Project {self.name!r} revision {self.revision}>"

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def system_prompt(self) -> str:
        return self.value.system_prompt

    @property
    def context(self) -> tuple[ProjectItem, ...]:
        return self.value.context

    @property
    def revision(self) -> int:
        return self.value.revision

    @property
    def trees(self) -> list[TreeHandle]:
        """The trees that belong to it, the most recently changed first."""
        return [tree for tree in self._grove.trees() if tree.value.project == self.name]

    def at(self, revision: int) -> Project:
        """As it was at a revision."""
        return self._grove.read.project(self.id, revision)

    def change(
        self,
        *,
        name: str | None = None,
        system_prompt: str | None = None,
        context: Sequence[ProjectItem | str] | None = None,
    ) -> "ProjectHandle":
        """A new revision; a conflict if it has changed since this one. What is not given stays."""
        operation = ChangeProject(
            project=self.id,
            revision=self.revision,
            name=name,
            system_prompt=system_prompt,
            context=None if context is None else items_of(context),
        )
        return ProjectHandle(self._grove, self._grove.perform(operation))

    def add(self, tree: TreeHandle | str) -> TreeHandle:
        """Let a tree belong to it; a tree belongs to one project at most."""
        return self._assign(tree, self.id)

    def remove(self, tree: TreeHandle | str) -> TreeHandle:
        """Take a tree out of its project."""
        return self._assign(tree, None)

    def _assign(self, tree: TreeHandle | str, project: str | None) -> TreeHandle:
        reference = tree.id if isinstance(tree, TreeHandle) else tree
        return TreeHandle(self._grove, self._grove.perform(AssignProject(tree=reference, project=project)))

    def archive(self) -> None:
        """Archive it; its trees stay in it."""
        self._grove.perform(ArchiveProject(project=self.id))

    def unarchive(self) -> None:
        self._grove.perform(ArchiveProject(project=self.id, restore=True))
