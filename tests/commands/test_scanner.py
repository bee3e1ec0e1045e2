"""Where commands are, and all the places where an arrow is none."""

import contextlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

from weft.commands.actions import AnnotateCommand, ThinkCommand
from weft.commands.lexer import tokens_of
from weft.commands.parse import parse_scanned
from weft.commands.scanner import ARROW, Scanner, Why, scan
from weft.errors import InvalidSyntaxError

BATCH = "→ view a7x2\n→ view b3k9\n→ list a7x2 annotations"


def texts(output, **options):
    return [found.text for found in scan(output, **options).commands]


@covers("command.arrow-line")
@pytest.mark.parametrize(
    "output",
    [
        "→ view a7x2",
        "   → view a7x2",
        "\t→ view a7x2",
        "\u00a0\u3000→ view a7x2",
        "→view a7x2",
        "→    view a7x2   ",
        "→ view a7x2\r\n",
        "Let me look.\n→ view a7x2",
        "Let me look.\n\n→ view a7x2\n",
        "    → view a7x2",
        'She said "no".\n→ view a7x2',
    ],
)
def test_a_line_that_begins_with_an_arrow_is_a_command(output):
    found = scan(output).commands
    assert [each.text for each in found] == ["view a7x2"]
    assert output[found[0].span.start] == "→"


PLACES = {
    "in the middle of a line": "I would say → prune a7x2",
    "behind a word and an arrow": "look →\tprune a7x2",
    "after a list mark": "- → prune a7x2",
    "after a star": "* → prune a7x2",
    "after a number": "1. → prune a7x2",
    "in a Markdown quotation": "> → prune a7x2",
    "in a nested quotation": "> > → prune a7x2",
    "in a table": "| → prune a7x2 |",
    "in bold": "**→ prune a7x2**",
    "in inline code": "`→ prune a7x2`",
    "in a heading": "# → prune a7x2",
    "in a code block": "```\n→ prune a7x2\n```",
    "in a code block with a language": "```text\n→ prune a7x2\n```",
    "in a code block of tildes": "~~~\n→ prune a7x2\n~~~",
    "in a code block that is never closed": "```\n→ prune a7x2",
    "in a code block with shorter fences inside": "````\n```\n→ prune a7x2\n```\n````",
    "in a code block of the other kind": "~~~\n```\n→ prune a7x2\n~~~",
    "in a code block within a list": "1. Try:\n\n   ```\n   → prune a7x2\n   ```",
    "in a code block that a list item opens": "- ```\n  → prune a7x2\n  ```",
    "in an indented code block": "For example:\n\n    → prune a7x2\n",
    "in the second line of one": "For example:\n\n    → prune a7x2\n    → prune b3k9\n",
    "in a block indented by a tab": "For example:\n\n\t→ prune a7x2",
    "in a quotation over lines": 'He wrote: "do this:\n→ prune a7x2\nand be gone"',
    "in a curly quotation over lines": "He wrote: “do this:\n→ prune a7x2\nand be gone”",
    "in corner brackets over lines": "「do this:\n→ prune a7x2\n」",
    "in a tool's result that is said again": "<tool_result>\n→ prune a7x2\n</tool_result>",
    "in the results of functions": "<function_results>\n→ prune a7x2\n</function_results>",
    "in a document that is said again": 'It says <document title="x">\n→ prune a7x2\n</document>',
    "in an example": "<example>\n→ prune a7x2\n</example>",
    "in a quotation as a tag": "<q>\n→ prune a7x2\n</q>",
    "in preformatted text": "<pre>\n→ prune a7x2\n</pre>",
    "in a comment": "<!--\n→ prune a7x2\n-->",
    "in thinking written as a tag": "<think>\n→ prune a7x2\n</think>",
    "in thinking that is never closed": "<thinking>\nhm\n→ prune a7x2",
    "in a thought": "→ think\n→ prune a7x2\n←",
    "in a thought that is never closed": "→ think\n→ prune a7x2",
    "in a string": '→ annotate b3k9 "first\n→ prune a7x2\nlast"',
    "in a curly string": "→ annotate b3k9 “first\n→ prune a7x2\nlast”",
    "in an option's string": '→ link b3k9 to c4m2 note:"first\n→ prune a7x2\nlast"',
    "in a string with escaped quotes": '→ annotate b3k9 "a \\"\n→ prune a7x2\n\\" b"',
    "in a string that is never closed": '→ annotate b3k9 "first\n→ prune a7x2\nlast',
    "after the cut": "→ view b3k9\nSo there.\n→ prune a7x2",
    "on the prose's own line after a thought": "→ think hm ← → prune a7x2",
    "behind a zero-width space": "\u200b→ prune a7x2",
    "behind a byte order mark": "\ufeff→ prune a7x2",
    "behind a vertical tab": "\x0b→ prune a7x2",
    "after a lone carriage return": "well\r→ prune a7x2",
    "after a line separator": "well\u2028→ prune a7x2",
    "as a long arrow": "⟶ prune a7x2",
    "as a double arrow": "⇒ prune a7x2",
    "as a heavy arrow": "➔ prune a7x2",
    "as a black arrow": "➡ prune a7x2",
    "as an emoji": "➡️ prune a7x2",
    "as a half-width arrow": "→ prune a7x2".replace("→", "\uffeb"),
    "as a triangle": "▶ prune a7x2",
    "as ASCII": "-> prune a7x2",
    "as a fat ASCII arrow": "=> prune a7x2",
    "as an entity": "&rarr; prune a7x2",
    "as an escape": "\\u2192 prune a7x2",
    "with a stroke through it": "→\u0338 prune a7x2",
    "as a variation": "→\ufe0f prune a7x2",
    "as a guillemet": "› prune a7x2",
}


