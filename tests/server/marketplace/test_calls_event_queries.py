"""Pages of events: cursors, windows, filters, and logs that fit no form of the event."""

from __future__ import annotations

from contextlib import asynccontextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from devnet import known_marketplace as places
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.world import load_world
from tests.rewinding import rewound
from tests.server.marketplace.conftest import OPERATION, request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.evm.node import Node
    from tests.server.marketplace.conftest import Marketplace

pytestmark = pytest.mark.devnet

APPROVAL, TRANSFER = "svc_erc20_erc20api_getLogs_Approval", "svc_erc20_erc20api_getLogs_Transfer"
# A chain on which no other test of this folder makes blocks.
CHAIN = load_world()["avalanche"]
TOKEN = CHAIN.tokens[1].address
WHERE = {"chain": "avalanche", "address": TOKEN}
PER_BLOCK, BLOCKS = 60, 4


@asynccontextmanager
async def crowded(node: Node) -> AsyncIterator[list[tuple[int, int]]]:
    """Blocks of `PER_BLOCK` approvals each; yields their places, newest first."""
    async with rewound(node):
        seen = []
        for block in range(BLOCKS):
            for number in range(PER_BLOCK):
                spender = f"0x{0xA000 + number:040x}"
                data = encode_call("approve(address,uint256)", [spender, block * PER_BLOCK + number])
                await node.call(
                    "eth_sendTransaction", {"from": known.BOB, "to": TOKEN, "data": to_hex(data), "gas": hex(100_000)}
                )
            await node.call("evm_mine")
            height = int(await node.call("eth_blockNumber"), 16)
            seen += [(height, index) for index in range(PER_BLOCK)]
        yield sorted(seen, reverse=True)


def place(log: dict[str, Any]) -> tuple[int, int]:
    return log["blockNumber"], log["logIndex"]


async def test_pages_hold_every_event_once_newest_first(marketplace: Marketplace) -> None:
    async with crowded(marketplace.devnet.nodes["avalanche"]) as expected:
        window = {"fromBlock": expected[-1][0], "toBlock": expected[0][0]}
        for repeated in (window, {}):
            page = await marketplace.call(APPROVAL, **WHERE, **window)
            found, sizes, cursors = [], [], []
            while True:
                found += page["logs"]
                sizes.append(page["count"])
                if not page["hasMore"]:
                    break
                cursors.append(page["cursor"])
                # The window travels in the cursor: repeating it changes nothing, and neither does leaving it out.
                page = await marketplace.call(APPROVAL, **WHERE, **repeated, cursor=page["cursor"])
            assert list(map(place, found)) == expected
            assert sizes == [100, 100, 40]
            assert page["cursor"] is None
            assert all(isinstance(cursor, str) and cursor.endswith(f":{expected[-1][0]}") for cursor in cursors)
        pages, token = [], ""
        while not pages or token:
            # Over gRPC alone a page may be smaller.
            message = request(APPROVAL, **WHERE, **window, cursor=token)
            message.page_size = 70
            events = (await marketplace.gateway.ask_grpc(OPERATION, message)).events
            pages.append([(log.block_number, log.log_index) for log in events.logs])
            token = events.next_page_token
            assert (events.page_size, events.has_more) == (70, bool(token))
        assert list(chain.from_iterable(pages)) == expected
        assert list(map(len, pages)) == [70, 70, 70, 30]
        amounts = [int(log["args"][2]) for log in found]
        assert amounts == list(range(BLOCKS * PER_BLOCK - 1, -1, -1))


async def test_a_cursor_may_be_a_block_number(marketplace: Marketplace) -> None:
    async with crowded(marketplace.devnet.nodes["avalanche"]) as expected:
        middle = expected[0][0] - 1
        page = await marketplace.call(APPROVAL, **WHERE, fromBlock=expected[-1][0], cursor=middle)
        assert [place(log) for log in page["logs"]] == [one for one in expected if one[0] <= middle][:100]


async def test_indexed_inputs_are_filtered_by(marketplace: Marketplace) -> None:
    async with crowded(marketplace.devnet.nodes["avalanche"]) as expected:
        spender = f"0x{0xA007:040x}"
        page = await marketplace.call(APPROVAL, **WHERE, fromBlock=expected[-1][0], args=[None, spender])
        assert [int(log["args"][2]) for log in page["logs"]] == [187, 127, 67, 7]
        page = await marketplace.call(APPROVAL, **WHERE, args=[known.BOB.lower(), spender, None])
        assert page["count"] == 4
        page = await marketplace.call(APPROVAL, **WHERE, args=[known.VITALIK, spender])
        assert (page["count"], page["hasMore"], page["logs"]) == (0, False, [])


