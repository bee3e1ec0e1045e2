"""Recipes over the path of a tree, and ranges of it that are folded."""

import json

import pytest
from tests.covers import covers
from tests.recipes.loading import contents, path_recipe, yoj

from weft.errors import InvalidInputError, NotFoundError
from weft.tree.item import Item


@pytest.fixture
def talk(loom):
    tree = loom.plant("A talk", "", system_context="Be brief.")
    nodes = [tree.say(text) for text in ("Can we cross?", "The fog is thick.", "And now?", "It lifts.")]
    return tree, nodes


@covers("kala.path", "recipe.framing")
def test_a_path_of_a_tree_is_the_stream_of_messages(loom, talk):
    tree, nodes = talk
    nodes[1].exclude()
    found = loom.recipes.run({**path_recipe(tree, nodes[2], yoj("messages")), "includeDocId": True})
    assert found.messages == [
        {"role": "user", "content": "Can we cross?", "docId": nodes[0].id},
        {"role": "user", "content": "And now?", "docId": nodes[2].id},
    ]
    framed = loom.recipes.run(path_recipe(tree, nodes[2], yoj("messages", "Said: ")))
    assert contents(framed) == ["Said: Can we cross?", "Said: And now?"]
    assert loom.recipes.run(path_recipe(tree, nodes[2], yoj("summaries"))).messages == []
    with pytest.raises(NotFoundError):
        loom.recipes.run(
            {"kala": {"kind": "Path", "treeId": "no such tree", "nodeId": "x"}, "presetId": "dialogue"}
        )


@covers("recipe.include-doc-id", "collapse.tree-keeps-nodes")
def test_only_who_asks_for_ids_gets_them_and_folding_works_all_the_same(loom, talk):
    tree, nodes = talk
    tree.collapse(nodes[0], nodes[1], "fog")
    recipe = path_recipe(tree, nodes[3], yoj("messages"), filters=["collapseGroupReplacer"])
    found = loom.recipes.run(recipe)
    assert found.messages[1:] == [{"role": "user", "content": each} for each in ("And now?", "It lifts.")]
    assert [entry.id for entry in found.manifest if entry.reason == "sent"][1:] == [
        node.id for node in nodes[2:]
    ]
    asked = loom.recipes.run({**recipe, "includeDocId": True})
    assert [each.get("docId") for each in asked.messages[1:]] == [node.id for node in nodes[2:]]
    assert len(found.messages) == len(asked.messages) == 3


@covers("kala.fields-checked")
@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"treeId": " "}, "kala.treeId"),
        ({"nodeId": "a"}, "kala.nodeId"),
        ({"limit": -1}, "kala.limit"),
        ({"window": 0}, "kala.window"),
        ({"maxTokens": -1}, "kala.maxTokens"),
        ({"agent": ""}, "kala.agent"),
        ({"agent": "\0"}, "kala.agent"),
        ({"strategy": "x"}, "kala.strategy"),
        ({"step": 5}, "kala.step"),
        ({"preferences": {"tokenBuffer": 1, "x": 1}}, "kala.preferences.x"),
        ({"preferences": {"truncationStrategy": 5}}, "kala.preferences.truncationStrategy"),
        ({"library": "x"}, "kala.library"),
        ({"strip": -1}, "kala.strip"),
    ],
)
def test_a_wrong_field_of_a_path_is_named(loom, talk, wrong, path):
    tree, nodes = talk
    recipe = path_recipe(tree, nodes[2], yoj("layered"))
    with pytest.raises(InvalidInputError) as caught:
        loom.recipes.run({**recipe, "kala": {**recipe["kala"], **wrong}})
    assert caught.value.path == path


@covers("kala.fields-checked")
def test_a_reference_that_means_several_is_named_too(loom, talk):
    tree, nodes = talk
    recipe = path_recipe(tree, nodes[2], yoj("dialogue"))
    with pytest.raises(InvalidInputError, match="ambiguous") as caught:
        loom.recipes.run({**recipe, "kala": {**recipe["kala"], "nodeId": nodes[2].id[:5]}})
    assert caught.value.path == "kala.nodeId"


