"""One story that uses every tool, told through MCP and through Python: the trees must be alike."""

import re
from typing import Any

import weft
from weft.runtime.contexts.items import attach_all

__all__ = ["looks", "through_mcp", "through_python"]

AGENT = "Echo"
_ULID = re.compile(r"[0-9A-Z]{26}")


def through_mcp(talk: Any) -> tuple[str, set[str]]:
    """Every tool once at least; the tree's id, and the tools that were used."""
    used: set[str] = set()

    def do(tool: str, /, **arguments: Any) -> Any:
        used.add(tool)
        return talk.do(tool, **arguments)

    planted = do("new_tree", title="Marie", text="Why does she hesitate?", systemContext="Be brief.")
    tree, root = planted["id"], planted["root"]
    assert tree in [each["id"] for each in do("trees")["trees"]]

    def at(tool: str, /, **arguments: Any) -> Any:
        return do(tool, tree=tree, **arguments)

    def made(tool: str, /, **arguments: Any) -> str:
        return at(tool, **arguments)["nodes"][0]

    fog = made("respond", node=root, text="Because of the fog.")
    fear = made("respond", node=root, text="Because she is afraid. Very much so.")
    both = made("merge", nodes=[fog, fear], text="Fog and fear.")
    made("annotate", node=fog, text="Too easy?")
    lake = made("edit", node=fog, text="Because of the lake.")
    one, two = at("split", node=fear, at="Very much")["nodes"]
    made("join", node=one)
    at("bookmark", node=both, label="the turn")
    at("bookmark", node=one)
    at("unbookmark", node=one)
    at("tag", node=both, name="good")
    at("tag", node=lake, name="bad")
    at("untag", node=lake, name="bad")
    at("exclude", node=fear)
    at("exclude", node=fog)
    at("include", node=fog)
    at("prune", node=two)
    at("restore", node=two)
    at("prune", node=lake)
    at("link", node=both, toNode=fog, note="see there")
    at("link", node=both, toNode=lake)
    at("unlink", node=both, toNode=lake)
    do("new_document", title="Notes", text="# Motivation\n\nFear.\n")
    assert [each["title"] for each in do("documents")["documents"]] == ["Notes"]
    at("link", node=root, toDocument="Notes")
    assert "Fear." in at("read", document="Notes")["reply"]
    at("write", document="Notes", append=True, text="More.\n")
    at("write", document="Notes", replaceLines=[3, 3], text="Fear of water.\n")
    at("attach", node=both, item="doc:Notes")
    at("collapse", first=root, last=fog, name="beginning", description="how it began")
    at("expand", name="beginning")
    at("switch", node=fog)
    at("switch", direction="parent")
    made("annotate", node=root, text="a slip")
    at("undo")
    at("redo")
    at("undo")
    assert AGENT in [each["name"] for each in do("agents")["agents"]]
    asked = at("continue", **{"from": both}, n=2, agent=AGENT)
    assert len(asked["nodes"]) == 2
    _look(do, tree, root, both)
    return tree, used


def _look(do: Any, tree: str, root: str, both: str) -> None:
    """Those that change nothing in the tree."""
    assert "Fog and fear." in do("view", tree=tree, node=both, full=True, withAnnotations=True)["reply"]
    assert "hesitate" in do("view", tree=tree, branch=both, shape="prose")["reply"]
    assert do("list", tree=tree, node=root, what="continuations")["reply"].startswith("✓")
    drawn = do("tree", tree=tree, depth=3, summary=True)
    assert f"[{root}]" in drawn["reply"]
    assert do("view", tree=tree, result=drawn["result"])["reply"] == drawn["reply"]
    assert "fog" in do("search", tree=tree, query="fog")["reply"]
    do("think", tree=tree, text="What would she say?")
    do("pin", tree=tree, node=root)
    do("stash", tree=tree, label="idea", text="a boat")
    do("stash", tree=tree, label="said", contentOf=root)
    do("recall", tree=tree, label="idea")
    assert "a boat" in do("memory", tree=tree)["reply"]
    assert "pinned" in do("memory", tree=tree, view="trace")["reply"]
    do("drop", tree=tree, node=root)
    do("drop", tree=tree, stash="idea")
    context = do("context", tree=tree, node=both, messages=True, manifest=True)
    assert "Fog and fear." in str(context["messages"])
    short = do("context", tree=tree, node=both)
    assert not {"messages", "manifest"} & short.keys()
    entries = context["manifest"]["entries"]
    assert sum(each["count"] for each in short["account"]) == sum(each.get("count", 1) for each in entries)
    assert do("help")["permissions"]
    do("help", command="view")


def through_python(grove: weft.Grove) -> str:
    """The same with handles."""
    tree = grove.plant("Marie", "Why does she hesitate?", system_context="Be brief.")
    root = tree.root
    fog = root.say("Because of the fog.")
    fear = root.say("Because she is afraid. Very much so.")
    both = fog.merge(fear, content="Fog and fear.")
    fog.annotate("Too easy?")
    lake = fog.edit("Because of the lake.")
    one, two = fear.split("Very much")
    one.join()
    both.bookmark("the turn")
    grove.tag(both, "good")
    fear.exclude()
    two.prune()
    two.restore()
    lake.prune()
    grove.link(both, fog, "see there")
    notes = grove.write_document("Notes", "# Motivation\n\nFear.\n")
    grove.link(root, notes)
    notes.save("# Motivation\n\nFear of water.\nMore.\n")
    attach_all(grove.caller, tree.id, both.id, ["doc:Notes"])
    tree.collapse(root, fog, "beginning", "how it began")
    tree.expand("beginning")
    root.switch()
    root.annotate("a slip")
    tree.undo()
    both.generate(n=2, agent=AGENT)
    return tree.id


def looks(grove: weft.Grove, tree: str) -> dict[str, Any]:
    """What can be seen of it, without names and times: they are chance's."""
    read = grove.read
    drawn = read.outline(tree)
    places = {line.node.id: index for index, line in enumerate(drawn)}

    def seen(node: Any) -> Any:
        edge = node.edge
        sources = () if edge is None else tuple((places.get(each.node), each.role) for each in edge.sources)
        return (
            _ULID.sub("ID", node.text),
            node.role,
            node.status,
            node.author_type,
            sources,
            places.get(node.edited_from),
            node.metadata.excluded,
            node.metadata.bookmarked,
            node.metadata.bookmark_label,
            [(item.type, item.sha256) for item in node.attachments],
        )

    kept = read.tree(tree)
    return {
        "tree": (kept.title, kept.mode, kept.system_context, kept.counters),
        "nodes": [(seen(line.node), line.indent) for line in drawn],
        "notes": [
            [seen(each) for each in read.children(tree, line.node.id, annotations=True)] for line in drawn
        ],
        "groups": [
            (each.name, each.description, places[each.first], places[each.last]) for each in read.groups(tree)
        ],
        "tags": sorted((tag.label, tag.target.kind) for tag in read.tags()),
        "links": sorted(
            sorted((end.kind.value, places.get(end.id, -1)) for end in link.ends)
            for line in drawn
            for link in grove.links(grove.tree(tree).node(line.node.id))
        ),
        "documents": [(each.title, each.content) for each in read.documents()],
    }
