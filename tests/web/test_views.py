"""Compare, map, search, merge, provenance, tokens, documents, settings: each as a person uses it in a browser."""

import json

import pytest
from playwright.sync_api import expect
from tests.covers import covers

from weft.tree.attempt import RawResponse


@pytest.fixture
def tree(site):
    """A question with three answers; one is bookmarked and goes on."""
    tree = site.plant("The harbour", "Why does she climb?")
    for text in ("Because of the lamp, she says.", "Because of the stairs, she says.", "She does not climb."):
        tree.root.say(text)
    first = tree.root.children[0]
    first.bookmark("the lamp")
    first.say("And when it is out?")
    return tree


@covers("web.siblings")
def test_siblings_are_compared_by_word_and_one_is_picked_by_its_number(site, tree):
    first, second, _ = tree.root.children
    screen = site.open(f"/t/{tree.id}/{first.local_id}/compare")
    columns = screen.page.get_by_role("group", name="3 siblings, side by side").get_by_role("article")
    expect(columns).to_have_count(3)
    expect(columns.nth(1).locator("ins")).to_have_text("stairs")
    expect(columns.nth(1).locator("ins")).to_have_attribute("title", "instead of: lamp")
    screen.press("w")
    expect(columns.nth(1)).to_have_attribute("aria-label", f"Sibling 2, {second.local_id}")
    assert screen.violations() == []
    screen.press("2")
    expect(screen.here).to_contain_text("Because of the stairs")


@covers("web.siblings")
def test_a_sibling_pruned_in_the_comparison_comes_back_with_undo(site, tree):
    third = tree.root.children[2]
    screen = site.open(f"/t/{tree.id}/{third.local_id}/compare")
    column = screen.page.get_by_role("article", name=third.local_id)
    column.get_by_role("button", name="Prune").click()
    expect(screen.page.get_by_text(f"Pruned {third.local_id}.").first).to_be_visible()
    screen.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(screen.page.get_by_role("group", name="3 siblings, side by side")).to_be_visible()


@covers("web.map", "web.map-marks", "web.map-hoist-and-walk")
def test_the_map_is_walked_hoisted_and_filtered_by_keyboard(site, tree):
    first, second, _ = tree.root.children
    screen = site.open(f"/t/{tree.id}/map")
    item = screen.page.get_by_role("treeitem")
    expect(item).to_be_focused()
    expect(item).to_contain_text("And when it is out?")
    expect(screen.page.locator("svg.weave .mark")).to_have_count(5)
    expect(screen.page.locator("svg.weave text.strong", has_text="the lamp")).to_be_visible()
    screen.press("ArrowUp")
    expect(item).to_contain_text(f"{first.local_id}, bookmarked")
    screen.press("ArrowRight")
    expect(item).to_contain_text("Sibling 2 of 3, no continuations")
    screen.press("B")
    expect(item).to_contain_text(first.local_id)
    screen.press("h")
    expect(screen.page.locator("svg.weave .mark")).to_have_count(2)
    screen.press("H")
    expect(screen.page.locator("svg.weave .mark")).to_have_count(5)
    screen.page.get_by_role("button", name="show only these").click()
    expect(screen.page.locator("svg.weave .dimmed")).to_have_count(0)
    assert screen.violations() == []
    screen.page.get_by_role("option", name="the lamp").click()
    screen.press("Enter")
    expect(screen.here).to_contain_text("Because of the lamp")
    assert second.local_id


@covers("web.grove")
def test_a_search_is_in_its_address_and_opens_a_result_in_its_place(site, tree):
    screen = site.open("/search")
    field = screen.page.get_by_role("combobox")
    expect(field).to_be_focused()
    field.fill("stairs")
    results = screen.page.get_by_role("listbox").get_by_role("option")
    expect(results).to_have_count(1)
    expect(results.locator("mark")).to_have_text("stairs")
    expect(screen.page).to_have_url(f"{site.url}/search?q=stairs")
    expect(screen.page.get_by_label("The result in its place").locator("mark")).to_have_text("stairs")
    assert screen.violations() == []
    field.fill("harbour OR lamp")
    expect(results.first).to_be_visible()
    field.fill("stairs")
    expect(results).to_have_count(1)
    field.press("Enter")
    expect(screen.here).to_contain_text("Because of the stairs")


@covers("web.reader")
def test_nodes_are_merged_with_their_roles(site, tree):
    first, second, third = tree.root.children
    screen = site.open(f"/t/{tree.id}/{first.local_id}/merge?with={second.local_id},{third.local_id}")
    sources = screen.page.get_by_label("Sources, in order").get_by_role("listitem")
    expect(sources).to_have_count(3)
    sources.nth(2).focus()
    screen.press("3")
    expect(sources.nth(2).get_by_role("radio", name="Instruction")).to_be_checked()
    expect(screen.page.get_by_text("Source 3 changes the system text.")).to_be_visible()
    assert screen.violations() == []
    field = screen.page.get_by_label("Your message, sent with the sources")
    field.fill("Both reasons, then.")
    field.press("Alt+Enter")
    expect(screen.here).to_contain_text("Both reasons, then.")
    merged = tree.refresh().cursor.value
    assert merged.edge is not None
    roles = {source.node: source.role for source in merged.edge.sources}
    assert [roles[node.id] for node in (first, second, third)] == ["primary", "primary", "instruction"]


