"""Finding things: what is found, by whom, in which order, and how it is shown."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from tests.covers import covers

import weft
from weft.errors import InvalidInputError, NotFoundError, PermissionDeniedError
from weft.grove.grove import Grove
from weft.runtime.operations.executor import Caller
from weft.runtime.operations.permissions import Actor
from weft.runtime.search.results import HitKind
from weft.store import schema
from weft.tree.content import Mixed, Text, Thinking, ToolCall
from weft.tree.reference import TargetKind


def ids(hits):
    return [hit.id for hit in hits]


def texts(hits):
    return {hit.snippet.text for hit in hits}


@covers("search.what", "search.own-writes")
def test_nodes_documents_titles_descriptions_and_tags_are_found_at_once(fresh_loom):
    tree = fresh_loom.plant("The weaver", description="about the heddle")
    node = tree.say("She threw the shuttle.")
    note = node.annotate("A shuttle is a tool.")
    document = fresh_loom.write_document("Shuttles", "All about a shuttle.")
    fresh_loom.tag(node, "shuttle")
    fresh_loom.tag(tree, "heddle")
    fresh_loom.tag(document, "paper")
    found = fresh_loom.search("shuttle")
    assert {(hit.kind, hit.id) for hit in found} == {
        (HitKind.NODE, node.id),
        (HitKind.NODE, note.id),
        (HitKind.DOCUMENT, document.id),
        (HitKind.TAG, node.id),
    }
    assert {hit.kind for hit in fresh_loom.search("weaver")} == {HitKind.TREE}
    assert {hit.kind for hit in fresh_loom.search("shuttles")} == {HitKind.DOCUMENT}
    heddles = {hit.kind: hit for hit in fresh_loom.search("heddle")}
    assert heddles[HitKind.TREE].snippet.text == "about the heddle"
    assert heddles[HitKind.TAG].target.kind is TargetKind.TREE
    (paper,) = fresh_loom.search("paper")
    assert (paper.title, paper.target.id, paper.tree_id) == ("Shuttles", document.id, None)
    assert found.complete
    assert not found.more


def test_what_is_in_a_mixed_node_is_found_too(loom):
    tree = loom.plant("Mixed")
    node = tree.say(
        Mixed(
            (
                Text("visible zebra"),
                Thinking(text="hidden okapi"),
                ToolCall(id="1", name="f", arguments={"q": "tapir"}),
            )
        )
    )
    for word in ("zebra", "okapi", "tapir"):
        assert ids(tree.search(word)) == [node.id]
    assert ids(tree.search("f1")) == []


@covers("search.query-language", "search.folded")
@pytest.mark.long
def test_a_query_means_what_a_person_means(loom):
    tree = loom.plant("Queries")
    warp = tree.root.say("The warp and the weft of a Loom")
    cafe = tree.root.say("Café Ångström: raw cotton, naïve heddles")
    for query, expected in {
        "LOOM": {warp},
        "loom cotton": set(),
        "loom or cotton": {warp, cafe},
        "raw -loom": {cafe},
        '"the weft"': {warp},
        '"weft the"': set(),
        "hedd*": {cafe},
        '"naive hed"*': {cafe},
        "cafe angstrom": {cafe},
        "CAFÉ": {cafe},
        "café:raw": set(),
        "raw-cotton": {cafe},
        "war": set(),
    }.items():
        assert set(ids(tree.search(query))) == {node.id for node in expected}, query


@covers("search.substrings")
def test_parts_of_words_are_found_where_no_spaces_are_written(loom):
    tree = loom.plant("東京")
    node = tree.say("私は昨日、東京大学へ行きました。한국어도 배웁니다 ภาษาไทย")
    for query in ("大学", "京大", "東", "行きました", "昨日 大学", "국어", "배", "ษาไ"):
        assert node.id in ids(tree.search(query)), query
    for query in ("学大", "東学", "어국", "か"):
        assert node.id not in ids(tree.search(query)), query
    assert tree.search("京大")[0].snippet.highlights == ((6, 8),)


@covers("search.any-input")
@pytest.mark.parametrize(
    "query",
    [
        '"a b',
        "a AND",
        "NEAR(a, b)",
        "a:*",
        "'",
        "a''b",
        "a <-> b",
        "!a",
        "(a",
        "🎉",
        "a*b*",
        "* a",
        "{a} : b",
        "^a",
    ],
)
def test_nothing_that_is_typed_upsets_the_database(loom, query):
    with contextlib.suppress(InvalidInputError):
        loom.search(query)


def test_a_long_query_reaches_the_database_whole(loom):
    tree = loom.plant("Long")
    words = [f"w{number}" for number in range(199)]
    node = tree.say(" ".join(words))
    assert ids(loom.search(" ".join(words))) == [node.id]
    assert ids(loom.search(" or ".join(words))) == [node.id]
    assert ids(loom.search(f'"{" ".join(words)}"')) == [node.id]
    assert ids(loom.search("w1 " + " ".join(f"-x{number}" for number in range(190)))) == [node.id]


@covers("search.ranked-with-snippets")
def test_the_best_comes_first_and_among_equals_the_latest(fresh_loom):
    tree = fresh_loom.plant("Ranks")
    for filler in range(20):
        tree.root.say(f"something else entirely, number {filler}")
    passing = tree.root.say("the loom is mentioned once in a rather long text " + "about other things " * 20)
    first = tree.root.say("loom loom")
    second = tree.root.say("loom loom")
    titled = fresh_loom.plant("Loom")
    found = fresh_loom.search("loom")
    assert ids(found) == [titled.id, second.id, first.id, passing.id]
    assert [hit.rank for hit in found] == sorted((hit.rank for hit in found), reverse=True)
    rare = tree.root.say("a loom and a zither")
    assert ids(fresh_loom.search("loom or zither", kinds=["node"]))[0] == rare.id
    snippet = found[3].snippet
    assert [snippet.text[start:end] for start, end in snippet.highlights] == ["loom"]
    assert snippet.text.startswith("the loom is mentioned")
    assert snippet.text.endswith("…")


@covers("search.narrowed")
@pytest.mark.long
def test_a_search_is_narrowed(fresh_loom):
    marie = fresh_loom.plant("Marie")
    story = fresh_loom.plant("Story", "A loom.", mode="buffer")
    fresh_loom.add_agent("Muse", model_ref="local:small")
    fresh_loom.add_agent("Other", model_ref="local:large")
    mine = marie.say("My loom.")
    hers = mine.say("Her loom.", author="Muse")
    marked = hers.say("Marked loom.").bookmark("here")
    document = fresh_loom.write_document("Looms", "A loom.")
    fresh_loom.tag(mine, "loom")
    tagged = {"Marked loom.", "My loom.", "Her loom.", "loom"}
    for narrowed, expected in (
        ({"tree": "Marie"}, tagged),
        ({"author": "Muse"}, {"Her loom."}),
        ({"author": "human", "kinds": ["node"]}, {"Marked loom.", "My loom.", "A loom."}),
        ({"author": "human", "kinds": ["document"]}, {"A loom."}),
        ({"author_type": "model"}, {"Her loom."}),
        ({"author_type": "human", "kinds": "document"}, {"A loom."}),
        ({"model": "local:small"}, {"Her loom."}),
        ({"model": "SMALL"}, {"Her loom."}),
        ({"model": "large"}, set()),
        ({"model": "small", "author": "Other"}, set()),
        ({"bookmarked": True}, {"Marked loom."}),
        ({"kinds": ["tag", "tree"]}, {"loom"}),
        ({"mode": "buffer"}, {"A loom."}),
        ({"mode": "dialogue"}, tagged),
    ):
        assert texts(fresh_loom.search("loom", **narrowed)) == expected, narrowed
    assert ids(fresh_loom.search("loom", kinds=[HitKind.DOCUMENT])) == [document.id]
    assert texts(marie.search("loom", bookmarked=True)) == {"Marked loom."}
    assert ids(story.search("loom")) == [story.root.id]
    assert marked.id in ids(fresh_loom.search("marked"))


@covers("search.narrowed")
def test_a_search_is_narrowed_by_date(address):
    moments = iter(range(1_767_225_600_000_000, 1_777_225_600_000_000, 86_400_000_000))
    with weft.open(address, clock=lambda: next(moments)) as grove:
        tree = grove.plant("A week")
        nodes = [tree.say(f"day {number}") for number in range(5)]
        times = [node.value.created_at for node in nodes]
        assert set(ids(grove.search("day", after=times[2]))) == {node.id for node in nodes[2:]}
        assert set(ids(grove.search("day", before=times[2]))) == {node.id for node in nodes[:2]}
        day = times[3].date()
        assert ids(grove.search("day", after=day, before=day + timedelta(days=1))) == [nodes[3].id]
        assert set(ids(grove.search("day", after=day.isoformat()))) == {nodes[3].id, nodes[4].id}
        zoned = datetime.fromisoformat(times[4].isoformat()).astimezone(UTC).isoformat()
        assert ids(grove.search("day", after=zoned)) == [nodes[4].id]


@pytest.mark.parametrize(
    ("narrowed", "error"),
    [
        ({"kinds": ["agent"]}, InvalidInputError),
        ({"mode": "sideways"}, InvalidInputError),
        ({"author_type": "cat"}, InvalidInputError),
        ({"after": "yesterday"}, InvalidInputError),
        ({"limit": 0}, InvalidInputError),
        ({"limit": 1_001}, InvalidInputError),
        ({"offset": -1}, InvalidInputError),
        ({"tree": "no such tree"}, NotFoundError),
        ({"author": "nobody"}, NotFoundError),
        ({"model": "none"}, NotFoundError),
    ],
)
def test_a_filter_that_means_nothing_is_refused(loom, narrowed, error):
    with pytest.raises(error):
        loom.search("loom", **narrowed)


@covers("search.hidden-unless-asked")
def test_what_was_put_away_is_found_only_when_asked_for(fresh_loom):
    tree = fresh_loom.plant("Marie")
    kept = tree.root.say("kept loom")
    excluded = tree.root.say("excluded loom").exclude()
    pruned = tree.root.say("pruned loom")
    fresh_loom.tag(pruned, "loom on pruned")
    fresh_loom.tag(kept, "loom taken off")
    fresh_loom.untag(kept, "loom taken off")
    pruned.prune()
    archived = fresh_loom.plant("Old loom", "archived loom")
    archived.archive()
    document = fresh_loom.write_document("Loom paper", "a loom")
    document.archive()
    assert ids(fresh_loom.search("loom")) == [kept.id]
    everything = fresh_loom.search("loom", everything=True)
    assert {kept.id, excluded.id, pruned.id, archived.id, archived.root.id, document.id} == set(
        ids(everything)
    )
    assert "loom taken off" not in texts(everything)
    assert next(hit for hit in everything if hit.id == pruned.id and hit.kind is HitKind.NODE).metadata.pruned
    pruned.restore()
    excluded.include()
    archived.unarchive()
    assert len(fresh_loom.search("loom")) == 6


def test_an_undone_node_is_not_found(fresh_loom):
    tree = fresh_loom.plant("Marie")
    node = tree.say("loom")
    store = fresh_loom.caller.executor.store
    here = schema.nodes.c.ulid == node.id
    store.write(lambda transaction: transaction.execute(schema.nodes.update().where(here).values(hidden=1)))
    assert ids(fresh_loom.search("loom")) == []
    assert ids(fresh_loom.search("loom", everything=True)) == [node.id]


def test_a_title_and_a_document_are_found_as_they_are_now(fresh_loom):
    tree = fresh_loom.plant("First title", description="first words")
    document = fresh_loom.write_document("Draft", "first thought")
    assert len(fresh_loom.search("first")) == 2
    tree.describe(title="Second title", description="")
    document = document.save("second thought")
    document = document.save("third thought", title="Final")
    assert ids(fresh_loom.search("first")) == []
    assert ids(fresh_loom.search("second")) == [tree.id]
    assert ids(fresh_loom.search("final third")) == [document.id]
    assert ids(fresh_loom.search("draft")) == []


@covers("search.permissions")
def test_an_agent_finds_only_what_it_may_read(fresh_loom):
    mine, other = fresh_loom.plant("Mine", "loom"), fresh_loom.plant("Other", "loom")
    fresh_loom.write_document("Paper", "loom")
    fresh_loom.tag(fresh_loom.document("Paper"), "loom")
    store, owner = fresh_loom.caller.executor.store, fresh_loom.caller.actor.agent

    def add_user(transaction):
        user = transaction.insert(
            schema.users,
            {"ulid": "0" * 26, "name": "Ada", "agent": owner, "created_at": 0, "archived_at": None},
        )
        transaction.add(schema.memberships, {"tree": 1, "user": user, "role": 0})
        return user

    ada = Grove(Caller(fresh_loom.caller.executor, Actor(owner, store.write(add_user))))
    assert ids(ada.search("loom")) == [mine.root.id]
    assert ids(ada.search("loom", everything=True)) == [mine.root.id]
    with pytest.raises(NotFoundError):
        ada.search("loom", tree=other.id)
    with pytest.raises(PermissionDeniedError):
        ada.search("loom", kinds=["document"])
    with pytest.raises(PermissionDeniedError):
        ada.reindex()
    store.write(lambda transaction: transaction.execute(schema.memberships.delete()))
    with pytest.raises(PermissionDeniedError):
        ada.search("loom")


@covers("search.permissions")
def test_permissions_are_asked_before_anything_is_looked_up(fresh_loom):
    fresh_loom.plant("Marie", "loom")
    fresh_loom.write_document("Paper", "loom")
    fresh_loom.add_agent("Blind", model_ref="t:m", permissions=[])
    fresh_loom.add_agent("Reader", model_ref="t:m", permissions=["loom_aware"])
    with pytest.raises(PermissionDeniedError, match="loom_aware not enabled"):
        fresh_loom.acting_as("Blind").search("loom")
    reader = fresh_loom.acting_as("Reader")
    assert [hit.kind for hit in reader.search("loom")] == [HitKind.NODE]
    with pytest.raises(PermissionDeniedError, match="doc_read not enabled"):
        reader.search("loom", kinds=["document"])


@covers("search.paged")
def test_hits_come_in_pages(loom):
    tree = loom.plant("Pages")
    nodes = [tree.root.say("page " + "x " * (number % 7)) for number in range(25)]
    found, offset, pages = [], 0, 0
    while offset is not None:
        page = tree.search("page", limit=10, offset=offset)
        found += ids(page)
        offset = page.next_offset
        pages += 1
    assert pages == 3
    assert sorted(found) == sorted(node.id for node in nodes)
    assert tree.search("page", limit=25).more is False
    assert len(tree.search("page", offset=100)) == 0
    for node in nodes[:20]:
        node.prune()
    assert len(tree.search("page", limit=10)) == 5


@pytest.mark.long
def test_a_long_text_is_searched_to_its_end(loom):
    tree = loom.plant("Long text")
    node = tree.say("the beginning " + "and so on " * 5_600 + "until the very end of it")
    other = tree.root.say("very the, end the")
    assert ids(tree.search('"very end"')) == [node.id]
    assert ids(tree.search('"end very"')) == []
    assert set(ids(tree.search("end very -beginning"))) == {other.id}
    assert ids(tree.search('until -"very end"')) == []
    assert tree.search('"very end"')[0].snippet.text.endswith("until the very end of it")
    document = loom.write_document(f"Novel {tree.id}", " ".join(f"w{number}x" for number in range(150_000)))
    assert ids(loom.search('"w100x w101x"', kinds=["document"])) == [document.id]


def test_hits_show_themselves(loom):
    tree = loom.plant("Marie & <co>")
    node = tree.say("A loom <b>here</b>")
    found = tree.search("loom")
    assert repr(found[0]) == f"<Hit node [{node.local_id}] in 'Marie & <co>' 'A loom <b>here</b>'>"
    assert repr(found).startswith("<1 hit for 'loom'\n  <Hit node")
    shown = found._repr_html_()
    assert "A <mark>loom</mark> &lt;b&gt;here" in shown
    assert "Marie &amp; &lt;co&gt;" in shown
    assert "<mark>loom</mark>" in found[0]._repr_html_()
    assert "nothing found" in tree.search("zzzz")._repr_html_()
    assert found[:1] == (found[0],)
