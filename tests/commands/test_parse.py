"""From words to commands: forgiving in form, strict in effect."""

import typing

import pytest
from tests.commands.phrases import LISTS, outcome, phrases, tally
from tests.covers import covers

from weft.commands import actions as v
from weft.commands.catalog import CATALOG, DOUBTFUL, ROWS, also_called, verbs
from weft.commands.formatter import write_command
from weft.commands.parse import check_limits, parse, parse_scanned, parse_strictly
from weft.commands.scanner import scan
from weft.commands.vocabulary import is_typo
from weft.errors import CrossTreeError, InvalidSyntaxError, LimitExceededError, WeftError


def action(text):
    return parse(text).action


FORMS = {
    "view a7x2": v.ViewCommand("a7x2"),
    "view a7x2 full with-annotations": v.ViewCommand("a7x2", full=True, annotations=True),
    "view branch:b3k9 as:prose": v.ViewBranchCommand("b3k9", v.BranchShape.PROSE),
    "view branch:b3k9 as:nodes": v.ViewBranchCommand("b3k9", v.BranchShape.NODES),
    "view result:3": v.ViewResultCommand(3),
    "list a7x2 continuations": v.ListCommand("a7x2", v.ListingKind.CONTINUATIONS),
    "list a7x2 versions": v.ListCommand("a7x2", v.ListingKind.VERSIONS),
    "tree": v.TreeCommand(),
    "tree from:a7x2 depth:3 summary": v.TreeCommand("a7x2", 3, summary=True),
    "switch to a7x2": v.SwitchCommand("a7x2"),
    "switch leaf": v.SwitchCommand(v.SwitchDirection.LEAF),
    'search "old mill"': v.SearchCommand("old mill"),
    "help": v.HelpCommand(),
    "help continue": v.HelpCommand("continue"),
    "pin a7x2": v.PinCommand(v.NodeTarget("a7x2")),
    'pin doc:"character notes" section:motivation': v.PinCommand(
        v.DocumentTarget("character notes", "motivation")
    ),
    "pin result:3": v.PinCommand(v.ResultTarget(3)),
    'stash "theme" "loss"': v.StashCommand("theme", v.Literal("loss")),
    'stash "theme" content-of:a7x2': v.StashCommand("theme", v.ContentOf("a7x2")),
    'stash "early discussion" summary-of:r001-a7x2': v.StashCommand(
        "early discussion", v.SummaryOf("r001", "a7x2")
    ),
    'recall "theme"': v.RecallCommand("theme"),
    "drop pin:r001": v.DropCommand(v.NodeTarget("r001")),
    'drop stash:"theme"': v.DropCommand(v.StashTarget("theme")),
    "memory": v.MemoryCommand(),
    "memory trace": v.MemoryCommand(v.MemoryView.TRACE),
    "memory stashed": v.MemoryCommand(v.MemoryView.STASHED),
    'respond a7x2 "Yes." context:a7x2,b3k9 instruction:c4m2': v.RespondCommand(
        "a7x2", "Yes.", ("a7x2", "b3k9"), ("c4m2",)
    ),
    'annotate a7x2 "hm"': v.AnnotateCommand("a7x2", "hm"),
    'edit a7x2\' "revised content here"': v.EditCommand("a7x2'", "revised content here"),
    'merge a7x2 b3k9 c4m2 "one"': v.MergeCommand(("a7x2", "b3k9", "c4m2"), "one"),
    'split a7x2 at:"Then"': v.SplitCommand("a7x2", "Then"),
    "join a7x2": v.JoinCommand("a7x2"),
    'attach a7x2 "map.png"': v.AttachCommand("a7x2", "map.png"),
    'link a7x2 to b3k9 note:"motif"': v.LinkCommand("a7x2", v.NodeTarget("b3k9"), "motif"),
    'link a7x2 to doc:"notes"': v.LinkCommand("a7x2", v.DocumentTarget("notes")),
    'link a7x2 to tree:"Other"': v.LinkCommand("a7x2", v.TreeTarget("Other")),
    "unlink a7x2 from b3k9": v.UnlinkCommand("a7x2", v.NodeTarget("b3k9")),
    "tag a7x2 motivation": v.TagCommand("a7x2", "motivation"),
    "untag a7x2 motivation": v.UntagCommand("a7x2", "motivation"),
    "bookmark a7x2": v.BookmarkCommand("a7x2"),
    'bookmark a7x2 "storm"': v.BookmarkCommand("a7x2", "storm"),
    "unbookmark a7x2": v.UnbookmarkCommand("a7x2"),
    "prune a7x2": v.PruneCommand("a7x2"),
    "restore a7x2": v.RestoreCommand("a7x2"),
    "exclude a7x2": v.ExcludeCommand("a7x2"),
    "include a7x2": v.IncludeCommand("a7x2"),
    'collapse r001-a7x2 "opening" "she arrives"': v.CollapseCommand("r001", "a7x2", "opening", "she arrives"),
    'expand "opening"': v.ExpandCommand("opening"),
    "undo": v.UndoCommand(),
    "redo": v.RedoCommand(),
    "continue": v.ContinueCommand(),
    'continue from a7x2 n:3 tokens:200 temp:0.9 stop:"#","##" using agent:"Base"': v.ContinueCommand(
        "a7x2", 3, 200, 0.9, ("#", "##"), "Base"
    ),
    'read doc:"notes"': v.ReadCommand("notes"),
    'read doc:"notes" summary': v.ReadCommand("notes", v.SummaryOnly()),
    'read doc:"notes" lines:12-20': v.ReadCommand("notes", v.LineSpan(12, 20)),
    'read doc:"notes" section:motivation': v.ReadCommand("notes", v.SectionOf("motivation")),
    'write doc:"notes" append "more"': v.WriteCommand("notes", v.AtEnd(), "more"),
    'write doc:"notes" at:12 "more"': v.WriteCommand("notes", v.At(12), "more"),
    'write doc:"notes" at:motivation "more"': v.WriteCommand("notes", v.At("motivation"), "more"),
    'write doc:"notes" replace:3-4 "less"': v.WriteCommand("notes", v.Replace(v.LineSpan(3, 4)), "less"),
    'write doc:"notes" replace:motivation "less"': v.WriteCommand("notes", v.Replace("motivation"), "less"),
}


