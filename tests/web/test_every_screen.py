"""What holds on every screen: no violations of accessibility rules, narrow and dark, injected text stays text."""

import re

import pytest
from playwright.sync_api import expect
from tests.covers import covers

PAYLOADS = (
    "<script>window.__executed = 1</script>",
    '<img src="https://example.invalid/x.png" onerror="window.__executed = 2">',
    '<svg onload="window.__executed = 3"><circle r="9"/></svg>',
    "[click](javascript:window.__executed=4)",
    '<a href="javascript:window.__executed=5">x</a>',
    '"><iframe srcdoc="<script>parent.__executed=6</script>"></iframe>',
    "![x](https://example.invalid/pixel.gif)",
    "<style>@import url(https://example.invalid/a.css);</style>",
    "{{constructor.constructor('window.__executed=7')()}}",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=window.__executed=8>",
    '<details open ontoggle="window.__executed=9">x</details>',
    "<base href=https://example.invalid/><link rel=stylesheet href=https://example.invalid/b.css>",
    "```html\n<script>window.__executed=10</script>\n```",
    "<object data='data:text/html,<script>window.__executed=11</script>'></object>",
)
SCREENS = (
    "/",
    "/t/{tree}",
    "/t/{tree}?panel=context",
    "/t/{tree}?panel=context&tab=raw",
    "/t/{tree}?panel=context&tab=diff",
)


@pytest.fixture
def tree(site):
    tree = site.plant("The harbour", "Why does she climb?", "Because of the lamp.", "And when it is out?")
    tree.root.children[0].annotate("Keep this.")
    tree.root.children[0].edit("Because of the stairs.")
    tree.cursor.bookmark("here")
    return tree


@covers("web.accessible")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_screens(site, tree, scheme):
    found: list[str] = []
    screen = site.open(SCREENS[1].format(tree=tree.id), color_scheme=scheme).ready()
    for place in SCREENS:
        screen.page.goto(site.url + place.format(tree=tree.id))
        expect(screen.page.locator("main")).to_be_visible()
        if place != "/":
            screen.ready()
        found += [f"{place}: {each}" for each in screen.violations()]
    screen.leave_fields()
    for key, name in (("?", "Keys"), ("Control+k", "Search or go to")):
        screen.press(key)
        expect(screen.page.get_by_role("dialog", name=name)).to_be_visible()
        found += [f"{name}: {each}" for each in screen.violations()]
        screen.press("Escape")
    assert found == []


@covers("web.phone-width", "web.light-and-dark")
@pytest.mark.parametrize(("width", "height"), [(375, 812), (720, 450), (320, 640)])
def test_a_narrow_page_never_widens(site, tree, width, height):
    site.plant(
        "Words", "Grundstücksverkehrsgenehmigungszuständigkeitsübertragungsverordnung " * 3 + "x" * 400
    )
    screen = site.open(
        f"/t/{tree.id}", width=width, height=height, color_scheme="dark", reduced_motion="reduce"
    )
    expect(screen.here).to_be_visible()
    for place in ("/", f"/t/{tree.id}", f"/t/{tree.id}?panel=context"):
        screen.page.goto(site.url + place)
        expect(screen.page.locator("main")).to_be_visible()
        wide = screen.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 1, place
    assert screen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 29)"


@covers("web.no-injection")
def test_text_from_anywhere_never_runs_and_never_asks_for_anything(site):
    tree = site.plant(PAYLOADS[0], *PAYLOADS, description=PAYLOADS[1], system_context=PAYLOADS[2])
    tree.cursor.annotate(PAYLOADS[1])
    tree.cursor.bookmark(PAYLOADS[2])
    site.grove.add_agent(PAYLOADS[1][:90], model_ref="scripted:echo")
    site.grove.write_document(PAYLOADS[0], "\n".join(PAYLOADS))
    screen = site.open(f"/t/{tree.id}").ready()
    screen.leave_fields()
    screen.press("g")
    expect(screen.here).to_contain_text("You said")
    for place in ("/", f"/t/{tree.id}?panel=context", f"/t/{tree.id}?panel=context&tab=raw"):
        screen.page.goto(site.url + place)
        expect(screen.page.locator("main")).to_be_visible()
    screen.press("/")
    screen.page.get_by_role("combobox").fill("script")
    expect(screen.page.get_by_role("option").first).to_be_visible()
    assert screen.page.evaluate("window.__executed") is None


@covers("web.other-scripts")
def test_each_text_runs_in_its_own_direction(site):
    tree = site.plant(
        "كتاب", "توقفت ماري عند الباب. دار المفتاح بسهولة.", "マリーは戸口で立ち止まった。", "She stops."
    )
    screen = site.open(f"/t/{tree.id}").ready()
    directions = screen.page.locator("article .node__text p").evaluate_all(
        "texts => texts.map(text => getComputedStyle(text).direction)"
    )
    assert directions == ["rtl", "ltr", "ltr"]


@covers("web.keys-shown", "web.keys-views")
def test_keys_are_shown_and_every_action_is_in_the_palette(site, tree):
    screen = site.open(f"/t/{tree.id}").ready()
    screen.leave_fields()
    screen.press("?")
    keys = screen.page.get_by_role("dialog", name="Keys")
    for label in ("generate", "remove bookmark", "exclude", "prune", "context", "compare siblings", "undo"):
        expect(keys.get_by_text(re.compile(f"^{label}$")).first).to_be_visible()
    screen.press("Escape")
    screen.press("Control+k")
    field = screen.page.get_by_role("combobox")
    expect(field).to_be_focused()
    field.fill(">prune")
    field.press("Enter")
    expect(screen.page.locator(".toast", has_text="Pruned 1 node")).to_be_visible()


@covers("web.sign-in")
def test_a_browser_without_a_session_signs_in_with_a_token(site, tree):
    site.grove.users.add("ada", role="editor")
    token, _ = site.grove.users.issue("ada")
    screen = site.open("/", key="nothing")
    field = screen.page.get_by_label(re.compile("Or a token"))
    field.fill("weft_wrong")
    field.press("Enter")
    expect(screen.page.get_by_role("alert").get_by_text("not valid")).to_be_visible()
    field.fill(token)
    field.press("Enter")
    expect(screen.page.get_by_text("The harbour").first).to_be_visible()
