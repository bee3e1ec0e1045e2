"""Money: what may be spent, by whom, and that what is said to be the most is the most."""

import threading
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.covers import covers
from tests.generation.stage import grove_with
from tests.soundness import check_sound

from weft.errors import InvalidInputError, LimitExceededError, NotFoundError, ProviderError, Trouble
from weft.providers.base import ModelPrices
from weft.providers.scripted import PROFILE
from weft.runtime.generation.spending import SpendingPeriod, expected_micros, micros_of
from weft.testing import Reply, Scripted
from weft.tree.attempt import Usage
from weft.tree.snippet import is_extract

PRICES = ModelPrices(
    input=Decimal(3), output=Decimal(15), cached_read=Decimal("0.3"), cached_write=Decimal("3.75")
)
LONG = replace(
    PRICES,
    above=((1_000, ModelPrices(input=Decimal(6), output=Decimal(9), cached_write=Decimal("7.5"))),),
)
PAID = replace(PROFILE, local=False, choices=1, prices=PRICES)


@covers("generate.price-at-most")
@given(
    prompt=st.integers(0, 3_000),
    read=st.floats(0, 1),
    written=st.floats(0, 1),
    answer=st.integers(1, 500),
    prices=st.sampled_from([PRICES, LONG]),
)
def test_the_most_that_a_call_may_cost_is_the_most_whatever_is_cached(prompt, read, written, answer, prices):
    cached = round(prompt * read)
    usage = Usage(
        prompt=prompt,
        completion=answer,
        cached_read=cached,
        cached_write=round((prompt - cached) * written),
    )
    most = expected_micros(replace(PAID, prices=prices), prompt=prompt, answer=500, n=1)
    assert micros_of(prices.cost(usage)) <= most


@covers("generate.price-at-most")
def test_an_answer_of_which_nobody_says_how_long_it_may_be_may_fill_the_window():
    open_end = replace(PAID, output_limit=None, window=50_000)
    assert expected_micros(open_end, prompt=10_000, answer=None, n=1) == 10_000 * 3.75 + 40_000 * 15


@covers("generate.price-at-most", "generate.preflight")
def test_a_call_that_fills_the_cache_stays_below_what_was_told_before_it(file_address):
    model = Scripted(profile=PAID)
    with grove_with(file_address, model) as grove:
        node = grove.plant("Marie").say("w " * 20_000)
        told = node.preflight(max_tokens=1)
        usage = Usage(prompt=told.tokens, completion=1, cached_write=told.tokens, cached_read=0)
    with grove_with(file_address, Scripted([Reply(text="ok", usage=usage)], profile=PAID)) as grove:
        grove.generations.set_cap(told.dollars)
        grove.tree("Marie").cursor.generate(max_tokens=1)
        assert grove.generations.spent().total <= micros_of(told.dollars)


@covers("generate.cap-on-somebody")
def test_a_cap_is_on_somebody_who_is_there(loom):
    tree = loom.plant("Marie")
    agent = loom.add_agent("Echo", model_ref="scripted:echo")
    set_cap = loom.generations.set_cap
    for whose, error in (
        ("agent:Nobody", NotFoundError),
        ("tree:Nobody", NotFoundError),
        ("agent:", InvalidInputError),
        ("zzz", InvalidInputError),
        ("grove:", InvalidInputError),
        ("", InvalidInputError),
        (5, InvalidInputError),
    ):
        with pytest.raises(error):
            set_cap(1, whose=whose)
    assert loom.generations.caps == []
    # However somebody is named, it is written down by id.
    set_cap(1, whose="agent:Echo")
    set_cap(2, whose="tree:Marie", period="day")
    assert [(cap.whose, cap.period, cap.dollars) for cap in loom.generations.caps] == [
        (f"agent:{agent.id}", SpendingPeriod.TOTAL, 1),
        (f"tree:{tree.id}", SpendingPeriod.DAY, 2),
    ]
    set_cap(None, whose=f"agent:{agent.id}")
    set_cap(None, whose="tree:Marie", period=SpendingPeriod.DAY)
    assert loom.generations.caps == []
    check_sound(loom)