@covers("command.mid-line-arrow-ignored", "command.look-alikes-ignored")
@pytest.mark.parametrize("output", PLACES.values(), ids=PLACES.keys())
def test_an_arrow_elsewhere_executes_nothing(output):
    for found in scan(output).commands:
        assert not found.text.startswith("prune")
        if not found.think:
            try:
                parsed = parse_scanned(found)
            except InvalidSyntaxError:
                continue
            assert parsed.name in {"view", "annotate", "link"}


@pytest.mark.parametrize(
    ("given", "output"),
    [
        ("→ prune a7x2\n", "Well."),
        ("→ prune", " a7x2\n"),
        ("→ ", "prune a7x2"),
        ("I say ", "→ prune a7x2"),
        ("```\n", "→ prune a7x2\n```"),
        ('→ annotate b3k9 "', "x\n→ prune a7x2\n"),
    ],
)
def test_what_somebody_else_put_in_front_is_never_executed(given, output):
    assert scan(output, given=given).commands == ()


def test_an_own_command_after_a_prefill_counts_from_its_beginning():
    found = scan("\n→ view a7x2", given="Sure.")
    assert [(each.text, each.span.start) for each in found.commands] == [("view a7x2", 6)]


def test_an_arrow_that_is_left_alone_is_listed_with_the_reason():
    output = '```\n→ a\n```\n> x\n\nShe said "\n→ b\n"\n\n→\u0338 c\n<pre>\n→ d\n</pre>\n'
    assert [each.why for each in scan(output).ignored] == [Why.CODE, Why.QUOTATION, Why.MARKED, Why.TAG]


def test_consecutive_commands_are_one_batch_and_prose_after_it_is_cut():
    output = f"I will look.\n\n{BATCH}\n\nAs I see it, she is lying.\n→ prune a7x2"
    found = scan(output)
    assert [each.text for each in found.batch] == ["view a7x2", "view b3k9", "list a7x2 annotations"]
    assert found.prose == "I will look."
    assert found.cut is not None
    assert output[found.cut :] == "As I see it, she is lying.\n→ prune a7x2"


def test_blank_lines_within_a_batch_are_fine_and_without_prose_nothing_is_cut():
    found = scan("→ view a7x2\n\n\n→ view b3k9\n\n")
    assert len(found.batch) == 2
    assert found.cut is None


@covers("command.unclosed-think")
def test_a_thought_is_kept_apart_and_has_no_result_to_wait_for():
    found = scan("Hm.\n→ think\nIs she\n  lying?\n← Well, I believe her.\n→ view a7x2")
    assert [each.text for each in found.thoughts] == ["Is she\n  lying?"]
    assert [each.text for each in found.batch] == ["view a7x2"]
    assert found.prose == "Hm.\n Well, I believe her."
    unclosed = scan("→ think about\n→ prune a7x2").commands[0]
    assert (unclosed.text, unclosed.closed) == ("about\n→ prune a7x2", False)
    assert parse_scanned(unclosed).action == ThinkCommand("about\n→ prune a7x2")


@covers("command.strings")
def test_a_string_may_span_lines_and_its_command_ends_after_it():
    found = scan('→ annotate a7x2 "one\r\n“two” \\"\n\nthree" \n→ view b3k9').commands
    assert parse_scanned(found[0]).action == AnnotateCommand("a7x2", 'one\n“two” "\n\nthree')
    assert found[1].text == "view b3k9"


def test_a_string_that_never_ends_is_an_error_that_says_what_it_took():
    found = scan('→ annotate a7x2 "one\n→ prune b3k9\nlast').commands
    assert len(found) == 1
    assert not found[0].closed
    with pytest.raises(InvalidSyntaxError, match="'one' is never closed; the 2 lines after it"):
        parse_scanned(found[0])


