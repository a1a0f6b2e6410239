"""yield-a over both faces: every chain of the contract, the members of each answer, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import ParseDict

from devnet import known
from devnet.known_yield_a import EXPIRED, RUNNING, UNPRICED, YIELD_A
from tests.server.rpc.yields_table import OPERATIONS

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

POOL = {"chain": "ethereum", "pool": RUNNING.market}
MEMBERS = {
    "getYieldsVaults": ["chain", "protocol", "pool", "apy", "tvl", "updatedAt", "basis", "blockHeight"],
    "getYieldsPrice": ["chain", "protocol", "pool", "price", "updatedAt", "blockHeight", "token", "lpUsd"],
    "getYieldsBalance": ["chain", "protocol", "pool", "address", "balance", "updatedAt", "blockHeight"],
    "getYieldsYieldAImpliedApy": [
        *("chain", "pool", "address", "effectivePtExchangeRate", "expiryDate", "daysToExpiry", "impliedApy"),
        *("updatedAt", "blockHeight"),
    ],
}


def asked(method: str, chain: str, pool: str) -> dict[str, str]:
    """Return the parameters of an operation."""
    members = {"chain": chain, "pool": pool}
    if method != "getYieldsYieldAImpliedApy":
        members["protocol"] = "yield-a"
    if method in {"getYieldsBalance", "getYieldsYieldAImpliedApy"}:
        members["address"] = known.VITALIK
    return members


async def row_of(faces: RunningGateway, method: str, members: dict[str, str]) -> dict[str, Any]:
    """Return the only row of an answer."""
    answer = await faces.ask(method, members)
    assert "result" in answer, answer
    [row] = answer["result"]["data"]["results"]
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("chain", list(YIELD_A))
@pytest.mark.parametrize("method", list(MEMBERS))
async def test_every_chain_answers(faces: RunningGateway, method: str, chain: str) -> None:
    market = YIELD_A[chain][0]
    # Any casing of an address is taken and repeated as asked, but for the operation of yield-a alone, which checksums.
    row = await row_of(faces, method, asked(method, chain, market.market.lower()))
    assert list(row) == MEMBERS[method]
    assert row["chain"] == chain
    assert row["blockHeight"] > 1_000_000
    assert row["updatedAt"].startswith("20")
    if method == "getYieldsVaults":
        assert (row["protocol"], row["pool"], row["basis"]) == ("yield-a", market.market.lower(), "implied")
        assert 5 < row["apy"] < 9
        assert row["tvl"] > 1_000_000
    elif method == "getYieldsPrice":
        assert list(row["price"]) == ["USD"]
        assert 0.5 < row["price"]["USD"] < 1
        assert row["token"] == {"symbol": f"PT-Local{market.asset}-30DEC2032", "address": market.principal}
        assert row["lpUsd"] > row["price"]["USD"]
    elif method == "getYieldsBalance":
        assert row["address"] == known.VITALIK
        assert {name[:3] for name in row["balance"]} == {"PLP", "PT-", "YT-", "USD"}
        assert row["balance"]["USD"] > 1_000
    else:
        assert (row["pool"], row["address"]) == (market.market, known.VITALIK)
        assert row["expiryDate"] == "2032-12-30T00:00:00Z"
        assert isinstance(row["daysToExpiry"], int)
        assert 5 < row["impliedApy"] < 9


@pytest.mark.parametrize("method", list(MEMBERS))
async def test_both_faces_agree(faces: RunningGateway, method: str) -> None:
    operation = OPERATIONS[method]
    members = asked(method, "ethereum", EXPIRED.market)
    row = await row_of(faces, method, members)
    fields = members | ({"protocol": "YIELD_PROTOCOL_YIELD_A"} if "protocol" in members else {})
    message: Any = await faces.ask_grpc(operation, ParseDict(fields, operation.request()))
    [other] = message.results
    if method == "getYieldsVaults":
        assert row["apy"] == other.apy == 0
        assert row["tvl"] == pytest.approx(other.tvl, rel=1e-6)
    elif method == "getYieldsPrice":
        assert row["price"]["USD"] == pytest.approx(other.price.usd, rel=1e-6)
    elif method == "getYieldsBalance":
        amounts = {name: value for name, value in row["balance"].items() if name != "USD"}
        assert amounts == dict(other.balance.amounts)
    else:
        assert row["daysToExpiry"] == other.days_to_expiry == 0
        assert row["effectivePtExchangeRate"] == other.effective_pt_exchange_rate > 1


async def test_an_asset_without_a_price(faces: RunningGateway) -> None:
    row = await row_of(faces, "getYieldsVaults", asked("getYieldsVaults", "ethereum", UNPRICED.market))
    assert row["tvl"] is None
    assert row["apy"] > 5
    row = await row_of(faces, "getYieldsBalance", asked("getYieldsBalance", "ethereum", UNPRICED.market))
    assert row["balance"]["USD"] is None
    answer = await faces.ask("getYieldsPrice", asked("getYieldsPrice", "ethereum", UNPRICED.market))
    assert (answer["error"]["code"], answer["error"]["data"]["reason"]) == (503, "PRICE_UNAVAILABLE")


@pytest.mark.parametrize(
    ("members", "code", "field"),
    [
        ({"pool": "USDC"}, 400, "pool"),
        ({"pool": RUNNING.market[:-1]}, 400, "pool"),
        ({"pool": RUNNING.market.replace("C", "c", 1)}, 400, "pool"),
        ({"pool": 1}, 400, "pool"),
        ({"address": "vitalik.eth"}, 400, "address"),
        ({"address": None}, 400, "address"),
        ({"chain": "polygon"}, 400, "chain"),
        ({"chain": "solana"}, 400, "chain"),
        ({"chain": "ethereums"}, 404, "chain"),
        ({"pool": RUNNING.principal}, 404, "pool"),
        ({"pool": known.GAS_BURNER}, 404, "pool"),
        ({"pool": "0x" + "00" * 20}, 404, "pool"),
        ({"address": "0x00000000000000000000000000000000000beef1"}, 404, "address"),
        ({"protocol": "yield-a"}, 400, "protocol"),
    ],
)
async def test_what_is_refused(faces: RunningGateway, members: dict[str, Any], code: int, field: str) -> None:
    answer = await faces.ask("getYieldsYieldAImpliedApy", POOL | {"address": known.VITALIK} | members)
    assert answer["error"]["code"] == code, answer
    assert answer["error"]["data"]["field"] == field
