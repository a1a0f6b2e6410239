"""Which operations' whole answers may be kept beside those of one state, and when none of them is kept any more."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.operations import load_operations
from server.rpc.pipeline.call import Method, RequestState
from server.rpc.pipeline.response_cache import ResponseCache
from server.upstream.cache import Cache, CacheContext

OPERATIONS = {operation.name: operation for operation in load_operations()}
PATH = OPERATIONS["getBlockByNumber"].path
ROOM = 8 * 1024 * 1024


def cache() -> ResponseCache:
    return ResponseCache(Cache(ROOM, clock=lambda: 100.0), ROOM, lambda _, address: address)


def state_of(*, items: int = 1, units: int = 1, provisional: bool = False) -> RequestState:
    use = CacheContext()
    use.states_block = True
    use.hit()
    use.holds_in_part(160.0, lambda: True)
    if provisional:
        use.is_not_final()
    return RequestState("id", OPERATIONS["getBlockByNumber"], 0.0, {}, cache=use, items=items, units=units)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        *((name, True) for name in ("getBlockByNumber", "getBlockByHash", "getTransactionByHash", "getBalance")),
        *((name, False) for name in ("getPrices", "getReceipt", "simulateCall", "getHealth", "getLogs")),
    ],
)
def test_documents_are_kept_beside_reads_of_one_state(operation: str, expected: bool) -> None:
    handler: Any = None
    assert cache().keeps(Method(OPERATIONS[operation].path, handler, OPERATIONS[operation])) is expected


@pytest.mark.parametrize("name", sorted(name for name, one in OPERATIONS.items() if one.cost > 1))
def test_what_costs_more_than_its_admission_is_never_kept(name: str) -> None:
    handler: Any = None
    assert not cache().keeps(Method(OPERATIONS[name].path, handler, OPERATIONS[name]))


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (state_of(), b"answer"),
        (state_of(items=2), None),
        (state_of(units=2), None),
        (state_of(provisional=True), None),
    ],
)
def test_kept_is_one_item_that_is_final(state: RequestState, expected: bytes | None) -> None:
    kept = cache()
    kept.keep(PATH, b"request", state, b"answer")
    assert kept.find(PATH, b"request", state_of()) == expected


def test_a_reload_drops_all_that_is_kept() -> None:
    kept = cache()
    kept.keep(PATH, b"request", state_of(), b"answer")
    kept.forget()
    assert kept.find(PATH, b"request", state_of()) is None
    kept.keep(PATH, b"request", state_of(), b"answer")
    assert kept.find(PATH, b"request", state_of()) == b"answer"
