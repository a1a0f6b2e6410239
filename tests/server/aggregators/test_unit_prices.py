"""Prices of one whole unit: which amounts are asked for, and what is answered of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from server.aggregators.jupiter import LARGEST_AMOUNT, Quote, Swap
from server.aggregators.unit_prices import UnitPrices
from server.chains.view import ReadView
from server.errors import InvalidArgument, NotFound, UpstreamUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Mints:
    """Mints with the decimals that a test says."""

    def __init__(self, decimals: Mapping[str, int]) -> None:
        self.decimals = decimals
        self.asked: list[list[str]] = []

    def check_mint(self, mint: str, field: str) -> str:
        if mint not in self.decimals:
            raise InvalidArgument(f"{field}: no mint", field=field)
        return mint

    async def read_decimals(self, mints: Mapping[str, str], view: ReadView) -> dict[str, int]:
        self.asked.append(list(mints.values()))
        return {field: self.decimals[mint] for field, mint in mints.items()}


class Quotes:
    """A source that gives what a test says for an amount."""

    def __init__(self, give: Callable[[int], int]) -> None:
        self.give = give
        self.asked: list[int] = []

    async def quote(self, swap: Swap, **_: Any) -> Quote:
        self.asked.append(swap.amount)
        return Quote(self.give(swap.amount), 0, "0", ())


def prices(give: Callable[[int], int], sold: int = 9, bought: int = 6) -> tuple[UnitPrices, Quotes, Mints]:
    quotes, mints = Quotes(give), Mints({"a": sold, "b": bought})
    return UnitPrices(quotes, mints), quotes, mints  # type: ignore[arg-type]


async def test_one_unit_is_enough_where_it_yields_six_digits():
    asked, quotes, mints = prices(lambda amount: 100_000)
    assert await asked.read_price("a", "b", ReadView()) == 0.1
    assert quotes.asked == [10**9]
    assert mints.asked == [["a", "b"]]


@pytest.mark.parametrize(
    ("per_unit", "amounts"),
    [
        # So many raw units of the output, in millionths, for one unit of the input; and the powers asked for.
        (99_999_000_000, [0, 1]),
        (1_234_567, [0, 5]),
        (999_999, [0, 6]),
        (123_456, [0, 6]),
        (12_345, [0, 6, 7]),
        (1, [0, 6, 10]),  # an amount has 64 bits
    ],
)
async def test_less_is_asked_for_again_in_powers_of_ten(per_unit: int, amounts: list[int]):
    asked, quotes, _ = prices(lambda amount: amount * per_unit // 10**9 // 10**6, sold=9)
    price = await asked.read_price("a", "b", ReadView())
    assert [len(str(amount)) - 10 for amount in quotes.asked] == amounts
    assert price == pytest.approx(per_unit / 10**12, rel=1e-5)
    assert price > 0


async def test_more_units_that_the_pools_cannot_take_do_not_worsen_the_price():
    """A thin pool: for a hundred thousand units it gives a third of what one is worth."""
    asked, quotes, _ = prices(lambda amount: 9 if amount == 10**9 else 333_333)
    assert await asked.read_price("a", "b", ReadView()) == 9e-6
    assert quotes.asked == [10**9, 10**14]


async def test_what_less_yields_is_answered_where_there_is_no_route_for_more():
    def give(amount: int) -> int:
        if amount > 10**9:
            raise NotFound("no route")
        return 42

    asked, _, _ = prices(give)
    assert await asked.read_price("a", "b", ReadView()) == 0.000042


async def test_a_source_that_fails_in_between_is_no_price():
    def give(amount: int) -> int:
        if amount > 10**9:
            raise UpstreamUnavailable("down")
        return 42

    asked, _, _ = prices(give)
    with pytest.raises(UpstreamUnavailable):
        await asked.read_price("a", "b", ReadView())


async def test_nothing_for_any_amount_is_no_price():
    asked, quotes, _ = prices(lambda amount: 0)
    with pytest.raises(NotFound):
        await asked.read_price("a", "b", ReadView())
    assert len(quotes.asked) <= 4
    assert max(quotes.asked) <= LARGEST_AMOUNT


@pytest.mark.parametrize("decimals", [0, 18, 19, 20, 30, 255])
async def test_units_of_any_size(decimals: int):
    """One unit may be more than an amount can say; then the largest power of ten that fits is asked for."""
    asked, quotes, _ = prices(lambda amount: 1_234_567, sold=decimals)
    price = await asked.read_price("a", "b", ReadView())
    assert quotes.asked == [10 ** min(decimals, 19)]
    assert price == pytest.approx(1.234567 * 10.0 ** max(decimals - 19, 0))


async def test_a_price_that_no_number_is_small_enough_for():
    asked, _, _ = prices(lambda amount: 1, bought=255)
    price = await asked.read_price("a", "b", ReadView())
    assert price > 0
    asked, _, _ = prices(lambda amount: 1, sold=0, bought=400)
    with pytest.raises(NotFound):
        await asked.read_price("a", "b", ReadView())


@pytest.mark.parametrize(("sold", "bought", "field"), [("x", "b", "inputMint"), ("a", "x", "outputMint")])
async def test_what_is_no_mint_is_asked_for_nowhere(sold: str, bought: str, field: str):
    asked, quotes, mints = prices(lambda amount: 1)
    with pytest.raises(InvalidArgument) as caught:
        await asked.read_price(sold, bought, ReadView())
    assert (caught.value.field, quotes.asked, mints.asked) == (field, [], [])


async def test_one_mint_twice():
    asked, quotes, mints = prices(lambda amount: 1)
    with pytest.raises(InvalidArgument, match="two mints"):
        await asked.read_price("a", "a", ReadView())
    assert (quotes.asked, mints.asked) == ([], [])
