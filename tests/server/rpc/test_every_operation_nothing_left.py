"""What a call has read is let go with its answer: nothing of it waits for the garbage collector.

The collector comes late in a process that serves (`runtime.heap`). A failure whose traceback holds the frame that holds
the failure would keep all that the frames on its way have read until then: a megabyte for each call of some contracts.
"""

from __future__ import annotations

import asyncio
import gc
import types
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from devnet import known
from tests.server.rpc.every import FAMILIES, PUBLISHED, SLUGS, WORKING, chain_members, has, params_of, right
from transcoder.connections import Connection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from runtime.operations import Operation
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

OURS = ("server.", "transcoder.", "runtime.")
TIMES = 3
ROUNDS = 3
_BY_NAME = {operation.name: operation for operation in WORKING}
_WALLET = known.VITALIK


@pytest.fixture
async def left() -> AsyncIterator[Any]:
    """Give what says, by kind, which of our frames and objects only the collector would have freed since its start."""
    gc.collect()
    # What is there already, of other tests, is nobody's garbage here. It stays frozen: looking at it anew would take
    # longer than the test.
    gc.freeze()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)

    async def look() -> Counter[str]:
        # What a call does behind its answer ends first.
        await asyncio.sleep(0.05)
        gc.collect()
        kinds = Counter(kind for one in gc.garbage if (kind := _kind(one)) is not None)
        gc.garbage.clear()
        return kinds

    yield look
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def _kind(one: object) -> str | None:
    if isinstance(one, types.FrameType):
        is_ours = one.f_globals.get("__name__", "").startswith(OURS)
        return f"frame of {one.f_code.co_qualname}" if is_ours else None
    kind = type(one)
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__module__.startswith(OURS) else None


async def ask(faces: RunningGateway, operation: Operation, params: Any, *, wants_fresh: bool = True) -> dict[str, Any]:
    headers = {"cache-control": "no-cache"} if wants_fresh else {}
    request = {"jsonrpc": "2.0", "id": 1, "method": PUBLISHED.get(operation.name, operation.name), "params": params}
    response = await faces.post(request, headers=headers)
    answer: dict[str, Any] = await response.json()
    return answer


async def assert_nothing_stays(faces: RunningGateway, left: Any, operation: Operation, params: Any) -> None:
    """Assert that some round of calls leaves nothing: what waits for the collector by mistake does so in each.

    What else runs in this process may have failed meanwhile, once.
    """
    for _ in range(ROUNDS):
        for _ in range(TIMES):
            answer = await ask(faces, operation, params)
        kinds = await left()
        if not kinds:
            return
    pytest.fail(f"{answer} leaves {kinds}")


@pytest.mark.parametrize(
    ("operation", "family"),
    [(one, family) for one in WORKING for family in SLUGS if family in one.available or family == "evm"],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
async def test_a_call_leaves_nothing(faces: RunningGateway, left: Any, operation: Operation, family: str) -> None:
    having = (slug for slug in FAMILIES if FAMILIES[slug] == family and has(operation, slug))
    slug = next(having, SLUGS[family])
    params = params_of(operation, right(operation, family) | chain_members(operation, slug))
    await assert_nothing_stays(faces, left, operation, params)


@pytest.mark.parametrize("token", [known.GAS_BURNER, known.REVERT_BOMBER, known.RETURN_BOMBER, known.PROBER, _WALLET])
async def test_an_odd_contract_leaves_nothing(faces: RunningGateway, left: Any, token: str) -> None:
    params = {"chain": "ethereum", "address": _WALLET, "token": token}
    await assert_nothing_stays(faces, left, _BY_NAME["getTokenBalance"], params)


async def test_a_revert_leaves_nothing(faces: RunningGateway, left: Any) -> None:
    params = {"chain": "ethereum", "to": known.PROBER, "data": "0xdeadbeef"}
    await assert_nothing_stays(faces, left, _BY_NAME["simulateCall"], params)


async def test_a_call_that_its_caller_gives_up_leaves_nothing(faces: RunningGateway, left: Any) -> None:
    params = {"chain": "ethereum", "address": _WALLET, "token": known.GAS_BURNER}
    for _ in range(ROUNDS):
        task = asyncio.create_task(ask(faces, _BY_NAME["getTokenBalance"], params))
        await asyncio.sleep(0.002)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        del task
        await asyncio.sleep(0.5)
        kinds = await left()
        # aiohttp's handler of a connection that ends within a request refers to itself.
        kinds.pop(f"{Connection.__module__}.{Connection.__qualname__}", None)
        if not kinds:
            return
    pytest.fail(f"an abandoned call leaves {kinds}")


@pytest.mark.parametrize("name", ["getBalance", "getTokenBalance", "getTokenMetadata"])
async def test_callers_who_share_a_read_that_fails_leave_nothing(faces: RunningGateway, left: Any, name: str) -> None:
    params = params_of(_BY_NAME[name], right(_BY_NAME[name], "evm") | {"blockHeight": 10**9})
    for _ in range(ROUNDS):
        asking = (ask(faces, _BY_NAME[name], params, wants_fresh=False) for _ in range(TIMES))
        answers = await asyncio.gather(*asking)
        assert all("error" in answer for answer in answers)
        kinds = await left()
        if not kinds:
            return
    pytest.fail(f"{answers} leave {kinds}")
