"""What is wished for is understood or refused, before anything is asked or written."""

import pytest
from tests.covers import covers
from tests.generation.stage import attempts, grove_with

from weft.errors import InvalidInputError, LimitExceededError
from weft.testing import Scripted

NONSENSE = [
    ({"nonsense": 1}, "'nonsense'"),
    ({"max_prise": 1}, "'max_prise'"),
    ({"temperature": "hot"}, "temperature must be a number, got 'hot'"),
    ({"temperature": float("nan")}, "temperature must be a number"),
    ({"temperature": 11}, "temperature must be between 0 and 10, got 11"),
    ({"temperature": 10**400}, "temperature must be between 0 and 10"),
    ({"top_p": 7}, "top_p must be between 0 and 1, got 7"),
    ({"top_p": "x"}, "top_p must be a number"),
    ({"n": 2.0}, "n must be a whole number, got 2.0"),
    ({"n": None}, "n must be a whole number, got NoneType"),
    ({"n": 0}, "n must be at least 1, got 0"),
    ({"max_tokens": True}, "max_tokens must be a whole number, got True"),
    ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
    ({"max_tokens": "5"}, "max_tokens must be a whole number"),
    ({"max_tokens": 0}, "max_tokens must be at least 1"),
    ({"seed": "x"}, "seed must be a whole number"),
    ({"seed": 10**30}, "seed must be between"),
    ({"seed": 10**5_000}, "got a number without measure"),
    ({"stop": [1]}, "stop must be texts"),
    ({"stop": [""]}, "stop must be texts"),
    ({"stop": ["\0"]}, "NUL"),
    ({"stop": "end"}, "stop are given as a list"),
    ({"logprobs": 2.5}, "logprobs must be a whole number"),
    ({"logprobs": -1}, "logprobs must be between 0 and 100"),
    ({"limit": "x"}, "limit must be a whole number"),
    ({"limit": -1}, "limit must be at least 0"),
    ({"limit": 2**80}, "limit must be between"),
    ({"window": 0}, "window must be at least 1"),
    ({"window": []}, "window must be a whole number, got list"),
    ({"timeout": "x"}, "timeout must be a number"),
    ({"timeout": 0}, "makes no sense"),
    ({"timeout": 1e9}, "timeout must be between"),
    ({"preferences": 5}, "preferences must be settings by their names, got 5"),
    ({"preferences": {5: 1}}, "preferences must be settings by their names"),
    ({"preferences": {"zz": 1}}, "there is no preference 'zz'"),
    ({"estimator": 5}, "estimator must be"),
    ({"estimator": "zz"}, "there is no estimator 'zz'"),
    ({"assembly": "plain"}, "assembly must be"),
    ({"unattended": "yes"}, "unattended must be true or false"),
    ({"agent": ""}, "agent must be"),
    ({"agent": 5}, "agent must be"),
    ({"agents": 5}, "agents are given as a list"),
    ({"agents": "Echo"}, "agents are given as a list"),
    ({"agents": [5]}, "agents must be"),
    ({"agents": ["Echo", "Echo"]}, "named twice"),
    ({"agent": "Echo", "agents": ["Echo"]}, "both given"),
    ({"context": [5]}, "context must be nodes or their ids, got 5"),
    ({"context": 5}, "context are given as a list"),
    ({"instructions": "abcd"}, "instructions are given as a list"),
    ({"idempotency_key": 5}, "idempotency_key must be a text"),
    ({"idempotency_key": ""}, "idempotency_key must be a text"),
    ({"idempotency_key": "x" * 300}, "idempotency_key must be a text"),
    ({"idempotency_key": "\ud800"}, "lone surrogate"),
    ({"max_price": "abc"}, "a highest price of 'abc' dollars makes no sense"),
    ({"max_price": float("nan")}, "a highest price of nan"),
    ({"max_price": -1}, "a highest price of -1"),
    ({"max_price": "1e999999999"}, "makes no sense"),
    ({"max_price": 10**5_000}, "without measure"),
]


@covers("generate.wishes-checked")
def test_a_wish_that_nobody_knows_or_that_means_nothing_is_refused_by_name(file_address):
    model = Scripted()
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        for wishes, told in NONSENSE:
            for act in (node.generate, node.stream, node.preflight, tree.generate, tree.stream):
                with pytest.raises(InvalidInputError, match=told) as caught:
                    act(**wishes).result()
                assert caught.value.hint
        assert model.requests == []
        assert attempts(grove) == []


@covers("generate.wishes-checked")
def test_a_misspelt_wish_is_told_how_it_is_written(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Well?")
        with pytest.raises(InvalidInputError) as caught:
            node.generate(max_prise=1)
        assert caught.value.hint == "did you mean max_price?"


@covers("generate.wishes-checked")
def test_one_agent_by_two_names_is_named_twice(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Well?")
        with pytest.raises(InvalidInputError, match="'Echo' is named twice"):
            node.generate(agents=["Echo", grove.read.agent("Echo").id])


@covers("generate.wishes-checked")
def test_what_means_something_is_taken(file_address):
    model = Scripted(lambda *_: "Yes.")
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        wishes = {
            "temperature": 0, "top_p": 1, "max_tokens": 5, "seed": -1, "stop": ("\n",), "timeout": 5,
            "limit": 2**40, "max_price": "0.5", "agents": (), "context": {tree.root.id}, "logprobs": None,
        }  # fmt: skip
        (kid,) = node.generate(**wishes)
        assert kid.text == "Yes."
        assert model.requests[0].parameters.top_p == 1
        with pytest.raises(LimitExceededError, match="at once"):
            node.generate(n=10**6)


@covers("generate.wishes-checked")
def test_a_run_is_wished_for_as_carefully(file_address):
    with grove_with(file_address, Scripted()) as grove:
        tree = grove.plant("Marie")
        for wishes, told in (
            ({"trns": 1}, r"a run cannot be wished for by 'trns' \(hint: did you mean turns"),
            ({"dollars": "abc"}, "a run of 'abc' dollars makes no sense"),
            ({"turns": "3"}, r"a run of '3' turns makes no sense \(hint: a whole number, more than 0"),
            ({"turns": 2.5}, "a run of 2.5 turns makes no sense"),
            ({"tokens": None}, "a run of NoneType tokens makes no sense"),
            ({"seconds": "long"}, "a run of 'long' seconds makes no sense"),
            ({"seconds": float("nan")}, "a run of nan seconds makes no sense"),
            ({"temperature": "hot"}, "temperature must be a number"),
        ):
            with pytest.raises(InvalidInputError, match=told):
                grove.agent("Echo").run("Look around.", tree=tree, **wishes)