def probable(text: str, *others: str) -> dict[str, object]:
    tops = [{"token": each, "logprob": -0.5 - at} for at, each in enumerate((text, *others))]
    return {"token": text, "logprob": -0.5, "top_logprobs": tops}


@covers("web.token-view", "web.provenance")
def test_a_token_shows_its_alternatives_and_another_one_branches_there(site, tree):
    tokens = [probable("She"), probable(" counts", " climbs", " waits"), probable(" steps.")]
    body = json.dumps({"choices": [{"index": 0, "logprobs": {"content": tokens}}]}).encode()
    response = RawResponse(body=body, provider="scripted", model="echo")
    node = tree.cursor.say("She counts steps.", author="Echo", response=response)
    screen = site.open(f"/t/{tree.id}/{node.local_id}?panel=tokens")
    panel = screen.page.get_by_label(f"Tokens of {node.local_id}")
    panel.get_by_role("button", name="counts,").click()
    options = panel.get_by_role("listbox").get_by_role("option")
    expect(options).to_have_count(3)
    assert screen.violations() == []
    screen.press("2")
    expect(screen.here).to_contain_text("She climbs")
    screen.page.goto(f"{site.url}/t/{tree.id}/{node.local_id}?panel=provenance")
    panel = screen.page.get_by_label(f"Provenance of {node.local_id}")
    expect(panel.get_by_role("heading", name="Valid")).to_be_visible()
    panel.get_by_role("button", name="Open").last.click()
    expect(panel.get_by_label("The response")).to_contain_text("top_logprobs")


@covers("web.author-colours")
def test_a_document_has_its_authors_by_character_and_an_edit_is_a_version(site):
    tree = site.plant("The letter", "The ferry was late. ", mode="buffer")
    tree.say("It walked over the hill.", author="Echo")
    screen = site.open(f"/t/{tree.id}")
    text = screen.page.get_by_label("The document", exact=True)
    expect(text).to_have_text("The ferry was late. It walked over the hill.")
    expect(text.locator(".by.you")).to_have_text("The ferry was late. ")
    text.click()
    screen.press("Control+End")
    screen.page.keyboard.type(" Inside")
    expect(screen.page.get_by_text("1 word, kept")).to_be_visible()
    screen.press("Control+Home")
    screen.page.keyboard.type("Again ")
    screen.press("Control+s")
    expect(screen.page.get_by_text("a new version.").first).to_be_visible()
    expect(text).to_contain_text("Again The ferry was late. It walked over the hill. Inside")
    expect(screen.page.get_by_role("group", name="Version 2 of 2")).to_be_visible()
    assert [len(each.versions) for each in tree.refresh().path][:1] == [2]
    assert screen.violations() == []


@covers("web.grove")
def test_a_file_is_imported_and_its_report_stays_at_its_address(site, tmp_path):
    message = {
        "author": {"role": "user"},
        "content": {"content_type": "text", "parts": ["How do tides rise?"]},
    }
    chat = {
        "title": "Tides",
        "mapping": {"a": {"id": "a", "message": {"id": "a", **message}, "children": []}},
    }
    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([chat]))
    screen = site.open("/import")
    screen.page.get_by_label("File to import").set_input_files(file)
    expect(screen.page.get_by_role("heading", name="1 of 1 conversation imported")).to_be_visible()
    assert screen.violations() == []
    screen.page.reload()
    screen.page.get_by_role("link", name="Tides").click()
    expect(screen.here).to_contain_text("How do tides rise?")
    screen.page.goto(site.url)
    expect(screen.page.get_by_role("link", name="Tides").first).to_be_visible()


@covers("web.light-and-dark")
def test_the_theme_of_the_settings_stays_and_agents_are_made_there(site):
    screen = site.open("/settings/reading")
    screen.page.get_by_role("radio", name="Dark").click()
    screen.page.reload()
    expect(screen.page.locator("html")).to_have_attribute("data-theme", "dark")
    found: list[str] = []
    for section in ("models", "agents", "context", "projects", "vaults", "people"):
        screen.page.goto(f"{site.url}/settings/{section}")
        expect(screen.page.locator("main h1")).to_be_visible()
        found += screen.violations()
    assert found == []
    screen.page.goto(f"{site.url}/settings/agents")
    screen.page.get_by_role("button", name="New agent").click()
    screen.page.get_by_label("Name", exact=True).fill("Weaver")
    screen.page.get_by_label("loom_aware").check()
    screen.page.get_by_role("button", name="Save").click()
    expect(screen.page.get_by_text("Saved Weaver.").first).to_be_visible()
    assert "loom_aware" in site.grove.read.agent("Weaver").permissions


@covers("web.reader")
def test_a_document_saved_meanwhile_is_shown_by_word_and_both_are_kept(site):
    document = site.grove.write_document("Notes", "The lamp is lit.")
    screen = site.open(f"/documents/{document.id}")
    field = screen.page.get_by_label("Text of the document")
    expect(field).to_have_value("The lamp is lit.")
    document.save("The lamp is out.")
    field.fill("The lamp is green.")
    field.press("Control+s")
    expect(screen.page.get_by_text("Revision 2 was saved meanwhile.")).to_be_visible()
    expect(screen.page.locator(".diff ins")).to_have_text("green")
    assert screen.violations() == []
    screen.page.get_by_role("button", name="Save mine after it").click()
    expect(screen.page.get_by_text("revision 3, saved")).to_be_visible()
    assert sorted(each.revision for each in site.grove.read.revisions(document.id)) == [1, 2, 3]
