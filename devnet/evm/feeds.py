"""Price feeds and layer-1 fee contracts of the devnet at the real addresses, as feeds.toml says: all but one ours."""

import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from devnet import known
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.placement import Call, Placement

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
    for row in tables["original"]:
        if row["chain"] == chain:
            yield from _original(row)
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


def round_data(row: dict[str, Any], price: str, told_at: int, number: int = 1) -> bytes:
    """Return the call by which the published mock aggregator tells a round."""
    figures = [number, shifted(price, row["decimals"]), told_at, told_at]
    return encode_call("updateRoundData(uint80,int256,uint256,uint256)", figures)


def shifted(price: str, places: int) -> int:
    """Return a price as the integer that a feed of so many decimal places tells."""
    return int(Decimal(price).scaleb(places))


def _original(row: dict[str, Any]) -> Iterator[Placement]:
    first = encode_arguments("constructor(uint8,int256)", [row["decimals"], shifted(row["price"], row["decimals"])])
    told = Call(known.DEVELOPER, round_data(row, row["price"], row["told_at"]))
    yield Placement(row["aggregator"], original("feed_aggregator") + first, calls=(told,))
    # No access controller: anybody may read.
    behind = encode_arguments("constructor(address,address)", [row["aggregator"], _NOBODY])
    yield Placement(row["address"], original("feed_proxy") + behind)


def _chainlink(row: dict[str, Any]) -> tuple[str, bytes]:
    answer = shifted(row["price"], row["decimals"])
    return "aggregator", encode_call("initialize(string,uint8,int256)", [row["pair"], row["decimals"], answer])


def _sequencer(row: dict[str, Any]) -> tuple[str, bytes]:
    return "aggregator", encode_call("initialize(string,uint8,int256)", ["L2 Sequencer Uptime Status Feed", 0, 0])


def _pyth(row: dict[str, Any]) -> tuple[str, bytes]:
    price = shifted(row["price"], _PLACES)
    report = [bytes.fromhex(row["id"][2:]), price, price // _CONFIDENCE, -_PLACES, 0]
    return "price_book", encode_call("report(bytes32,int64,uint64,int32,uint256)", report)


def _aave(row: dict[str, Any]) -> tuple[str, bytes]:
    return "price_book", encode_call("report_asset(address,uint256)", [row["asset"], shifted(row["price"], _PLACES)])


def _l1_fee(row: dict[str, Any]) -> tuple[str, bytes]:
    return "l1_fee_oracle", encode_call("initialize(uint256)", [row["wei_per_byte"]])


_BUILDS = {"chainlink": _chainlink, "sequencer": _sequencer, "pyth": _pyth, "aave": _aave, "l1_fee": _l1_fee}
