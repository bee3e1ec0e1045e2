"""Questions with an idempotency key: said once, answered once, however often they are asked."""

import threading

import pytest
from tests.covers import covers
from tests.runners.stage import staged

from weft.errors import ConflictError, ProviderError, Trouble
from weft.grove.grove import open_grove
from weft.runtime.generation.stream import TextChunk
from weft.runtime.runners.options import AskOptions
from weft.testing import START, Gate, SteppingClock


@covers("ask.idempotency-key")
def test_a_repeated_key_returns_the_first_answer_and_says_nothing(address, tmp_path):
    with staged(address, tmp_path, ["Because of the fog.", "Other."]) as stage:
        stage.mount()
        ask = {"runner": "vault", "idempotency_key": "k1"}
        first = stage.tree.ask("Who invented zeppelins?", **ask)
        again = stage.tree.ask("Who invented zeppelins?", **ask)
        assert (again.run, again.node, again.question) == (first.run, first.node, first.question)
        assert again.notices == first.notices != ()
        with stage.tree.ask_stream("Who invented zeppelins?", **ask) as stream:
            told = "".join(event.text for event in stream if isinstance(event, TextChunk))
        assert told == first.text
        assert len(stage.sent) == 1
        assert len(stage.tree.path) == 3
        with pytest.raises(ConflictError, match="used for another request"):
            stage.tree.ask("Who invented balloons?", **ask)
        assert len(stage.tree.path) == 3


@covers("ask.idempotency-key")
def test_many_at_once_are_one_question_and_one_request(address, tmp_path):
    gate = Gate(1)
    with staged(address, tmp_path, ["Because of the fog."], gate=gate) as stage:
        with open_grove(address, clock=SteppingClock(START + 1_000_000)) as other:
            answers = []

            def ask(grove):
                answer = grove.tree(stage.tree.id).ask("Why?", idempotency_key="k1")
                answers.append((answer.node.id, answer.text))

            # The first has the model: the others wait for it, in this process and another.
            threads = [threading.Thread(target=ask, args=(stage.grove,))]
            threads[0].start()
            gate.wait()
            threads += [
                threading.Thread(target=ask, args=(grove,))
                for grove in [stage.grove, other]
                for _ in range(5)
            ]
            for each in threads[1:]:
                each.start()
            gate.open()
            for each in threads:
                each.join(60)
        assert len(answers) == 11
        assert len(set(answers)) == 1
        assert len(stage.sent) == 1
        assert len(stage.tree.path) == 3


@covers("ask.idempotency-key")
def test_a_tree_that_is_asked_for_is_planted_once(file_address, tmp_path):
    with staged(file_address, tmp_path, ["One.", "Two."]) as stage:
        ask = {"new": True, "idempotency_key": "k1"}
        first, again = (stage.grove.ask("Why the fog?", **ask) for _ in range(2))
        assert first.tree_id == again.tree_id != stage.tree.id
        assert len(stage.grove.trees()) == 2


@covers("ask.idempotency-key")
def test_a_failure_is_the_answer_too_and_the_question_is_not_said_again(file_address, tmp_path):
    def fail(*_):
        raise ProviderError(Trouble.INVALID_REQUEST, "no")

    with staged(file_address, tmp_path, fail) as stage:
        for _ in range(2):
            with pytest.raises(ProviderError, match="no"):
                stage.tree.ask("Why?", idempotency_key="k1")
        assert [node.text for node in stage.tree.path][1:] == ["Why?"]
        assert len(stage.sent) == 1


@covers("ask.idempotency-key")
def test_what_is_refused_before_anything_is_said_may_be_asked_again(file_address, tmp_path):
    with staged(file_address, tmp_path, ["Yes."]) as stage:
        with pytest.raises(Exception, match="no folder of notes is mounted"):
            stage.tree.ask("Why?", runner="vault", idempotency_key="k1")
        stage.mount()
        assert stage.tree.ask("Why?", runner="vault", idempotency_key="k1").text == "Yes."
        run = stage.grove.runners.start(stage.tree.id, AskOptions("And?", idempotency_key="k2"))
        run.stop()
        run.wait()
        assert run.is_over
