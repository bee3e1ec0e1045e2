"""An answer with citations, and a result that was put aside, written as a generation does."""

import weft
from weft.runtime.operations.executor import Editing
from weft.runtime.operations.node_writer import Draft, write_node
from weft.runtime.operations.scope import Scope
from weft.runtime.operations.tool_results import KeepResult
from weft.tree.citation import CitedSource, find_citations
from weft.tree.content import Text
from weft.tree.edge import SourceRole

SOURCES = (CitedSource(1, "tower.md", "Tower"), CitedSource(2, "doc:x"))


class SayCiting(Editing, verb="append"):
    """Write a node with the citations in its text."""

    tree: str
    node: str
    text: str

    def apply(self, scope: Scope) -> str:
        tree = scope.open_tree(self.tree)
        parent = scope.node(tree, self.node)
        draft = Draft(
            content=Text(self.text),
            sources=[(parent, SourceRole.PRIMARY)],
            citations=find_citations(self.text, SOURCES),
        )
        node, _ = write_node(scope, tree, draft)
        scope.record(tree, self.verb, {"nodes": [node.id], "parent": parent.ulid}, {"hide": [node.id]})
        return node.id


def cite(grove: weft.Grove, tree: str, node: str) -> None:
    grove.perform(SayCiting(tree=tree, node=node, text="It is lit [1], or not [9]."))
    grove.perform(KeepResult(tree=tree, node=node, tool="tide", arguments={"at": 1}, text="High.\nLow."))
