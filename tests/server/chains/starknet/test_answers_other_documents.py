"""Documents in good form that are of something else than was asked for: another endpoint is asked."""

from __future__ import annotations

import pytest

from devnet import known_starknet as known
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from tests.server.chains.starknet.fronts import front

pytestmark = pytest.mark.devnet


@pytest.fixture
async def hashes(node):
    block = await node.call("starknet_getBlockWithTxs", {"block_number": known.CROWDED_BLOCK})
    return [one["transaction_hash"] for one in block["transactions"]]


def mixed_up(wanted, other, asked, often=1):
    """Answer what is asked for `wanted` with what belongs to `other`, so `often` for each method."""

    async def change(item, forward):
        if (item.get("params") or [None])[0] != wanted:
            return await forward(item)
        asked.append(item["method"])
        spoils = asked.count(item["method"]) <= often
        return await forward(item | {"params": [other]} if spoils else item)

    return change


async def test_another_transaction_is_not_believed(load, node, session, hashes):
    first, second = hashes
    good = node.endpoints["starknet"][0].url
    for what in ("read_receipt", "read_transaction"):
        asked = []
        # Whoever is asked first has another transaction.
        change = mixed_up(first, second, asked)
        async with front(good, session, change) as one, front(good, session, change) as two:
            found = (await getattr(load(one=one, two=two), what)(first, ReadView())).starknet
        assert first in found.native.json
        assert second not in found.native.json
        assert sorted(asked) == ["starknet_getTransactionByHash"] * 2 + ["starknet_getTransactionReceipt"] * 2
        async with front(good, session, mixed_up(first, second, [], often=9)) as url:
            with pytest.raises(UpstreamUnavailable):
                await getattr(load(odd=url), what)(first, ReadView())


async def test_another_block_is_not_believed(load, node, session):
    wanted, other = {"block_number": known.CROWDED_BLOCK}, {"block_number": known.USDC_BLOCK}
    good, asked = node.endpoints["starknet"][0].url, []
    change = mixed_up(wanted, other, asked)
    async with front(good, session, change) as one, front(good, session, change) as two:
        found = await load(one=one, two=two).read_block_transactions(known.CROWDED_BLOCK, ReadView())
    assert found.starknet.block_number == known.CROWDED_BLOCK
    assert asked == ["starknet_getBlockWithTxs"] * 2
    async with front(good, session, mixed_up(wanted, other, [], often=9)) as url:
        with pytest.raises(UpstreamUnavailable):
            await load(odd=url).read_block_transactions(known.CROWDED_BLOCK, ReadView())