SIGNS = [
    "→",
    "→ ",
    "→ view a7x2",
    "→ think ",
    "←",
    '"',
    "“",
    "”",
    "\\",
    "\n",
    "\n\n",
    "```",
    "~~~",
    "> ",
    "    ",
]
MORE = [
    "'",
    "</x>",
    "<x>",
    "\\begin{quote}",
    "a7x2",
    "word ",
    "<pre>",
    "</pre>",
    "<think>",
    "é",
    "日",
    "\u0338",
    "\r",
    "\t",
    "- ",
    'note:"',
    "🙂",
]
PIECES = st.lists(st.one_of(st.sampled_from([*SIGNS, *MORE]), st.text(max_size=6)), max_size=40)


@covers("command.linear-parsing")
@given(PIECES, st.data())
def test_however_it_arrives_the_same_is_found_and_each_character_is_looked_at_a_few_times(pieces, data):
    output = "".join(pieces)
    whole = scan(output)
    scanner, place = Scanner(), 0
    early = []
    while place < len(output):
        step = data.draw(st.integers(1, 7))
        early += scanner.feed(output[place : place + step])
        scanner.news()
        place += step
    piecewise = scanner.finish()
    assert piecewise.commands == whole.commands
    assert (piecewise.cut, piecewise.prose) == (whole.cut, whole.prose)
    assert list(piecewise.commands[: len(early)]) == early
    assert scanner.work <= 3 * len(output) + 3


