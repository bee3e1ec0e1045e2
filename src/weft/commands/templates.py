"""Whole sentences that have one meaning, with what they mean in the catalog's form.

`(a|b)` is one of them, `[a]` may be left out, `$name` stands for the words under that name below.
ID, OWNER (`a7x2's`), RANGE, TEXT, DOC, WHAT (a node or a document), N, TAG (a text or one bare word), HASH (`#word`)
and COMMAND stand for what is given. After `?` stands an option without which it does not count.
A sentence counts only if it is said from its first word to its last: no word is passed over.
Articles, "me", "my" and "please" are left out of both sides, and "node" before an id.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from weft.commands.sentences_changing import CHANGING
from weft.commands.sentences_looking import LOOKING

__all__ = ["TEMPLATES", "WORDS", "Template"]

_DEEPER = " " * 8


class Template(NamedTuple):
    said: str
    meant: str
    needs: str = ""
    """An option that must be there; without it the sentence means nothing, or something else."""


WORDS: Mapping[str, str] = {
    "show": "(show|see|view|display|look at|take look at|have look at|give|get|print|pull up|bring up|fetch|have|"
    "present|i need|i want|i'd like|i would like|i need to see|i want to see|want|need|check|inspect|examine|read|"
    "take)",
    "see": "(show|see|view|display|look at|pull up|bring up|inspect|examine|open|check|print)",
    "listing": "(list|list all|list out|enumerate|name|tell|$show)",
    "quick": "[quick|short|brief|closer|close|good|another|careful|proper]",
    "whole": "(full|whole|complete|entire|fully|completely|entirely|all)",
    "make": "(add|put|set|place|leave|make|create|attach|write|give|stick|apply|assign|post|record|draw|establish)",
    "remove": "(remove|delete|drop|take away|take off|take|clear|get rid of|discard|strip|erase|throw away|"
    "do away with|dispose of|let go of|release|forget|cut|break|sever|dissolve)",
    "note": "[new|short|quick|brief|little] (annotation|note|comment|remark)",
    "saying": "[saying|that says|which says|that reads|reading|with text|with words|with|stating|:|to say]",
    "reply": "[new|short|quick|brief] (reply|response|answer)",
    "called": "[called|named|labelled|labeled|titled|label|name|with label|with name|under|under label|under name|as]",
    "contexts": "[all|every|any|future|our|further|later] (context|contexts)",
    "one": "(continuation|completion|sample|variant|alternative|option|variation)",
    "many": "(continuations|completions|samples|variants|alternatives|options|variations)",
    "generate": "(generate|give|get|make|create|produce|write|request|draw|sample|i want|i need|i'd like|i would like|"
    "want|need|have|ask for|fetch|try|do|roll|show)",
    "ask": "(generate|make|create|produce|write|request|draw|i want|i need|i'd like|i would like|want|need|have|"
    "ask for|try|give|get)",
    "kind": "[new|different|more|alternative|possible|separate|further|other|distinct|fresh]",
    "on": "(of|from|for|to|on|after|at)",
    "goes_on": "(continue|go on|carry on|keep going|write on|proceed|generate|extend)",
    "go": "(go|move|jump|switch|navigate|hop|step|head|travel|skip|take|bring|proceed|climb|descend)",
    "way": "[over|on|along|up|down|back up|straight|right|ahead|forward|one|all way]",
    "last": "[last|latest|most recent|previous|recent|very last]",
    "deed": "(thing|step|action|change|operation|command|move|one)",
    "i_did": "[i did|i just did|i made|i just made|i took|that i did|that i made|i performed|i have done|i've done]",
    "take_back": "(undo|take back|revert|reverse|roll back|rollback|cancel|withdraw)",
    "found": "(mention|mentions|contain|contains|talk about|say|says|include|use|have|refer to|speak of|mentioning|"
    "containing|with|about|that mention|that contain|that say|that mentions|that talk about|which mention|"
    "where|that mentions|which mentions|that says|that contains)",
    "hits": "(mentions|mention|occurrences|nodes|places|instances|passages|uses|node|everything|anything)",
}

_LISTED = {
    "continuations": "(continuations|children|child nodes|replies|responses|branches)",
    "annotations": "(annotations|annotation|notes|comments|remarks)",
    "links": "(links|link|connections|references|cross-references)",
    "versions": "(versions|version|revisions|edits|edit history|version history)",
}


def _listing() -> Iterator[Template]:
    some = "[all|every|any|each|other|different|existing|various|all of|earlier|previous|older|past|current]"
    on = "(of|on|for|from|to|at|under|in|belonging to|attached to|that belong to|that hang on|there are for)"
    for what, words in _LISTED.items():
        meant = f"list ID {what}"
        yield Template(f"[$listing] {some} {words} {on} ID", meant)
        yield Template(f"[$listing] OWNER {some} {words}", f"list OWNER {what}")
        yield Template(f"(what|which) {some} {words} (are|are there|exist|is there|is) {on} ID", meant)
        yield Template(f"(what|which) {some} {words} (does|do) ID have", meant)
        yield Template(f"(what|which) {some} {words} {on} ID (are there|exist|do we have)", meant)
        yield Template(f"what are {some} {words} {on} ID", meant)
        yield Template(f"what are OWNER {some} {words}", f"list OWNER {what}")
        yield Template(f"(are|is) there {some} {words} {on} ID [list them]", meant)
        yield Template(f"(does|has) ID (have|got) {some} {words} [list them]", meant)
        yield Template(f"how many {words} (does ID have|are there {on} ID2)", meant.replace("ID", "ID"))
        yield Template(f"[$listing] {some} {words} ID has", meant)


def _read(text: str) -> Iterator[Template]:
    """Sentences in the order of the text: `= form ? option`, then a line for each, and its rest set in deeper."""
    meant, needs, said = "", "", ""
    for line in [*text.strip().splitlines(), "="]:
        if line.startswith(_DEEPER):
            said += " " + line.strip()
            continue
        if said:
            yield Template(said, meant, needs)
        said = line.strip()
        if line.startswith("="):
            meant, _, needs = (each.strip() for each in line[1:].partition(" ? "))
            said = ""


TEMPLATES: tuple[Template, ...] = (*_listing(), *_read(LOOKING), *_read(CHANGING))
