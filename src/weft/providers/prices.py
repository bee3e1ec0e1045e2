"""What is known of models without asking anyone: windows and prices, from the table that genai-prices bundles."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING

from weft.providers.base import Prices

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo as Row
    from genai_prices.types import ModelPrice, Tier, TieredPrices

__all__ = ["Known", "known_model", "known_models"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A row of the bundled table."""

    id: str
    title: str = ""
    window: int | None = None
    prices: Prices | None = None
    deprecated: bool = False


@lru_cache(maxsize=512)
def known_model(table: str, model: str, moment: datetime | None = None) -> Known | None:
    """What the table says of a model, under any of the names it goes by."""
    # The table takes a third of a second to import, and not every use of a model needs it.
    from genai_prices import data_snapshot  # noqa: PLC0415

    snapshot = data_snapshot.get_snapshot()
    provider = next((each for each in snapshot.providers if each.id == table), None)
    row = None if provider is None else provider.find_model(model)
    return None if row is None else _known(row, moment or datetime.now(UTC))


def known_models(table: str, moment: datetime | None = None) -> list[Known]:
    """Every model of a provider that the table has."""
    from genai_prices import data_snapshot  # noqa: PLC0415 - see above

    snapshot = data_snapshot.get_snapshot()
    when = moment or datetime.now(UTC)
    return [_known(row, when) for each in snapshot.providers if each.id == table for row in each.models]


def _known(row: "Row", moment: datetime) -> Known:
    return Known(
        id=row.id,
        title=row.name or row.id,
        window=row.context_window,
        prices=_prices(row.get_prices(moment)) if row.prices else None,
        deprecated=bool(row.deprecated),
    )


def _prices(found: "ModelPrice") -> Prices | None:
    fields = {
        "input": found.input_mtok,
        "output": found.output_mtok,
        "cached_read": found.cache_read_mtok,
        "cached_write": found.cache_write_mtok,
    }
    if fields["input"] is None and fields["output"] is None:
        return None
    starts = sorted({tier.start for price in fields.values() for tier in _tiers(price)})
    above = tuple((start, _at(fields, start)) for start in starts)
    return _at(fields, None, above)


def _tiers(price: "Decimal | TieredPrices | None") -> "list[Tier]":
    return [] if price is None or isinstance(price, Decimal) else price.tiers


def _at(
    fields: "dict[str, Decimal | TieredPrices | None]",
    start: int | None,
    above: tuple[tuple[int, Prices], ...] = (),
) -> Prices:
    read = {name: _price(price, start) for name, price in fields.items()}
    zero = Decimal(0)
    return Prices(
        input=read["input"] or zero,
        output=read["output"] or zero,
        cached_read=read["cached_read"],
        cached_write=read["cached_write"],
        above=above,
    )


def _price(price: "Decimal | TieredPrices | None", start: int | None) -> Decimal | None:
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if start is not None and tier.start <= start]
    return reached[-1] if reached else price.base
