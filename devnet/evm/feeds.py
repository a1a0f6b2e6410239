"""Price feeds and layer-1 fee contracts of the devnet: stand-ins at the real addresses, as feeds.toml says."""

import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from devnet import known
from devnet.evm.artifacts import stand_ins
from devnet.evm.calls import encode_call
from devnet.evm.placement import Call, Placement

FEEDS = Path(__file__).with_name("feeds.toml")

_PLACES = 8  # of prices by id and by asset
_CONFIDENCE = 1_000  # one part in so many of a price by id


@cache
def load_feeds() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of feeds.toml by kind."""
    tables: dict[str, list[dict[str, Any]]] = tomllib.loads(FEEDS.read_text(encoding="utf-8"))
    return tables


def feed_placements(chain: str) -> Iterator[Placement]:
    """Yield the stand-ins of one chain, one for each address."""
    contracts: dict[str, str] = {}
    calls: dict[str, list[Call]] = {}
    for kind, rows in load_feeds().items():
        for row in rows:
            if row["chain"] == chain:
                contract, call = _BUILDS[kind](row)
                contracts[row["address"]] = contract
                calls.setdefault(row["address"], []).append(Call(known.DEVELOPER, call))
    for address, contract in contracts.items():
        yield Placement(address, stand_ins()[contract], calls=tuple(calls[address]))


def shifted(price: str, places: int) -> int:
    """Return a price as the integer that a feed of so many decimal places tells."""
    return int(Decimal(price).scaleb(places))


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
