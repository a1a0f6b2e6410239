"""Price feeds and layer-1 fee contracts of the devnet at the real addresses, as feeds.toml lists them.

Chainlink's are its published contracts; the others are ours.
"""

import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.placement import Call, Placement
from devnet.evm.world import FIRST_TIMESTAMP

FEEDS = Path(__file__).with_name("feeds.toml")

_PLACES = 8  # of prices by id and by asset
_NOBODY = "0x" + "00" * 20
_CONFIDENCE = 1_000  # one part in so many of a price by id


@cache
def load_feeds() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of feeds.toml by kind."""
    tables: dict[str, list[dict[str, Any]]] = tomllib.loads(FEEDS.read_text(encoding="utf-8"))
    return tables


def feed_placements(chain: str) -> Iterator[Placement]:
    """Yield the contracts of one chain, one for each address."""
    tables = load_feeds()
    for row in (*tables["chainlink"], *tables["sequencer"]):
        if row["chain"] == chain:
            yield from _published(row)
    contracts: dict[str, str] = {}
    calls: dict[str, list[Call]] = {}
    for kind, build in _BUILDS.items():
        for row in tables[kind]:
            if row["chain"] == chain:
                contract, call = build(row)
                contracts[row["address"]] = contract
                calls.setdefault(row["address"], []).append(Call(known.DEVELOPER, call))
    for address, contract in contracts.items():
        yield Placement(address, stand_ins()[contract], calls=tuple(calls[address]))


def aggregator_of(row: dict[str, Any]) -> str:
    """Return the address of the aggregator behind a Chainlink feed's proxy, which is none of a real contract."""
    return to_checksum_address(keccak(text=f"aggregator behind {row['address']}")[-20:])


def round_data(row: dict[str, Any], price: str, told_at: int, number: int = 1) -> bytes:
    """Return the call by which an aggregator reports a round of any number and time, 0 for one that is not complete."""
    figures = [number, shifted(price, row["decimals"]), told_at, told_at]
    return encode_call("updateRoundData(uint80,int256,uint256,uint256)", figures)


def next_round(row: dict[str, Any]) -> bytes:
    """Return the call by which an aggregator reports the price of its row in a next round, as of the block it is in."""
    return encode_call("updateAnswer(int256)", [shifted(row["price"], row["decimals"])])


def shifted(price: str, places: int) -> int:
    """Return a price as the integer that a feed of so many decimal places reports."""
    return int(Decimal(price).scaleb(places))


def _published(row: dict[str, Any]) -> Iterator[Placement]:
    aggregator = aggregator_of(row)
    first = encode_arguments("constructor(uint8,int256)", [row["decimals"], shifted(row["price"], row["decimals"])])
    # Over the constructor's own round, whose time is that of the build.
    first_round = Call(known.DEVELOPER, round_data(row, row["price"], FIRST_TIMESTAMP))
    yield Placement(aggregator, original("feed_aggregator") + first, calls=(first_round,))
    # No access controller: any account may read.
    behind = encode_arguments("constructor(address,address)", [aggregator, _NOBODY])
    yield Placement(row["address"], original("feed_proxy") + behind)


def _pyth(row: dict[str, Any]) -> tuple[str, bytes]:
    price = shifted(row["price"], _PLACES)
    report = [bytes.fromhex(row["id"][2:]), price, price // _CONFIDENCE, -_PLACES, 0]
    return "price_book", encode_call("report(bytes32,int64,uint64,int32,uint256)", report)


def _aave(row: dict[str, Any]) -> tuple[str, bytes]:
    return "price_book", encode_call("report_asset(address,uint256)", [row["asset"], shifted(row["price"], _PLACES)])


def _l1_fee(row: dict[str, Any]) -> tuple[str, bytes]:
    return "l1_fee_oracle", encode_call("initialize(uint256)", [row["wei_per_byte"]])


_BUILDS = {"pyth": _pyth, "aave": _aave, "l1_fee": _l1_fee}
