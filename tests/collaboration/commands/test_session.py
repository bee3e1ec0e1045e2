"""Commands by people: `tree.do`, `loom.do`."""

import pytest
from tests.collaboration.commands.workplace import Workplace
from tests.covers import covers

from weft.errors import InvalidInputError, InvalidSyntaxError, NotFoundError


@covers("python.do")
def test_do_carries_out_lines_and_returns_what_they_came_to(work):
    a = work.a.local_id
    done = work.tree.do(f'→ bookmark {a}\n→ view xyz999\n→ annotate {a} "two\nlines"')
    assert [result.ok for result in done] == [True, False, True]
    assert done.text.startswith(f"✓ bookmarked [{a}]\n\n✗ NOT_FOUND: ")
    assert isinstance(done.error, NotFoundError)
    assert work.a.annotations[0].text == "two\nlines"
    assert work.tree.do("help").error is None
    assert work.loom.do(f"→ view {a}", tree=work.tree.title).error is None
    assert work.loom.do("tree", agent=work.agent.name).error is None


@covers("python.do", "permission.intersection")
def test_do_as_an_agent_has_that_agents_rights_as_far_as_ones_own(grove):
    analyst = Workplace(grove, permissions=("loom_aware", "doc_read"))
    a = analyst.a.local_id
    assert analyst.tree.do(f"→ bookmark {a}", agent=analyst.agent.name).error.code == "PERMISSION_DENIED"
    muse = Workplace(grove)
    theirs = grove.acting_as(analyst.agent.id)
    through = theirs.do(f"→ bookmark {muse.a.local_id}", tree=muse.tree.id, agent=muse.agent.name)
    assert through.error.message == "loom_write not enabled"


@covers("python.do")
@pytest.mark.parametrize(
    "text",
    ["I think so.\n→ bookmark {a}", "→ bookmark {a}\nDone.", "```\n→ bookmark {a}\n```", "> → bookmark {a}"],
)
def test_where_there_is_anything_but_commands_nothing_is_done(work, text):
    before = work.events()
    with pytest.raises(InvalidSyntaxError, match="nothing was done"):
        work.tree.do(text.format(a=work.a.local_id))
    assert work.events() == before


def test_nothing_is_not_a_command(work):
    with pytest.raises(InvalidInputError, match="do what"):
        work.tree.do("  ")


def test_a_thought_by_hand_is_kept(work):
    done = work.tree.do("→ think What now? ←")
    assert [result.text for result in done] == ["✓ thought"]


def test_a_dot_is_the_cursor_in_every_command_that_names_a_node(work):
    here, a = work.b.local_id, work.a.local_id
    work.ok(f"switch to {here}")
    for line in (
        "view . full with-annotations",
        "view branch:. as:prose",
        "list . continuations",
        "tree from:.",
        'annotate . "n"',
        "bookmark .",
        "exclude .",
        "include .",
        "pin .",
        "drop pin:.",
        f"link . to {a}",
        f"unlink . to {a}",
    ):
        assert f"[{here}]" in work.ok(line)
    work.ok('stash "s" content-of:.')
    assert f"in reply to [{here}]" in work.ok('respond . "hi" context:.')
