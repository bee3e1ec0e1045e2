"""Projects: a prompt and context that trees share; and documents that nobody overwrites unseen."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers

import weft
from weft.errors import ConflictError, InvalidInputError, LimitExceededError, NotFoundError
from weft.runtime.operations.documents import SaveDocument
from weft.runtime.operations.projects import AssignProject, ChangeProject
from weft.runtime.operations.trees import Describe
from weft.store import schema
from weft.tree.document import section_of, sections_of, with_section
from weft.tree.reference import ProjectItem, ProjectItemKind


def name_of(loom, word):
    """A name that no other test of the module has."""
    return f"{word} {len(loom.projects(archived=True))} {len(loom.trees())}"


@covers("project.prompt-and-context")
def test_a_project_has_a_prompt_and_a_context_of_documents_folders_and_urls(fresh_loom):
    notes = fresh_loom.write_document("Notes", "# Marie")
    made = fresh_loom.create_project(
        "Novel",
        system_prompt="You edit prose.",
        context=["doc:notes", "folder:vault/people", "https://example.org/a", "doc:Notes"],
    )
    assert made.context == (
        ProjectItem(ProjectItemKind.DOCUMENT, notes.id),
        ProjectItem(ProjectItemKind.FOLDER, "vault/people"),
        ProjectItem(ProjectItemKind.URL, "https://example.org/a"),
    )
    notes.save(title="Other title")
    assert fresh_loom.project("novel").value == made.value
    assert made.revision == 1
    assert repr(made) == "<Project 'Novel' revision 1>"


@covers("project.holds-trees")
def test_a_tree_belongs_to_one_project_or_to_none(fresh_loom):
    novel, essay = fresh_loom.create_project("Novel"), fresh_loom.create_project("Essay")
    tree = fresh_loom.plant("Marie", project="novel")
    assert tree.value.project == fresh_loom.tree(tree.id).value.project == "Novel"
    assert essay.add(tree).value.project == "Essay"
    assert (novel.trees, [each.id for each in essay.trees]) == ([], [tree.id])
    assert essay.remove(tree).value.project is None
    kinds = [event.kind for event in fresh_loom.read.events(tree.id)]
    assert kinds == ["plant", "assign", "assign"]
    essay.remove(tree)
    assert len(fresh_loom.read.events(tree.id)) == 3
    with pytest.raises(NotFoundError):
        fresh_loom.perform(AssignProject(tree=tree.id, project="nothing"))


def test_whatever_is_done_to_a_tree_its_value_names_the_project(fresh_loom):
    fresh_loom.create_project("Novel")
    tree = fresh_loom.plant("Marie", project="novel")
    assert tree.value.project == "Novel"
    assert fresh_loom.perform(Describe(tree=tree.id, title="Marie, again")).project == "Novel"


def test_a_change_names_the_revision_it_started_from(fresh_loom):
    first = fresh_loom.create_project("Novel", system_prompt="one")
    second = first.change(system_prompt="two", context=["https://example.org"])
    assert (second.revision, second.system_prompt) == (2, "two")
    with pytest.raises(ConflictError, match="is at revision 2, you started from 1"):
        first.change(system_prompt="lost update")
    assert fresh_loom.project("Novel").system_prompt == "two"
    assert (second.at(1).system_prompt, second.at(1).context) == ("one", ())
    assert second.change(system_prompt="two").revision == 2
    renamed = second.change(name="Story")
    assert fresh_loom.project("story").id == first.id
    with pytest.raises(NotFoundError):
        renamed.at(99)


def test_inverses_name_revisions_and_events_hold_no_text(fresh_loom):
    project = fresh_loom.create_project("Novel", system_prompt="canary one")
    project.change(system_prompt="canary two", name="canary three")
    project.archive()
    with fresh_loom.caller.executor.store.read() as session:
        rows = session.execute(schema.events.select().where(schema.events.c.tree == 0)).all()
    told = {row.kind: row.inverse for row in rows}
    assert told["project"] == f'{{"archiveProject":"{project.id}"}}'
    assert told["change-project"] == f'{{"project":"{project.id}","revision":1}}'
    assert told["archive-project"] == '{"archivedAt":null}'
    assert "canary" not in str(rows)


def test_a_project_is_put_away_and_taken_out(fresh_loom):
    project = fresh_loom.create_project("Novel")
    tree = fresh_loom.plant("Marie", project="Novel")
    project.archive()
    project.archive()
    assert fresh_loom.projects() == []
    assert [each.name for each in fresh_loom.projects(archived=True)] == ["Novel"]
    for refused in (
        lambda: project.change(system_prompt="x"),
        lambda: project.add(fresh_loom.plant("Other")),
        lambda: fresh_loom.plant("Other", project="Novel"),
    ):
        with pytest.raises(ConflictError, match="archived"):
            refused()
    assert fresh_loom.tree(tree.id).value.project == "Novel"
    project.unarchive()
    assert len(fresh_loom.projects()) == 1


def test_names_are_unique_in_any_case(fresh_loom):
    fresh_loom.create_project("Novel")
    other = fresh_loom.create_project("Essay")
    for again in ("Novel", "NOVEL", " novel "):
        with pytest.raises(ConflictError, match="already"):
            fresh_loom.create_project(again)
    with pytest.raises(ConflictError, match="already"):
        other.change(name="nOvel")
    assert other.change(name="ESSAY").name == "ESSAY"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": ""}, InvalidInputError),
        ({"name": "two\nlines"}, InvalidInputError),
        ({"name": "x" * 300}, LimitExceededError),
        ({"context": ["notes"]}, InvalidInputError),
        ({"context": ["doc:none such"]}, NotFoundError),
        ({"context": ["folder:vault/../../etc"]}, InvalidInputError),
        ({"context": ["https://"]}, InvalidInputError),
        ({"context": ["http://[bad"]}, InvalidInputError),
        ({"context": ["https://me:secret@example.org"]}, InvalidInputError),
        ({"context": [f"https://example.org/{n}" for n in range(1_001)]}, LimitExceededError),
        ({"system_prompt": "\ud800"}, InvalidInputError),
    ],
)
def test_what_makes_no_project_is_refused(loom, options, error):
    before = len(loom.projects(archived=True))
    with pytest.raises(error):
        loom.create_project(**{"name": "A project", **options})
    assert len(loom.projects(archived=True)) == before


def test_two_who_change_one_project_at_once_do_not_overwrite_each_other(fresh_loom):
    project = fresh_loom.create_project("Novel")
    outcomes = race(
        *(
            lambda n=n: fresh_loom.perform(
                ChangeProject(project=project.id, revision=1, system_prompt=str(n))
            )
            for n in range(8)
        )
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConflictError"] * 7 + ["Project"]


def race(*calls):
    """All at once; what each returned or raised."""
    ready = threading.Barrier(len(calls))
    outcomes = []

    def run(call):
        ready.wait()
        try:
            outcomes.append(call())
        except weft.WeftError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


@covers("proof.no-silent-overwrite", "document.revision-named-on-save")
def test_of_many_editors_of_one_document_one_saves_and_the_others_are_told(fresh_loom):
    document = fresh_loom.write_document("Notes", "0")
    for turn in range(1, 4):
        saves = [SaveDocument(document=document.id, revision=turn, content=f"{turn}.{n}") for n in range(8)]
        outcomes = race(*(lambda save=save: fresh_loom.perform(save) for save in saves))
        saved = [outcome for outcome in outcomes if not isinstance(outcome, ConflictError)]
        assert len(saved) == 1
        assert len(outcomes) == 8
        assert fresh_loom.document("Notes").text == saved[0].content
    assert [each.revision for each in document.revisions()] == [4, 3, 2, 1]


@covers("proof.no-silent-overwrite")
def test_two_tabs_an_old_client_and_a_section_conflict_too(fresh_loom, address):
    document = fresh_loom.write_document("Notes", "# A\none\n# B\ntwo\n")
    with weft.open(address) as other:
        theirs = other.document("Notes")
        mine = document.save_section("a", "mine\n")
        with pytest.raises(ConflictError, match="you started from 1"):
            theirs.save_section("b", "theirs\n")
        with pytest.raises(ConflictError, match="you started from 1"):
            theirs.save(title="Theirs")
        with pytest.raises(ConflictError, match="you started from 1"):
            mine.at(1).save("an old client")
    assert mine.text == "# A\nmine\n# B\ntwo\n"
    assert fresh_loom.document("Notes").value == mine.value
    assert mine.at(1).text == "# A\none\n# B\ntwo\n"


def test_revisions_tell_who_saved_what_and_when(fresh_loom):
    document = fresh_loom.write_document("Notes", "é" * 3)
    document.save("longer", title="Better notes")
    latest, first = document.revisions()
    assert (latest.revision, latest.title, latest.characters) == (2, "Better notes", 6)
    assert (first.revision, first.title, first.characters) == (1, "Notes", 3)
    assert latest.author_id == fresh_loom.me.id
    assert latest.created_at > first.created_at
    with pytest.raises(NotFoundError):
        document.at(3)


@covers("document.sections-by-slug")
def test_a_section_is_written_anew_and_keeps_its_heading_unless_it_brings_one():
    text = "intro\n# A\none\n## A1\nx\n# B\ntwo"
    assert with_section(text, "a", "new") == "intro\n# A\nnew\n# B\ntwo"
    assert with_section("# A\none\n\n# B\ntwo", "a", "new") == "# A\nnew\n\n# B\ntwo"
    assert with_section(text, "a1", "y\n") == "intro\n# A\none\n## A1\ny\n# B\ntwo"
    assert with_section(text, "b", "# C\nthree") == "intro\n# A\none\n## A1\nx\n# C\nthree"
    assert with_section(text, "a", "") == "intro\n# B\ntwo"
    assert with_section("# A", "a", "x") == "# A\nx"
    with pytest.raises(NotFoundError):
        with_section(text, "none", "x")


@given(st.lists(st.sampled_from(["# A", "## B", "text", "```", "", "# C"]), max_size=12), st.data())
def test_writing_a_section_touches_nothing_else(lines, data):
    text = "\n".join(lines)
    sections = sections_of(text)
    if not sections:
        return
    chosen = data.draw(st.sampled_from(sections))
    after = with_section(text, chosen.slug, "plain words\n")
    assert after.startswith(text[: chosen.start])
    assert after.endswith(text[chosen.end :])
    found = section_of(after, chosen.slug)
    assert after[found.start :].startswith(text[chosen.start :].split("\n")[0] + "\nplain words\n")
