"""For every form of every command a line that works for who may say it, in an order in which all of them do."""

from collections.abc import Iterator

from tests.collaboration.commands.workplace import Workplace

from weft.commands.catalog import ROWS

__all__ = ["samples"]


def samples(work: Workplace) -> Iterator[tuple[str, str, str]]:
    """(command, form, what to say after the arrow)."""
    said = _lines(work)
    for row in ROWS:
        for form in row.notations:
            yield row.name, form, said[form]


def _lines(work: Workplace) -> dict[str, str]:
    human = work.root
    a, b, beside = work.a.local_id, work.b.local_id, work.beside.local_id
    doc = f'doc:"{work.document.title}"'
    turn = human.say("A turn of its own.").local_id
    first = human.say("One half. ")
    second = first.say("The other half.").local_id
    branch = human.say("A branch.").local_id
    gone = human.say("Gone.")
    gone.prune()
    hidden = human.say("Left out.")
    hidden.exclude()
    marked = human.say("Marked.")
    marked.bookmark()
    tagged = human.say("Tagged.")
    work.loom.tag(tagged, "old")
    work.loom.link(tagged, work.a)
    work.tree.collapse(work.root, work.a, "opening")
    return {
        "view ID [full] [with-annotations]": f"view {a} full with-annotations",
        "view branch:ID as:prose|nodes": f"view branch:{b} as:prose",
        "view result:N [lines:A-B]": "view result:1",
        "list ID continuations|annotations|links|versions": f"list {a} continuations",
        "tree [from:ID] [depth:N] [summary]": f"tree from:{a} depth:2 summary",
        "switch to ID": f"switch to {a}",
        "switch next|previous|parent|leaf": "switch leaf",
        'search "query"': 'search "village"',
        'search "query" in:grove': 'search "village" in:grove',
        "think … ←": "think what does she want? ←",
        "help [COMMAND]": "help view",
        "pin ID": f"pin {a}",
        'pin doc:"…" [section:…]': f"pin {doc} section:motivation",
        "pin result:N": "pin result:1",
        'stash "label" "text"': 'stash "one" "She lies."',
        'stash "label" content-of:ID': f'stash "two" content-of:{a}',
        'stash "label" summary-of:ID-ID': f'stash "three" summary-of:{human.local_id}-{b}',
        'recall "label"': 'recall "one"',
        "drop pin:ID": f"drop pin:{a}",
        'drop pin doc:"…" [section:…]': f"drop pin {doc} section:motivation",
        "drop pin result:N": "drop pin:result:1",
        'drop stash:"…"': 'drop stash:"two"',
        "memory [trace|stashed]": "memory trace",
        'respond ID "…" [context:ID,…] [instruction:ID,…]': f'respond {b} "So it is." context:{a} instruction:{beside}',
        'annotate ID "…"': f'annotate {a} "hm"',
        'edit ID "…"': f'edit {b} "Her father\'s death."',
        'merge ID ID … "…"': f'merge {a} {beside} "Both."',
        'split ID at:"…"': f'split {a} at:"Nobody"',
        "join ID": f"join {first.local_id}",
        'attach ID "item"': f'attach {turn} "[{a}]"',
        'link ID to ID|doc:"…"|tree:"…" [note:"…"]': f'link {a} to {beside} note:"see"',
        'unlink ID from ID|doc:"…"|tree:"…"': f"unlink {tagged.local_id} from {a}",
        "tag ID name": f"tag {a} mood",
        "untag ID name": f"untag {tagged.local_id} old",
        'bookmark ID ["label"]': f'bookmark {a} "here"',
        "unbookmark ID": f"unbookmark {marked.local_id}",
        "prune ID": f"prune {branch}",
        "restore ID": f"restore {gone.local_id}",
        "exclude ID": f"exclude {second}",
        "include ID": f"include {hidden.local_id}",
        'collapse ID-ID "name" ["description"]': f'collapse {human.local_id}-{b} "start"',
        'expand "name"': 'expand "opening"',
        "undo": "undo",
        "redo": "redo",
        'continue [from ID] [n:N] [tokens:N] [temp:X] [stop:"…"] [using agent:"…"]': (
            f'continue from {beside} n:2 tokens:50 temp:0.5 stop:"END" using agent:"Base"'
        ),
        'read doc:"…" [summary|lines:A-B|section:…]': f"read {doc} section:place",
        'write doc:"…" append "…"': f'write {doc} append "More."',
        'write doc:"…" at:… "…"': f'write {doc} at:2 "First."',
        'write doc:"…" replace:… "…"': f'write {doc} replace:place "By the sea."',
    }
