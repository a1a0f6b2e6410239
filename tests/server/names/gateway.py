"""An off-chain gateway that behaves as a test says and remembers what it was asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from devnet.offchain import names

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


@dataclass(frozen=True)
class Asked:
    """One HTTP request: what EIP-3668 puts into it, and how."""

    method: str
    sender: str
    data: bytes
    request: web.Request

    def answer(self) -> bytes:
        """What the honest gateway answers."""
        return names.answer(self.sender, self.data)


class Gateway:
    """Listens on a loopback port of its own."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.behave: Callable[[Asked], Awaitable[web.StreamResponse]] = honest
        self.port = 0
        app = web.Application()
        app.router.add_get("/names/{sender}/{data}.json", self._get)
        app.router.add_post("/names", self._post)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def start(self) -> None:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _get(self, request: web.Request) -> web.StreamResponse:
        return await self._take("GET", request.match_info["sender"], request.match_info["data"], request)

    async def _post(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        assert set(body) == {"data", "sender"}
        assert request.content_type == "application/json"
        return await self._take("POST", body["sender"], body["data"], request)

    async def _take(self, method: str, sender: str, data: str, request: web.Request) -> web.StreamResponse:
        assert sender == sender.lower()
        asked = Asked(method, sender, bytes.fromhex(data.removeprefix("0x")), request)
        self.asked.append(asked)
        return await self.behave(asked)


def reported(data: bytes) -> web.Response:
    return web.json_response({"data": "0x" + data.hex()})


async def honest(asked: Asked) -> web.StreamResponse:
    return reported(asked.answer())


async def unsigned(asked: Asked) -> web.StreamResponse:
    """The right figures, and a signature of which one bit is another."""
    answer = bytearray(asked.answer())
    answer[-70] ^= 1
    return reported(bytes(answer))


async def off_the_subject(asked: Asked) -> web.StreamResponse:
    """A properly signed answer to another request."""
    other = names.signed(asked.sender, asked.data + b"\0", bytes(31) + b"\1", int(time.time()) + 10**6)
    return reported(other)


async def for_another_contract(asked: Asked) -> web.StreamResponse:
    return reported(names.answer("0x" + "11" * 20, asked.data))


async def expired(asked: Asked) -> web.StreamResponse:
    return reported(names.signed(asked.sender, asked.data, bytes(31) + b"\1", 1_700_000_000))


async def once_more(asked: Asked) -> web.StreamResponse:
    """An empty result, on which the resolver leads off the chain again."""
    return reported(names.signed(asked.sender, asked.data, b"", int(time.time()) + 10**6))


async def silent(asked: Asked) -> web.StreamResponse:
    await asyncio.sleep(30)
    return reported(asked.answer())


async def huge(asked: Asked) -> web.StreamResponse:
    return web.Response(body=b'{"data":"0x' + b"00" * (3 << 20) + b'"}', content_type="application/json")


async def endless(asked: Asked) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(asked.request)
    try:
        while True:
            await response.write(b" " * 65536)
    except ConnectionError:
        return response


def status(code: int) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    async def behave(asked: Asked) -> web.StreamResponse:
        return web.json_response({"message": "no"}, status=code)

    return behave


def says(body: bytes) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    async def behave(asked: Asked) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/json")

    return behave


def redirects(location: str) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    async def behave(asked: Asked) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": location})

    return behave


def in_turn(
    *behaviours: Callable[[Asked], Awaitable[web.StreamResponse]],
) -> Callable[[Asked], Awaitable[web.StreamResponse]]:
    """Behave one way after the other; the last one stays."""
    left = list(behaviours)

    async def behave(asked: Asked) -> web.StreamResponse:
        return await (left.pop(0) if len(left) > 1 else left[0])(asked)

    return behave
