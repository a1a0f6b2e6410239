"""Values and sums of a wallet are exact, and say what they leave out."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from server.contracts.words import decimal_text
from server.errors import UpstreamUnavailable
from server.portfolio import Asset, ChainAssets, ChainFailure, Wallet, by_value

prices = st.none() | st.decimals(min_value=0, max_value=10**9, places=18, allow_nan=False)
assets = st.builds(
    Asset,
    symbol=st.text(alphabet="abcXYZ", min_size=1, max_size=4),
    name=st.just("Token"),
    address=st.just("native"),
    raw=st.integers(1, 2**256 - 1),
    decimals=st.integers(0, 36),
    price=prices,
)
chains = st.builds(
    ChainAssets,
    chain=st.just("ethereum"),
    block=st.none() | st.integers(0, 10**9),
    assets=st.lists(assets, max_size=8).map(tuple),
)


def worth(asset: Asset) -> Fraction | None:
    """The value by fractions, which round nothing."""
    if asset.price is None:
        return None
    return Fraction(asset.raw, 10**asset.decimals) * Fraction(asset.price)


@given(assets)
def test_a_value_is_the_balance_times_the_price(asset: Asset) -> None:
    value = asset.value
    assert (value is None) == (asset.price is None)
    if value is not None and asset.price is not None:
        assert Fraction(value) == worth(asset)
        assert Fraction(decimal_text(asset.raw, asset.decimals)) * Fraction(asset.price) == Fraction(value)


@given(st.lists(chains, max_size=4))
def test_sums_are_over_the_known_values_and_count_the_others(rows: list[ChainAssets]) -> None:
    failure = ChainFailure("base", UpstreamUnavailable("none answered"))
    wallet = Wallet("0x", (*rows, failure), datetime.now(UTC))
    every = [asset for row in rows for asset in row.assets]
    assert Fraction(wallet.total) == sum((value for asset in every if (value := worth(asset)) is not None), Fraction(0))
    assert wallet.unpriced == sum(asset.price is None for asset in every)
    for row in rows:
        known = [value for asset in row.assets if (value := worth(asset)) is not None]
        assert (Fraction(row.total), row.unpriced) == (sum(known, Fraction(0)), len(row.assets) - len(known))


@given(st.lists(assets, max_size=12))
def test_the_most_valuable_come_first_and_what_has_no_price_last(found: list[Asset]) -> None:
    ordered = by_value(found)
    assert sorted(map(repr, ordered)) == sorted(map(repr, found))
    values = [worth(asset) for asset in ordered]
    known = [value for value in values if value is not None]
    assert values == sorted(known, reverse=True) + [None] * (len(values) - len(known))


def test_the_largest_balance_at_the_finest_price_is_not_rounded() -> None:
    asset = Asset("A", "A", "native", 2**256 - 1, 36, Decimal("0." + "0" * 40 + "1234567890123456789"))
    assert Fraction(asset.value or 0) == worth(asset)
