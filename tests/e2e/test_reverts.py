"""What callers learn of a call that a contract refuses (docs/decisions/0013)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from eth_utils.crypto import keccak

from devnet import known
from devnet.evm.calls import encode_arguments, encode_call
from transcoder.errors import Failure

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet


async def refusal(gateway: RunningGateway, method: str, to: str, data: bytes) -> dict[str, object]:
    """Return `error.data` without the id of the request."""
    answer = await gateway.ask(method, {"chain": "ethereum", "to": to, "data": "0x" + data.hex()})
    assert answer["error"]["code"] == 400
    reported: dict[str, object] = answer["error"]["data"]
    assert reported.pop("requestId")
    return reported


@pytest.mark.parametrize("method", ["simulateCall", "estimateGas"])
@pytest.mark.parametrize(
    ("call", "error", "arguments"),
    [
        (encode_call("fail_with_reason(string)", ["not today"]), "Error(string)", ["not today"]),
        (encode_call("fail_with_panic()"), "Panic(uint256)", [0x11]),
        (encode_call("fail_with_code(uint256)", [77]), "Failed(uint256)", [77]),
    ],
    ids=["reason", "panic", "custom error"],
)
async def test_a_revert_has_its_selector_and_data(
    method: str, call: bytes, error: str, arguments: list[object], gateway: RunningGateway
) -> None:
    selector = keccak(text=error)[:4]
    assert await refusal(gateway, method, known.PROBER, call) == {
        "reason": "REVERTED",
        "selector": "0x" + selector.hex(),
        "data": "0x" + (selector + encode_arguments(error, arguments)).hex(),
    }


async def test_a_revert_without_data_says_so(gateway: RunningGateway) -> None:
    reported = await refusal(gateway, "simulateCall", known.PROBER, encode_call("fail_silently()"))
    assert reported == {"reason": "REVERTED", "data": "0x"}


async def test_a_long_revert_is_cut_and_says_how_long_it_was(gateway: RunningGateway) -> None:
    reported = await refusal(gateway, "simulateCall", known.REVERT_BOMBER, b"")
    assert reported == {
        "reason": "REVERTED",
        "selector": "0x00000000",
        "data": "0x" + "00" * 1024,
        "dataLength": "1000000",
    }


def test_no_fact_takes_the_place_of_what_every_error_has() -> None:
    facts = {"reason": "OTHER", "requestId": "other", "oldestBlock": "8"}
    body = Failure(400, "ARCHIVE_REQUIRED", "gone", facts=facts).body(b"1", "mine")
    assert b'"reason":"ARCHIVE_REQUIRED","requestId":"mine","oldestBlock":"8"' in body
