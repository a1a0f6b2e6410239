"""The JSON face over answers that the server keeps: what is spliced, what stays fresh, what is never given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
import pytest
import pytest_asyncio

from runtime.metrics import cache_lookups
from runtime.settings import Settings
from tests.e2e.gateway import run_gateway
from tests.server.chains.evm.nodes import ALICE, BOB, Anvil, build_world

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

GIVEN_AGAIN = cache_lookups("request", "hit")
PARAMS = b'{"chain":"ethereum","address":"' + ALICE.encode() + b'"}'


class Face:
    """Posts bodies as bytes, and remembers the headers and how many answers were given again whole."""

    def __init__(self, gateway: RunningGateway, node: Anvil) -> None:
        self.gateway, self.node = gateway, node
        self.headers: Mapping[str, str] = {}
        self.given = 0

    async def post(self, body: bytes, key: str = "local", **headers: str) -> bytes:
        before = GIVEN_AGAIN.count
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.gateway.post(body, path=f"/{key}/v1", headers=sent)
        self.headers, self.given = response.headers, GIVEN_AGAIN.count - before
        return await response.read()

    async def ask(self, identity: bytes = b"1", params: bytes = PARAMS, key: str = "local", **headers: str) -> bytes:
        return await self.post(body_of(identity, params), key, **headers)

    async def keep(self, params: bytes = PARAMS) -> bytes:
        """Have the answer kept and printed, at a block that lasts for the test; return its `result`."""
        for _ in range(5):
            answer = await self.ask(params=params)
            if self.given:
                return result_of(answer)
        raise AssertionError("the answer is not kept")


def body_of(identity: bytes, params: bytes = PARAMS) -> bytes:
    return b'{"jsonrpc":"2.0","method":"getBalance","params":' + params + b',"id":' + identity + b"}"


def result_of(answer: bytes) -> bytes:
    opening, closing = b'{"jsonrpc":"2.0","result":', b',"id":'
    assert answer.startswith(opening), answer
    return answer[len(opening) : answer.rindex(closing)]


@pytest_asyncio.fixture(loop_scope="session")
async def face(tmp_path: Path) -> AsyncIterator[Face]:
    async with aiohttp.ClientSession() as session:
        node = await Anvil.start(session, "--chain-id", "1", "--number", "20000000")
        try:
            await build_world(node)
            settings = Settings.model_validate(
                {
                    "profile": "devnet",
                    "http": {"port": 0},
                    "grpc": {"port": 0, "private_listen": f"unix:{tmp_path}/p.sock",
                             "credential": "0123456789abcdef-split"},
                    "cache": {"near_head": 30.0},
                    "chains": {"ethereum": {"endpoints": [{"label": "local", "url": node.url}]}},
                    "storage": {"url": f"sqlite:///{tmp_path}/keys.db"},
                }
            )  # fmt: skip
            async with run_gateway(settings) as gateway:
                yield Face(gateway, node)
        finally:
            node.stop()


@pytest.mark.parametrize("identity", [b"7", b"-1", b"123456789012345678901234567890", b'"a\\u0041\\n"', b'""', b"null"])
async def test_the_callers_own_id_stands_in_what_is_kept(face: Face, identity: bytes) -> None:
    result = await face.keep()
    answer = await face.ask(identity)
    assert answer == b'{"jsonrpc":"2.0","result":' + result + b',"id":' + identity + b"}"
    assert face.given == 1


async def test_ids_that_count_up_are_answered_each_under_its_own(face: Face) -> None:
    result = await face.keep()
    for number in range(100, 120):
        assert await face.ask(b"%d" % number) == b'{"jsonrpc":"2.0","result":%b,"id":%d}' % (result, number)
        assert face.given == 1


async def test_what_is_kept_prints_as_what_is_read(face: Face) -> None:
    kept = await face.keep()
    read = result_of(await face.ask(Cache_Control="no-cache"))
    assert (face.headers["X-Waypost-Cache"], face.given) == ("bypass", 0)
    assert kept == read
    async with face.gateway.session.post(f"{face.gateway.behind_socket}/local/v1", data=body_of(b"1")) as response:
        assert result_of(await response.read()) == kept


async def test_id_cache_state_and_cost_are_of_this_request(face: Face) -> None:
    await face.keep()
    for name in ("first", "second"):
        await face.ask(X_Request_Id=name)
        assert face.given == 1
        headers = face.headers
        assert (headers["X-Request-Id"], headers["X-Waypost-Cache"], headers["X-Waypost-Cost"]) == (name, "hit", "1")


async def test_every_writing_of_the_params_has_the_answer_and_none_has_anothers(face: Face) -> None:
    writings = [PARAMS.replace(b",", b"," + b" " * spaces) for spaces in range(7)]
    result = await face.keep()
    for params in writings * 2:
        assert result_of(await face.ask(params=params)) == result
        assert face.given == 1
    other = await face.ask(params=PARAMS.replace(ALICE.encode(), BOB.encode()))
    assert BOB.encode() in other
    assert face.given == 0


@pytest.mark.parametrize("params", [b'{"chain":"ethereum"}', b'{"chain":"nowhere","address":"x"}', b"[1]", b"7"])
async def test_what_is_refused_is_refused_each_time(face: Face, params: bytes) -> None:
    await face.keep()
    answers = {await face.ask(params=params, X_Request_Id="same") for _ in range(3)}
    assert len(answers) == 1
    assert b'"error"' in answers.pop()


async def test_a_notification_has_no_answer_and_is_charged(face: Face) -> None:
    await face.keep()
    body = b'{"jsonrpc":"2.0","method":"getBalance","params":' + PARAMS + b"}"
    assert await face.post(body) == b""
    assert (face.given, face.headers["X-Waypost-Cost"]) == (1, "1")


async def test_items_of_a_batch_are_given_it_too(face: Face) -> None:
    result = await face.keep()
    answer = await face.post(b"[" + body_of(b"5") + b"," + body_of(b'"x"') + b"]")
    assert answer == b'[{"jsonrpc":"2.0","result":%b,"id":5},{"jsonrpc":"2.0","result":%b,"id":"x"}]' % (result, result)
    assert (face.given, face.headers["X-Waypost-Cost"]) == (2, "2")


async def test_quota_is_charged_and_stated_anew_and_ends(face: Face) -> None:
    await face.keep()
    server = face.gateway.server
    assert server is not None
    _, key = await server.keys.create_key("few", rate=0.001, burst=3)
    left = []
    for _ in range(3):
        await face.ask(key=key)
        assert face.given == 1
        left.append(face.headers["RateLimit"].partition("r=")[2].partition(";")[0])
    assert left == ["2", "1", "0"]
    assert b'"RATE_LIMITED"' in await face.ask(key=key)
    assert face.given == 0


async def test_a_key_that_may_not_have_it_is_refused(face: Face) -> None:
    await face.keep()
    server = face.gateway.server
    assert server is not None
    for terms in ({"chains": ["base"]}, {"operations": ["getCode"]}):
        _, key = await server.keys.create_key("narrow", **terms)  # type: ignore[arg-type]
        assert b'"KEY_NOT_ALLOWED"' in await face.ask(key=key)
        assert face.given == 0


async def test_a_revoked_key_is_refused(face: Face) -> None:
    await face.keep()
    server = face.gateway.server
    assert server is not None
    number, key = await server.keys.create_key("leaver")
    await face.ask(key=key)
    assert face.given == 1
    await server.keys.revoke_key(number)
    async with asyncio.timeout(10):
        # The key directory is renewed within seconds.
        while b'"result"' in await face.ask(key=key):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert b'"KEY_INVALID"' in await face.ask(key=key)
    assert face.given == 0


async def test_a_new_head_ends_it(face: Face) -> None:
    params = PARAMS.replace(ALICE.encode(), BOB.encode())
    before = await face.keep(params)
    await face.node.send(BOB, value=9)
    await face.gateway.ask("getBlockHeight", {"chain": "ethereum"})
    after = result_of(await face.ask(params=params))
    assert face.given == 0
    assert raw_of(after) == raw_of(before) + 9
    assert raw_of(await face.keep(params)) == raw_of(after)


async def test_a_reload_ends_it(face: Face) -> None:
    await face.keep()
    server = face.gateway.server
    assert server is not None
    assert server.responses is not None
    server.responses.forget()
    await face.ask()
    assert face.given == 0


def raw_of(result: bytes) -> int:
    data: Any = orjson.loads(result)["data"]
    return int(data["balanceRaw"])
