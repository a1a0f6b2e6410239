"""Transactions of nodes whose REST gateway does not answer, or that have none: decoded from what a CometBFT RPC has."""

from __future__ import annotations

import base64
import hashlib
import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import pytest_asyncio
from cosmpy.protos.cosmos.authz.v1beta1.tx_pb2 import MsgExec
from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.tx.v1beta1.tx_pb2 import AuthInfo, TxBody, TxRaw
from google.protobuf.any_pb2 import Any as Packed

from devnet import known_cosmos as known
from devnet.cosmos import comet, rest
from devnet.cosmos.ledger import Ledger
from devnet.cosmos.transactions import hash_of
from devnet.cosmos.world import CHAINS, address
from runtime.operations import load_operations
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.view import ReadView
from server.errors import NotFound, NotSupported, UpstreamUnavailable
from server.upstream import open_session
from server.upstream.cache import Cache
from tests.e2e.gateway import RunningGateway, run_gateway_on
from tests.faults.families.relay import Answer, Ask, honest, is_silent, relay
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiohttp
    from waypost.v1 import transaction_pb2

    from devnet.cosmos.process import CosmosChains
    from tests.tallies import EndpointTally

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
ALICE, BOB = address(HUB, known.ALICE), address(HUB, known.BOB)
NOWHERE = "http://127.0.0.1:9"
GONE = {"rest": NOWHERE}


def packed(message: Any) -> Packed:
    found = Packed()
    found.Pack(message, type_url_prefix="/")
    return found


SWAP = Packed(type_url="/osmosis.gamm.v1beta1.MsgSwapExactAmountIn", value=b"\x0a\x01a")
SWAP_JSON = {"@type": SWAP.type_url, "value": "CgFh"}
# Types that the model's REST gateway does not know either: to it this is no transaction.
EXEC = TxRaw(
    body_bytes=TxBody(
        messages=[packed(MsgExec(grantee=ALICE, msgs=[packed(MsgSend(from_address=BOB)), SWAP])), SWAP]
    ).SerializeToString(),
    auth_info_bytes=AuthInfo().SerializeToString(),
    signatures=[b"\1"],
).SerializeToString()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def gateways(
    model: CosmosChains, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[RunningGateway, RunningGateway]]:
    """One over both interfaces of every chain, and one over the CometBFT RPC alone."""

    def of(*kinds: str) -> dict[str, Any]:
        return {
            slug: {
                "endpoints": [
                    {"label": one.label, "url": one.url, "kind": one.kind} for one in endpoints if one.kind in kinds
                ]
            }
            for slug, endpoints in model.endpoints.items()
        }

    async with (
        run_gateway_on(of("rest", "comet"), tmp_path_factory.mktemp("both")) as both,
        run_gateway_on(of("comet"), tmp_path_factory.mktemp("comet")) as alone,
    ):
        yield both, alone


@pytest.mark.parametrize("chain", list(CHAINS.values()), ids=lambda chain: chain.slug)
async def test_every_transaction_is_that_of_the_rest_route(
    gateways: tuple[RunningGateway, RunningGateway], chain: Any
) -> None:
    seen = refused = 0
    for number in range(chain.first, chain.first + known.SEEDED_BLOCKS + 1):
        asked: dict[str, Any] = {"chain": chain.slug, "blockNumber": number}
        block, other = [await gateway.ask("getBlockTransactions", asked) for gateway in gateways]
        assert other["result"]["data"] == block["result"]["data"]
        for row in block["result"]["data"]["transactions"]:
            one = {"chain": chain.slug, "hash": row["txhash"]}
            receipts = [await gateway.ask("getReceipt", one) for gateway in gateways]
            transactions = [await gateway.ask("getTransactionByHash", [one]) for gateway in gateways]
            seen += 1
            if "error" in receipts[0]:
                refused += 1
                assert {receipt["error"]["data"]["reason"] for receipt in receipts} == {"NOT_SUPPORTED"}
                continue
            assert receipts[1]["result"]["data"] == receipts[0]["result"]["data"]
            assert transactions[1]["result"]["data"] == transactions[0]["result"]["data"]
            assert {"events", "logs", "data", "codespace", "info"} < receipts[1]["result"]["data"]["tx_response"].keys()
            assert receipts[1]["result"]["data"]["tx"]["body"]["messages"][0]["@type"].startswith("/cosmos.")
    assert (seen, refused) == ((6, 1) if chain.stake_denom == chain.denom else (2, 0))


async def test_both_faces_decode(gateways: tuple[RunningGateway, RunningGateway]) -> None:
    _, alone = gateways
    asked: dict[str, Any] = {"chain": "cosmoshub", "blockNumber": HUB.first + known.SENT_AT}
    [row] = (await alone.ask("getBlockTransactions", asked))["result"]["data"]["transactions"]
    written = (await alone.ask("getReceipt", {"chain": "cosmoshub", "hash": row["txhash"]}))["result"]["data"]
    [operation] = [one for one in load_operations() if one.name == "getReceipt"]
    request = operation.request(chain="cosmoshub", hash=row["txhash"])
    answer: Any = await alone.ask_grpc(operation, request)
    [message] = answer.cosmos.tx.body.messages
    assert json.loads(message.json) == written["tx"]["body"]["messages"][0]
    assert json.loads(answer.cosmos.tx.native.json)["signatures"] == written["tx"]["signatures"]


