"""Whatever an agent says: every command is answered, and nothing else is raised or broken."""

from hypothesis import given
from hypothesis import strategies as st
from tests.collaboration.commands.workplace import Workplace
from tests.soundness import check_sound

from weft.commands.catalog import CATALOG
from weft.commands.reply import Result
from weft.commands.scanner import scan

_IDS = st.sampled_from(
    ["{root}", "{a}", "{b}", "{beside}", "{a}'", "zzzz", "[{a}]", "01ARZ3NDEKTSV4RRFFQ69G5FAV"]
)
_STRINGS = st.one_of(
    st.sampled_from(
        ['"Why"', '"Notes {number}"', '"Marie {number}"', '"x"', '""', '"opening"', "“curly”", '"open']
    ),
    st.text(max_size=12).map(lambda text: f'"{text}"'),
)
_OPTIONS = st.sampled_from(
    [
        *(
            'doc:"Notes {number}"',
            "section:motivation",
            "lines:1-2",
            "lines:9-3",
            "append",
            "at:1",
            "at:99",
            "at:place",
        ),
        *(
            "replace:1-1",
            "replace:motivation",
            "n:2",
            "n:0",
            "n:-1",
            "tokens:0",
            "temp:99",
            'stop:""',
            "depth:3",
        ),
        *(
            "as:prose",
            "as:nodes",
            "branch:{a}",
            "result:1",
            "result:0",
            "full",
            "summary",
            "with-annotations",
        ),
        *(
            "next",
            "leaf",
            "continuations",
            "versions",
            "links",
            'agent:"Base"',
            'agent:"Nobody"',
            "to",
            "from",
        ),
        *(
            'in tree:"Marie {number}"',
            "in:grove",
            'tree:"Marie {number}"',
            "{root}-{b}",
            "summary-of:{root}-{b}",
        ),
        *("content-of:{a}", "pin:{a}", 'stash:"x"', "context:{a},{b}", "instruction:zzzz", "mood", "trace"),
    ]
)
_LINES = st.builds(
    lambda verb, rest: " ".join([verb, *rest]),
    st.sampled_from(sorted(CATALOG.keys() - {"continue"})),
    st.lists(st.one_of(_IDS, _STRINGS, _OPTIONS), max_size=5),
)


def test_every_command_is_answered_and_the_grove_stays_sound(grove):
    work = Workplace(grove, crosses=True)
    names = {
        "root": work.root.local_id,
        "a": work.a.local_id,
        "b": work.b.local_id,
        "beside": work.beside.local_id,
        "number": work.number,
    }

    @given(st.lists(_LINES, min_size=1, max_size=4))
    def say(lines: list[str]) -> None:
        text = "\n".join(f"→ {line}" for line in lines)
        for name, value in names.items():
            text = text.replace(f"{{{name}}}", str(value))
        for result in work.session.run(scan(text).commands, turn=1):
            assert isinstance(result, Result)
            assert result.text.startswith("✓ " if result.ok else "✗ ")

    say()
    check_sound(grove)
    assert grove.verify().verdict == "valid"