@covers("command.strings", "command.options")
@pytest.mark.parametrize(("text", "meant"), FORMS.items(), ids=FORMS.keys())
def test_every_form_of_the_catalog_is_read(text, meant):
    assert action(text) == meant
    assert parse_strictly(text).action == meant


def test_the_union_and_the_catalog_name_the_same_commands():
    members = [each for alias in typing.get_args(v.Action) for each in _members(alias)]
    actions = {each.__name__.removesuffix("Command") for each in members}
    named = {name.lower() for name in actions} - {"viewbranch", "viewresult"}
    assert named == set(CATALOG)
    read = {type(meant).__name__.removesuffix("Command") for meant in FORMS.values()}
    assert read | {"Think"} == actions
    assert len(ROWS) == len(CATALOG)


def _members(alias):
    return typing.get_args(alias) or (alias,)


@pytest.mark.parametrize("text", FORMS)
def test_a_command_written_in_its_canonical_form_is_read_as_the_same(text):
    command = parse(text)
    assert parse(write_command(command)) == command


@covers("command.options")
@pytest.mark.parametrize(
    "text",
    [
        'continue n:3 from:a7x2 agent:"Base" temp:0.5',
        'continue temp:0.5 using agent:"Base" n:3 from a7x2',
        'continue from a7x2 agent: "Base" n: 3 temp=0.5',
    ],
)
def test_options_stand_in_any_order(text):
    assert action(text) == v.ContinueCommand("a7x2", 3, None, 0.5, (), "Base")


@covers("command.strings")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        (r'"a \"b\" c"', 'a "b" c'),
        (r'"one\ntwo"', "one\ntwo"),
        ('"one\ntwo"', "one\ntwo"),
        ("“curly”", "curly"),
        ('“curly with "straight" inside”', 'curly with "straight" inside'),
        ('"straight with “curly” inside"', "straight with “curly” inside"),
        (r'"C:\\new"', r"C:\new"),
        (r'"\alpha stays"', r"\alpha stays"),
        ('""', ""),
        ('"→ prune b3k9"', "→ prune b3k9"),
    ],
)
def test_strings_in_straight_and_curly_marks(said, text):
    assert action(f"annotate a7x2 {said}") == v.AnnotateCommand("a7x2", text)


