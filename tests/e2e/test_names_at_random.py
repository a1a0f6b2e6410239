"""Whatever a caller writes for an address, a token or a hash: a 400 that names it, or an answer, never a 500."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devnet import known, known_bitcoin, known_cosmos, known_solana
from devnet.cosmos.world import CHAINS, address, operator

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
HUB_ALICE = address(HUB, known_cosmos.ALICE)
SOL_ALICE = str(known_solana.ALICE)
# A right value for each, which is spoilt; method, chain, parameter, further parameters.
NAMED = [
    ("getBalance", "ethereum", "address", known.VITALIK, {}),
    ("getTokenBalance", "ethereum", "token", known.MKR, {"address": known.VITALIK}),
    ("getReceipt", "ethereum", "hash", "0x" + "ab" * 32, {}),
    ("getBalance", "solana", "address", SOL_ALICE, {}),
    ("getTokenBalance", "solana", "token", str(known_solana.USDC), {"address": SOL_ALICE}),
    ("getBalance", "bitcoin", "address", known_bitcoin.P2WSH, {}),
    ("getAccount", "cosmoshub", "address", HUB_ALICE, {}),
    ("getDelegations", "cosmoshub", "delegator", HUB_ALICE, {}),
    ("getValidator", "cosmoshub", "validator", operator(HUB, 1), {}),
    ("getTokenBalance", "cosmoshub", "token", known_cosmos.IBC_DENOM, {"address": HUB_ALICE}),
    ("getReceipt", "cosmoshub", "hash", "ab" * 32, {}),
]
QUIET = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


async def judge(gateway: RunningGateway, method: str, params: dict[str, Any], parameter: str) -> None:
    answer = await gateway.ask(method, params)
    if "error" not in answer:
        return
    error = answer["error"]
    # A spoilt name may still be one, of something that is not there.
    assert error["code"] in (400, 404), answer
    if error["data"]["reason"] == "INVALID_ARGUMENT":
        assert error["data"]["field"] == parameter
    else:
        assert error["data"]["reason"] in ("NOT_FOUND", "NOT_A_TOKEN"), answer


@pytest.mark.parametrize(("method", "chain", "parameter", "right", "more"), NAMED)
@QUIET
@given(text=st.text(max_size=120))
async def test_any_text(
    gateway: RunningGateway, method: str, chain: str, parameter: str, right: str, more: dict[str, str], text: str
) -> None:
    await judge(gateway, method, {"chain": chain, parameter: text, **more}, parameter)


@pytest.mark.parametrize(("method", "chain", "parameter", "right", "more"), NAMED)
@QUIET
@given(data=st.data())
async def test_a_right_name_with_something_wrong(
    gateway: RunningGateway, method: str, chain: str, parameter: str, right: str, more: dict[str, str], data: Any
) -> None:
    place = data.draw(st.integers(0, len(right)))
    length = data.draw(st.integers(0, 3))
    piece = data.draw(st.text("0123456789abcdefghijklmnopqrstuvwxyzABCDEF/ \n\t\0é", max_size=3))
    text = right[:place] + piece + right[place + length :]
    await judge(gateway, method, {"chain": chain, parameter: text, **more}, parameter)


@pytest.mark.parametrize(("method", "chain", "parameter", "right", "more"), NAMED)
@pytest.mark.parametrize("wrong", ["", " ", "0x", "1" * 5000, "../../etc", "%00", "?x=1", "\u202e"])
async def test_what_is_always_wrong(
    gateway: RunningGateway, method: str, chain: str, parameter: str, right: str, more: dict[str, str], wrong: str
) -> None:
    answer = await gateway.ask(method, {"chain": chain, parameter: wrong, **more})
    assert answer["error"]["code"] == 400, answer
    assert answer["error"]["data"]["field"] == parameter
