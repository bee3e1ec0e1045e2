"""What a runner's turn leaves: verified, undone and redone, exported and imported, on both stores."""

import pytest
from tests.covers import covers
from tests.runners.stage import staged
from tests.runners.workshop import calling
from tests.soundness import check_sound

import weft
from weft.provenance.findings import Verdict
from weft.runtime.generation.sent_request import Rebuilt
from weft.testing import Reply

SCRIPT = (
    Reply(text="I look.", calls=(calling("readNote", path="Harbour/Lamp.md"),)),
    "Whale oil [1].",
    "[]",
    "No tool.",
    "Whale oil.",
)


@covers("runner.kept", "runner.agent")
@pytest.mark.outer
def test_turns_are_verified_undone_and_moved_like_any_other(address, tmp_path):
    with staged(address, tmp_path, list(SCRIPT)) as stage:
        stage.mount()
        tree, grove = stage.tree, stage.grove
        for question, runner in (("What burns?", "agent"), ("And?", "tools"), ("whale oil", "vault")):
            tree.ask(question, runner=runner)
        path = [(node.role, node.kind, node.text) for node in tree.path]
        assert len(path) == 9
        answers = [node for node in tree.path if node.role == "assistant"]
        checks = [grove.generations.check_sent(grove.generations.sent(tree.id, each.id)) for each in answers]
        assert all(check.is_whole for check in checks)
        assert [check.again for check in checks] == [*[Rebuilt.SAME] * 3, Rebuilt.UNKNOWN]
        assert grove.verify().verdict is Verdict.VALID
        grove.export(tmp_path / "out.json", [tree])
        tree.undo(8)
        assert len(tree.path) == 1
        tree.redo(8)
        assert [(node.role, node.kind, node.text) for node in tree.path] == path
        check_sound(grove)
    with weft.open(str(tmp_path / "other.db")) as other:
        other.import_(tmp_path / "out.json")
        (moved,) = other.trees()
        assert [(node.role, node.kind, node.text) for node in moved.leaves[0].path] == path
        assert other.verify().verdict is Verdict.VALID