@covers("command.filler-ignored")
def test_articles_node_me_and_please_are_ignored():
    for said in ("please view the node a7x2", "view me a node a7x2 please", "VIEW the a7x2!", "view [a7x2]."):
        assert action(said) == v.ViewCommand("a7x2")


@covers("command.never-guesses")
@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("ptune a7x2", "→ prune ID"),
        ("prunes a7x2", "→ prune ID"),
        ("marge a7x2 b3k9", '→ merge ID ID … "…"'),
        ("wiew a7x2", "→ view ID [full] [with-annotations]"),
    ],
)
def test_a_verb_that_is_nearly_one_is_asked_about_and_not_taken(said, form):
    with pytest.raises(InvalidSyntaxError) as refused:
        parse(said)
    assert refused.value.message == "which of these was meant?"
    assert refused.value.hint.startswith(form)


@covers("command.never-guesses")
@pytest.mark.parametrize("said", ["xyzzy", "a7x2", "[a7x2] b3k9", "frobnicate the a7x2"])
def test_where_nothing_comes_close_nothing_is_suggested(said):
    with pytest.raises(InvalidSyntaxError, match="unknown command"):
        parse(said)


@covers("command.attach")
@pytest.mark.parametrize(
    "said", ['attach a7x2 "doc:Her Notes"', 'attach a7x2 doc:"Her Notes"', 'attach doc:"Her Notes" to a7x2']
)
def test_a_document_is_attached_as_it_is_named_elsewhere(said):
    assert action(said) == v.AttachCommand("a7x2", "doc:Her Notes")


@covers("command.help", "command.synonyms")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_what_help_says_a_command_is_also_called_is_understood(row):
    lines = {said: meant for said, meant in FORMS.items() if said.split()[0] == row.name}
    for synonym in also_called(row):
        others = [(f"{synonym}{said.removeprefix(row.name)}", meant) for said, meant in lines.items()]
        # `append` holds a part of the form.
        others += [(said.replace(" append ", " ", 1), meant) for said, meant in others]
        assert any(_means(said, meant) for said, meant in others), synonym


def _means(said: str, meant: v.Action) -> bool:
    try:
        return action(said) == meant
    except WeftError:
        return False


@covers("command.synonyms")
@pytest.mark.parametrize(
    ("said", "name"),
    [(verb, "view") for verb in ("show", "look", "open", "inspect")]
    + [(verb, "respond") for verb in ("reply", "say")]
    + [(verb, "annotate") for verb in ("note", "comment")]
    + [(verb, "continue") for verb in ("generate", "expand")]
    + [(verb, "switch") for verb in ("goto", "go", "move")]
    + [("star", "bookmark")],
)
def test_verbs_have_synonyms(said, name):
    text = ' "Yes."' if name in {"respond", "annotate"} else ""
    assert parse(f"{said} a7x2{text}").name == name


def test_a_verb_of_two_commands_is_settled_by_what_follows_it():
    both = {verb[0]: names for verb, names in verbs().items() if len(verb) == 1 and len(names) > 1}
    assert both["expand"] == ("expand", "continue")
    assert parse('expand "opening"').name == "expand"
    assert parse("expand a7x2").name == "continue"
    assert parse("open a7x2").name == "view"
    assert parse('open doc:"notes"').name == "read"
    for verb in DOUBTFUL:
        assert isinstance(outcome(f"{verb} a7x2"), InvalidSyntaxError), verb


@covers("command.never-guesses")
def test_where_two_readings_differ_in_effect_it_asks_with_both_forms():
    with pytest.raises(InvalidSyntaxError) as expand:
        parse("expand")
    assert expand.value.hint is not None
    assert '→ expand "name" · → continue [from ID]' in expand.value.hint
    with pytest.raises(InvalidSyntaxError) as delete:
        parse("delete a7x2")
    assert delete.value.message == "'delete' could mean several things: which?"
    assert (
        delete.value.hint
        == '→ prune ID · → exclude ID · → drop pin:ID · → drop pin doc:"…" [section:…] · → drop pin result:N · → drop stash:"…"'
    )
    with pytest.raises(InvalidSyntaxError) as annotations:
        parse("view a7x2 annotations")
    assert annotations.value.hint is not None
    assert "→ list ID continuations|annotations|links|versions" in annotations.value.hint
    with pytest.raises(InvalidSyntaxError) as prose:
        parse("Marie went home")
    assert prose.value.hint == "→ help shows what there is"