class Node(NamedTuple):
    """A node of one chain, in this process."""

    ledger: Ledger
    urls: dict[str, str]

    @asynccontextmanager
    async def drive(
        self, tally: EndpointTally | None = None, cache: Cache | None = None, **urls: str | None
    ) -> AsyncIterator[Any]:
        """The gateway's driver on its interfaces, at other URLs where `urls` has them, without those that are None."""
        endpoints = [
            {"label": kind, "url": url, "kind": kind} for kind, url in (self.urls | urls).items() if url is not None
        ]
        settings = Settings.model_validate({"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}})
        async with open_session() as http:
            chains = Chains.load(settings, http, observer=tally, cache=cache)
            yield Operations(chains.get("cosmoshub"))
            await chains.close()


@pytest_asyncio.fixture(loop_scope="session")
async def node() -> AsyncIterator[Node]:
    ledger = Ledger(HUB, mines=False)
    ledger.make_block([EXEC, known.GARBAGE])
    async with AsyncExitStack() as stack:
        urls = {
            "rest": await stack.enter_async_context(serve_app(rest.build_app(ledger))),
            "comet": await stack.enter_async_context(serve_app(comet.build_app(ledger))),
        }
        yield Node(ledger, urls)


def sent(node: Node) -> str:
    return hash_of(node.ledger.blocks[known.SENT_AT].transactions[0])


def written(receipt: transaction_pb2.GetReceiptResponse) -> Any:
    found = receipt.cosmos
    return (
        [json.loads(message.json) for message in found.tx.body.messages],
        json.loads(found.tx.body.native.json),
        json.loads(found.tx.native.json),
        found.tx_response.timestamp.ToJsonString(),
        found.tx_response.code,
        json.loads(found.tx_response.native.json),
    )


async def test_what_the_rest_gateway_cannot_decode_is_decoded(node: Node, tally: EndpointTally) -> None:
    async with node.drive(tally) as driver:
        receipt = (await driver.read_receipt(hash_of(EXEC), ReadView())).cosmos
        messages = [json.loads(message.json) for message in receipt.tx.body.messages]
        assert messages == [
            {
                "@type": "/cosmos.authz.v1beta1.MsgExec",
                "grantee": ALICE,
                "msgs": [
                    {"@type": "/cosmos.bank.v1beta1.MsgSend", "from_address": BOB, "to_address": "", "amount": []},
                    SWAP_JSON,
                ],
            },
            SWAP_JSON,
        ]
        assert receipt.tx_response.raw_log == "tx parse error"
        # The transaction and the time of its block.
        assert tally.requests == ["rest", "comet", "comet"]
        # In whole seconds, as the REST gateway states it.
        assert receipt.tx_response.timestamp.ToJsonString() == node.ledger.head.time.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (await driver.read_transaction(hash_of(EXEC), ReadView())).cosmos.from_address == ""
        with pytest.raises(NotSupported, match="getBlockTransactions"):
            await driver.read_receipt(hash_of(known.GARBAGE), ReadView())


async def test_without_a_rest_gateway_the_rpc_answers(node: Node, tally: EndpointTally) -> None:
    async with node.drive() as both, node.drive(tally, rest=None) as alone:
        right = await both.read_receipt(sent(node), ReadView())
        assert written(await alone.read_receipt(sent(node), ReadView())) == written(right)
        assert tally.requests == ["comet", "comet"]
        number = node.ledger.head.height
        assert await alone.read_block_transactions(number, ReadView()) == await both.read_block_transactions(
            number, ReadView()
        )
        assert len(tally.requests) == 4
        for missing in (
            lambda: alone.read_receipt("ab" * 32, ReadView()),
            lambda: alone.read_block_transactions(10**9, ReadView()),
        ):
            with pytest.raises(NotFound):
                await missing()
        with pytest.raises(NotSupported, match="getBlockTransactions"):
            await alone.read_transaction(hash_of(known.GARBAGE), ReadView())


async def test_where_the_rest_gateway_is_gone_the_rpc_answers(node: Node) -> None:
    number = node.ledger.head.height
    async with node.drive() as both, node.drive(**GONE) as cut:
        right = await both.read_receipt(sent(node), ReadView())
        assert written(await cut.read_receipt(sent(node), ReadView())) == written(right)
        assert (await cut.read_transaction(sent(node), ReadView())).cosmos.from_address == ALICE
        assert (await cut.read_block_transactions(number, ReadView())).cosmos.transaction_count == 2
        with pytest.raises(NotFound):
            await cut.read_receipt("ab" * 32, ReadView())
    async with node.drive(rest=NOWHERE, comet=NOWHERE) as none, node.drive(rest=NOWHERE, comet=None) as rest_alone:
        for driver in (none, rest_alone):
            with pytest.raises(UpstreamUnavailable):
                await driver.read_receipt(sent(node), ReadView())


async def test_where_the_rest_gateway_hangs_the_rpc_answers(node: Node, plain: aiohttp.ClientSession) -> None:
    async with relay(node.urls["rest"], plain) as one, node.drive(rest=one.url) as driver:
        right = await driver.read_receipt(sent(node), ReadView())
        one.fault = is_silent
        assert written(await driver.read_receipt(sent(node), ReadView())) == written(right)


async def test_what_the_rest_gateway_does_not_have_is_not_asked_again(node: Node, tally: EndpointTally) -> None:
    async with node.drive(tally) as driver:
        with pytest.raises(NotFound):
            await driver.read_receipt("ab" * 32, ReadView())
    assert tally.requests == ["rest"]


async def test_an_answer_of_the_rest_gateway_replaces_a_decoded_one(
    node: Node, plain: aiohttp.ClientSession, tally: EndpointTally
) -> None:
    async def does_not_know_it(ask: Ask) -> Answer:
        if "/txs/" in ask.path:
            return Answer.of({"code": 2, "message": "tx parse error", "details": []}, 500)
        return await ask.answer()

    def asked() -> tuple[int, int]:
        return sum("/txs/" in path for path in one.asked), tally.requests.count("comet")

    async with (
        relay(node.urls["rest"], plain) as one,
        node.drive(tally, Cache(1 << 20), rest=one.url) as driver,
    ):
        one.fault = does_not_know_it
        decoded = [written(await driver.read_receipt(sent(node), ReadView())) for _ in range(2)]
        # A decoded one is kept, but the REST gateway is asked first.
        assert asked() == (2, 2)
        one.fault = honest
        answered = [written(await driver.read_receipt(sent(node), ReadView())) for _ in range(2)]
        assert decoded == answered
        assert asked() == (3, 2)


WRONG: dict[str, Callable[[Any], None]] = {
    "other bytes": lambda result: result.update(tx=base64.b64encode(b"other").decode()),
    "no base64": lambda result: result.update(tx="%"),
    "a height that is none": lambda result: result.update(height="-1"),
    "a code that is none": lambda result: result["tx_result"].update(code=1 << 40),
    "data that is none": lambda result: result["tx_result"].update(data="%"),
    "another block's header": lambda result: result["header"].update(height="1"),
    "a time that is none": lambda result: result["header"].update(time="yesterday"),
}


def changing(change: Callable[[Any], None]) -> Callable[[Ask], Awaitable[Answer]]:
    async def serve(ask: Ask) -> Answer:
        reply = (await ask.answer()).json
        for one in reply if isinstance(reply, list) else [reply]:
            try:
                change(one["result"])
            except (KeyError, AttributeError):
                continue
        return Answer.of(reply)

    return serve


@pytest.mark.parametrize("wrong", WRONG)
async def test_wrong_answers_of_an_rpc_are_not_believed(node: Node, plain: aiohttp.ClientSession, wrong: str) -> None:
    async with (
        relay(node.urls["comet"], plain) as one,
        node.drive(rest=None, comet=one.url) as driver,
    ):
        one.fault = changing(WRONG[wrong])
        with pytest.raises(UpstreamUnavailable):
            await driver.read_receipt(sent(node), ReadView())


@pytest.mark.parametrize("log", ["", "out of gas", "{}", "[1]", '[{"other":' + "[" * 100_000])
async def test_a_log_that_is_no_list_of_logs_stays_text(node: Node, plain: aiohttp.ClientSession, log: str) -> None:
    async with (
        relay(node.urls["comet"], plain) as one,
        node.drive(rest=None, comet=one.url) as driver,
    ):
        one.fault = changing(lambda result: result["tx_result"].update(log=log))
        found = (await driver.read_receipt(sent(node), ReadView())).cosmos.tx_response
    assert (found.raw_log, json.loads(found.native.json)["logs"]) == (log, [])


async def test_an_outcome_is_written_as_the_rest_gateway_does(node: Node, plain: aiohttp.ClientSession) -> None:
    log = '[{"msg_index":1,"events":[{"type":"message","attributes":[{"key":"action"}]}]}]'
    results = {"data": base64.b64encode(b"\xab\1").decode(), "log": log, "events": None, "info": "i"}
    async with (
        relay(node.urls["comet"], plain) as one,
        node.drive(rest=None, comet=one.url) as driver,
    ):
        one.fault = changing(lambda result: result["tx_result"].update(results))
        found = (await driver.read_receipt(sent(node), ReadView())).cosmos.tx_response
    assert found.raw_log == log
    assert json.loads(found.native.json) == {
        "codespace": "",
        "data": "AB01",
        "info": "i",
        "events": [],
        "logs": [
            {
                "msg_index": 1,
                "log": "",
                "events": [{"type": "message", "attributes": [{"key": "action", "value": ""}]}],
            }
        ],
    }
    assert found.txhash == hashlib.sha256(node.ledger.blocks[known.SENT_AT].transactions[0]).hexdigest().upper()
