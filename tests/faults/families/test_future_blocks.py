"""Most endpoints of a family report a block of tomorrow: the newest block is what the others have."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from server.chains.view import ReadView
from tests.faults.families.conftest import rig_of
from tests.faults.families.relay import Answer, each_call
from tests.faults.families.subjects import SUBJECTS

if TYPE_CHECKING:
    import aiohttp

    from devnet.launcher import Devnet
    from tests.faults.families.relay import Ask, Fault, Json

pytestmark = pytest.mark.devnet

_DAY = 86_400
_LATEST = "/cosmos/base/tendermint/v1beta1/blocks/latest"


def _tomorrow() -> int:
    return int(time.time()) + _DAY


def _lie_starknet(call: Json, response: Json) -> None:
    result = response.get("result")
    if call["method"] == "starknet_blockNumber":
        response["result"] = result + 1
    elif call["method"] == "starknet_getBlockWithTxHashes" and call["params"] == ["latest"]:
        result["block_number"] += 1
        result["timestamp"] = _tomorrow()


def _lie_bitcoin(call: Json, response: Json) -> None:
    result = response.get("result")
    if call["method"] == "getblockcount":
        response["result"] = result + 1
    elif call["method"] == "getblockchaininfo":
        result["blocks"] += 1
        result["time"] = result["mediantime"] = _tomorrow()


async def _lie_cosmos(ask: Ask) -> Answer:
    reply = await ask.answer()
    if ask.path != _LATEST:
        return reply
    found = reply.json
    header = found["block"]["header"]
    header["height"] = str(int(header["height"]) + 1)
    header["time"] = datetime.fromtimestamp(_tomorrow(), UTC).isoformat().replace("+00:00", "Z")
    return Answer.of(found)


LIES: dict[str, Fault] = {
    "starknet": each_call(_lie_starknet),
    "bitcoin": each_call(_lie_bitcoin),
    "cosmoshub": _lie_cosmos,
}


@pytest.mark.parametrize("slug", LIES)
async def test_most_endpoints_of_tomorrow_do_not_move_the_newest_block(
    slug: str, families: Devnet, plain: aiohttp.ClientSession
) -> None:
    subject = next(subject for subject in SUBJECTS if subject.slug == slug)
    async with rig_of(subject, families, plain, mines_at_will=False) as rig:
        assert await rig.driver.read_height(ReadView()) == rig.head
        for name in ("bad", "one"):
            for relay in rig.machines[name]:
                relay.fault = LIES[slug]
        for _ in range(10):
            assert await rig.driver.read_height(ReadView()) == rig.head
            await asyncio.sleep(0.05)
