"""NFT contracts, published ones and odd ones: what is answered, how many requests it takes, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from devnet import known, known_nft
from devnet.evm.calls import encode_call
from tests.server.rpc.conftest import unchanged

if TYPE_CHECKING:
    from devnet.launcher import Devnet
    from tests.server.nfts.conftest import Independent, Site

pytestmark = pytest.mark.devnet

LIGHTHOUSES, GOODS, DOCUMENTS = known_nft.LIGHTHOUSES, known_nft.GOODS, known_nft.DOCUMENTS
PLAIN = {"erc721": True, "erc721Enumerable": False, "erc1155": False}
ENUMERABLE = {"erc721": True, "erc721Enumerable": True, "erc1155": False}
MULTI = {"erc721": False, "erc721Enumerable": False, "erc1155": True}
NOTHING = {"erc721": False, "erc721Enumerable": False, "erc1155": False}
ZERO = "0x" + "0" * 40
FUNGIBLE = {
    "USDC": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    "WETH": "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2",
}


async def test_a_collection_is_what_web3_reads_and_takes_one_request(site: Site, web3: Independent) -> None:
    answer = await site.answer("getNftCollection", LIGHTHOUSES.lower())
    assert await site.asked() == 1
    functions = web3.lighthouses.functions
    assert answer == {
        "chain": "ethereum",
        "contract": LIGHTHOUSES,
        "blockHeight": await site.head(),
        "name": await functions.name().call(),
        "symbol": await functions.symbol().call(),
        "totalSupply": str(await functions.totalSupply().call()),
        "standard": ENUMERABLE,
    }
    assert (answer["name"], answer["totalSupply"]) == (known_nft.LIGHTHOUSES_NAME, str(known_nft.BURNT))


@pytest.mark.parametrize(
    ("contract", "name", "symbol", "supply", "standard", "requests"),
    [
        (DOCUMENTS, "Written Documents", "DOC", None, PLAIN, 2),
        (known_nft.BOASTER, "Boaster", "BOAST", None, ENUMERABLE, 2),
        # What fails without a reason is asked once more, apart from its neighbours.
        (GOODS, None, None, None, MULTI, 2),
        (known_nft.OLD_DEEDS, "Old Deeds", "DEED", "3", NOTHING, 2),
    ],
)
async def test_odd_collections(
    site: Site, contract: str, name: str | None, symbol: str | None, supply: str | None, standard: Any, requests: int
) -> None:
    answer = await site.answer("getNftCollection", contract)
    assert await site.asked() == requests
    assert (answer["name"], answer["symbol"], answer["totalSupply"]) == (name, symbol, supply)
    assert answer["standard"] == standard


@pytest.mark.parametrize("token_id", [0, 57, known_nft.ALICE_HAS - 1, known_nft.ALICE_HAS, known_nft.BURNT - 1])
async def test_an_owner_is_whom_web3_reads_and_takes_one_request(site: Site, web3: Independent, token_id: int) -> None:
    answer = await site.answer("getNftTokenOwner", LIGHTHOUSES, tokenId=str(token_id))
    assert await site.asked() == 1
    assert answer["owner"] == await web3.lighthouses.functions.ownerOf(token_id).call()
    assert answer["owner"] == (known.ALICE if token_id < known_nft.ALICE_HAS else known.VITALIK)
    assert answer["blockHeight"] == await site.head()


@pytest.mark.parametrize("method", ["getNftTokenOwner", "getNftMetadata"])
@pytest.mark.parametrize(
    ("contract", "token_id"),
    [
        (LIGHTHOUSES, known_nft.BURNT),
        (LIGHTHOUSES, 10**6),
        (LIGHTHOUSES, known_nft.LARGEST_ID),
        (DOCUMENTS, 999),
        (known_nft.OLD_DEEDS, 4),  # it belongs to the zero address
        (known_nft.BOASTER, 1),  # states to be one, and lacks the function
    ],
)
async def test_a_token_that_does_not_exist_is_not_found(site: Site, method: str, contract: str, token_id: int) -> None:
    error = await site.refused(method, contract, tokenId=str(token_id))
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (404, "NOT_FOUND", "tokenId")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("getNftCollection", {}),
        ("getNftMetadata", {"tokenId": "1"}),
        ("getNftTokenOwner", {"tokenId": "1"}),
        ("getNftBalance", {"address": known.VITALIK}),
        ("getNftTokens", {"address": known.VITALIK}),
        ("getNftErc1155Balance", {"address": known.VITALIK, "tokenId": "1"}),
        ("getNftBatchBalance", {"addresses": [known.VITALIK], "tokenIds": ["1"]}),
    ],
)
@pytest.mark.parametrize(
    "contract", [known.UNTOUCHED, known.SILENT_CONTRACT, known_nft.REVERTER, known.GAS_BURNER, f"0x{3:040x}"]
)
async def test_what_is_no_nft_contract_is_refused(
    site: Site, method: str, params: dict[str, Any], contract: str
) -> None:
    error = await site.refused(method, contract, **params)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "NOT_A_TOKEN", "contract")


@pytest.mark.parametrize("contract", [known.RETURN_BOMBER, known.REVERT_BOMBER])
async def test_bombs_of_return_data_are_survived(site: Site, contract: str) -> None:
    """A million zeros tell nothing, be they returned or reverted with."""
    refusals = {
        "getNftCollection": {},
        "getNftMetadata": {"tokenId": "1"},
        "getNftTokenOwner": {"tokenId": "1"},
        "getNftTokens": {"address": known.VITALIK},
    }
    for method, params in refusals.items():
        error = await site.refused(method, contract, **params)
        assert error["code"] in (400, 404), (method, error)
        assert len(str(error)) < 5000
    assert (await site.answer("getNftCollection", LIGHTHOUSES))["name"] == known_nft.LIGHTHOUSES_NAME


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("getNftCollection", {}),
        ("getNftMetadata", {"tokenId": "1"}),
        ("getNftTokenOwner", {"tokenId": "1"}),
        ("getNftTokens", {"address": known.VITALIK}),
        ("getNftBalance", {"address": known.VITALIK}),
        ("getNftErc1155Balance", {"address": known.VITALIK, "tokenId": "1"}),
        ("getNftBatchBalance", {"addresses": [known.VITALIK] * 2, "tokenIds": ["1", "2"]}),
    ],
)
@pytest.mark.parametrize("contract", [known_nft.LIAR, known.RETURN_BOMBER])
async def test_a_contract_that_answers_every_call_alike_is_not_believed(
    site: Site, method: str, params: dict[str, Any], contract: str
) -> None:
    error = await site.refused(method, contract, **params)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "NOT_A_TOKEN", "contract")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("getNftCollection", {}),
        ("getNftMetadata", {"tokenId": "1"}),
        ("getNftTokenOwner", {"tokenId": "1"}),
        ("getNftBalance", {"address": known.VITALIK}),
        ("getNftTokens", {"address": known.VITALIK}),
        ("getNftErc1155Balance", {"address": known.VITALIK, "tokenId": "1"}),
    ],
)
@pytest.mark.parametrize("symbol", ["USDC", "WETH"])
async def test_an_amount_of_a_fungible_token_is_no_number_of_nfts(
    site: Site, method: str, params: dict[str, Any], symbol: str
) -> None:
    error = await site.refused(method, FUNGIBLE[symbol], **params)
    assert error["code"] == 400
    assert error["data"]["reason"] in ("NOT_A_TOKEN", "NOT_ENUMERABLE")


async def test_contracts_of_another_standard_are_reported_apart(site: Site) -> None:
    error = await site.refused("getNftTokenOwner", GOODS, tokenId="1")
    assert error["data"]["reason"] == "NOT_A_TOKEN"
    assert "ERC-1155" in error["message"]
    for method, contract, params in (
        ("getNftBalance", GOODS, {"address": known.VITALIK}),
        ("getNftTokens", GOODS, {"address": known.VITALIK}),
        ("getNftErc1155Balance", LIGHTHOUSES, {"address": known.VITALIK, "tokenId": "1"}),
        ("getNftBatchBalance", LIGHTHOUSES, {"addresses": known.VITALIK, "tokenIds": "1"}),
    ):
        error = await site.refused(method, contract, **params)
        assert (error["code"], error["data"]["reason"]) == (400, "NOT_A_TOKEN")


@pytest.mark.parametrize("account", [known.VITALIK, known.ALICE, known.BOB, known.UNTOUCHED])
async def test_a_balance_is_what_web3_reads(site: Site, web3: Independent, account: str) -> None:
    answer = await site.answer("getNftBalance", LIGHTHOUSES, address=account.lower())
    assert await site.asked() == 1
    assert answer["balance"] == str(await web3.lighthouses.functions.balanceOf(account).call())
    assert (answer["address"], answer["blockHeight"]) == (account, await site.head())


async def test_a_refusal_of_the_contract_is_reported_with_its_reason(site: Site) -> None:
    error = await site.refused("getNftBalance", LIGHTHOUSES, address=ZERO)
    assert (error["code"], error["data"]["reason"]) == (400, "REVERTED")
    assert "address zero is not a valid owner" in error["message"]


async def test_tokens_are_listed_up_to_a_hundred(site: Site, web3: Independent) -> None:
    answer = await site.answer("getNftTokens", LIGHTHOUSES, address=known.ALICE)
    assert await site.asked() == 2
    of = web3.lighthouses.functions.tokenOfOwnerByIndex
    assert answer["tokenIds"] == [str(await of(known.ALICE, index).call()) for index in range(100)]
    assert (answer["total"], answer["capped"]) == (str(known_nft.ALICE_HAS), True)
    answer = await site.answer("getNftTokens", LIGHTHOUSES, address=known.VITALIK)
    assert await site.asked() == 2
    assert answer["tokenIds"] == [str(known_nft.ALICE_HAS + index) for index in range(known_nft.VITALIK_HAS)]
    assert (answer["total"], answer["capped"]) == (str(known_nft.VITALIK_HAS), False)
    answer = await site.answer("getNftTokens", LIGHTHOUSES, address=known.UNTOUCHED)
    assert await site.asked() == 1
    assert (answer["tokenIds"], answer["total"], answer["capped"]) == ([], "0", False)
    answer = await site.answer("getNftTokens", known_nft.OLD_DEEDS, address=known.VITALIK)
    assert (answer["tokenIds"], answer["total"]) == (["0", "1", "2"], "3")


@pytest.mark.parametrize(
    ("contract", "account"),
    [(DOCUMENTS, known.VITALIK), (DOCUMENTS, known.UNTOUCHED), (known_nft.BOASTER, known.VITALIK)],
)
async def test_contracts_that_do_not_list_tokens_are_refused(site: Site, contract: str, account: str) -> None:
    error = await site.refused("getNftTokens", contract, address=account)
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "NOT_ENUMERABLE", "contract")


@pytest.mark.parametrize(("account", "token_id"), [*known_nft.GOODS_HELD, (known.BOB, 1), (known.ALICE, 2**200)])
async def test_an_amount_of_a_multi_token_is_what_web3_reads(
    site: Site, web3: Independent, account: str, token_id: int
) -> None:
    answer = await site.answer("getNftErc1155Balance", GOODS, address=account, tokenId=str(token_id))
    assert await site.asked() == 1
    assert answer["balance"] == str(await web3.goods.functions.balanceOf(account, token_id).call())
    assert answer["balance"] == str(known_nft.GOODS_HELD.get((account, token_id), 0))
    assert answer["tokenId"] == str(token_id)


async def test_a_hundred_pairs_take_one_request_and_are_of_one_block(site: Site, web3: Independent) -> None:
    pairs = (list(known_nft.GOODS_HELD) + [(known.BOB, number) for number in range(100)])[:100]
    accounts, ids = [account for account, _ in pairs], [token_id for _, token_id in pairs]
    answer = await site.answer(
        "getNftBatchBalance", GOODS, addresses=", ".join(accounts), tokenIds=",".join(map(str, ids))
    )
    assert await site.asked() == 1
    expected = await web3.goods.functions.balanceOfBatch(accounts, ids).call()
    assert answer["results"] == [
        {"address": account, "tokenId": str(token_id), "balance": str(balance)}
        for account, token_id, balance in zip(accounts, ids, expected, strict=True)
    ]
    assert answer["blockHeight"] == await site.head()


@pytest.mark.parametrize(
    ("addresses", "ids", "field"),
    [
        ([known.VITALIK], ["1", "2"], "tokenIds"),
        ([known.VITALIK, known.ALICE], ["1"], "tokenIds"),
        ([known.VITALIK] * 101, ["1"] * 101, "addresses"),
        ([], [], "addresses"),
        ([known.VITALIK, "0x12"], ["1", "2"], "addresses[1]"),
        ([known.VITALIK], [str(2**256)], "tokenIds[0]"),
        ([known.VITALIK], ["-1"], "tokenIds[0]"),
        ([known.VITALIK], ["1.5"], "tokenIds[0]"),
    ],
)
async def test_lists_of_pairs_that_do_not_fit(site: Site, addresses: list[str], ids: list[str], field: str) -> None:
    error = await site.refused("getNftBatchBalance", GOODS, addresses=addresses, tokenIds=ids)
    assert (error["code"], error["data"]["reason"]) == (400, "INVALID_ARGUMENT")
    assert error["data"]["field"] == field
    assert await site.asked() == 0


async def test_reads_at_a_block_are_of_that_block(site: Site, devnet: Devnet) -> None:
    async with unchanged(devnet, "ethereum") as node:
        before = await site.head()
        data = encode_call("transferFrom(address,address,uint256)", [known.ALICE, known.BOB, 3])
        await node.call("eth_sendTransaction", {"from": known.ALICE, "to": LIGHTHOUSES, "data": "0x" + data.hex()})
        await devnet.mine("ethereum")
        site.clock.pass_seconds(60)
        token = {"tokenId": "3"}
        now, then = (
            await site.answer("getNftMetadata", LIGHTHOUSES, **token),
            await site.answer("getNftMetadata", LIGHTHOUSES, **token, blockHeight=before),
        )
        assert (now["owner"], then["owner"]) == (known.BOB, known.ALICE)
        assert (now["blockHeight"], then["blockHeight"]) == (before + 1, before)
        assert now["metadata"] == then["metadata"]
        for account, balances in ((known.ALICE, (104, 105)), (known.BOB, (1, 0))):
            found = [
                await site.answer("getNftBalance", LIGHTHOUSES, address=account),
                await site.answer("getNftBalance", LIGHTHOUSES, address=account, blockHeight=before),
            ]
            assert tuple(int(answer["balance"]) for answer in found) == balances
        assert (await site.answer("getNftTokens", LIGHTHOUSES, address=known.BOB))["tokenIds"] == ["3"]
    error = await site.refused("getNftBalance", LIGHTHOUSES, address=known.BOB, blockHeight=99_000_000)
    assert (error["code"], error["data"]["field"]) == (404, "blockHeight")


async def test_on_arbitrum_the_block_is_the_chains_own(site: Site, devnet: Devnet) -> None:
    """Contracts there see the number of a block of the parent chain."""
    head = int(await devnet.nodes["arbitrum"].call("eth_blockNumber"), 16)
    for method, params, member, value in (
        ("getNftCollection", {}, "totalSupply", "3"),
        ("getNftTokenOwner", {"tokenId": "2"}, "owner", known.VITALIK),
        ("getNftBalance", {"address": known.VITALIK}, "balance", "3"),
        ("getNftTokens", {"address": known.VITALIK}, "tokenIds", ["0", "1", "2"]),
    ):
        asked = {"chain": "arbitrum", "contract": known_nft.OLD_DEEDS, **params}
        data = (await site.running.ask(method, asked))["result"]["data"]
        assert (data[member], data["blockHeight"], data["chain"]) == (value, head, "arbitrum")


async def test_a_dead_node_is_no_missing_token(site: Site) -> None:
    site.relay.is_broken = True
    for method, params in (
        ("getNftCollection", {}),
        ("getNftTokenOwner", {"tokenId": "1"}),
        ("getNftMetadata", {"tokenId": "1"}),
        ("getNftTokens", {"address": known.ALICE}),
        ("getNftBatchBalance", {"addresses": known.ALICE, "tokenIds": "1"}),
    ):
        error = await site.refused(method, LIGHTHOUSES, **params)
        assert error["code"] == 503, method
        assert "127.0.0.1" not in error["message"]
