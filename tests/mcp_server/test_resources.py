"""Trees and documents by address, prompts that bring them along, and being told of changes."""

import anyio
import pytest
from mcp import MCPError
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from tests.covers import covers
from tests.mcp_server.talk import talking

from weft.mcp_server import resources
from weft.mcp_server.server import McpFace
from weft.tree.agent import Permission


def all_pages(talk) -> list[str]:
    found, cursor = [], None
    while True:
        page = talk.ask("list_resources", cursor=cursor)
        found += [each.uri for each in page.resources]
        cursor = page.next_cursor
        if cursor is None:
            return found


@covers("command.leaving-the-tree", "mcp.tools-and-resources")
def test_who_may_not_leave_its_tree_reads_no_document_that_no_tree_is_linked_to(fresh_loom):
    secret = fresh_loom.write_document("Secret", "Nobody's.")
    linked = fresh_loom.write_document("Notes", "Somebody's.")
    fresh_loom.link(fresh_loom.plant("Tea"), linked)
    for name, custom in (("Muse", {}), ("Traveller", {"crossTree": True})):
        fresh_loom.add_agent(name, model_ref="scripted:x", permissions=list(Permission), custom=custom)
        with talking(McpFace(fresh_loom.calling(name)).server()) as talk:
            read = talk.ask("read_resource", f"weft://document/{linked.id}")
            assert read.contents[0].text == "Somebody's."
            if custom:
                assert talk.ask("read_resource", f"weft://document/{secret.id}").contents
                continue
            with pytest.raises(MCPError, match="crossTree not enabled"):
                talk.ask("read_resource", f"weft://document/{secret.id}")
            with pytest.raises(MCPError, match="crossTree not enabled"):
                talk.ask("get_prompt", "review-document", {"document": "Secret"})


def newest_first(things):
    """By their ids: of those made within a millisecond either may come first."""
    return sorted((thing.id for thing in things), reverse=True)


@covers("mcp.tools-and-resources", "mcp.paging")
@pytest.mark.parametrize("page", [1, 2, 3, 4, 5, 100])
def test_all_trees_and_documents_are_listed_page_by_page(fresh_loom, monkeypatch, page):
    monkeypatch.setattr(resources, "PAGE", page)
    trees = [fresh_loom.plant(f"T{number}") for number in range(4)]
    papers = [fresh_loom.write_document(f"D{number}") for number in range(3)]
    with talking(McpFace(fresh_loom).server()) as talk:
        listed = all_pages(talk)
        assert listed == [
            *(f"weft://tree/{name}" for name in newest_first(trees)),
            *(f"weft://document/{name}" for name in newest_first(papers)),
        ]
        for uri in listed:
            assert talk.ask("read_resource", uri).contents[0].uri == uri


@covers("mcp.paging")
def test_what_is_planted_meanwhile_moves_no_page(loom, talk, monkeypatch):
    monkeypatch.setattr(resources, "PAGE", 2)
    old = [loom.plant(f"Old {number}") for number in range(5)]
    first = talk.ask("list_resources")
    loom.plant("New")
    old[0].say("changed")
    second = talk.ask("list_resources", cursor=first.next_cursor)
    uris = [each.uri for each in (*first.resources, *second.resources)]
    assert uris == [f"weft://tree/{name}" for name in newest_first(old)[:4]]


@covers("mcp.paging")
@pytest.mark.parametrize("cursor", ["", "x", "tree:", "tree:abc", "tree:' or 1=1", "document:zzz"])
def test_a_cursor_that_is_none_of_ours_is_refused(talk, cursor):
    with pytest.raises(MCPError, match="unknown cursor"):
        talk.ask("list_resources", cursor=cursor)


@covers("mcp.tools-and-resources")
def test_a_tree_a_node_a_branch_and_a_document_are_read(loom, talk):
    tree = loom.plant("Marie", "Why?")
    said = tree.say("[a7x2] human · 3m ago\nBecause.")
    said.annotate("Really?")
    edited = said.edit("Because of it.")
    paper = loom.write_document("Notes", "# One\n\ntwo\n")

    def read(rest: str) -> str:
        return talk.ask("read_resource", f"weft://{rest}").contents[0].text

    drawn = read(f"tree/{tree.id}")
    assert drawn.startswith('Tree: "Marie" (dialogue mode)\n4 nodes · 2 branches · depth: 1\n')
    assert f"[{said.local_id}]" in drawn
    node = read(f"tree/{tree.id}/node/{said.local_id}")
    assert node.startswith(f"[{said.local_id}] human · ")
    # Nothing that is said can pass for a heading.
    assert "(a7x2) human · 3m ago\nBecause." in node
    assert node.endswith("\nReally?")
    branch = read(f"tree/{tree.id}/branch/{edited.local_id.replace(chr(39), '%27')}")
    assert branch.endswith("Because of it.")
    assert branch.startswith(f"[{tree.root.local_id}] human · ")
    assert read(f"document/{paper.id}") == "# One\n\ntwo\n"
    kinds = {each.uri_template for each in talk.ask("list_resource_templates").resource_templates}
    assert "weft://tree/{tree}/node/{node}" in kinds


@covers("mcp.tools-and-resources")
@pytest.mark.parametrize(
    "uri",
    [
        "file:///etc/passwd",
        "weft://tree/../../etc",
        "weft://tree/x",
        "weft://tree/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "weft://tree/01ARZ3NDEKTSV4RRFFQ69G5FAV/node/zzzz",
        "weft://document/01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "weft://grove/keys",
        "weft://" + "x" * 100_000,
    ],
)
def test_no_other_address_is_read(talk, uri):
    with pytest.raises(MCPError) as told:
        talk.ask("read_resource", uri)
    assert told.value.error.data["code"] in {"INVALID_INPUT", "NOT_FOUND"}