@covers("recipe.include-doc-id")
@pytest.mark.parametrize("stream", ["dialogue", "layered"])
def test_what_is_assembled_is_no_record_and_has_no_id(loom, talk, stream):
    tree, nodes = talk
    recipe = path_recipe(tree, nodes[2], yoj(stream))
    assert loom.recipes.run({**recipe, "includeDocId": True}).messages == loom.recipes.run(recipe).messages


@covers("kala.path")
def test_an_option_that_is_null_is_none(loom, talk):
    tree, nodes = talk
    recipe = path_recipe(tree, nodes[2], yoj("dialogue"))
    options = dict.fromkeys(("limit", "preferences", "annotations", "agent", "step"))
    assert loom.recipes.run({**recipe, "kala": {**recipe["kala"], **options}}).messages == (
        loom.recipes.run(recipe).messages
    )


@covers("kala.path")
def test_tools_of_a_path_are_calls_and_results_as_filters_know_them(loom):
    from weft.context.plain_messages import plain_messages_of
    from weft.tree.content import Mixed, Text, Thinking, ToolCall, ToolResult
    from weft.tree.node import Role

    call = ToolCall(id="c", name="look", arguments={"x": 1})
    said = Mixed((Thinking(text="hm", opaque={}), Text("Let me "), Text("look."), call))
    function = {"name": "look", "arguments": '{"x":1}'}
    assert list(plain_messages_of(Role.ASSISTANT, said)) == [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
    ]
    assert list(plain_messages_of(Role.TOOL, ToolResult(call_id="c", content="seen"))) == [
        {"role": "tool", "tool_call_id": "c", "content": "seen"}
    ]
    assert list(plain_messages_of(Role.ASSISTANT, Thinking(text="hm", opaque={}))) == []
    assert list(plain_messages_of(Role.USER, Text(""))) == [{"role": "user", "content": ""}]


@covers("recipe.built-ins")
def test_a_dialogue_is_a_recipe_whose_messages_and_account_are_the_contexts(loom, talk):
    _, nodes = talk
    context = nodes[-1].context(limit=60)
    found = loom.recipes.at(nodes[-1], "dialogue", limit=60)
    assert found.messages == [
        {"role": "system", "content": "Be brief."},
        *({"role": message.role.value, "content": message.text} for message in context.messages),
    ]
    assert found.messages == loom.recipes.at(nodes[-1], limit=60).messages
    told = [(entry.kind, entry.id, entry.outcome) for entry in found.manifest]
    for entry in context.manifest:
        assert (entry.kind, entry.id, entry.outcome) in told
    assert found.manifest.facts.budget == 60
    assert found.manifest.facts.settings["recipe"]["model"]["components"] == [
        {"kind": "yoj", "name": "dialogue", "framing": ""}
    ]
    with pytest.raises(InvalidInputError, match="the tree is in dialogue mode"):
        loom.recipes.at(nodes[-1], "buffer")
    with pytest.raises(
        InvalidInputError, match="unknown option 'kala.limits' .hint: did you mean limit"
    ) as caught:
        loom.recipes.at(nodes[-1], "dialogue", limits=60)
    assert caught.value.path == "kala.limits"
    with pytest.raises(InvalidInputError, match="limit must be a whole number, got '60'"):
        loom.recipes.at(nodes[-1], "dialogue", limit="60")


@covers("recipe.built-ins")
def test_an_assembled_stream_is_a_part_of_other_recipes(loom, talk):
    _, nodes = talk
    model = {"components": [{"kind": "literal", "value": "First."}, yoj("dialogue")], "filters": ["repair"]}
    found = loom.recipes.at(nodes[-1], {"model": model}, limit=1_000)
    assert [message["role"] for message in found.messages] == ["system", "system", "user"]
    assert any(entry.reason.startswith("filters[0] repair") for entry in found.manifest)
    with pytest.raises(InvalidInputError, match="a recipe is an object"):
        loom.recipes.at(nodes[-1], 5)


@covers("recipe.built-ins")
def test_a_document_is_a_recipe_too(loom):
    story = loom.plant("A story", "Once", mode="buffer")
    node = story.say(" upon a time")
    found = loom.recipes.at(node)
    assert found.messages == [{"role": "user", "content": "Once upon a time"}]
    with pytest.raises(InvalidInputError, match="the tree is in buffer mode"):
        loom.recipes.at(node, "dialogue")


