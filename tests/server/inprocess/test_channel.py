"""The in-process channel behaves like a socket: one table of scenarios, run over both, which must agree."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
from grpc import StatusCode

from tests.server.inprocess import scenarios, streaming, timing
from tests.server.inprocess.rig import in_process, on_socket
from tests.server.inprocess.scenarios import BINARY, OK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.server.inprocess.rig import Rig


def table() -> list[Callable[[Rig], Awaitable[Any]]]:
    """Return every scenario: the public coroutines of the modules that take a rig alone."""
    return [
        member
        for module in (scenarios, streaming, timing)
        for name, member in inspect.getmembers(module, inspect.iscoroutinefunction)
        if member.__module__ == module.__name__ and list(inspect.signature(member).parameters) == ["rig"]
    ]


# What both must observe, where agreement alone would not say enough.
EXPECTED: dict[str, Callable[[Any], bool]] = {
    "answered": lambda got: got["response"] == OK and got["code"] is StatusCode.OK,
    "abort_with_everything": lambda got: (
        (got["code"], got["details"]) == (StatusCode.NOT_FOUND, "gone") and ("b-bin", BINARY) in got["trailing"]
    ),
    "escaped_exception": lambda got: got["details"] == "Unexpected <class 'ValueError'>: reported",
    "unknown_method": lambda got: got["code"] is StatusCode.UNIMPLEMENTED,
    "oversize_request": lambda got: got["code"] is StatusCode.RESOURCE_EXHAUSTED,
    "oversize_response": lambda got: got["code"] is StatusCode.RESOURCE_EXHAUSTED,
    "deadline_of_the_caller": lambda got: got[0]["code"] is StatusCode.DEADLINE_EXCEEDED,
    "deadline_passed_already": lambda got: got["code"] is StatusCode.DEADLINE_EXCEEDED,
    "cancelled_by_the_caller": lambda got: got[:3] == (True, False, "CancelledError"),
    "cancelled_at_once": lambda got: got is StatusCode.CANCELLED,
    "request_changed_by_the_caller": lambda got: got == "before",
    "request_changed_by_the_servicer": lambda got: got == "kept",
    "response_changed_by_the_servicer": lambda got: got == ("before", True),
    "contextvars_of_the_caller": lambda got: got == (["nothing"], "the caller's"),
    "contextvars_of_concurrent_calls": lambda got: got is True,
    "concurrent_calls_overtake": lambda got: got == ("fast", "slow"),
    "illegal_metadata_of_the_caller": lambda got: got == (["refused before it was sent"] * 5, []),
    "closed_channel": lambda got: got == (False, "UsageError"),
    "stream_that_ends": lambda got: got["numbers"] == [0, 1, 2, 3, 4] and got["code"] is StatusCode.OK,
    "stream_aborted_after_some": lambda got: (
        got["numbers"] == [0, 1, 2] and got["code"] is StatusCode.RESOURCE_EXHAUSTED and got["details"] == "slow"
    ),
    "stream_cancelled_by_the_caller": lambda got: (
        got == ([0, 1], (True, False), "cancelled", StatusCode.CANCELLED, True)
    ),
    "stream_whose_reader_is_cancelled": lambda got: got == (0, StatusCode.CANCELLED, True),
    "stream_beyond_its_deadline": lambda got: got[:2] == ([0], StatusCode.DEADLINE_EXCEEDED),
    "stream_of_an_unknown_method": lambda got: got["code"] is StatusCode.UNIMPLEMENTED,
    "stream_with_an_oversize_request": lambda got: got["code"] is StatusCode.RESOURCE_EXHAUSTED,
    "stream_with_an_oversize_event": lambda got: got == ([0], StatusCode.RESOURCE_EXHAUSTED),
    "stream_read_slowly": lambda got: got == (0, True, True, True),
    "stream_ended_while_its_reader_is_slow": lambda got: (
        got["numbers"] == [0, 1] and got["code"] is StatusCode.UNAVAILABLE
    ),
    "time_remaining": lambda got: got == ([True], True),
}


@pytest.mark.parametrize("scenario", table(), ids=lambda scenario: scenario.__name__)
async def test_in_process_and_socket_agree(scenario: Callable[[Rig], Awaitable[Any]]) -> None:
    async with in_process() as rig:
        in_memory = await scenario(rig)
    async with on_socket() as rig:
        over_wire = await scenario(rig)
    assert in_memory == over_wire
    assert EXPECTED.get(scenario.__name__, lambda got: True)(in_memory)


def test_the_table_is_whole() -> None:
    names = {scenario.__name__ for scenario in table()}
    assert names >= EXPECTED.keys()
    assert len(names) >= 66
