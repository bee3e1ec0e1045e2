"""Which models there are, with and without anybody to ask."""

import asyncio
from decimal import Decimal

import pytest
from tests.covers import covers

from weft.errors import ProviderError, Trouble
from weft.providers.base import FREE, ModelInfo, ModelName, ModelPrices, ModelProfile, installed_providers
from weft.providers.catalog import DAY, Catalog, Origin
from weft.providers.scripted import Scripted
from weft.tree.attempt import Usage

PRICES = ModelPrices(
    input=Decimal("1.5"),
    output=Decimal(9),
    cached_read=Decimal("0.15"),
    above=((200_000, ModelPrices(input=Decimal(3), output=Decimal(18))),),
)
LISTED = [
    ModelInfo(name=ModelName("lab", "a/b:c"), title="A", profile=ModelProfile(window=5_000, prices=PRICES)),
    ModelInfo(name=ModelName("lab", "free"), profile=ModelProfile(window=10, prices=FREE, local=True)),
]


class Lab(Scripted):
    """A provider whose list can be asked for until it cannot."""

    def __init__(self):
        super().__init__(name="lab")
        self.asked = 0
        self.failing = False

    async def models(self):
        self.asked += 1
        if self.failing:
            raise ProviderError(Trouble.NETWORK, "the cable is out")
        return LISTED


class Clock:
    now = 1_700_000_000_000_000

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def catalog(lab, clock, tmp_path):
    registry = installed_providers().with_provider("lab", lab)
    return Catalog(registry, folder=tmp_path / "models", clock=clock)


def models(catalog, provider="lab", **options):
    return asyncio.run(catalog.models(provider, **options))


@covers("provider.catalog", "provider.catalog-cached")
def test_a_list_is_asked_for_once_a_day(catalog, lab, clock):
    first = models(catalog)
    assert (first.origin, first.stale, list(first.models)) == (Origin.PROVIDER, False, LISTED)
    clock.now += DAY - 1
    again = models(catalog)
    assert (again.origin, again.stale, list(again.models), lab.asked) == (Origin.CACHED, False, LISTED, 1)
    clock.now += 1
    assert models(catalog).origin is Origin.PROVIDER
    assert models(catalog, fresh=True).origin is Origin.PROVIDER
    assert lab.asked == 3


@covers("provider.catalog-cached")
def test_offline_a_stale_list_is_served_with_a_mark(catalog, lab, clock):
    models(catalog)
    lab.failing = True
    clock.now += 30 * DAY
    found = models(catalog)
    assert (found.origin, found.stale, list(found.models)) == (Origin.CACHED, True, LISTED)
    assert "the cable is out" in found.problem
    assert found.listed_at.year == 2023
    assert models(catalog, ask=False).stale
    assert models(catalog, ask=False).problem is None


@covers("provider.catalog-cached")
@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"version": 1}', '{"version": 2, "listedAt": 1, "models": [3]}']
)
def test_a_damaged_list_is_asked_for_again(catalog, lab, tmp_path, text):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "lab.json").write_text(text)
    assert models(catalog).origin is Origin.PROVIDER


@covers("provider.catalog-cached")
def test_a_clock_that_went_back_makes_a_list_stale(catalog, lab, clock):
    models(catalog)
    clock.now -= DAY
    assert models(catalog).origin is Origin.PROVIDER
    assert lab.asked == 2


@covers("provider.catalog-cached")
def test_a_list_that_cannot_be_kept_is_served_all_the_same(lab, clock, tmp_path):
    (tmp_path / "file").write_text("in the way")
    catalog = Catalog(installed_providers().with_provider("lab", lab), folder=tmp_path / "file", clock=clock)
    assert list(models(catalog).models) == LISTED


@pytest.mark.outer
@covers("provider.catalog-bundled")
@pytest.mark.parametrize("provider", ["anthropic", "openai", "google", "compatible"])
def test_without_an_answer_there_is_a_bundled_table(catalog, provider):
    found = models(catalog, provider, ask=False)
    assert found.origin is Origin.BUNDLED
    assert len(found.models) > 10
    assert all(str(info.name).startswith(provider) for info in found.models)
    priced = [info for info in found.models if info.profile.prices]
    assert len(priced) > len(found.models) / 2
    assert not any("embed" in info.name.model for info in found.models)


@pytest.mark.outer
@covers("provider.catalog-bundled")
def test_without_a_key_the_problem_is_told_beside_the_table(catalog, monkeypatch):
    for name in ("OPENAI_API_KEY", "WEFT_KEY_OPENAI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEFT_KEYS", "/nonexistent/keys.json")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    found = models(catalog, "openai")
    assert found.origin is Origin.BUNDLED
    assert "there is no key for openai" in found.problem


@covers("provider.profile", "provider.catalog")
def test_a_models_profile_and_cost_are_known_without_asking(catalog, lab):
    usage = Usage(prompt=1_000_000, completion=100_000)
    assert catalog.profile("lab:a/b:c").window == 100_000, "nobody listed it yet"
    models(catalog)
    assert catalog.profile("lab:a/b:c").window == 5_000
    assert catalog.cost("lab:a/b:c", usage) == Decimal("4.8")
    assert catalog.cost("lab:a/b:c", Usage(prompt=100_000, cached_read=50_000)) == Decimal("0.0825")
    assert catalog.cost("lab:free", usage) == 0
    assert catalog.cost("local:smollm2", usage) == 0
    assert catalog.cost("anthropic:claude-of-the-future", usage) is None
    assert lab.asked == 1
