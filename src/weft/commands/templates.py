"""Whole sentences that have one meaning, with what they mean in the catalog's form.

`(a|b)` is one of them, `[a]` may be left out, `$name` stands for the words under that name below.
ID, OWNER (`a7x2's`), RANGE, TEXT, DOC, N, NAME (one bare word) and COMMAND stand for what is given.
A sentence counts only if it is said from its first word to its last: no word is passed over.
Articles, "me", "my" and "please" are left out of both sides, and "node" before an id.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

__all__ = ["TEMPLATES", "WORDS", "Template"]


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
    "one": "(continuation|completion|sample|variant|alternative|option|take|variation)",
    "many": "(continuations|completions|samples|variants|alternatives|options|takes|variations)",
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


_LOOKING = [
    ("(zoom in on|zoom into|revisit|reread|re-read|reopen|go over|go through|get|grab|fetch|return|recheck) ID", "view ID"),
    ("return (text|content|contents) of ID", "view ID"),
    ("(pull|bring) ID up", "view ID"),
    ("$see ID (all of it|verbatim|unabridged|in all detail|in detail|word for word|every word of it)", "view ID full"),
    ("$show (unabridged|verbatim) ID", "view ID full"),
    ("$show full (for|of|in) ID", "view ID full"),
    ("$show ID [in] full not [just|only] summary", "view ID full"),
    ("$show ID (annotations included|with annotations (attached|included))", "view ID with-annotations"),
    ("[$show|read] [whole|entire|full|complete] branch (ending at|ending in|that ends at|up to|down to|leading to|through) ID",
     "view branch:ID", "as"),
    ("($show|read|list) [whole|entire|full|complete] branch [at|of|from|to] ID", "view branch:ID", "as"),
    ("$show branch [at|of|from|to] ID node by node", "view branch:ID as:nodes"),
    ("(stitch|stitch together) branch [at|of|from|to] ID", "view branch:ID", "as"),
    ("[$show|expand|open|full|whole] [in full|in whole|full|again]", "view", "result"),
    ("what (was|is) [in]", "view", "result"),
    ("(what|which) (replies|continuations|responses) did ID get", "list ID continuations"),
    ("[$listing] everything that (continues|follows) ID", "list ID continuations"),
    ("what (has been|was|is) annotated on ID", "list ID annotations"),
    ("[$listing] (what|where) (does ID link to|ID2 links to)", "list ID links"),
    ("print out (tree|whole tree|entire tree)", "tree"),
    ("$show (below|under|from) ID in tree", "tree from:ID", "depth"),
    ("$show (below|under|from) ID", "tree from:ID", "depth"),
    ("(set|change|switch|make) current (node|position) (to|be) ID", "switch to ID"),
    ("(return|relocate|come back|get back|walk|shift) to ID", "switch to ID"),
    ("position at ID", "switch to ID"),
    ("[$go] up (one level|level|one|one node|a level)", "switch parent"),
    ("up", "switch parent"),
    ("($go|back) $way to parent of this (node|one)", "switch parent"),
    ("$go (all way|right|straight) down to (leaf|tip)", "switch leaf"),
    ("what (is|are) ID linked (to|with)", "list ID links"),
    ("(what|which nodes) (is|are) linked (to|with) ID", "list ID links"),
    ("gimme ID", "view ID"),
    ("$see one with id ID", "view ID"),
    ("what does it say (in|at) ID", "view ID"),
    ("next", "switch next"),
    ("[$show] $whole [(text|content|contents|view)] of ID", "view ID full"),
    ("[$show] (all|whole|everything|all text) (of|in) ID", "view ID full"),
    ("$show $whole ID", "view ID full"),
    ("[$show] ID (full|in full|completely|entirely|fully|in whole)", "view ID full"),
    ("[$show] full ID", "view ID full"),
    ("$show full ID not summary", "view ID full"),
    ("$see full view of ID", "view ID full"),
    ("$see ID and $see (everything|it|all|all of it) [in] full", "view ID full"),
    ("$see ID full with-annotations", "view ID full with-annotations"),
    ("$show ID with-annotations", "view ID with-annotations"),
    ("with-annotations $show ID", "view ID with-annotations"),
    ("[$show] ID [in] full with-annotations", "view ID full with-annotations"),
    ("[$show] ID with-annotations [in] full", "view ID full with-annotations"),
    ("$show [in] full ID with-annotations", "view ID full with-annotations"),
    ("[in] full $see ID", "view ID full"),
    ("(have|take) $quick (look|peek|glance|read) (at|into|of|through) ID", "view ID"),
    ("what is [there] (at|in|on|inside|inside of) ID [about]", "view ID"),
    ("what is ID [about]", "view ID"),
    ("what (does|did) ID (say|contain|hold|read|tell)", "view ID"),
    ("$see what ID (says|contains|is about)", "view ID"),
    ("$see what is (at|in|inside) ID", "view ID"),
    ("$see (text|content|contents) (of|in) ID", "view ID"),
    ("[$see] (short|brief) (view|version) of ID", "view ID"),
    ("mind showing ID", "view ID"),
    ("[$show] branch [at|of|from|to|up to] ID", "view branch:ID", "as"),
    ("[$show] ID branch", "view branch:ID", "as"),
    ("$show [again] [rest of|all of|whole|full|everything of] [again]", "view", "result"),
    ("$show $quick [whole|entire|full|complete] (tree|tree structure|tree overview|tree map)", "tree"),
    ("look at [whole|entire|full] tree", "tree"),
    ("tree (view|structure|overview|map)", "tree"),
    ("[$show] (overview|outline|map|structure|shape|layout|drawing) of [whole|entire|this|current] tree", "tree"),
    ("[$show] (summary|short overview|summarised view) of [whole|entire|this|current] tree", "tree summary"),
    ("[$show] [whole|entire|this|current] tree (summary|in summary|summarised|in short|briefly)", "tree summary"),
    ("(summarise|summarize) [whole|entire|this|current] tree", "tree summary"),
    ("(summary|summarised) tree", "tree summary"),
    ("(summary|summarised) tree (from|at|below|under) ID", "tree from:ID summary"),
    ("(summarise|summarize) (tree|subtree) (from|at|below|under|of) ID", "tree from:ID summary"),
    (
        "[$show|draw|print|map|outline] (tree|subtree|structure|part of tree) "
        "(at|of|from|under|below|rooted at|starting at|starting from|beginning at|that starts at|beginning with) ID "
        "[down|downwards|on|onwards]",
        "tree from:ID",
    ),
    ("(make|set) ID [as|to be|to] (current|active) [node|position|location|place|one]", "switch to ID"),
    ("make ID (position|place|location|current position)", "switch to ID"),
    (
        "(move|set|put|place|bring|change|switch|shift) (cursor|position|current position|focus|place|location) "
        "(to|at|on|onto) ID",
        "switch to ID",
    ),
    ("[$go] back to ID", "switch to ID"),
    ("[$go] $way to ID [and (work|go on|carry on|start|look around) [from there|there]]", "switch to ID"),
    ("$go to ID and (work|look around|start|stay) [from there|there]", "switch to ID"),
    ("[$go] $way [to] next (node|one|sibling|branch)", "switch next"),
    ("on to next [node|one|sibling]", "switch next"),
    ("[$go] $way [to] previous (node|one|sibling|branch)", "switch previous"),
    ("($go|back) $way [to] parent [node|one]", "switch parent"),
    ("($go|back) up to parent [node|one]", "switch parent"),
    ("parent node", "switch parent"),
    ("$go $way [to] (leaf|leaf node|tip) [of (this|current|branch|this branch|current branch)]", "switch leaf"),
    ("$go $way to end of (branch|this branch|current branch)", "switch leaf"),
    ("TEXT search", "search TEXT"),
    (
        "(search|look|find|grep|look through|search through|search in|search within) [in] "
        "[this|whole|entire|current] tree for [text|words|phrase|word|string|mentions of] TEXT",
        "search TEXT",
    ),
    (
        "(search|search for|look for|find|grep|locate) [word|words|phrase|text|string|all|any] TEXT "
        "(in|within|across|through|throughout|anywhere in) [this|whole|entire|current] tree",
        "search TEXT",
    ),
    ("(find|search for|look for|locate) [all|any|every] $hits [of|to|for] [$found] TEXT", "search TEXT"),
    ("(list|list all|$see) [all|any|every] $hits (of|$found) TEXT", "search TEXT"),
    ("(who|who else) (mentions|says|talks about|speaks of) TEXT", "search TEXT"),
    ("where (do|did) (we|they|you|i) (talk about|mention|say|discuss|speak of) TEXT", "search TEXT"),
    ("[$show] where TEXT (is mentioned|appears|occurs|comes up|is used|is said|shows up)", "search TEXT"),
    ("(any|any other) (mention|mentions|occurrences) of TEXT", "search TEXT"),
    ("(search|search for|find|look for) TEXT here [in this tree]", "search TEXT"),
    ("grove-wide search for TEXT", "search TEXT in:grove"),
    ("(search|search for|find|look for) TEXT (grove-wide|in all trees of grove|in all trees|in every tree)",
     "search TEXT in:grove"),
    (
        "(find|list|$see) [all|any] nodes where TEXT (is mentioned|appears|occurs|comes up|is used|is said)",
        "search TEXT",
    ),
    (
        "(do|run|make|perform|start|try) [quick] [full text|full-text|text|tree] search (for|on|of|with) "
        "[word|words|phrase|text] TEXT",
        "search TEXT",
    ),
    ("[full text|full-text|text] search for TEXT", "search TEXT"),
    ("where (is|was|are) TEXT (mentioned|used|said|named|found|discussed)", "search TEXT"),
    ("where (does|do|did) TEXT (occur|appear|come up|show up|turn up)", "search TEXT"),
    ("find (where|out where) TEXT (is mentioned|appears|occurs|comes up|is used|is said)", "search TEXT"),
    ("(which|what) nodes $found TEXT", "search TEXT"),
    ("(is|was) TEXT mentioned (anywhere|somewhere|in tree|in this tree)", "search TEXT"),
    ("(is|are) there (any|anything|any mention|mentions|any nodes) (about|of|on|with) TEXT", "search TEXT"),
]

_COMMAND = "[command] COMMAND [command]"
_HELPING = [
    ("what are [all|available] commands", "help"),
    ("($show|give|get) list of [all|available] commands", "help"),
    ("how (do|can) i use this", "help"),
    ("how does (this|it|all this) work", "help"),
    ("help out", "help"),
    ("how (do|can|would|should) i COMMAND", "help COMMAND"),
    ("how (do|can|would|should) i COMMAND (node|something|things|nodes|branch|text|one)", "help COMMAND"),
    ("[$show|tell|explain] how to use " + _COMMAND, "help COMMAND"),
    ("(how|tell how|explain how) (do|can|should|would|to) [i|you|one|we] use " + _COMMAND, "help COMMAND"),
    ("how to use " + _COMMAND, "help COMMAND"),
    (f"how (does|do) {_COMMAND} work", "help COMMAND"),
    (f"how is {_COMMAND} used", "help COMMAND"),
    (
        f"[$show|give|get|i need|need] (help|usage|manual|syntax|options|docs|documentation|instructions) "
        f"(with|on|for|about|of|regarding) {_COMMAND}",
        "help COMMAND",
    ),
    (f"help [with|on|for|about|regarding|:] {_COMMAND}", "help COMMAND"),
    (f"(explain|describe) {_COMMAND}", "help COMMAND"),
    (f"what does {_COMMAND} do", "help COMMAND"),
    ("COMMAND (help|usage|syntax)", "help COMMAND"),
    ("COMMAND command (help|usage|syntax)", "help COMMAND"),
    (f"tell [more] about (command COMMAND|COMMAND2 command)", "help COMMAND"),
    (f"what (are|is) (options|syntax|usage|form|arguments) (of|for) {_COMMAND}", "help COMMAND"),
    (f"(what|which) options (does|do) {_COMMAND} (have|take)", "help COMMAND"),
    ("what is (command COMMAND|COMMAND2 command) [for|good for]", "help COMMAND"),
    ("what is COMMAND (for|good for)", "help COMMAND"),
    ("(i need|get|give|show|see|display|open|need|want) [some] help", "help"),
    (
        "[list|$show|tell|name] [all|all of|every|available|possible|existing|known|all available] (commands|command)",
        "help",
    ),
    ("list of [all|available] commands", "help"),
    (
        "(what|which) commands (are there|are available|are possible|exist|do i have|can i use|may i use|could i use|"
        "can i run|am i allowed to use|do you know|do you understand)",
        "help",
    ),
    ("what (can|may|could) i do [here|with this|in this tree|next]", "help"),
    ("what (am i|are we) (allowed|able) to do [here]", "help"),
]

_REMEMBERING = [
    ("what is (currently|now|presently) in memory [block]", "memory"),
    ("what (am i remembering|is pinned|do i keep in memory|have i in memory|is remembered)", "memory"),
    ("what (were|are) [last|recent|latest] (actions|steps|commands)", "memory trace"),
    ("what is in (stash|stashes)", "memory stashed"),
    ("(what|which) (things|texts|items) have i stashed", "memory stashed"),
    ("make ID pinned", "pin ID"),
    ("ID should (be|stay|remain) pinned", "pin ID"),
    ("pin ID (into|to|in|onto) (memory|memory block)", "pin ID"),
    ("(keep|hold|leave) TEXT (in|inside) [new] stash $called TEXT2", "stash TEXT2 TEXT"),
    ("stash what ID says (as|under|called|named) [label|name] TEXT", "stash TEXT content-of:ID"),
    ("stash OWNER (text|content|contents|words) (as|under|called|named) [label|name] TEXT", "stash TEXT content-of:OWNER"),
    ("recall what is (in|under|stashed as|stashed under|stashed in) [stash] TEXT", "recall TEXT"),
    ("(get|fetch|take|pull|bring) TEXT [back] (from|out of) stash", "recall TEXT"),
    ("$remove ID from (pins|pinned list|pinned nodes|memory pins)", "drop pin:ID"),
    ("ID (no longer needs to|doesn't need to|need not|does not need to) be pinned [anymore|any more]", "drop pin:ID"),
    ("let (stash TEXT|TEXT2 stash) go", "drop stash:TEXT"),
    ("let pin (on|of|for|at) ID go", "drop pin:ID"),
    ("$show [operational|working|current|own] memory [block|contents]", "memory"),
    ("[$show] (contents|content) of [operational] memory [block]", "memory"),
    ("what (is|do i have|have i got) in [operational] memory [block]", "memory"),
    ("memory block", "memory"),
    ("what (do i remember|have i pinned|do i have pinned)", "memory"),
    ("[$show|list] [memory|action|recent|full] trace [of [recent|last|past] (actions|activity|steps|commands)]", "memory trace"),
    ("$show what i (did|have done) [so far|recently|lately]", "memory trace"),
    (
        "[$show|list|review] [recent|last|latest|past|previous|all] (actions|activity|steps taken|action history|"
        "action log|action trace|history of actions|log of actions) [so far]",
        "memory trace",
    ),
    ("[$show|list|review] [recent|last|latest|past] errors", "memory trace"),
    (
        "what (have i done|did i do|i did|i have done|have i been doing) [recently|so far|lately|until now|up to now|"
        "earlier|before]",
        "memory trace",
    ),
    ("(what|which) errors (did i (get|have|make|run into|see)|have i (got|made|had))", "memory trace"),
    ("what (is|is there|do i have|have i|did i|i have|i) (stashed|stash)", "memory stashed"),
    ("(what|which) (stashes|stashed texts|stashed items) (do i have|are there|exist|have i|have i made)", "memory stashed"),
    (
        "($show|list|list all|tell) [all|everything|what|all that|everything that|all of] [that] [i|i have|i've] "
        "stashed [so far|texts|items|things|memory|memories]",
        "memory stashed",
    ),
    ("($show|list|list all) [all|all of] stashes", "memory stashed"),
    ("stashed memory", "memory stashed"),
    ("make sure [that] ID (stays|remains|is|is kept|keeps) pinned", "pin ID"),
    ("make sure [that] (stays|remains|is|is kept) pinned", "pin", "result"),
    ("keep pinned", "pin", "result"),
    ("(add|put|place|set|stick|drop) pin (to|on|in|at|for)", "pin", "result"),
    ("(put|store|save|add) TEXT (in|into|to|inside) [new] stash $called TEXT2", "stash TEXT2 TEXT"),
    (
        "(make|create|add|new|start|save to|save in|write|open|put in|put into|save|store|set up) [new] stash "
        "$called TEXT [with|containing|holding|saying|for|from|of|=|that says|and put in] "
        "[text|content|contents|words|following] TEXT2",
        "stash TEXT TEXT2",
    ),
    (
        "(make|create|add|new|start|save|store) [new] stash $called TEXT (with|containing|holding|from|of|for) "
        "[text of|content of|contents of|content|contents] ID",
        "stash TEXT content-of:ID",
    ),
    (
        "(put|store|save|keep|copy) [text of|content of|contents of] ID (in|into|to|inside) [new] stash $called TEXT",
        "stash TEXT content-of:ID",
    ),
    (
        "(make|create|add|new|start|save|store) [new] stash $called TEXT (with|containing|holding|from|of|for) "
        "summary of RANGE",
        "stash TEXT summary-of:RANGE",
    ),
    (
        "(summarise|summarize) RANGE and stash [it|that|this|summary|result|them] (as|under|in) [label|name] TEXT",
        "stash TEXT summary-of:RANGE",
    ),
    (
        "(summarise|summarize) [from] ID (to|through|until) ID2 and stash [it|that|this|summary|result] "
        "(as|under|in) [label|name] TEXT",
        "stash TEXT summary-of:ID-ID2",
    ),
    (
        "(put|store|save|keep) summary of RANGE (in|into|to|inside) [new] stash $called TEXT",
        "stash TEXT summary-of:RANGE",
    ),
    ("stash summary of RANGE (as|under|in|called|named) [label|name] TEXT", "stash TEXT summary-of:RANGE"),
    (
        "(recall|get|fetch|load|retrieve|show|open|restore|bring|pull|need|want|i need|i want|i'd like|give|see|read|"
        "view|take|unstash|what is in|look at|reload|return) [back|up|out] "
        "(stash $called TEXT|TEXT2 stash) [again|back|out|into context|back into context|into memory|up|now]",
        "recall TEXT",
    ),
    ("what (did|have) i (stash|stashed|put|save|saved|store|stored|keep|kept) [away] (as|under|in|in stash|into stash|"
     "under label) TEXT", "recall TEXT"),
    ("(recall|show|get|see|view|give|bring back) what i [have] (stashed|stash|put|saved|kept) [away] "
     "(as|under|in stash|in|under label) TEXT", "recall TEXT"),
    ("(recall|retrieve|get|fetch) [back] [stashed|what is stashed under|what is stashed as] TEXT", "recall TEXT"),
    ("$remove pin [on|from|of|for|to|off|at] ID", "drop pin:ID"),
    ("$remove OWNER pin", "drop pin:OWNER"),
    ("$remove", "drop", "pin"),
    ("$remove", "drop", "stash"),
    ("$remove pin [on|from|of|for|to|off|at]", "drop pin", "result"),
    ("$remove pin [on|from|of|for|to|off|at] DOC", "drop pin DOC"),
    ("(take|pull|lift) pin (off|from|away from|out of|out from) ID", "drop pin:ID"),
    ("(stop|no longer|don't keep|do not keep) (pinning|pin) ID [anymore|any more]", "drop pin:ID"),
    ("i (no longer need|don't need) pin (on|of|for|at) ID [anymore|any more] [drop it|remove it|let it go]", "drop pin:ID"),
    ("i (no longer need|don't need) stash TEXT [anymore|any more] [drop it|remove it|let it go]", 'drop stash:TEXT'),
    ("ID (should|need) (no longer|not) be pinned [anymore|any more] [unpin it|drop it]", "drop pin:ID"),
    ("$remove (stash $called TEXT|TEXT2 stash)", "drop stash:TEXT"),
    ("(throw|toss) stash TEXT (away|out)", "drop stash:TEXT"),
    ("pin (on|of|at|for) ID (can go|is no longer needed)", "drop pin:ID"),
    ("stash TEXT (can go|is no longer needed)", "drop stash:TEXT"),
]

_PINNING = [
    ("keep {0} (pinned|in memory|in memory block|in pins|in view|always in memory)", "pin {0}"),
    ("(add|put|place|set|stick) pin (to|on|in|at|for) {0}", "pin {0}"),
    ("(add|put) {0} (to|in|into|among|on) (memory|memory block|pins|pinned list)", "pin {0}"),
    ("i want {0} pinned", "pin {0}"),
]

_MAKING = [
    ("(give|send|write|post) ID $reply $saying TEXT", "respond ID TEXT"),
    ("say (this|following) to ID TEXT", "respond ID TEXT"),
    ("(mark|provide|supply) ID with $note TEXT", "annotate ID TEXT"),
    ("(jot|jot down|scribble|scribble down) TEXT (on|at|beside|next to|in margin of) ID", "annotate ID TEXT"),
    ("$make to ID $note TEXT", "annotate ID TEXT"),
    ("$make (this|following) $note (to|on|for) ID TEXT", "annotate ID TEXT"),
    ("set ID to [read|say] TEXT", "edit ID TEXT"),
    ("(edit|change|revise|rewrite|update) ID [with] new (text|content|wording|version) TEXT", "edit ID TEXT"),
    ("(bring|put) ID and ID2 together (as|into|in) [one] [node] TEXT", "merge ID ID2 TEXT"),
    ("(split|cut|break|divide) ID (so|so that) second (part|half|node|one) (starts|begins) with TEXT", "split ID at:TEXT"),
    ("(split|cut|break|divide) ID (where|at where|just before|right before|directly before) TEXT [begins|starts]",
     "split ID at:TEXT"),
    ("(create|$make|send|post) $reply (to|for|on|under|at) ID $saying TEXT", "respond ID TEXT"),
    ("(create|$make|send|post) $reply TEXT (to|for|on|under|at) ID", "respond ID TEXT"),
    ("(create|$make|send|post|write|say) TEXT (as|in) $reply (to|for) ID", "respond ID TEXT"),
    ("in $reply to ID [say|write|answer|reply|respond|post|i say] [with] TEXT", "respond ID TEXT"),
    ("(reply|respond|answer) [to] ID (with|by) [saying|text|words|message] TEXT", "respond ID TEXT"),
    ("(reply|respond|answer) [to] ID (with|by) (saying|text|words|message) TEXT", "respond ID TEXT"),
    ("tell ID [that] TEXT", "respond ID TEXT"),
    ("$make $note (on|to|at|for|beside|next to|under|about) ID $saying TEXT", "annotate ID TEXT"),
    ("$make $note $saying TEXT (on|to|at|for|beside|next to|under|about) ID", "annotate ID TEXT"),
    ("$make TEXT (to|on|at|beside|next to) ID as $note", "annotate ID TEXT"),
    ("$make TEXT as $note (to|on|at|for|of|beside) ID", "annotate ID TEXT"),
    ("$make ID $note $saying TEXT", "annotate ID TEXT"),
    ("[$note] (for|on|about|to) ID [:|saying|that says] TEXT", "annotate ID TEXT", "never"),
    ("$note (for|on|about|to) ID [saying|that says] TEXT", "annotate ID TEXT"),
    ("annotate ID (as|with|by|to say|saying) [note|comment|remark|text|words|annotation|saying] TEXT", "annotate ID TEXT"),
    ("(comment|remark|note) (on|about|for) ID (that|as|with|saying) TEXT", "annotate ID TEXT"),
    ("(write|make|create|add|save) new (version|revision) of ID $saying TEXT", "edit ID TEXT"),
    ("(write|make|create|add|save) new (version|revision) of ID (as|=) TEXT", "edit ID TEXT"),
    (
        "(set|change|update|edit|revise|rewrite|modify|alter|amend|replace|correct) "
        "(text|content|contents|wording|words|body) (of|in) ID (to|with|as|by|to read|to say|into|so it says|"
        "so that it says|so it reads|so that it reads) TEXT",
        "edit ID TEXT",
    ),
    (
        "(set|change|update|edit|revise|rewrite|modify|alter|amend|replace) OWNER (text|content|contents|wording) "
        "(to|with|as|by|to read|to say) TEXT",
        "edit OWNER TEXT",
    ),
    (
        "(change|update|edit|revise|rewrite|reword|rephrase|modify|alter|amend|correct|make) ID (so|so that) it "
        "(says|reads|becomes|is|now says|now reads) TEXT",
        "edit ID TEXT",
    ),
    ("(make|let|have) ID (say|read|be) TEXT [instead]", "edit ID TEXT"),
    ("ID should (say|read|be) TEXT [instead]", "edit ID TEXT"),
    ("(merge|combine|fuse|unite|blend) ID (and|with) ID2 (into|to form|to|as) (one|single|one single|new) [node|text|one] $saying TEXT",
     "merge ID ID2 TEXT"),
    ("(make|create|form|build) (one|one node|single node|new node|node|merge) (of|from|out of) ID and ID2 $saying TEXT",
     "merge ID ID2 TEXT"),
    ("join ID (with|to|and|onto) (next|following|next one|following one|next node|following node) [after it]", "join ID"),
    ("join ID (with|to|and|onto) (its|it's) (successor|continuation|next node|following node|next|child)", "join ID"),
    (
        "join ID (with|to|and|onto) (one|node|what|whatever|one node|that) [right|directly|immediately|that|which] "
        "(after it|follows|following|follows it|comes next|comes after|comes after it|after|after that)",
        "join ID",
    ),
    ("(glue|unsplit|merge|combine) ID (with|to|and|onto) (next|following) (one|node)", "join ID"),
    ("attach [file|image|picture|photo|item|attachment] TEXT (to|onto|on|with) ID [as attachment]", "attach ID TEXT"),
    ("attach (to|onto) ID [file|image|picture|photo|item|attachment] TEXT", "attach ID TEXT"),
    ("$make [file|image|picture|photo|item] TEXT (to|on|onto) ID as [attachment|item|attached item]", "attach ID TEXT"),
    ("$make (attachment|item|file|image|picture) TEXT (to|on|onto) ID", "attach ID TEXT"),
    ("$make (attachment|item|file|image|picture) (to|on|onto) ID [:] TEXT", "attach ID TEXT"),
    ("give ID attachment TEXT", "attach ID TEXT"),
]

_MARKING = [
    ("link ID (onto|towards|over to) ID2", "link ID to ID2"),
    ("(sever|detach|separate|decouple) ID (from|and) ID2", "unlink ID from ID2"),
    ("(remove|delete|drop|cut|break) link ID ID2", "unlink ID from ID2"),
    ("(add|put|set|stick|apply) HASH (to|on|onto) ID", "tag ID HASH"),
    ("(remove|delete|drop|take|strip|clear|pull) HASH (from|off|off of) ID", "untag ID HASH"),
    ("prune everything from ID (down|on|onwards|downwards)", "prune ID"),
    ("prune ID and (everything|all|all that is|all nodes|anything) (below|under|after|beneath|that follows) [it]", "prune ID"),
    ("(bring|get) ID back", "restore ID"),
    ("(exclude|leave out|keep out|leave|keep|take|drop|remove) ID (from|out of) context window [from now on]", "exclude ID"),
    ("(keep|leave) ID out of $contexts (from now on|for now)", "exclude ID"),
    ("stop leaving ID out [of $contexts]", "include ID"),
    ("ID should be (included|part of context|in context) again", "include ID"),
    ("(collapse|fold) everything from ID to ID2 (as|into|under|called|named) [label|name] TEXT", "collapse ID-ID2 TEXT"),
    ("[$make] [new] (link|connection|reference|cross-reference) [from|between] ID (to|and|with) ID2", "link ID to ID2"),
    ("[$make] [new] (link|connection|reference|cross-reference) [from|between] ID (to|and|with) DOC", "link ID to DOC"),
    ("[$make] [new] (link|connection|reference) [from|between] ID (to|and|with)", "link ID to", "tree"),
    ("$remove (link|connection|reference) [from|between] ID (to|and|with|from) ID2", "unlink ID from ID2"),
    ("$remove (link|connection|reference) [from|between] ID (to|and|with|from) DOC", "unlink ID from DOC"),
    ("$remove (link|connection|reference) [from|between] ID (to|and|with|from)", "unlink ID from", "tree"),
    ("(link|connection) (from|between) ID (to|and) ID2 (can go|is no longer needed)", "unlink ID from ID2"),
    ("take (link|connection) (from|between) ID (to|and) ID2 away", "unlink ID from ID2"),
    ("(bookmark|star|favourite|favorite) ID (and|then) (call|name|label) it TEXT", "bookmark ID TEXT"),
    ("(bookmark|star|favourite|favorite) ID (labelled|labeled|named|titled|called|with name|with label|and label) TEXT",
     "bookmark ID TEXT"),
    ("$make (bookmark|star) (at|on|for|to) ID [called|named|labelled|labeled|with label|label|as|saying] TEXT",
     "bookmark ID TEXT"),
    ("$make (bookmark|star) [called|named|labelled|labeled|with label|label] TEXT (at|on|for|to) ID", "bookmark ID TEXT"),
    ("$make (bookmark|star) (at|on|for|to|next to|beside) ID", "bookmark ID"),
    ("give ID (star|bookmark)", "bookmark ID"),
    ("$make ID (to|in|into|as|among) (bookmarks|favourites|favorites|favourite|favorite|bookmark)", "bookmark ID"),
    ("$remove (bookmark|star) (from|off|on|of|at|for) ID", "unbookmark ID"),
    ("$remove ID from (bookmarks|favourites|favorites)", "unbookmark ID"),
    ("$remove OWNER (bookmark|star)", "unbookmark OWNER"),
    ("(take|pull) (bookmark|star) (off|from|away from) ID", "unbookmark ID"),
    ("ID (should|need) (no longer|not) be bookmarked [anymore|any more] [unbookmark it]", "unbookmark ID"),
    ("(no longer|stop) (bookmark|bookmarking) ID", "unbookmark ID"),
    ("prune [away|off] [branch|subtree] [at|from|starting at|starting from|that starts at|beginning at|of|under] ID",
     "prune ID"),
    ("prune [away|off] ID (branch|subtree)", "prune ID"),
    ("prune", "prune", "branch"),
    ("(fold|move) [branch|subtree] [at|from] ID (out of sight|away out of sight)", "prune ID"),
    ("(restore|bring back|unprune|revive|reinstate|recover) [previously] [pruned] [branch|subtree] [at|from|starting at|of] ID",
     "restore ID"),
    ("(restore|bring back|unprune|recover) ID (branch|which i pruned|that i pruned|which was pruned|that was pruned)",
     "restore ID"),
    ("(bring|put|get|take|give|want|i want) [previously] pruned [branch|subtree|node] [at|from] ID back", "restore ID"),
    ("(bring|put|get) [branch|subtree] [at|from] ID back (from pruned|into sight|from pruning)", "restore ID"),
    ("i pruned ID (by mistake|by accident|accidentally) [restore it|bring it back|unprune it]", "restore ID", "never"),
    ("undo (pruning|prune) of ID", "restore ID", "never"),
    ("(exclude|omit|leave out|hide|remove|drop|take|mute|skip|strip|cut) ID (from|out of) $contexts", "exclude ID"),
    ("(keep|leave|take|hold|move) ID out of $contexts", "exclude ID"),
    ("(exclude|omit|leave out) (from|out of) $contexts ID", "exclude ID"),
    ("(don't|do not|no longer|stop) (include|including) ID in $contexts [anymore|any more]", "exclude ID"),
    ("ID should (be excluded|be left out|not be included|be kept out|stay out|be omitted|not be) "
     "[from|of|in|out of] $contexts", "exclude ID"),
    ("stop (excluding|leaving out|omitting|skipping|muting) ID [from $contexts]", "include ID"),
    ("no longer exclude ID [from $contexts] [include it]", "include ID"),
    ("(include|put|take|bring|add|let) ID [back] (in|into|to) $contexts again", "include ID"),
    ("(put|take|bring|add|move|let) ID back (in|into|to) $contexts", "include ID"),
    ("include ID (in|into) $contexts", "include ID"),
    ("ID should be (included|back|part of) [in] $contexts again", "include ID"),
    ("(collapse|fold) [range|from] RANGE [and] (call|name|label|calling|naming) [it|them|that|this|range] TEXT",
     "collapse RANGE TEXT"),
    ("(collapse|fold) [range|from] ID (to|through|until) ID2 [and] (call|name|label|calling|naming) "
     "[it|them|that|this|range] TEXT", "collapse ID-ID2 TEXT"),
    ("(expand|unfold|uncollapse|open|open up) [again]", "expand", "range"),
    ("(expand|unfold|uncollapse|open|open up|unfold again) [collapsed] (range|group|section|part|nodes) $called TEXT [again]",
     "expand TEXT"),
    ("(expand|unfold|uncollapse|open up) (TEXT (range|group)|collapsed TEXT2)", "expand TEXT"),
    ("$take_back (that|it|this|what) [$last $deed]", "undo", "never"),
    ("$take_back $last $deed $i_did", "undo"),
    ("$take_back what i [just|last] (did|made|changed)", "undo"),
    ("(undo|take back|revert) (that|it|this)", "undo"),
    ("[oops|sorry|whoops|no] undo [that|it|this]", "undo"),
    ("take (that|it) back", "undo"),
    ("$take_back $last (undo|undoing)", "redo"),
    ("$take_back (that|this) undo", "redo"),
    ("(redo|reapply|repeat) $last (undone|undo) [$deed]", "redo"),
    ("(redo|reapply|apply again|do again|bring back|restore|repeat) what [i|i just|i have just|was|was just] "
     "(undid|undone|took back|reverted)", "redo"),
    ("(redo|reapply|bring back|restore|repeat) [last|undone|last undone] $deed [that] [i|i just] (undid|took back|reverted)",
     "redo"),
    ("(redo|reapply|bring back|restore) (last undone|undone) $deed", "redo"),
]

_TAGGING = [
    ("$make tag [called|named|of] {0} (to|on|onto) ID", "tag ID {0}"),
    ("$make {0} tag (to|on|onto) ID", "tag ID {0}"),
    ("$make {0} as tag (to|on|for|of) ID", "tag ID {0}"),
    ("(give|assign) ID tag [called|named|of] {0}", "tag ID {0}"),
    ("(give|assign) ID {0} tag", "tag ID {0}"),
    ("(mark|label|tag) ID (with|by|using) tag [called|named|of] {0}", "tag ID {0}"),
    ("$remove tag [called|named] {0} (from|off|of|on) ID", "untag ID {0}"),
    ("$remove {0} tag (from|off|of|on) ID", "untag ID {0}"),
    ("(take|pull) tag [called|named] {0} (off|from|away from) ID", "untag ID {0}"),
    ("(take|pull) {0} tag (off|from|away from) ID", "untag ID {0}"),
    ("$remove OWNER {0} tag", "untag OWNER {0}"),
    ("$remove OWNER tag {0}", "untag OWNER {0}"),
    ("untag ID (as|of|with|from) {0}", "untag ID {0}"),
]

_GOING_ON = [
    ("(let|have|make|ask|get|use|tell) TEXT [to] $goes_on [on] [from|at|after] ID", "continue from ID using agent:TEXT"),
    ("(let|have|make|ask|get|use|tell) TEXT [to] $goes_on [from here]", "continue using agent:TEXT"),
    ("(let|have|make|ask|get|use|tell) TEXT [to] (generate|write|make|produce) N $kind ($many|$one) $on ID",
     "continue from ID n:N using agent:TEXT"),
    ("$goes_on [from|at|after] ID with TEXT as stop [sequence|word|string]", "continue from ID stop:TEXT"),
    ("$ask [another|one|one more|single] $kind $one", "continue"),
    ("$ask [another|one|one more|single] $kind $one from here", "continue"),
    ("[$ask] [another|one|one more|single] $kind $one $on ID", "continue from ID"),
    ("$ask N $kind ($many|$one)", "continue n:N"),
    ("$ask N $kind ($many|$one) [from|at] here", "continue n:N"),
    ("[$ask] N $kind ($many|$one) $on ID", "continue from ID n:N"),
    ("$ask ID N $kind ($many|$one)", "continue from ID n:N"),
    ("$ask N $kind ($many|$one)", "continue n:N", "from"),
    ("$goes_on (from|at|after) ID with N $kind ($many|$one)", "continue from ID n:N"),
    ("$goes_on [from|at|after|on from] ID N times", "continue from ID n:N"),
    ("$goes_on N times [from|at|after] ID", "continue from ID n:N"),
    ("$goes_on with N $kind ($many|$one)", "continue n:N"),
    ("(let|have|make|ask|get) (it|model|another model|story|text|another agent|someone else) [to] $goes_on [on]", "continue"),
    ("(let|have|make|ask|get) (it|model|another model|story|text|another agent) [to] $goes_on from here", "continue"),
    ("(let|have|make|ask|get) (it|model|another model|story|text|another agent) [to] $goes_on [on] [from|at|after] ID",
     "continue from ID"),
    ("(let|have|make|ask|get|use|tell) [to] $goes_on [on] [from|at|after] ID", "continue from ID", "agent"),
    ("(let|have|make|ask|get|use|tell) [to] $goes_on [from here]", "continue", "agent"),
    ("(let|have|make|ask|get|use|tell) [to] (generate|write|make|produce) N $kind ($many|$one) $on ID",
     "continue from ID n:N", "agent"),
    ("(let|have|make|ask|get|use|tell) [to] (generate|write|make|produce) [one] $kind $one $on ID",
     "continue from ID", "agent"),
    ("generate [from|at|after] ID", "continue from ID", "tokens"),
    ("(generate|write|produce) [more] (from|at|after|of) ID", "continue from ID", "tokens"),
    ("(generate|write|produce) [more] [from here]", "continue", "tokens"),
    ("$ask (from|at|after) ID", "continue from ID", "tokens"),
]

_DOCUMENTS = [
    ("append [text|line|words|following|this|sentence] TEXT to [end of] TEXT2", "write doc:TEXT2 append TEXT"),
    ("append to [end of] TEXT [text|line|words|following|this|sentence] TEXT2", "write doc:TEXT append TEXT2"),
    ("[$show|read] summary of TEXT", "read doc:TEXT summary"),
    ("brief on DOC", "read DOC summary"),
    ("(skim|sum up|skim through) DOC", "read DOC summary"),
    ("read TEXT", "read doc:TEXT"),
    ("(summarise|summarize) DOC", "read DOC summary"),
    ("[$show|read|tell] [short|brief|quick] (summary|overview) of DOC", "read DOC summary"),
    ("($show|read) DOC (as|in) [short|brief] (summary|summarised form)", "read DOC summary"),
    ("($show|read) DOC (briefly|in short|summarised|summarized|summary only|only summary)", "read DOC summary"),
    ("($show|read) only summary of DOC", "read DOC summary"),
    ("what (does|did) DOC (say|contain|hold|read|tell)", "read DOC"),
    ("what is [there] (in|inside) DOC", "read DOC"),
    ("what is DOC about", "read DOC summary", "never"),
    ("(have|take) $quick (look|peek|glance|read) (at|into|of|through) DOC", "read DOC"),
    ("($show|open|read|look into|go through|read through|consult) [whole|entire|full|all of] [text of|content of|contents of] DOC "
     "[in full]", "read DOC"),
    ("what does DOC say", "read DOC", "section"),
    ("what (is|does it say) (in|at|on)", "read", "never"),
    ("($show|open|read|look at|look into) (of|in|from) DOC", "read DOC", "lines"),
    ("($show|open|read|look at|look into) (of|in|from) DOC", "read DOC", "section"),
    ("what (is|does it say) (in|at|on) (of|in|from) DOC", "read DOC", "section"),
    ("what (is|does it say) (in|at|on) (of|in|from) DOC", "read DOC", "lines"),
    ("what does (of|in|from) DOC say", "read DOC", "section"),
    ("(of|in|from) DOC", "read DOC", "lines"),
]


def _every() -> Iterator[Template]:
    yield from _listing()
    for group in (_LOOKING, _HELPING, _REMEMBERING, _MAKING, _MARKING, _GOING_ON, _DOCUMENTS):
        yield from (Template(*each) for each in group)
    for said, meant in _PINNING:
        yield from (Template(said.format(what), meant.format(what)) for what in ("ID", "DOC"))
    for said, meant in _TAGGING:
        yield from (Template(said.format(what), meant.format(what)) for what in ("NAME", "TEXT"))


TEMPLATES: tuple[Template, ...] = tuple(each for each in _every() if each.needs != "never")