@covers("generate.cap-on-somebody")
def test_a_cap_is_an_amount_of_money(file_address):
    with grove_with(file_address, Scripted()) as grove:
        for dollars in ("abc", "", float("nan"), float("inf"), -1, True, [], "1e99", 10**5_000):
            with pytest.raises(InvalidInputError, match=r"a cap of .* dollars makes no sense"):
                grove.generations.set_cap(dollars)
        with pytest.raises(InvalidInputError, match="there is no period 'week'"):
            grove.generations.set_cap(1, period="week")
        assert grove.generations.caps == []


@covers("generate.cap-on-somebody")
def test_caps_set_at_once_are_all_kept(loom):
    trees = [loom.plant(f"Tree {number}") for number in range(8)]
    threads = [
        threading.Thread(target=loom.generations.set_cap, args=(1,), kwargs={"whose": f"tree:{tree.id}"})
        for tree in trees
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(cap.whose for cap in loom.generations.caps) == sorted(f"tree:{tree.id}" for tree in trees)


@pytest.fixture
def paid():
    return Scripted(lambda *_: "In short.", profile=PAID)


@covers("summary.same-caps")
@pytest.mark.parametrize("whose", ["grove", "tree", "agent"])
def test_a_summary_keeps_within_the_caps_of_its_tree_and_agent_too(file_address, paid, whose):
    with grove_with(file_address, paid) as grove:
        grove.summaries.choose_model("scripted:small")
        tree, other = grove.plant("Marie"), grove.plant("Elsewhere")
        named = {"grove": "grove", "tree": f"tree:{tree.id}", "agent": f"agent:{grove.me.id}"}
        grove.generations.set_cap(0, whose=named[whose])
        assert is_extract(tree.say("Something to be said.").summarise())
        assert paid.requests == []
        document = grove.write_document("Notes", "Some words.")
        if whose == "tree":
            assert other.say("Something else.").summarise() == "In short."
            assert document.summarise() == "In short."
        else:
            assert is_extract(document.summarise())
        check_sound(grove)


@covers("summary.same-caps", "summary.paid-only-under-a-cap")
def test_in_the_background_a_cap_on_the_tree_holds_a_summary_and_an_unknown_price_does_not(file_address):
    model = Scripted(lambda *_: "In short.", profile=PAID)
    unknown = Scripted(name="unknown", profile=replace(PAID, prices=None))
    with grove_with(file_address, model, unknown) as grove:
        grove.summaries.choose_model("scripted:small")
        grove.summaries.work_off()
        tree = grove.plant("Marie")
        grove.generations.set_cap(1, whose=f"tree:{tree.id}")
        node = tree.say("Something to be said.")
        elsewhere = grove.plant("Elsewhere").say("Something else.")
        grove.summaries.work_off()
        assert node.refresh().value.summary == "In short."
        assert is_extract(elsewhere.refresh().value.summary)
        grove.summaries.choose_model("unknown:small")
        more = tree.say("And more.")
        grove.summaries.work_off()
        assert is_extract(more.refresh().value.summary)
        assert unknown.requests == []


@covers("summary.same-caps")
def test_a_summary_that_failed_costs_nothing_and_leaves_room_for_others(file_address):
    failing = True

    def write(*_):
        return ProviderError(Trouble.AUTHENTICATION, "no") if failing else "In short."

    with grove_with(file_address, Scripted(write, profile=PAID)) as grove:
        grove.summaries.choose_model("scripted:small")
        tree = grove.plant("Marie")
        grove.generations.set_cap("0.005")
        for number in range(6):
            assert is_extract(tree.say(f"Thing {number} was said. " * 50).summarise())
        assert grove.generations.spent().total == 0
        failing = False
        assert tree.say("The last thing.").summarise() == "In short."
        assert 0 < grove.generations.spent().total < 5_000


@covers("summary.same-caps")
def test_what_was_counted_before_a_summary_broke_off_is_charged(file_address):
    usage = Usage(prompt=100, completion=10)
    cut = Reply(text="In sh", usage=usage, ending=None)
    with grove_with(file_address, Scripted([cut], profile=PAID)) as grove:
        grove.summaries.choose_model("scripted:small")
        node = grove.plant("Marie").say("Something to be said.")
        assert is_extract(node.summarise())
        assert grove.generations.spent().total > 0
        with pytest.raises(LimitExceededError):
            grove.generations.set_cap(0)
            grove.tree("Marie").generate()
