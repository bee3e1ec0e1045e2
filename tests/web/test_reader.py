"""Reading and writing in a dialogue, as a person does it in a browser."""

import re

import pytest
from playwright.sync_api import expect
from tests.covers import covers

from weft.testing import Gate


@pytest.fixture
def tree(site):
    return site.plant("The harbour", "Why does she climb?", "Because of the lamp.", "And when it is out?")


@covers("web.reader", "web.streaming-with-stop", "web.siblings")
def test_a_person_asks_gets_three_streamed_continuations_and_goes_on_from_one(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    site.gate = gate = Gate()
    site.model._gate = gate
    screen.composer.fill("Who keeps the key?")
    for _ in range(2):
        screen.page.get_by_role("group", name="How many").get_by_label("More").click()
    screen.composer.press("Enter")
    gate.wait()
    gate.let(6)
    strip = screen.page.get_by_role("option")
    expect(strip).to_have_count(3)
    for number in range(3):
        expect(strip.nth(number)).to_contain_text("You said")
    expect(screen.page.locator("[data-live]")).to_have_attribute("aria-busy", "true")
    expect(screen.composer).to_be_focused()
    gate.open()
    expect(screen.here).to_contain_text("You said (1)")
    expect(screen.page.locator("[data-live]")).to_have_count(0)
    expect(screen.composer).to_be_focused()
    expect(screen.here.get_by_text("1/3")).to_be_visible()
    screen.leave_fields()
    screen.press("ArrowRight")
    expect(screen.here).to_contain_text("You said (2)")
    screen.composer.fill("Go on.")
    screen.composer.press("Alt+Enter")
    expect(screen.here).to_contain_text("Go on.")
    asked, answer, last = [node.text for node in tree.refresh().path][-3:]
    assert (asked, last) == ("Who keeps the key?", "Go on.")
    assert answer.startswith("You said (2)")


@covers("web.keys-walk")
def test_arrows_walk_to_parents_children_and_siblings(site, tree):
    tree.root.children[0].edit("Because of the stairs.")
    screen = site.open(f"/t/{tree.id}/{tree.root.local_id}").ready()
    screen.leave_fields()
    screen.press("ArrowDown")
    expect(screen.here).to_contain_text("Because of the lamp.")
    screen.press("ArrowDown")
    expect(screen.here).to_contain_text("And when it is out?")
    screen.press("ArrowUp", "ArrowRight")
    expect(screen.here).to_contain_text("Because of the stairs.")
    screen.press("ArrowLeft")
    expect(screen.here).to_contain_text("Because of the lamp.")
    screen.press("Home")
    expect(screen.here).to_contain_text("Why does she climb?")
    screen.press("]")
    expect(screen.here).to_contain_text("Because of the lamp.")
    screen.press("End")
    expect(screen.here).to_contain_text("And when it is out?")
    screen.page.go_back()
    expect(screen.here).to_contain_text("Because of the lamp.")


@covers("web.edit-in-place", "web.keys-undo-and-stop")
def test_an_edit_in_place_branches_and_is_undone_and_redone(site, tree):
    answer = tree.root.children[0]
    screen = site.open(f"/t/{tree.id}/{answer.local_id}").ready()
    screen.leave_fields()
    screen.press("e")
    field = screen.page.get_by_label(f"Edit {answer.local_id}")
    expect(field).to_have_value("Because of the lamp.")
    field.fill("Because of the lamp, she says.")
    field.press("Control+Enter")
    expect(screen.here).to_contain_text("she says")
    expect(screen.page.get_by_text("1 node stay on 1/2").first).to_be_visible()
    assert [child.text for child in tree.root.children] == [
        "Because of the lamp.",
        "Because of the lamp, she says.",
    ]
    screen.leave_fields()
    screen.press("Control+z")
    expect(screen.page.locator("article", has_text="she says")).to_have_count(0)
    screen.press("Control+Shift+z")
    expect(screen.page.get_by_text("Redid: edit").first).to_be_visible()
    assert len(tree.root.children) == 2


@covers("web.keys-marks", "web.attachments-and-annotations")
def test_nodes_are_bookmarked_excluded_annotated_pruned_and_each_can_be_undone(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    screen.leave_fields()
    screen.press("b")
    expect(screen.here.get_by_text("bookmarked")).to_be_attached()
    screen.press("x")
    expect(screen.here.get_by_text("excluded from contexts")).to_be_visible()
    screen.press("x")
    expect(screen.here.get_by_text("excluded from contexts")).to_have_count(0)
    screen.press("a")
    note = screen.page.get_by_label(re.compile("Note on"))
    note.fill("Keep this.")
    note.press("Control+Enter")
    expect(screen.page.get_by_role("note").get_by_text("Keep this.")).to_be_visible()
    screen.leave_fields()
    screen.press("p")
    expect(screen.here).to_contain_text("Because of the lamp.")
    toast = screen.page.locator(".toast", has_text="Pruned 1 node")
    toast.get_by_role("button", name="Undo").click()
    expect(screen.page.locator("article", has_text="And when it is out?")).to_be_visible()


@covers("web.streaming-with-stop", "web.keys-undo-and-stop")
def test_a_stopped_answer_keeps_what_came(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    site.model._gate = gate = Gate(allowed=3)
    screen.leave_fields()
    screen.press("g")
    gate.wait()
    expect(screen.page.locator("[data-live]")).to_contain_text("You said:")
    screen.press("Escape")
    expect(screen.here).to_contain_text("interrupted, kept")
    expect(screen.here).to_contain_text("You said:")


@covers("web.stream-survives-reload")
def test_a_page_that_is_loaded_again_goes_on_with_the_answer(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    site.model._gate = gate = Gate(allowed=2)
    screen.leave_fields()
    screen.press("g")
    gate.wait()
    screen.page.reload()
    expect(screen.page.get_by_role("option").first).to_contain_text("You said")
    gate.open()
    expect(screen.page.get_by_role("tree").get_by_text("And when it is out?").first).to_be_visible()
    screen.leave_fields()
    expect(screen.page.locator("article", has_text="You said:")).to_be_visible()


@covers("web.nothing-moves")
def test_streams_and_other_people_never_scroll_or_refocus(site):
    tree = site.plant("Long", *[f"Turn {number}. " + "Words and words. " * 40 for number in range(30)])
    screen = site.open(f"/t/{tree.id}").ready()
    site.model._gate = gate = Gate()
    screen.composer.fill("And now?")
    screen.composer.press("Enter")
    gate.wait()
    gate.let(1)
    expect(screen.page.locator("[data-live]")).to_be_visible()
    screen.page.locator("[data-path]").evaluate("element => element.scrollBy(0, -900)")
    screen.page.wait_for_function("document.querySelector('[data-path]').scrollTop > 0")
    screen.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    place = screen.scroll_place()
    gate.open()
    tree.node(tree.path[3].local_id).say("Someone else answers far above.")
    expect(screen.page.locator("[data-live]")).to_have_count(0)
    expect(screen.page.get_by_label("Where you are")).to_contain_text("33 nodes")
    assert abs(screen.scroll_place() - place) < 2
    expect(screen.composer).to_be_focused()


@covers("web.drafts")
def test_a_draft_outlives_the_tab_and_the_server(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    screen.composer.fill("Half a thought")
    site.stop()
    screen.page.close()
    page = site.contexts[0].new_page()
    site.start()
    page.goto(f"{site.url}/t/{tree.id}")
    expect(page.get_by_label("Your turn")).to_have_value("Half a thought")


@covers("web.reconnect")
def test_the_page_recovers_by_itself_when_the_server_was_away(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    screen.composer.fill("Still here")
    site.stop()
    expect(screen.page.get_by_text("Not connected.")).to_be_visible()
    expect(screen.composer).to_have_value("Still here")
    screen.leave_fields()
    screen.press("ArrowUp")
    expect(screen.here).to_contain_text("Because of the lamp.")
    site.start()
    tree.node(tree.path[-1].local_id).say("Written while it was away.")
    expect(screen.page.get_by_text("Not connected.")).to_have_count(0)
    expect(screen.page.get_by_label("Where you are")).to_contain_text("4 nodes")


@covers("web.presence")
def test_two_people_see_where_the_other_is(site, tree):
    site.grove.users.add("ada", role="editor")
    token, _ = site.grove.users.issue("ada")
    one = site.open(f"/t/{tree.id}").ready()
    other = site.open(f"/t/{tree.id}/{tree.root.local_id}", key=token).ready()
    other.leave_fields()
    other.press("ArrowDown")
    expect(one.page.get_by_text(re.compile("ada at"))).to_be_visible()
    expect(one.here).to_contain_text("And when it is out?")
