"""What a request passes of our own code: calls, functions, files, coroutines and tasks, counted on a running gateway.

`python -m scripts.walk` (or `make walk`) serves a local chain in this process, asks each question until its path is
warm, then counts it several times and prints the smallest figures: what pollers do meanwhile is no part of the trip.
Counted is code below server/, transcoder/, runtime/ and cli/; a coroutine that goes on after waiting is one call.
Coroutines and tasks are counted of aiohttp's server too. `--functions` lists the calls of each file and function,
`--trip TEXT` takes only trips whose name holds the text, `--endpoints N` serves the chain from its node N times.
"""

from __future__ import annotations

import argparse
import asyncio
import dis
import itertools
import secrets
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from functools import cache
from inspect import CO_COROUTINE
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import grpc
import orjson
from eth_abi.abi import encode
from waypost.v1 import account_pb2

from cli.control import Control
from cli.gateway import run_gateway
from cli.process import Stop
from devnet import known
from devnet.evm.calls import encode_call, to_hex
from devnet.evm.world import load_world
from devnet.launcher import Devnet
from runtime.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from types import CodeType, FrameType

    from cli.faces import Ports

_ROOT = Path(__file__).resolve().parents[1]
_OURS = tuple(f"{_ROOT / name}/" for name in ("server", "transcoder", "runtime", "cli"))
_AIOHTTP_SERVER = str(Path(aiohttp.__file__).with_name("web_"))
_CHAIN = "ethereum"
_WARM_UPS, _ROUNDS = 3, 5
_LOGS = 124
_BATCH = 50
_AGGREGATE3 = bytes.fromhex("82ad56cb")
_GET_BALANCE = "/waypost.v1.AccountService/GetBalance"


class Count(NamedTuple):
    """What one trip took."""

    calls: int
    functions: int
    files: int
    coroutines: int
    tasks: int