def test_a_question_is_not_executed():
    with pytest.raises(InvalidSyntaxError) as asked:
        parse("prune a7x2?")
    assert (asked.value.message, asked.value.hint) == ("questions are not executed", "→ prune a7x2")
    assert action("could you prune a7x2?") == v.PruneCommand("a7x2")
    assert action("view a7x2?") == v.ViewCommand("a7x2")


@covers("error.fixed-messages")
def test_too_many_continuations_are_refused_in_the_fixed_words():
    command = parse("continue from a7x2 n:50")
    with pytest.raises(LimitExceededError) as over:
        check_limits(command)
    assert (over.value.message, over.value.hint) == (
        "max continuations per request is 10",
        "use n:10 or less",
    )
    check_limits(parse("continue from a7x2 n:10"))
    with pytest.raises(LimitExceededError):
        check_limits(parse(f"continue n:{'9' * 5_000}"))


def test_another_tree_needs_the_flag_and_the_hint_has_it():
    for said in ('view a7x2 tree:"Other Voices"', 'view a7x2 of the tree "Other Voices"'):
        with pytest.raises(CrossTreeError) as outside:
            parse(said)
        assert outside.value.hint == '→ view a7x2 in tree:"Other Voices"'
    with pytest.raises(CrossTreeError) as drawn:
        parse('tree "Other Voices" depth:2')
    assert drawn.value.hint == '→ tree depth:2 in tree:"Other Voices"'
    flagged = parse('view a7x2 in tree:"Other Voices"')
    assert (flagged.action, flagged.tree, flagged.crosses) == (v.ViewCommand("a7x2"), "Other Voices", True)
    assert parse('search "mill" in:grove').grove
    assert not parse('link a7x2 to tree:"Other"').crosses


MISFITS = """
view a7x2 b3k9
prune a7x2 and b3k9
annotate a7x2 two words
edit a7x2 "a" "b"
tree depth:0
continue n:0
continue temp:11
continue temp:nan
read doc:"x" lines:9-3
view !
→ view a7x2
pin result:x
stash "a" summary-of:a7x2
respond a7x2 "a" context:
view a7x2 depth:3
switch to
annotate a7x2 "a"b"
search
write doc:"x" append
view a7x2 in tree:"a" in:grove
help nonsense
"""


@pytest.mark.parametrize("text", MISFITS.splitlines())
def test_what_does_not_fit_is_an_error_with_a_hint(text):
    with pytest.raises(InvalidSyntaxError) as found:
        parse(text)
    assert found.value.message
    assert found.value.hint


def test_words_that_could_be_ids_are_not_taken_for_some():
    for said in (
        "ignore the noise",
        "restore order",
        "open the door",
        "complete the sentence",
        "tree of life",
    ):
        with pytest.raises(InvalidSyntaxError):
            parse(said)
    assert action("prune kbzq") == v.PruneCommand("kbzq")
    assert action("prune [tree]") == v.PruneCommand("tree")


def test_an_id_that_looks_like_a_number_with_an_ending_is_an_id():
    assert action("view 79nd") == v.ViewCommand("79nd")
    assert action("view the 2nd result") == v.ViewResultCommand(2)


def test_a_slip_of_the_fingers_is_put_right_and_another_word_is_not():
    assert is_typo("veiw", "view")
    assert is_typo("prnue", "prune")
    assert is_typo("anotate", "annotate")
    assert is_typo("bookmerk", "bookmark")
    for said, word in [
        ("start", "star"),
        ("exit", "edit"),
        ("ping", "pin"),
        ("replay", "reply"),
        ("vote", "note"),
    ]:
        assert not is_typo(said, word)
    assert not is_typo("excluded", "exclude")


