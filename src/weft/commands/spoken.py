"""Options that are said in words: `at a temperature of 0.9` is `temp:0.9`, `the document "x"` is `doc:"x"`.

Every rule turns words into an option that says the same. A command that has no such option
refuses it, so nothing that was said is lost on the way.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from weft.commands.lexicon import listed, verbs
from weft.commands.pieces import NUMBERS, Unfit, lines_of
from weft.commands.shape import Build, Given, rewritten, without_articles
from weft.commands.words import Option, Quoted, Token, Word

__all__ = ["spelt_out"]

_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
}
_N = rf"(?P<n>\d{{1,9}}|{'|'.join(NUMBERS)})"
_CALLED = r"(?:(?:called|named|titled|entitled) )?"
_NO_SECTION = listed(
    "of in from to at for with and replace replacing overwrite insert add put into by on document doc this that "
    "whole entire full new each every other same only as under before after end text append appending last next "
    "previous then but not section sections it its"
) | frozenset(_ORDINALS)
_OPEN_ENDED = listed(
    "from after until till past beyond since to through above below under last up onwards not except without"
)


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    build: Build
    needs: re.Pattern[str] | None
    """What must be somewhere in the line; without it the words mean something else."""


def _rule(pattern: str, build: Build, needs: str = "") -> _Rule:
    return _Rule(re.compile(rf"(?<!\S)(?:{pattern})"), build, re.compile(needs) if needs else None)


def _quoted(name: str) -> Build:
    def build(_: re.Match[str], given: Given) -> list[Token] | None:
        token = given("text")
        return [Option(name, (token.text,), quoted=True)] if isinstance(token, Quoted) else None

    return build


def _after_word(name: str) -> Build:
    """The same, with the small word before it left where it is."""

    def build(_: re.Match[str], given: Given) -> list[Token] | None:
        token = given("text")
        return (
            [given("word"), Option(name, (token.text,), quoted=True)] if isinstance(token, Quoted) else None
        )

    return build


def _value(name: str, value: str) -> list[Token]:
    return [Option(name, (value,), quoted=False)]


def _counted(name: str) -> Build:
    def build(match: re.Match[str], _: Given) -> list[Token] | None:
        return _value(name, str(_number(match["n"])))

    return build


def _number(text: str) -> int:
    if text in NUMBERS:
        return NUMBERS[text]
    if text in _ORDINALS:
        return _ORDINALS[text]
    return int(text.replace(",", ""))


def _words(*texts: str) -> Build:
    made: list[Token] = [Word(text, text) for text in texts]

    def build(_: re.Match[str], __: Given) -> list[Token] | None:
        return list(made)

    return build


def _shaped(match: re.Match[str], _: Given) -> list[Token] | None:
    return _value("as", match["shape"])


def _many_tokens(match: re.Match[str], _: Given) -> list[Token] | None:
    found = _number(match["n"])
    return _value("tokens", str(100 * found if match["hundred"] else found))


def _heat(match: re.Match[str], _: Given) -> list[Token] | None:
    return _value("temp", match["n"])


def _stops(match: re.Match[str], given: Given) -> list[Token] | None:
    texts = [given(name) for name in ("text", "more") if match[name]]
    return [Option("stop", tuple(each.text for each in texts if isinstance(each, Quoted)), quoted=True)]


def _agent(_: re.Match[str], given: Given) -> list[Token] | None:
    token = given("name")
    match token:
        case Quoted(text):
            return [Option("agent", (text,), quoted=True)]
        case Word(_, raw, False) if raw[:1].isupper():
            return [Option("agent", (raw,), quoted=False)]
        case _:
            return None


def _line_range(match: re.Match[str], _: Given) -> list[Token] | None:
    return _value("lines", f"{_number(match['n'])}-{_number(match['last'])}")


def _lines(match: re.Match[str], given: Given) -> list[Token] | None:
    before = match["before"]
    if before and before.strip() in _OPEN_ENDED:
        return None
    token = given("lines")
    if not isinstance(token, Word):
        return None
    value = str(NUMBERS.get(token.text, token.raw.removeprefix("#").replace("—", "-")))
    try:
        lines_of(value)
    except Unfit:
        return None
    return [*([given("before")] if before else []), *_value("lines", value)]


def _section(match: re.Match[str], given: Given) -> list[Token] | None:
    """`the motivation section` or `section motivation`, but not where both sides could be its name."""
    before, after = match["before"] or "", match["after"] or ""
    one, other = _may_name(before), _may_name(after)
    if one == other or (before == "TEXT" and after == "TEXT"):
        return None
    named = given("before" if one else "after")
    if not isinstance(named, Quoted | Word):
        return None
    text = named.text if isinstance(named, Quoted) else named.raw
    option = Option("section", (text,), quoted=True)
    if one:
        return [option, *([given("after")] if after else [])]
    return [*([given("before")] if before else []), option]


def _may_name(code: str) -> bool:
    plain = code == "TEXT" or (code[:1].isalpha() and (code.islower() or code == "ID"))
    return plain and code not in _NO_SECTION and (code,) not in verbs()


def _grounds(match: re.Match[str], given: Given) -> list[Token] | None:
    """`with b3k9 and c4m2 as context`."""
    names = [given(name) for name in ("one", "two", "three") if match[name]]
    ids = tuple(part for each in names if isinstance(each, Word) for part in each.raw.split(",") if part)
    return [Option(match["what"].rstrip("s"), ids, quoted=False)]


def _tree(match: re.Match[str], given: Given) -> list[Token] | None:
    if (match["before"] or "").strip() in {"search", "grep", "find", "this", "whole", "entire"}:
        return None
    token = given("text")
    if not isinstance(token, Quoted):
        return None
    return [*([given("before")] if match["before"] else []), Option("tree", (token.text,), quoted=True)]


_IDS = r"(?P<one>IDS?) (?:(?:and )?(?:nodes? )?(?P<two>ID) )?(?:(?:and )?(?:nodes? )?(?P<three>ID) )?"
_TREES = r"(?<!\S)(?:tree|subtree|map|outline|structure) "
_ANSWERS = r"TEXT .*(?:context|instruction)|(?:context|instruction).* TEXT"
_GROVE: list[Token] = [Option("in", ("grove",), quoted=False)]

_RULES: tuple[_Rule, ...] = (
    _rule(
        r"for later (?:(?:use|reference|on) )?",
        lambda _, __: [],
        r"\A(?:please )?(?:stash|bookmark|star|pin|(?:put|set|lay) aside) ",
    ),
    _rule(r"(?:doc|document) (?=DOC )", lambda _, __: []),
    _rule(r"this (?:node|one) (?=ID)", lambda _, __: []),
    _rule(r"once (?:more|again) |one more time ", _words("again")),
    _rule(r"(?:\+|plus|&) (?:its )?(?:annotations|notes|comments) ", _words("with-annotations")),
    _rule(r"in place of (?=lines? |section |\S+ section )", _words("replacing")),
    _rule(r"but (?:only|just) summary ", _words("summary"), "doc"),
    _rule(r"(?<=ID )(?:\+|&) (?=ID|DOC)", _words("and")),
    _rule(r"(?<=ID )(?:→|->|=>|⟶|-|–|—) (?=ID|DOC|:tree)", _words("to")),
    _rule(r"(?<=\S )(?:-|–|—|=|:|→|->|=>) (?=TEXT)", lambda _, __: []),
    _rule(
        r"(?:as|in|into) (?:list of )?(?:(?:continuous|flowing|running|plain|stitched|readable|one|single|separate|individual|"
        r"distinct|separated|stitched-together) )*(?P<shape>prose|nodes) (?:(?:form|text) )?",
        _shaped,
        r"(?<!\S):?branch ",
    ),
    _rule(
        r"nodes (?=(?:(?:of|in|on|along) )?:?branch )|(?:(?<=:branch )|(?<=branch ID ))nodes ",
        lambda _, __: _value("as", "nodes"),
        r"\A(?!.*(?:prune|restore|cut|trim|lop) )",
    ),
    _rule(rf"(?:docs?|documents?) {_CALLED}(?P<text>TEXT) ", _quoted("doc")),
    _rule(r"(?P<text>TEXT) (?:doc|document) ", _quoted("doc")),
    _rule(
        rf"(?:from |between )?lines? (?:from |numbers? )?{_N} (?:to|through|until|till|up to|-|–|—|and) (?:lines? )?"
        rf"(?P<last>\d{{1,9}}|{'|'.join(NUMBERS)}) ",
        lambda match, given: (
            None if " and " in match[0] and not match[0].startswith("between") else _line_range(match, given)
        ),
    ),
    _rule(
        rf"first {_N} lines ",
        lambda match, _: _value("lines", f"1-{_number(match['n'])}"),
        "DOC ",
    ),
    _rule(r"(?P<before>\S+ )?lines? (?:numbers? )?(?P<lines>\S+) ", _lines),
    _rule(r"(?<=:lines )(?P<word>of|in|from) (?P<text>TEXT) ", _after_word("doc")),
    _rule(r"(?<=section )(?P<word>of|in|from) (?P<text>TEXT) ", _after_word("doc")),
    _rule(
        r"(?<=section )(?P<word>[a-z]\S*|ID) (?:of|in|from) (?P<text>TEXT) ",
        lambda match, given: None if match["word"] in _NO_SECTION else _after_word("doc")(match, given),
    ),
    _rule(
        r"(?:(?P<before>\S+) )?section (?:(?:called|named|on|about) )?(?:(?P<after>\S+) )?", _section, "DOC "
    ),
    _rule(
        r"(?:(?:and )?(?:at|with|and|using|in) )?(?:temperature|temp) (?:(?:of|at|to|set to|=|is) )?"
        r"(?P<n>\d{0,3}\.\d{1,9}|\d{1,3}) ",
        _heat,
    ),
    _rule(
        r"(?:(?:and )?(?:with|for|in|and|using) )?(?:(?:at most|up to|max|maximum|maximum of|max of|no more than|"
        r"not more than|limit of|limited to|a maximum of) )?"
        rf"(?P<n>\d{{1,3}}(?:,\d{{3}}){{1,3}}|\d{{1,9}}|{'|'.join(NUMBERS)}) (?P<hundred>hundred )?"
        r"tokens (?:(?:each|max|maximum|at most|per continuation|long) )?",
        _many_tokens,
    ),
    _rule(
        rf"(?:(?:with|and) )?(?:(?:max|maximum) )?tokens (?:(?:of|=) )?{_N} (?P<hundred>hundred )?",
        _many_tokens,
    ),
    _rule(
        r"(?:(?:and|then|to) )?(?:stop|stopping|until|till) "
        r"(?:(?:at|on|before|with|sequence|word|words|phrase|it|says|reaches|reaching|you|see|reach|when|you) ){0,4}"
        r"(?P<text>TEXT) (?:or (?P<more>TEXT) )?",
        _stops,
    ),
    _rule(rf"(?:(?:using|with|by|via|through|as) )?(?:agent|model) {_CALLED}(?P<name>\S+) ", _agent),
    _rule(r"(?:(?:using|with|by|via|through) )(?P<name>TEXT) (?:agent|model) ", _agent),
    _rule(rf"results? (?:(?:number|no|nr) )?{_N} ", _counted("result")),
    _rule(rf"(?P<n>{'|'.join(_ORDINALS)}) result ", _counted("result")),
    _rule(r"(?P<n>\d{1,3})(?:st|nd|rd|th) result ", _counted("result")),
    _rule(
        rf"(?:(?:down|up|limited|to|with|at|of|and|in|max|maximum) ){{0,3}}depth (?:(?:of|=|is) )?{_N} ",
        _counted("depth"),
        _TREES,
    ),
    _rule(
        rf"(?:(?:and|at|most|up|to|only|first|top|down|with|for) ){{0,4}}{_N} levels? "
        r"(?:(?:deep|down|only) |of (?=tree|subtree|map|outline|structure))?",
        _counted("depth"),
        _TREES,
    ),
    _rule(rf"(?:only )?{_N} deep ", _counted("depth"), _TREES),
    _rule(
        rf"(?:and )?(?:with|using|given|taking) {_IDS}as (?P<what>context|instructions?) ", _grounds, _ANSWERS
    ),
    _rule(
        rf"(?:and )?(?:(?:with|using|given|taking) )?(?:as )?(?P<what>context|instructions?) (?:(?:of|from) )?{_IDS}",
        _grounds,
        _ANSWERS,
    ),
    _rule(rf"(?P<before>\S+ )?tree {_CALLED}(?P<text>TEXT) ", _tree),
    _rule(r"(?P<word>in|to|from|and|with) (?P<text>TEXT) tree ", _after_word("tree")),
    _rule(
        r"(?:everywhere )?(?:in|across|over|throughout|through|within) (?:(?:whole|entire|all|of|full) ){0,2}grove ",
        lambda _, __: list(_GROVE),
    ),
    _rule(
        r"(?<=search )(?:whole |entire )?grove (?=for )",
        lambda _, __: list(_GROVE),
    ),
    _rule(
        r"(?:and )?(?:along with|together with|including|plus|with|and) (?:(?:its|all|any|of) ){0,3}"
        r"(?:annotations?|notes|comments|remarks) ",
        _words("with-annotations"),
        r"\A(?!.*TEXT)",
    ),
    _rule(r"in (?:(?:its|their) )?(?:entirety|full length) ", _words("full")),
    _rule(
        r"(?:full|whole|complete|entire) (?:text|content|contents|thing) (?:(?:of|in) (?=ID))?",
        _words("full"),
        r"\A(?!.*(?:TEXT|DOC))",
    ),
    _rule(
        r"(?:from|at) (?:this|current|my current|my) (?:point|node|position|place|spot) |from where i am ",
        _words("from", "here"),
    ),
    _rule(r"(?:(?:with|and) )?n (?:= )?(?P<n>\d{1,9}) ", _counted("n")),
    _rule(r"twice ", lambda _, __: _value("n", "2"), r"\A(?:continue|generate|sample|extend) .*ID "),
    _rule(r"(?:x(?P<n>\d{1,3})|(?P<m>\d{1,3})x) ", lambda match, _: _value("n", match["n"] or match["m"])),
    _rule(
        r"(?:(?:and|with) )?(?:with )?(?:note|comment|remark|saying|noting) (?:saying |that says )?(?P<text>TEXT) ",
        _quoted("note"),
        r"(?<!\S)(?:link|links|connect|connection|relate|cross-reference) ",
    ),
    _rule(
        r"(?:(?:and|with) )?(?:with )?description (?P<text>TEXT) ",
        _quoted("description"),
    ),
)


def spelt_out(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with options that are said in words as options, and hyphens out of verbs."""
    found = [_joined(token) for token in tokens]
    shape = without_articles(found)
    for rule in _RULES:
        if rule.needs is None or rule.needs.search(shape.text) is not None:
            again = rewritten(found, shape, rule.pattern, rule.build)
            if again is not None:
                found, shape = again, without_articles(again)
    return found


def _joined(token: Token) -> Token:
    """`un-pin` is `unpin`."""
    if not isinstance(token, Word) or "-" not in token.text or len(token.text) > 20:
        return token
    text = token.text.replace("-", "")
    if (text,) in verbs() and (token.text,) not in verbs():
        return Word(text, text, after=token.after)
    return token