@covers("mcp.permissions")
def test_resources_and_prompts_ask_for_the_same_rights(loom):
    tree = loom.plant("Secret", "hidden words")
    paper = loom.write_document("Hidden", "hidden words")
    with talking(McpFace(loom, within=frozenset({Permission.LOOM_AWARE})).server()) as talk:
        assert all(uri.startswith("weft://tree/") for uri in all_pages(talk))
        for ask in (
            ("read_resource", f"weft://document/{paper.id}"),
            ("get_prompt", "review-document", {"document": "Hidden"}),
        ):
            with pytest.raises(MCPError) as told:
                talk.ask(*ask)
            assert told.value.error.data["code"] == "PERMISSION_DENIED"
    with talking(McpFace(loom, within=frozenset()).server()) as talk:
        for ask in (
            ("list_resources",),
            ("read_resource", f"weft://tree/{tree.id}"),
            ("get_prompt", "summarise-branch", {"tree": tree.id}),
        ):
            with pytest.raises(MCPError) as told:
                talk.ask(*ask)
            assert told.value.error.data["code"] == "PERMISSION_DENIED"


@covers("mcp.prompts")
def test_prompts_bring_along_what_they_are_about(loom, talk):
    tree = loom.plant("Marie", "Why?")
    fog, fear = tree.root.say("The fog."), tree.root.say("The fear.")
    loom.write_document("Essay", "# Claim\n")
    names = {each.name for each in talk.ask("list_prompts").prompts}
    asked = {
        "summarise-branch": {"tree": tree.id, "node": fog.local_id},
        "compare-siblings": {"tree": tree.id, "node": fog.local_id},
        "continue-from-here": {"tree": tree.id},
        "review-document": {"document": "Essay"},
    }
    assert names == asked.keys()
    said = {}
    for name, given in asked.items():
        messages = talk.ask("get_prompt", name, given).messages
        said[name] = [getattr(each.content, "text", None) or each.content.resource.text for each in messages]
    assert "The fog." in said["summarise-branch"][0]
    assert [f"[{each.local_id}]" in said["compare-siblings"][-1] for each in (fog, fear)] == [True, True]
    assert len(said["compare-siblings"]) == 3
    assert "`respond`" in said["continue-from-here"][-1]
    assert said["review-document"][0] == "# Claim\n"


@covers("mcp.prompts")
@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("dance", {}, "there is no prompt"),
        ("compare-siblings", {}, "tree is missing"),
        ("compare-siblings", {"tree": "x", "more": "y"}, "more is no argument"),
        ("review-document", {"document": "not there"}, "not there"),
    ],
)
def test_a_prompt_that_cannot_be_made_says_why(talk, name, given, said):
    with pytest.raises(MCPError, match=said):
        talk.ask("get_prompt", name, given)


@covers("mcp.completion")
def test_titles_and_ids_are_completed(loom, talk):
    from mcp_types import PromptReference

    tree = loom.plant("Marigold")
    reference = PromptReference(type="ref/prompt", name="summarise-branch")
    for begun in ("mari", tree.id[:12].lower()):
        told = talk.ask("complete", reference, {"name": "tree", "value": begun})
        assert tree.id in told.completion.values
    assert talk.ask("complete", reference, {"name": "node", "value": "a"}).completion.values == []


@covers("mcp.listening")
def test_a_client_is_told_of_changes_to_what_it_listens_to(loom):
    tree, other = loom.plant("Watched"), loom.plant("Other")
    paper = loom.write_document("Watched too", "x")
    uris = [f"weft://tree/{tree.id}", f"weft://document/{paper.id}"]

    heard = []

    async def until(stream, expected):
        # On PostgreSQL, what was made just before may be told late: behind an older transaction.
        with anyio.fail_after(30):
            async for event in stream:
                heard.append(event)
                if event == expected:
                    return

    async def story(client):
        async with client.listen(resources_list_changed=True, resource_subscriptions=uris) as stream:
            await anyio.to_thread.run_sync(other.say, "not this")
            await anyio.to_thread.run_sync(tree.say, "this")
            await until(stream, ResourceUpdated(uris[0]))
            await anyio.to_thread.run_sync(paper.save, "y")
            await until(stream, ResourceUpdated(uris[1]))
            await anyio.to_thread.run_sync(loom.plant, "Planted")
            await until(stream, ResourcesListChanged())

    with talking(McpFace(loom).server()) as talk:
        talk.portal.call(story, talk.client)
    assert {event.uri for event in heard if isinstance(event, ResourceUpdated)} == set(uris)


@covers("mcp.listening")
def test_a_client_is_told_when_a_document_leaves_the_list_or_returns_to_it(loom):
    paper = loom.write_document("Put away", "x")

    async def story(client):
        heard = []
        async with client.listen(resources_list_changed=True) as stream:
            for change in (paper.archive, paper.unarchive):
                await anyio.to_thread.run_sync(change)
                with anyio.fail_after(30):
                    heard.append(await anext(aiter(stream)))
        return heard

    with talking(McpFace(loom).server()) as talk:
        heard = talk.portal.call(story, talk.client)
    assert [type(each).__name__ for each in heard] == ["ResourcesListChanged"] * 2


@covers("mcp.listening", "mcp.permissions")
def test_what_may_not_be_read_cannot_be_listened_to(loom):
    paper = loom.write_document("Private", "x")

    async def story(client):
        async with client.listen(resource_subscriptions=[f"weft://document/{paper.id}"]):
            pass

    face = McpFace(loom, within=frozenset({Permission.LOOM_AWARE}))
    with talking(face.server()) as talk, pytest.raises(MCPError, match="doc_read not enabled"):
        talk.portal.call(story, talk.client)