async def test_without_bounds_the_newest_ten_thousand_blocks_are_searched(marketplace: Marketplace) -> None:
    node = marketplace.devnet.nodes["avalanche"]
    head = int(await node.call("eth_blockNumber"), 16)
    whole = await marketplace.call(TRANSFER, **WHERE)
    first = await marketplace.call(TRANSFER, **WHERE, fromBlock=head - 9_999, toBlock=head)
    assert whole["logs"] == first["logs"] != []
    older = await marketplace.call(TRANSFER, **WHERE, toBlock=whole["logs"][0]["blockNumber"] - 1)
    assert older["logs"] == whole["logs"][1:]


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [
        ({"fromBlock": CHAIN.height - 10_000, "toBlock": CHAIN.height}, "RANGE_TOO_LARGE"),
        ({"fromBlock": CHAIN.height - 10_000}, "RANGE_TOO_LARGE"),
        ({"fromBlock": 0, "toBlock": 10_000}, "RANGE_TOO_LARGE"),
        ({"fromBlock": 0, "cursor": 10_000}, "RANGE_TOO_LARGE"),
        ({"fromBlock": 0, "cursor": CHAIN.height}, "RANGE_TOO_LARGE"),
        ({"cursor": f"{CHAIN.height}:0:5"}, "RANGE_TOO_LARGE"),
        ({"fromBlock": CHAIN.height, "toBlock": CHAIN.height - 1}, "INVALID_ARGUMENT"),
        ({"fromBlock": CHAIN.height, "cursor": CHAIN.height - 1}, "INVALID_ARGUMENT"),
        ({"fromBlock": -1}, "INVALID_ARGUMENT"),
        ({"toBlock": "pending"}, "INVALID_ARGUMENT"),
    ],
)
async def test_windows_that_cannot_be_are_refused(marketplace: Marketplace, bounds: Any, reason: str) -> None:
    error = await marketplace.refused(APPROVAL, **WHERE, **bounds)
    assert (error["code"], error["data"]["reason"]) == (400, reason)
    assert error["data"]["field"] in bounds or error["data"]["field"] == "fromBlock"


async def test_a_window_that_is_too_long_is_counted_with_both_of_its_ends(marketplace: Marketplace) -> None:
    node = marketplace.devnet.nodes["avalanche"]
    head = int(await node.call("eth_blockNumber"), 16)
    for bounds, blocks in (
        ({"fromBlock": head - 10_000, "toBlock": head}, 10_001),
        ({"fromBlock": head - 10_000}, 10_001),
        ({"fromBlock": 1, "toBlock": 10_002}, 10_002),
    ):
        error = await marketplace.refused(APPROVAL, **WHERE, **bounds)
        assert error["message"].startswith(f"fromBlock: the range covers {blocks} blocks; ask for at most 10000")
        assert error["data"]["mostBlocks"] == "10000"


async def test_an_omitted_oldest_block_makes_a_window_of_ten_thousand(marketplace: Marketplace) -> None:
    async with crowded(marketplace.devnet.nodes["avalanche"]) as expected:
        newest = expected[0][0]
        # The window travels in the cursor of a page that is not the last.
        for bounds, end in (({}, newest), ({"toBlock": newest}, newest), ({"toBlock": newest - 1}, newest - 1)):
            page = await marketplace.call(APPROVAL, **WHERE, **bounds)
            assert page["cursor"].split(":")[2] == str(end - 9_999)
            rest = await marketplace.call(APPROVAL, **WHERE, **bounds, cursor=page["cursor"])
            assert list(map(place, rest["logs"]))[:80] == [one for one in expected if one[0] <= end][100:180]


@pytest.mark.parametrize(
    "bounds",
    [
        {"fromBlock": CHAIN.height - 9_999, "toBlock": CHAIN.height},
        {"fromBlock": 0, "toBlock": 9_999},
        {"fromBlock": 0, "cursor": 9_999},
        {"toBlock": 3},
        {"fromBlock": CHAIN.height + 5_000, "toBlock": CHAIN.height + 9_000},
        {"fromBlock": "latest"},
    ],
)
async def test_windows_with_nothing_in_them_are_empty(marketplace: Marketplace, bounds: Any) -> None:
    page = await marketplace.call(APPROVAL, **WHERE, **bounds)
    assert (page["count"], page["hasMore"], page["cursor"], page["logs"]) == (0, False, None, [])


async def test_logs_that_fit_no_form_of_the_event_are_left_out(marketplace: Marketplace) -> None:
    """An ERC-721 has a Transfer of the same first topic, but all of its inputs are topics."""
    where = {"chain": "ethereum", "address": places.COLLECTION}
    assert (await marketplace.call("svc_erc721api_erc721_getLogs_Transfer", **where))["count"] == 1
    assert (await marketplace.call(TRANSFER, **where))["logs"] == []


# Writes a log of three topics, the first words of its calldata, and of the rest as data.
WRITER = "0x00000000000000000000000000000000000000f7"
WRITER_CODE = "0x6060360360605f376040356020355f35606036035fa300"


async def test_logs_whose_values_are_none_of_their_types_are_left_out(marketplace: Marketplace) -> None:
    node = marketplace.devnet.nodes["avalanche"]
    event = bytes.fromhex("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
    account, dirty = bytes.fromhex(known.ALICE[2:]).rjust(32, b"\0"), b"\1" * 32
    async with rewound(node):
        await node.call("anvil_setCode", WRITER, WRITER_CODE)
        for topics, data in (
            ((account, account), (1).to_bytes(32)),
            ((account, dirty), (2).to_bytes(32)),
            ((account, account), b"\3" * 31),
            ((account, account), (4).to_bytes(32) + b"more"),
        ):
            sent = {"from": known.BOB, "to": WRITER, "data": to_hex(event + b"".join(topics) + data)}
            await node.call("eth_sendTransaction", {**sent, "gas": hex(100_000)})
            await node.call("evm_mine")
        page = await marketplace.call(TRANSFER, chain="avalanche", address=WRITER)
    assert [log["args"] for log in page["logs"]] == [[known.ALICE, known.ALICE, "4"], [known.ALICE, known.ALICE, "1"]]
    assert (page["count"], page["hasMore"]) == (2, False)
