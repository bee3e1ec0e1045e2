"""The next request, before it is sent: in the text, under the draft, and in the panel."""

import re

import pytest
from playwright.sync_api import expect
from tests.covers import covers

from weft.providers.scripted import _sent


@pytest.fixture
def tree(site):
    turns = [f"Turn {number}: " + "the tide comes in and goes out. " * 6 for number in range(30)]
    return site.plant("Tides", *turns, system_context="Answer briefly.")


@covers("web.context-before-sending", "web.context-reasons", "web.context-replans-live")
def test_the_cut_is_drawn_in_the_text_and_moves_with_the_limit(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    expect(screen.page.get_by_text("not in the next request")).to_have_count(0)
    screen.leave_fields()
    screen.press("c")
    panel = screen.page.get_by_role("complementary", name="Context")
    expect(panel.get_by_role("img", name=re.compile("Window: system"))).to_be_visible()
    limit = panel.get_by_label("Limit in tokens")
    limit.fill("120")
    line = screen.page.get_by_text("not in the next request")
    expect(line).to_be_visible()
    few = line.inner_text()
    expect(panel.get_by_role("row", name=re.compile("over the budget")).first).to_be_visible()
    expect(screen.page.locator("article.is-out").first).to_be_attached()
    limit.fill("60")
    expect(line).not_to_have_text(few)
    panel.get_by_role("radio", name=re.compile("rollingWindow")).click()
    expect(panel.get_by_role("radio", name=re.compile("rollingWindow"))).to_be_checked()
    expect(screen.page.get_by_text("Cut before the recent turns")).to_be_visible()
    panel.get_by_role("button", name="Back to the tree's own").click()
    expect(line).to_have_count(0)


@covers("web.context-reasons")
def test_an_excluded_node_leaves_the_plan_and_comes_back(site, tree):
    screen = site.open(f"/t/{tree.id}?panel=context").ready()
    tokens = screen.page.locator(".preflight b").first
    before = tokens.inner_text()
    screen.leave_fields()
    screen.press("ArrowUp", "x", "ArrowDown")
    expect(screen.page.get_by_text("1 excluded")).to_be_visible()
    expect(tokens).not_to_have_text(before)
    row = screen.page.get_by_role("row", name=re.compile("excluded Turn|excluded .*Turn 28"))
    row.get_by_role("button", name="Include").click()
    expect(screen.page.get_by_text("1 excluded")).to_have_count(0)
    expect(tokens).to_have_text(before)


@covers("web.context-diff-and-raw")
def test_the_raw_request_is_what_is_sent(site, tree):
    screen = site.open(f"/t/{tree.id}?panel=context&tab=raw").ready()
    screen.composer.fill("What comes in?")
    raw = screen.page.get_by_role("region", name="Request 1")
    expect(raw).to_contain_text("What comes in?")
    shown = raw.locator("code").text_content()
    screen.composer.press("Enter")
    expect(screen.here).to_contain_text("You said")
    assert shown == _sent("scripted", site.model.requests[-1]).body.decode()


@covers("web.context-diff-and-raw")
def test_two_requests_are_compared(site, tree):
    screen = site.open(f"/t/{tree.id}?panel=context&tab=diff").ready()
    table = screen.page.get_by_role("table")
    expect(table).to_contain_text("Same from the start")
    expect(table.get_by_role("row", name=re.compile("New")).locator("ins")).to_be_visible()
    screen.page.get_by_label("Against the request of").fill(tree.root.local_id)
    screen.page.get_by_role("button", name="Compare").click()
    expect(screen.page).to_have_url(re.compile(f"vs={tree.root.local_id}"))
    expect(table).to_contain_text(tree.root.local_id)