@covers("recipe.built-ins")
def test_a_request_in_layers_is_a_recipe_too(loom, talk):
    from weft.tree.item import Item

    _, nodes = talk
    nodes[-1].attach(Item(id="note", type="note", content="The ferry leaves at six."))
    envelope = nodes[-1].envelope(limit=2_000)
    found = loom.recipes.at(nodes[-1], "layered", limit=2_000)
    said = [message.text for message in envelope.messages]
    assert contents(found)[-len(said) :] == said
    assert any("The ferry leaves at six." in each for each in contents(found))
    told = [(entry.kind, entry.id, entry.outcome) for entry in found.manifest]
    assert all((entry.kind, entry.id, entry.outcome) in told for entry in envelope.manifest)
    inline = loom.recipes.at(nodes[-1], "layered", limit=2_000, library="inline")
    assert inline.messages
    with pytest.raises(InvalidInputError, match="kala.library is an option of layers"):
        loom.recipes.at(nodes[-1], "dialogue", library="inline")


@covers("collapse.range-of-a-path", "collapse.tree-keeps-nodes")
def test_a_folded_range_is_a_placeholder_in_contexts_and_in_recipes(loom, talk):
    tree, nodes = talk
    group = tree.collapse(nodes[0], nodes[1], "the fog", "Whether to cross")
    placeholder = json.dumps(
        {
            "type": "collapsed_group",
            "name": "the fog",
            "responseId": group.id,
            "description": "Whether to cross",
        },
        separators=(",", ":"),
    )
    context = nodes[-1].context()
    assert [message.text for message in context.messages] == [f"{placeholder}\n\nAnd now?\n\nIt lifts."]
    outcomes = {entry.id: entry.outcome for entry in context.manifest}
    assert [outcomes[node.local_id] for node in nodes[:2]] == ["collapsed"] * 2
    (added,) = [entry for entry in context.manifest if entry.outcome == "added" and entry.id == "the fog"]
    assert (added.reason, added.position) == ("stands for the folded range the fog", nodes[0].value.depth)
    assert added.tokens == added.size >= len(placeholder) // 4
    check_tokens(nodes[-1])
    expanded = nodes[-1].context(preferences={"truncationStrategy": "rollingWindow"})
    assert not context.diff(expanded)
    run = path_recipe(tree, nodes[-1], yoj("messages"), filters=["collapseGroupReplacer"])
    assert contents(loom.recipes.run(run)) == [placeholder, "And now?", "It lifts."]
    assert contents(loom.recipes.at(nodes[-1]))[1:] == [message.text for message in context.messages]
    assert [node.text for node in tree.path][1:] == [node.text for node in nodes]
    tree.expand("the fog")
    assert nodes[-1].context().messages[0].text.startswith("Can we cross?")
    assert contents(loom.recipes.run(run))[0] == "Can we cross?"
    tree.undo()
    assert nodes[-1].context().messages[0].text.startswith(placeholder)
    tree.uncollapse("the fog")
    assert nodes[-1].context().messages[0].text.startswith("Can we cross?")
    check_tokens(nodes[-1])


@covers("collapse.range-of-a-path", "collapse.tree-keeps-nodes")
def test_a_folded_range_is_a_placeholder_in_requests_in_layers(loom):
    loom.add_agent(f"Muse {loom.name[-12:]}", model_ref="local:small")
    tree = loom.plant("Layers and folds", "")
    asked = tree.say("Can we cross?")
    answer = asked.say("Not in this fog.", author=f"Muse {loom.name[-12:]}")
    last = answer.say("And now?")
    group = tree.collapse(asked, answer, "the fog", "Whether to cross")
    envelope = last.envelope()
    said = "\n".join(message.text for message in envelope.messages)
    assert json.loads(said.split("\n")[0])["responseId"] == group.id
    assert "Not in this fog." not in said
    assert "And now?" in said
    assert contents(loom.recipes.at(last, "layered"))[-1] == envelope.messages[-1].text
    tree.expand("the fog")
    assert "Not in this fog." in "".join(message.text for message in last.envelope().messages)