@given(PIECES)
def test_every_range_is_exact(pieces):
    output = "".join(pieces)
    last = 0
    for found in scan(output).commands:
        start, end = found.span
        assert last <= start < end <= len(output)
        assert output[start] == "→"
        assert (
            not output[:start]
            .rpartition("\n")[2]
            .strip(" \t\r\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
        )
        last = end


@given(PIECES)
def test_scanner_and_lexer_agree_on_where_strings_end(pieces):
    for found in scan("".join(pieces)).commands:
        if not found.think:
            why = refused(found.text)
            # Something before it may be wrong as well, and is told first.
            assert why if not found.closed else "is never closed" not in why


def refused(text):
    try:
        tokens_of(text)
    except InvalidSyntaxError as error:
        return error.message
    return ""


@covers("command.linear-parsing")
@pytest.mark.parametrize(
    "line",
    [
        '→ annotate a7x2 "' + "x" * 50_000,
        '→ annotate a7x2 "' + '\\"' * 25_000,
        "→ " + '"a ' * 20_000,
        "→ " + 'a:"b" ' * 10_000,
        " " * 50_000 + "→",
        "`" * 50_000 + "\n→ view a7x2",
        ("- " * 20_000) + "```\n→ view a7x2",
        "→ think " + "→ " * 20_000,
    ],
    ids=range(8),
)
def test_no_line_is_looked_at_again_and_again(line):
    scanner = Scanner()
    for start in range(0, len(line), 1_000):
        scanner.feed(line[start : start + 1_000])
    scanner.finish()
    assert scanner.work <= 3 * len(line)


MEGABYTE = 1_000_000
LONG = {
    "a text": '→ respond a7x2 "' + "x" * MEGABYTE + '"',
    "a string that never ends": '→ respond a7x2 "' + "x" * MEGABYTE,
    "escaped quotation marks": '→ annotate a7x2 "' + '\\"' * (MEGABYTE // 2) + '"',
    "escaped backslashes": '→ annotate a7x2 "' + "\\\\" * (MEGABYTE // 2) + '"',
    "backslashes": '→ annotate a7x2 "' + "\\" * (MEGABYTE + 1) + 'n"',
    "ids with commas": "→ merge " + "a7x2," * (MEGABYTE // 5) + ' "x"',
    "ids of an option": '→ respond a7x2 "x" context:' + "a7x2," * (MEGABYTE // 5),
    "dashes": "→ view " + "a7x2-" * (MEGABYTE // 5),
    "words": "→ " + "view " * (MEGABYTE // 5),
    "strings": "→ view " + '"a" ' * (MEGABYTE // 4),
    "marks of two kinds": "→ annotate a7x2 " + '"“' * (MEGABYTE // 2),
    "accents": "→ view " + "\u0301" * MEGABYTE,
    "digits": "→ tree depth:" + "9" * MEGABYTE,
    "ticks": "x`" * (MEGABYTE // 2) + "\n→ view a7x2",
    "tags": "<quote>" * (MEGABYTE // 7) + "\n→ view a7x2",
    "signs that are no tags": "<" * MEGABYTE + "\n→ view a7x2",
}


@pytest.mark.outer
@covers("security.long-command-line", "command.linear-parsing")
@pytest.mark.parametrize("kind", LONG)
def test_a_line_of_a_megabyte_takes_no_longer_whatever_it_is_made_of(kind):
    def seconds(line: str) -> float:
        start = time.perf_counter()
        for found in scan(line).commands:
            with contextlib.suppress(InvalidSyntaxError):
                parse_scanned(found)
        return time.perf_counter() - start

    # Beside a plain text of the same length, so that a busy machine is no reason to fail.
    plain = '→ respond a7x2 "' + "x" * MEGABYTE + '"'
    assert any((taken := seconds(LONG[kind])) < 0.05 or taken < 5 * seconds(plain) for _ in range(5)), (
        seconds(LONG[kind])
    )


@covers("command.linear-parsing")
def test_a_long_line_of_nothing_that_comes_in_letters_is_not_looked_at_again_and_again():
    scanner = Scanner()
    for piece in (*" " * 2_000, " " * 1_000 + ARROW, *"view a7x2" * 200):
        scanner.feed(piece)
        assert scanner.news() == ""
    assert scanner.work <= 3_000


@covers("command.never-from-other-text", "security.commands-by-provenance")
@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("One could write: <blockquote>\n→ prune a7x2\n</blockquote>\nbut I will not.", Why.TAG),
        ("Here: <code class='x'>\n→ prune a7x2\n</code>", Why.TAG),
        ("<b>x</b> <pre>\n→ prune a7x2", Why.TAG),
        ("Hm. <think>\n→ prune a7x2\n</think>", Why.TAG),
        ("Hm <!-- not\n→ prune a7x2\n-->", Why.TAG),
        ("See `code\n→ prune a7x2\nend`", Why.CODE),
        ("See ``a`b\n→ prune a7x2\n``", Why.CODE),
        ("He said: “first.\n\n→ prune a7x2\n\nend”", Why.QUOTATION),
        ('He said:\n"\n\n→ prune a7x2\n\n"', Why.QUOTATION),
        ("«\n→ prune a7x2\n»", Why.QUOTATION),
        ("Er sagt: »so\n→ prune a7x2\n«", Why.QUOTATION),
        ("„so\n→ prune a7x2\n“", Why.QUOTATION),
        ("> quoted\n→ prune a7x2", Why.QUOTATION),
        ("She wrote: 'first\n→ prune a7x2\nlast'", Why.QUOTATION),
        ("'\n→ prune a7x2\n'", Why.QUOTATION),
        ("She wrote ‘so\n\n→ prune a7x2\n\nit’s done’ and left.", Why.QUOTATION),
        ("<letter>\n→ prune a7x2\n</letter>", Why.TAG),
        ("Here is <x-y id=1> it\n→ prune a7x2\nprose\n</x-y> see?", Why.TAG),
        ("<a><b>\n→ prune a7x2\n</b>\nmore</a>", Why.TAG),
        ("\\begin{verbatim}\n→ prune a7x2\n\\end{verbatim}", Why.TAG),
        ("See \\begin{lstlisting}[x]\n→ prune a7x2\n\\end{lstlisting}", Why.TAG),
    ],
)
def test_what_is_shown_and_not_said_is_not_executed_wherever_it_begins(output, why):
    found = scan(output)
    assert found.commands == ()
    assert [each.why for each in found.ignored] == [why]


@covers("command.arrow-line")
@pytest.mark.parametrize(
    "said",
    [
        "Marie sagt „ich komme“.",
        'The pipe is 5" wide.',
        '"It is 5" and so on.',
        "> quoted\n",
        "It`s fine.\n",
        '“a” and "b" and «c» and »d« `e` ``f`g``',
        "Home » Texts » Marie",
        'Use `"` for that.',
        "<code>x</code> and <!-- y --> and <think>z</think>",
        "“one\n\n“two”",
        "If x < y, a -> b.",
        "'Tis late, and the boys' house is empty.",
        "She said 'no' and left.",
        "Rock 'n roll.",
        "Use <id> for the node.",
        "One<br>two <img src=x> <hr/>",
        "<letter>Dear</letter>",
        "\\begin{verbatim} x \\end{verbatim}",
    ],
)
def test_what_is_over_does_not_stand_in_the_way(said):
    assert [each.text for each in scan(f"{said}\n→ view a7x2").commands] == ["view a7x2"]


@covers("command.never-from-other-text")
def test_a_tag_that_is_never_closed_holds_a_command_back_only_until_the_end():
    scanner = Scanner()
    assert scanner.feed("Use <id> for it.\n→ view a7x2\nI wait.\n→ prune a7x2\n") == ()
    assert scanner.cut is None
    whole = scanner.finish()
    assert [each.text for each in whole.commands] == ["view a7x2"]
    assert whole.prose == "Use <id> for it."
    assert whole.cut == len("Use <id> for it.\n→ view a7x2\n")
    assert scan("Use <id> for it.\n→ view a7x2\nI wait.</id>").commands == ()
