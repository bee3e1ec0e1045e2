"""How the commands about documents are read from their pieces."""

from weft.commands import values as v
from weft.commands.lexicon import listed
from weft.commands.pieces import WHOLE, Pieces, Unfit, lines_of

__all__ = ["read_document", "write_document"]


def read_document(pieces: Pieces) -> v.Action:
    """A document, or one part of it."""
    title = pieces.option("doc")
    if title is None:
        raise Unfit('which document? doc:"…"', "view")
    section, lines = pieces.option("section"), pieces.option("lines")
    parts: list[v.SummaryOnly | v.Lines | v.SectionOf] = []
    if section is not None:
        parts.append(v.SectionOf(section))
    if lines is not None:
        parts.append(v.Lines(*lines_of(lines)))
    if pieces.word("summary", "summarised", "summarized", "briefly"):
        parts.append(v.SummaryOnly())
    if len(parts) > 1:
        raise Unfit("one of summary, lines: and section:, not several")
    pieces.word(*WHOLE)
    pieces.done("of", "from", "in", "only", "at", "up", "out", "document", "doc")
    return v.Read(title, parts[0] if parts else None)


_REPLACING = frozenset({"replace", "overwrite", "change", "rewrite", "edit", "update", "revise"})
_NO_PLACES = listed(
    "beginning start top bottom front end once first last least all home section line lines of the and"
)


def write_document(pieces: Pieces) -> v.Action:
    """A text at a place of a document, or in the place of a part of it."""
    title = pieces.option("doc")
    if title is None:
        raise Unfit('to which document? doc:"…"', "respond", "edit")
    places: list[v.Append | v.At | v.Replace] = []
    appends = "append" in pieces.verb or pieces.word("append", "appending")
    overwrites = pieces.word("replace", "replacing", "overwriting")
    replaces = overwrites or bool(_REPLACING & set(pieces.verb))
    at, replaced = pieces.option("at"), pieces.option("replace")
    if at is not None:
        places.append(v.At(int(at)) if at.isdecimal() and 0 < len(at) < 10 and int(at) else v.At(at))
    if replaced is not None:
        places.append(v.Replace(_replaced(replaced)))
    spoken = _spoken_place(pieces, appends=appends, replaces=replaces)
    if spoken is not None:
        places.append(spoken)
    elif appends:
        places.append(v.Append())
    if len(places) != 1:
        raise Unfit("write where: append, at:… or replace:…?")
    if (replaces and isinstance(places[0], v.At)) or (overwrites and not isinstance(places[0], v.Replace)):
        raise Unfit("beside what is there, or in its place? append, at:… or replace:…")
    text = pieces.string("text")
    pieces.done("to", "in", "into", "with", "by", "of", "text", "this", "following", "sentence", "line")
    return v.Write(title, places[0], text)


def _spoken_place(pieces: Pieces, *, appends: bool, replaces: bool) -> v.Append | v.At | v.Replace | None:
    """`at line 12`, `replacing lines 3-4`, `at the end of section motivation`, `at the end`."""
    section, lines = pieces.option("section"), pieces.option("lines")
    if section is not None and lines is not None:
        raise Unfit("lines or a section, not both")
    if replaces:
        what = section if lines is None else v.Lines(*lines_of(lines))
        return None if what is None else v.Replace(what)
    if lines is not None:
        first, last = lines_of(lines)
        if appends or first != last or not pieces.word("at", "before"):
            raise Unfit("at one line, or in place of lines? at:12, or replace:12-20")
        return v.At(first)
    at_end = pieces.word("end", "bottom")
    if section is not None:
        if not (pieces.word("at", "in", "under", "to", "into") or appends):
            raise Unfit("at the end of the section, or in its place? at:…, or replace:…")
        return v.At(section)
    if at_end:
        pieces.word("at")
        return v.Append()
    return _named_place(pieces)


def _named_place(pieces: Pieces) -> v.At | None:
    """`at motivation`: a section by its bare name."""
    for place, following in zip(pieces.items, pieces.items[1:], strict=False):
        named = following.kind in {"word", "id"} and following.raw.isalpha()
        if place.text == "at" and named and following.text not in _NO_PLACES:
            pieces.items = [item for item in pieces.items if item is not place and item is not following]
            return v.At(following.raw)
    return None


def _replaced(value: str) -> v.Lines | str:
    try:
        return v.Lines(*lines_of(value.lower().removeprefix("lines ").removeprefix("lines:")))
    except Unfit:
        return value