@covers("collapse.range-of-a-path")
def test_a_placeholder_costs_the_same_with_and_without_items_before_it(loom):
    loom.add_agent("Muse", model_ref="local:small")
    costs = []
    for items in ([], [Item(id="tide.md", type="note", content="High at six.")]):
        tree = loom.plant("Folds and items", "")
        asked = tree.say("Can we cross?").attach(*items)
        answer = asked.say("Not in this fog.", author="Muse")
        tree.collapse(asked, answer, "the fog", "Whether to cross")
        found = answer.say("And now?").envelope().manifest
        entries = {entry.id: entry for entry in found}
        assert entries["the fog"].outcome == "added"
        assert entries[asked.local_id].outcome == entries[answer.local_id].outcome == "collapsed"
        assert found.tokens == sum(entry.tokens for entry in found)
        costs.append(entries["the fog"].tokens)
    assert costs[0] == costs[1]


def check_tokens(node):
    context = node.context()
    assert context.tokens == sum(entry.tokens for entry in context.manifest)


@covers("collapse.range-of-a-path")
def test_a_fold_without_a_description_is_described_in_its_own_words(loom, talk):
    tree, nodes = talk
    assert tree.collapse(nodes[0], nodes[2], "a").description == "3 nodes: “Can we cross?” … “And now?”"
    assert tree.collapse(nodes[3], nodes[3], "b").description == "1 node: “It lifts.”"
    assert tree.collapse(nodes[0], nodes[2], "a", "mine").description == "mine"
    assert tree.collapse(nodes[0], nodes[2], "a").description == "mine"
    assert tree.collapse(tree.root, tree.root, "nothing").description == "1 node"


@covers("collapse.range-of-a-path")
def test_of_several_folds_the_newest_has_a_node_and_a_branch_folds_what_it_shares(loom, talk):
    tree, nodes = talk
    tree.collapse(nodes[0], nodes[3], "all")
    tree.collapse(nodes[0], nodes[1], "begin")
    said = nodes[3].context().messages[0].text.split("\n\n")
    assert [json.loads(each)["name"] for each in said] == ["begin", "all"]
    branch = nodes[2].say("Elsewhere.")
    said = branch.context().messages[0].text.split("\n\n")
    assert [json.loads(each)["name"] for each in said[:2]] == ["begin", "all"]
    assert said[2:] == ["Elsewhere."]
    tree.collapse(nodes[0], nodes[3], "again")
    (only,) = nodes[3].context().messages[0].text.split("\n\n")
    assert json.loads(only)["name"] == "again"
    apart = tree.root.say("Apart.")
    assert apart.context().messages[0].text == "Apart."
    run = path_recipe(tree, branch, yoj("messages"), filters=["collapseGroupReplacer"])
    found = contents(loom.recipes.run(run))
    assert json.loads(found[0])["name"] == "again"
    assert found[1:] == ["Elsewhere."]
    check_tokens(branch)


@covers("collapse.range-of-a-path")
def test_a_document_shows_a_remark_where_it_is_folded(loom):
    story = loom.plant("Folded story", "Once", mode="buffer")
    first = story.say(" upon a time.")
    last = story.say(" There was a fog.")
    story.say(" It lifted.")
    story.collapse(first, last, "fog", "there was fog")
    assert story.context().document == "Once\n[… fog: there was fog …]\n It lifted."


@covers("collapse.range-of-a-path", "filter.collapse-newest-wins")
def test_where_folds_overlap_the_newest_decides_in_contexts_as_in_recipes(loom, talk):
    tree, nodes = talk
    tree.collapse(nodes[0], nodes[1], "older")
    tree.collapse(nodes[1], nodes[2], "newer")

    def shown(recipe):
        text = "\n\n".join(contents(loom.recipes.at(nodes[3], recipe, limit=1_000)))
        words = ("older", "newer", "Can we cross?", "The fog is thick.", "And now?", "It lifts.")
        return [word for word in words if f'"name":"{word}"' in text or f"\n\n{word}" in f"\n\n{text}"]

    messages = {"model": {"components": [yoj("messages")], "filters": ["collapseGroupReplacer"]}}
    assert shown(messages) == shown("dialogue") == ["older", "newer", "It lifts."]
    tree.expand("newer")
    assert shown(messages) == shown("dialogue") == ["older", "The fog is thick.", "And now?", "It lifts."]
    tree.expand("older")
    assert (
        shown(messages)
        == shown("dialogue")
        == [*("Can we cross?", "The fog is thick.", "And now?", "It lifts.")]
    )
