"""What nodes' errors mean, replayed; and reads while one of several endpoints fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from aiohttp import web

from devnet import known_cosmos as known
from devnet.cosmos.world import CHAINS, address
from runtime.settings import Settings
from server.chains.registry import Chains
from server.chains.shared.error_rules import ErrorRules
from server.chains.view import ReadView
from server.errors import UpstreamUnavailable
from server.upstream import Verdict, open_session
from tests.operations import Operations
from tests.serving import serve_app

if TYPE_CHECKING:
    from devnet.cosmos.process import CosmosChains

pytestmark = pytest.mark.devnet

HUB = CHAINS["cosmoshub"]
BOB = address(HUB, known.BOB)
TABLE = ErrorRules("cosmos")


@pytest.mark.parametrize(
    ("status", "code", "message", "data", "verdict", "error"),
    [
        (404, 5, "tx not found: AB", None, Verdict.ELSEWHERE, "NotFound"),
        (404, 5, "account cosmos1 not found", None, Verdict.ELSEWHERE, "NotFound"),
        (400, 3, "requested block height is bigger then the chain length", None, Verdict.ELSEWHERE, "HeightMissing"),
        (500, 2, "tx parse error", None, Verdict.ELSEWHERE, "NotSupported"),
        (500, 2, "height 5 is not available, lowest height is 123", None, Verdict.ELSEWHERE, "ArchiveRequired"),
        (
            500,
            2,
            "failed to load state at height 5; version does not exist (latest height: 9)",
            None,
            Verdict.ELSEWHERE,
            "ArchiveRequired",
        ),
        (500, 2, "transaction indexing is disabled", None, Verdict.ELSEWHERE, "NotSupported"),
        (500, 2, "decoding bech32 failed: invalid checksum", None, Verdict.ANSWER, "InvalidArgument"),
        (501, 12, "Not Implemented", None, Verdict.ELSEWHERE, "NotSupported"),
        (503, 14, "transport is closing", None, Verdict.SICK, "UpstreamUnavailable"),
        (429, None, "slow down", None, Verdict.LIMITED, "UpstreamUnavailable"),
        (502, None, "Bad Gateway", None, Verdict.SICK, "UpstreamUnavailable"),
        (500, 2, "something odd", None, Verdict.UNCLEAR, "UpstreamUnavailable"),
        (
            200,
            -32603,
            "Internal error",
            b'"height 9 must be less than or equal to the current blockchain height 5"',
            Verdict.ELSEWHERE,
            "HeightMissing",
        ),
        (
            200,
            -32603,
            "Internal error",
            b'"height 5 is not available, lowest height is 7"',
            Verdict.ELSEWHERE,
            "ArchiveRequired",
        ),
        (
            200,
            -32603,
            "Internal error",
            b'"could not find results for height #5"',
            Verdict.ELSEWHERE,
            "ArchiveRequired",
        ),
        (200, -32601, "Method not found", None, Verdict.ELSEWHERE, "NotSupported"),
        (200, -32602, "Invalid params", None, Verdict.ANSWER, "InvalidArgument"),
    ],
)
def test_errors_of_nodes(
    status: int, code: int | None, message: str, data: bytes | None, verdict: Verdict, error: str
) -> None:
    judged = TABLE.classify(status, code, message, data)
    assert (judged.verdict, type(judged.error).__name__) == (verdict, error)
    assert message not in judged.error.message


def broken_node(status: int, text: str) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        if request.path.endswith("node_info"):
            return web.json_response({"default_node_info": {"network": HUB.chain_id}})
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    return app


def hub_on(*urls: str) -> Settings:
    endpoints = [{"label": f"n{number}", "url": url, "kind": "rest"} for number, url in enumerate(urls)]
    return Settings.model_validate({"profile": "devnet", "chains": {"cosmoshub": {"endpoints": endpoints}}})


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (502, "<html>bad gateway</html>"),
        (429, '{"code":8,"message":"too many requests","details":[]}'),
        (501, '{"code":12,"message":"Not Implemented","details":[]}'),
        (200, '{"balance"'),
        (200, "ok"),
    ],
)
async def test_one_bad_endpoint_of_three_costs_no_error(model: CosmosChains, status: int, text: str) -> None:
    good = model.endpoints["cosmoshub"][0].url
    async with serve_app(broken_node(status, text)) as url, open_session() as http:
        chains = Chains.load(hub_on(url, "http://127.0.0.1:9", good), http)
        driver = Operations(chains.get("cosmoshub"))
        for _turn in range(10):
            assert (await driver.read_token_balance(BOB, HUB.denom, ReadView())).raw == known.SENT
        await chains.close()


async def test_an_endpoint_of_another_chain_is_not_believed(model: CosmosChains) -> None:
    async with open_session() as http:
        chains = Chains.load(hub_on(model.endpoints["osmosis"][0].url), http)
        driver = Operations(chains.get("cosmoshub"))
        with pytest.raises(UpstreamUnavailable, match="serves osmosis-1 instead of cosmoshub-4"):
            await driver.read_height(ReadView())
        assert (await driver.read_health()).state == "down"
        await chains.close()