@pytest.mark.long
@covers("command.classifier", "command.never-guesses")
@pytest.mark.parametrize(
    ("name", "least", "share"),
    [
        ("phrases.txt", 1_000, 0.80),
        ("heldout.txt", 1_000, 0.75),
        ("fresh.txt", 700, 0.60),
        ("heldout2.txt", 600, 0.65),
        ("unseen.txt", 150, 0.75),
    ],
)
def test_of_thousands_of_ways_of_asking_none_does_anything_else_than_meant(name, least, share):
    listed = phrases(name)
    counts = tally(listed)
    assert len(listed) >= least
    assert counts.wrong == []
    assert counts.run / counts.meant >= share


@pytest.mark.long
@covers("command.classifier")
def test_most_lines_that_are_asked_about_have_the_right_form_in_the_hint():
    counts = [tally(phrases(name)) for name in LISTS]
    assert sum(len(each.asked) for each in counts) < 2 * sum(each.hinted for each in counts)


TURNS = [
    "not",
    "never",
    "don't",
    "except",
    "without",
    "unless",
    "if",
    "maybe",
    "tomorrow",
    "nobody",
    "parent",
    "almost",
    "half",
]


@pytest.mark.long
@covers("command.never-guesses")
def test_a_word_that_turns_what_is_said_is_never_passed_over():
    said = [each for each in phrases("heldout.txt") if each.meant and each.meant.split()[0] in CHANGING]
    said = [each for each in said if " so " not in each.said and " — " not in each.said]
    assert len(said) > 400
    for place, each in enumerate(said[::2]):
        words = each.said.split(" ")
        for where in {0, 1, len(words)}:
            turn = TURNS[(place + where) % len(TURNS)]
            turned = " ".join([*words[:where], turn, *words[where:]])
            if "don't include" not in turned:  # which is an exclude, as it is said
                assert isinstance(outcome(turned), WeftError), turned


CHANGING = set(CATALOG) - {
    "view",
    "list",
    "tree",
    "switch",
    "search",
    "think",
    "help",
    "memory",
    "recall",
    "read",
}


@pytest.mark.long
@covers("command.never-guesses")
@pytest.mark.parametrize(
    "frame",
    ["how to", "do you want me to", "I could", "should I", "let's not", "after I", "the human asked me to"],
)
def test_what_is_only_spoken_about_is_not_done(frame):
    for each in phrases("heldout.txt")[::4]:
        if each.meant and each.meant.split()[0] in CHANGING:
            found = outcome(f"{frame} {each.said}")
            assert isinstance(found, WeftError) or found.name == "help", each.said


@covers("command.classifier")
@pytest.mark.parametrize(
    ("said", "meant"),
    {
        'stash "loss" as "theme"': 'stash "theme" "loss"',
        'stash under "theme" the text "loss"': 'stash "theme" "loss"',
        'collapse r001-a7x2 "how they met" as "opening"': 'collapse r001-a7x2 "opening" "how they met"',
        "link to b3k9 from a7x2": "link a7x2 to b3k9",
        'read lines 10 to 20 of the document "notes"': 'read doc:"notes" lines:10-20',
        'read the motivation section of "notes"': 'read doc:"notes" section:motivation',
        'insert "He limps." before line 12 of doc “notes”': 'write doc:"notes" at:12 "He limps."',
        'add "more" to the end of the motivation section of doc:"notes"': 'write doc:"notes" at:motivation "more"',
        "continue from a7x2 up to two hundred tokens at a temperature of 0.9": "continue from a7x2 tokens:200 temp:0.9",
        "search “sea” across the whole grove": 'search "sea" in:grove',
        "un-prune c4m2": "restore c4m2",
        "how do I use stash?": "help stash",
        "view branch:b3k9 nodes": "view branch:b3k9 as:nodes",
        "view the nodes of branch b3k9": "view branch:b3k9 as:nodes",
        'annotate a7x2 by saying "hm"': 'annotate a7x2 "hm"',
    }.items(),
)
def test_options_and_places_may_be_said_in_words(said, meant):
    assert parse(said) == parse_strictly(meant)


