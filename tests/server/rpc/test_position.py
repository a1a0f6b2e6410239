"""Every position operation answers on every chain that the contract lists for it, over both faces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet.known_lending import LEND_A_V2, LEND_A_V3
from devnet.known_lending_b import LEND_B_V3
from devnet.known_lending_c import LEND_C
from tests.server.rpc.every import FAMILIES, WORKING, fields_of, has, message_of

if TYPE_CHECKING:
    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

POSITIONS = [operation for operation in WORKING if operation.service.endswith("PositionService")]
PAIRS = [(operation, slug) for operation in POSITIONS for slug in FAMILIES if has(operation, slug)]
# What ALICE has at least, by the worlds that the local chains are built from; a list is not empty.
HOLDS = {
    "getLendAV3UserPositions": (LEND_A_V3, "reserves"),
    "getLendBV3UserPositions": (LEND_B_V3, "markets"),
    "getLendCUserPositions": (LEND_C, "markets"),
}


def test_there_are_eleven() -> None:
    assert len(POSITIONS) == 11


@pytest.mark.parametrize(
    ("operation", "slug"), PAIRS, ids=lambda value: value if isinstance(value, str) else value.name
)
async def test_it_answers(faces: RunningGateway, operation: Operation, slug: str) -> None:
    members: dict[str, Any] = {"chain": slug}
    if any(field.name == "address" for field in fields_of(operation)):
        members["address"] = known.ALICE
    answer = await faces.ask(operation.name, members)
    assert "result" in answer, answer
    data = answer["result"]["data"]
    assert data["chain"] == slug
    assert data.get("address") == members.get("address")
    message: Any = await faces.ask_grpc(operation, message_of(operation, members))
    assert message.chain == slug
    if operation.name == "getDefiSummary":
        statuses = {row["protocol"]: row["status"] for row in data["protocols"]}
        assert len(statuses) == 7
        assert "error" not in statuses.values(), data["protocols"]
        assert (data["blockHeight"] is None) is ("ok" not in statuses.values())
        for protocol, chains in (("lend-a-v2", LEND_A_V2), ("lend-a-v3", LEND_A_V3), ("lend-c", LEND_C)):
            assert (statuses[protocol] == "ok") is (slug in chains)
        return
    if operation.name == "getYieldAV2Info":
        assert slug in data["supportedChains"]
        return
    assert data["blockHeight"] > 0
    if operation.name in HOLDS:
        chains, member = HOLDS[operation.name]
        assert slug in chains
        assert data[member]
