"""A tree as exporters read it: its live nodes, parents before children, and who wrote them."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.tree.agent import Agent, AgentType
from weft.tree.content import is_blank
from weft.tree.edge import EdgeType, SourceRole
from weft.tree.node import Node
from weft.tree.tree import Tree


@dataclass(frozen=True)
class ExportedTree:
    """All of a tree, or one path of it."""

    tree: Tree
    nodes: Sequence[Node]
    agents: Mapping[str, Agent]
    current: str | None = None
    media: Callable[[str], bytes] | None = None
    """The bytes of a picture or recording by its `ref`."""

    @cached_property
    def by_id(self) -> dict[str, Node]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def _children(self) -> dict[str | None, list[Node]]:
        below: defaultdict[str | None, list[Node]] = defaultdict(list)
        for node in self.nodes:
            if not is_annotation(node):
                below[self.parent_id(node)].append(node)
        return below

    def parent_id(self, node: Node) -> str | None:
        """The node it continues, as far as that is exported too."""
        sources = () if node.edge is None else node.edge.sources
        known = (each.node for each in sources if each.role is SourceRole.PRIMARY)
        return next((each for each in known if each in self.by_id), None)

    def children(self, node: Node | None) -> list[Node]:
        """What continues a node; of None, the roots."""
        return self._children.get(None if node is None else node.id, [])

    def annotations(self, node: Node) -> list[Node]:
        return self._annotations.get(node.id, [])

    @cached_property
    def _annotations(self) -> dict[str, list[Node]]:
        notes: defaultdict[str, list[Node]] = defaultdict(list)
        for node in filter(is_annotation, self.nodes):
            parent = self.parent_id(node)
            if parent is not None:
                notes[parent].append(node)
        return notes

    def walk(self) -> Iterator[tuple[Node, int, int, int]]:
        """Every node in reading order: with how many forks it is below, which branch it is, and of how many."""
        roots = self.children(None)
        forked = int(len(roots) > 1)
        pending = [(node, forked, index, len(roots)) for index, node in reversed(list(enumerate(roots)))]
        while pending:
            node, forks, index, count = pending.pop()
            yield node, forks, index, count
            below = self.children(node)
            deeper = forks + (len(below) > 1)
            pending.extend((child, deeper, at, len(below)) for at, child in reversed(list(enumerate(below))))

    def leaves(self) -> Iterator[Node]:
        return (node for node, *_ in self.walk() if not self.children(node))

    def path(self, node: Node) -> list[Node]:
        """Root to node, without an empty root."""
        path: list[Node] = []
        here: Node | None = node
        while here is not None:
            path.append(here)
            parent = self.parent_id(here)
            here = None if parent is None else self.by_id[parent]
        return [each for each in reversed(path) if not is_blank(each.content)]

    def author(self, node: Node) -> str:
        agent = self.agents.get(node.author_id)
        return node.author_type.value if agent is None else agent.name

    def model(self, node: Node) -> str:
        """The model's name, without the provider's; empty for people."""
        agent = self.agents.get(node.author_id)
        reference = "" if agent is None or agent.model_ref is None else agent.model_ref
        return reference.partition(":")[2] if node.author_type is AgentType.MODEL else ""


def is_annotation(node: Node) -> bool:
    return node.edge is not None and node.edge.type is EdgeType.ANNOTATION
