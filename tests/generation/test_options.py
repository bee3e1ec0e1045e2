"""Options are understood or refused, before anything is sent or written."""

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
    ({"n": None}, "n must be a whole number, got None"),
    ({"n": 0}, "n must be at least 1, got 0"),
    ({"max_tokens": True}, "max_tokens must be a whole number, got True"),
    ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
    ({"max_tokens": "5"}, "max_tokens must be a whole number"),
    ({"max_tokens": 0}, "max_tokens must be at least 1"),
    ({"seed": "x"}, "seed must be a whole number"),
    ({"seed": 10**30}, "seed must be between"),
    ({"seed": 10**5_000}, "got a number of more than 40 digits"),
    ({"stop": [1]}, "stop must be a list of at most 100 texts"),
    ({"stop": [""]}, "stop must be texts"),
    ({"stop": ["\0"]}, "NUL"),
    ({"stop": "end"}, "stop must be a list of at most 100 texts"),
    ({"logprobs": 2.5}, "logprobs must be a whole number"),
    ({"logprobs": -1}, "logprobs must be between 0 and 100"),
    ({"limit": "x"}, "limit must be a whole number"),
    ({"limit": -1}, "limit must be at least 0"),
    ({"limit": 2**80}, "limit must be between"),
    ({"window": 0}, "window must be at least 1"),
    ({"window": []}, "window must be a whole number, got list"),
    ({"timeout": "x"}, "timeout must be a number"),
    ({"timeout": 0}, "timeout must be between 0.001 and 3,600, got 0"),
    ({"timeout": 1e9}, "timeout must be between"),
    ({"preferences": 5}, "preferences must be settings by their names, got 5"),
    ({"preferences": {5: 1}}, "preferences must be settings by their names"),
    ({"preferences": {"zz": 1}}, "there is no preference 'zz'"),
    ({"estimator": 5}, "estimator must be"),
    ({"estimator": "zz"}, "there is no estimator 'zz'"),
    ({"as_of": "yesterday"}, "as_of must be a date"),
    ({"as_of": "1969-12-31"}, "as_of must be between 1970 and 9999"),
    ({"text": "Well?"}, "text is input that is not a node yet"),
    ({"unattended": "yes"}, "unattended must be true or false"),
    ({"agent": ""}, "agent must be"),
    ({"agent": 5}, "agent must be"),
    ({"agents": 5}, "agents must be a list of names"),
    ({"agents": "Echo"}, "agents must be a list of names"),
    ({"agents": [5]}, "agents must be"),
    ({"agents": ["Echo", "Echo"]}, "named twice"),
    ({"agent": "Echo", "agents": ["Echo"]}, "both given"),
    ({"context": [5]}, "context must be a list of nodes or their ids, got list"),
    ({"context": 5}, "context must be a list of nodes or their ids, got 5"),
    ({"instructions": "abcd"}, "instructions must be a list of nodes"),
    ({"idempotency_key": 5}, "idempotency_key must be a text"),
    ({"idempotency_key": ""}, "idempotency_key must be a text"),
    ({"idempotency_key": "x" * 300}, "idempotency_key must be a text"),
    ({"idempotency_key": "\ud800"}, "lone surrogate"),
    ({"max_price": "abc"}, "max_price must be an amount of dollars, got 'abc'"),
    ({"max_price": float("nan")}, "max_price must be"),
    ({"max_price": -1}, "max_price must be an amount of dollars, got -1"),
    ({"max_price": "1e999999999"}, "max_price must be an amount"),
    ({"max_price": 10**5_000}, "more than 40 digits"),
]


@covers("generate.options-checked")
def test_an_unknown_or_senseless_option_is_refused_by_name(file_address):
    model = Scripted()
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        for options, told in NONSENSE:
            for act in (node.generate, node.stream, node.preflight, tree.generate, tree.stream):
                with pytest.raises(InvalidInputError, match=told) as caught:
                    act(**options).result()
                assert caught.value.hint
        assert model.requests == []
        assert attempts(grove) == []


@covers("generate.options-checked")
def test_a_misspelt_option_gets_a_did_you_mean(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Well?")
        with pytest.raises(InvalidInputError) as caught:
            node.generate(max_prise=1)
        assert caught.value.hint == "did you mean max_price?"


@covers("generate.options-checked")
def test_one_agent_by_two_names_is_named_twice(file_address):
    with grove_with(file_address, Scripted()) as grove:
        node = grove.plant("Marie").say("Well?")
        with pytest.raises(InvalidInputError, match="'Echo' is named twice"):
            node.generate(agents=["Echo", grove.read.agent("Echo").id])


@covers("generate.options-checked")
def test_what_means_something_is_taken(file_address):
    model = Scripted(lambda *_: "Yes.")
    with grove_with(file_address, model) as grove:
        tree = grove.plant("Marie")
        node = tree.say("Well?")
        options = {
            "temperature": 0, "top_p": 1, "max_tokens": 5, "seed": -1, "stop": ("\n",), "timeout": 5,
            "limit": 2**40, "max_price": "0.5", "agents": (), "context": {tree.root.id}, "logprobs": None,
        }  # fmt: skip
        (kid,) = node.generate(**options)
        assert kid.text == "Yes."
        assert model.requests[0].parameters.top_p == 1
        with pytest.raises(LimitExceededError, match="at once"):
            node.generate(n=10**6)


@covers("generate.options-checked")
def test_the_options_of_a_run_are_checked_as_carefully(file_address):
    with grove_with(file_address, Scripted()) as grove:
        tree = grove.plant("Marie")
        for options, told in (
            ({"trns": 1}, r"unknown option 'trns' \(hint: did you mean turns"),
            ({"dollars": "abc"}, "dollars must be an amount of dollars, got 'abc'"),
            ({"turns": "3"}, "turns must be a whole number, got '3'"),
            ({"turns": 2.5}, "turns must be a whole number, got 2.5"),
            ({"tokens": None}, "tokens must be a whole number, got None"),
            ({"seconds": "long"}, "seconds must be a number, got 'long'"),
            ({"seconds": float("nan")}, "seconds must be a number, got nan"),
            ({"temperature": "hot"}, "temperature must be a number"),
        ):
            with pytest.raises(InvalidInputError, match=told):
                grove.agent("Echo").run("Look around.", tree=tree, **options)