class Walk:
    """Counts calls of our own code while it is entered."""

    def __init__(self) -> None:
        self._codes: Counter[CodeType] = Counter()
        self._coroutines = 0
        self._tasks = 0

    def __enter__(self) -> Walk:
        asyncio.get_running_loop().set_task_factory(self._task)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        asyncio.get_running_loop().set_task_factory(None)

    def count(self) -> Count:
        """Return what was counted."""
        files = {code.co_filename for code in self._codes}
        return Count(self._codes.total(), len(self._codes), len(files), self._coroutines, self._tasks)

    def list_functions(self) -> str:
        """Return a line for each file and each of its functions, in order of first use, with their calls."""
        by_file: dict[str, Counter[str]] = {}
        for code, calls in self._codes.items():
            by_file.setdefault(str(Path(code.co_filename).relative_to(_ROOT)), Counter())[code.co_qualname] += calls
        return "".join(
            f"    {calls.total():>5} {file}\n" + "".join(f"{one:>15} {name}\n" for name, one in calls.items())
            for file, calls in by_file.items()
        )

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not (_is_ours(code) or _is_served(code)) or frame.f_lasti > _beginning(code):
            return
        if _is_ours(code):
            self._codes[code] += 1
        self._coroutines += bool(code.co_flags & CO_COROUTINE)

    def _task(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        code = getattr(coroutine, "cr_code", None)
        self._tasks += code is not None and (_is_ours(code) or _is_served(code))
        return asyncio.Task(coroutine, loop=loop, **options)


@cache
def _is_ours(code: CodeType) -> bool:
    return code.co_filename.startswith(_OURS)


@cache
def _is_served(code: CodeType) -> bool:
    """Return whether the code is of aiohttp's server; what its client here shares with it is not told apart."""
    return code.co_filename.startswith(_AIOHTTP_SERVER)


@cache
def _beginning(code: CodeType) -> int:
    """Return where a frame of the code stands when it begins; where it goes on after a wait it stands further."""
    return next(one.offset for one in dis.get_instructions(code) if one.opname == "RESUME")


async def count(ask: Callable[[], Awaitable[object]]) -> Walk:
    """Return the smallest of several trips, after others that warm the path up."""
    for _ in range(_WARM_UPS):
        await ask()
    found = []
    for _ in range(_ROUNDS):
        with Walk() as walk:
            await ask()
        found.append(walk)
    return min(found, key=Walk.count)


async def main(chosen: str, *, functions: bool = False, endpoints: int = 1) -> int:
    """Print the figures of the trips whose name holds the text, with their functions if asked for.

    `endpoints` is how many the chain has, all of them the same node.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        devnet = await stack.enter_async_context(Devnet.start([_CHAIN], progress=lambda _: None, mines=False))
        ports = await stack.enter_async_context(_Serving(_settings(devnet, folder, endpoints)))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{ports.grpc}"))
        base = f"http://127.0.0.1:{ports.http}/local/v1"
        block = await _write_logs(http, devnet.endpoints[_CHAIN])

        async def ask(method: str, *params: Mapping[str, object]) -> None:
            requests = [{"jsonrpc": "2.0", "id": 1, "method": method, "params": one} for one in params]
            body = orjson.dumps(requests[0] if len(requests) == 1 else requests)
            async with http.post(base, data=body, headers={"Content-Type": "application/json"}) as response:
                answers = orjson.loads(await response.read())
            for answer in answers if isinstance(answers, list) else [answers]:
                if "result" not in answer:
                    raise RuntimeError(f"{method} failed: {answer}")

        call = channel.unary_unary(
            _GET_BALANCE,
            request_serializer=account_pb2.GetBalanceRequest.SerializeToString,
            response_deserializer=account_pb2.GetBalanceResponse.FromString,
        )
        addresses = _addresses()
        blocks = itertools.count(1)
        same = {"chain": _CHAIN, "address": known.ALICE}
        trips: dict[str, Callable[[], Coroutine[Any, Any, object]]] = {
            "getBalance, uncached": lambda: ask("getBalance", {"chain": _CHAIN, "address": next(addresses)}),
            "getBalance, cached": lambda: ask("getBalance", same),
            "getBalance over gRPC, uncached": lambda: _wait(
                call(
                    account_pb2.GetBalanceRequest(chain=_CHAIN, address=next(addresses)),
                    metadata=(("x-api-key", "local"),),
                )
            ),
            # Each time another range, so that no page is answered from memory.
            f"getLogs, a page of {_LOGS}": lambda: ask(
                "getLogs", {"chain": _CHAIN, "fromBlock": block - next(blocks) % 20, "toBlock": block}
            ),
            f"batch of {_BATCH} getBalance, uncached": lambda: ask(
                "getBalance", *({"chain": _CHAIN, "address": next(addresses)} for _ in range(_BATCH))
            ),
        }
        print(f"  {'':<34}" + "".join(f"{name:>12}" for name in Count._fields))
        for name, trip in trips.items():
            if chosen in name:
                walk = await count(trip)
                print(f"  {name:<34}" + "".join(f"{figure:>12}" for figure in walk.count()))
                if functions:
                    print(walk.list_functions())
    return 0


class _Serving:
    """A gateway in this process, served as `waypost serve` does."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._stop = Stop()

    async def __aenter__(self) -> Ports:
        ready: asyncio.Future[Ports] = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(
            run_gateway(self._settings, self._stop, ready.set_result, Control(lambda _: self._settings))
        )
        await asyncio.wait((ready, self._running), return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            self._running.result()
        return ready.result()

    async def __aexit__(self, *_: object) -> None:
        self._stop.ask()
        await self._running


def _settings(devnet: Devnet, folder: Path, endpoints: int) -> Any:
    config = folder / "waypost.toml"
    devnet.write_config(config)
    node = devnet.endpoints[_CHAIN]
    overrides = {
        "chains": {_CHAIN: {"endpoints": [{"label": f"n{number}", "url": node} for number in range(endpoints)]}},
        "http": {"port": 0},
        "grpc": {"port": 0},
        "storage": {"url": f"sqlite:///{folder}/waypost.db"},
        "server_limits": {"notice": "0s"},
        "quotas": {"default_rate": 100_000, "default_burst": 100_000},
    }
    return load_settings(config, overrides=overrides)


def _addresses() -> Any:
    salt = secrets.token_hex(8)
    return (f"0x{salt}{number:024x}" for number in itertools.count())


async def _wait(call: Any) -> object:
    return await call


async def _write_logs(http: aiohttp.ClientSession, node: str) -> int:
    """Have one transaction write the logs; return its block."""
    token = load_world()[_CHAIN].wrapped_native.address
    call = (token, False, encode_call("transfer(address,uint256)", [known.ALICE, 0]))
    data = _AGGREGATE3 + encode(["(address,bool,bytes)[]"], [[call] * _LOGS])
    sent = {"from": known.BOB, "to": known.MULTICALL3, "data": to_hex(data), "gas": hex(20_000_000)}
    await _node(http, node, "eth_sendTransaction", sent)
    await _node(http, node, "evm_mine")
    return int(await _node(http, node, "eth_blockNumber"), 16)


async def _node(http: aiohttp.ClientSession, node: str, method: str, *params: object) -> Any:
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    async with http.post(node, data=body, headers={"Content-Type": "application/json"}) as response:
        return orjson.loads(await response.read())["result"]


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.walk", description="Count what requests pass.")
    parser.add_argument("--functions", action="store_true", help="list the calls of each file and function")
    parser.add_argument("--trip", default="", metavar="TEXT", help="only trips whose name holds this text")
    parser.add_argument("--endpoints", type=int, default=1, metavar="N", help="how many endpoints the chain has")
    return parser.parse_args()


if __name__ == "__main__":
    arguments = _read_arguments()
    sys.exit(asyncio.run(main(arguments.trip, functions=arguments.functions, endpoints=arguments.endpoints)))