@covers("command.never-guesses")
@pytest.mark.parametrize(
    ("said", "form"),
    [
        ("prune c4m2 — it leads nowhere", "→ prune ID"),
        ("bookmark a7x2 so I can find it later", '→ bookmark ID ["label"]'),
        ("I pruned c4m2 by mistake, restore it", "→ restore ID"),
        ("continue from", "→ continue [from ID]"),
    ],
)
def test_what_is_not_read_is_asked_about_with_the_form_in_the_hint(said, form):
    with pytest.raises(InvalidSyntaxError) as asked:
        parse(said)
    assert form in asked.value.hint


def test_a_bare_word_is_a_tag_and_a_dot_is_the_cursor():
    assert action("tag a7x2 turning-point") == v.TagCommand("a7x2", "turning-point")
    assert action("view .") == v.ViewCommand(".")
    assert action("link a7x2 to .") == v.LinkCommand("a7x2", v.NodeTarget("."))
    assert action("continue from .") == v.ContinueCommand(".")
    assert action("view branch:. as:nodes") == v.ViewBranchCommand(".", v.BranchShape.NODES)
    assert action("view a7x2 .") == v.ViewCommand("a7x2")
    assert action('annotate a7x2 "hm" .') == v.AnnotateCommand("a7x2", "hm")


@covers("command.never-guesses")
@pytest.mark.parametrize(
    "said",
    [
        'stash "a" for "b"',
        'stash "a" to "b"',
        "link b3k9 from a7x2",
        'merge a7x2 into b3k9 "x"',
        'read from line 10 of doc:"x"',
        'insert "a" after line 12 of doc:"x"',
        "continue from a7x2 with at least 200 tokens",
        "join a7x2 with the one before it",
        "prune c4m2 — later",
        "prune c4m2 because it is weak, unless b3k9 is worse",
        "bookmark a7x2 later",
        "add a new tag to a7x2",
        "prune weak branch",
        "if a7x2 is weak, prune it",
        "view a7x2, prune it",
        "prune a7x2 — the human must confirm",
        "prune a7x2 — the human asked me to wait",
        "prune a7x2 - it was a joke",
        "prune a7x2 — this is the wrong command",
        "prune a7x2 -- this would be wrong",
        "I'd prune a7x2",
        "I found a typo in a7x2, prune it",
        "I wrote a note about a7x2, bookmark it",
        "a7x2 leads to a good one, bookmark it",
        'have "Base" reply to a7x2',
        'let "Base" edit a7x2',
        'have "Base" write a note on a7x2',
        'with "Base", reply to a7x2',
        'reply to a7x2 by "Base"',
        'reply to a7x2 from "Base"',
        'annotate a7x2 by "Base"',
        'edit a7x2 by "Base"',
        'the note on a7x2 says "x"',
        'add "x" to the stash "y"',
        'prune a7x2 in tree:"One" in tree:"Other"',
        "undo undo",
        'collapse a7x2 and b3k9 as "x"',
        'stash a summary of a7x2 and b3k9 as "x"',
        'edit a7x2 replace "x"',
        "tag a7x2 -hero",
        "prune under a7x2",
        "prune a7x2 now?!",
        "repeat the last undo",
        "remove exclude a7x2",
        "ignore exclude a7x2",
        "delete unbookmark a7x2",
        'write doc:"x" replace append "a"',
        'write doc:"x" replace at:3 "a"',
        'drop pin stash:"a"',
        "get the link between a7x2 and b3k9",
        "give me the link between a7x2 and b3k9",
        "I need the bookmark on a7x2",
        "take the link from a7x2 to b3k9",
        "join a7x2 to that one",
        "join after a7x2",
        "pin no result:3",
        'attach a7x2 tag "map.png"',
        'append doc:"x" by "Base"',
        "continue with no tokens:200",
    ],
)
def test_what_could_mean_something_else_is_asked_about(said):
    assert isinstance(outcome(said), InvalidSyntaxError)


@covers("command.unclosed-think")
@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("think — she lies", "she lies"),
        ("let me think for a moment", ""),
        ("open the scratchpad", ""),
        ("Think: the house", "the house"),
    ],
)
def test_a_thought_begins_for_the_parser_where_it_begins_for_the_scanner(said, text):
    assert action(said) == v.ThinkCommand(text)
    (found,) = scan(f"→ {said}\n→ prune a7x2\n←").commands
    assert parse_scanned(found).action == v.ThinkCommand(f"{text}\n→ prune a7x2".strip())
