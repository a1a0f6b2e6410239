"""Large answers of nodes are read beside the event loop."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from server.chains.shared.validated_reads import ask_validated
from server.errors import NotFound
from server.upstream.connector import CallPolicy, Reply

SMALL, LARGE = Reply(b"1", "a", 0.0), Reply(b"1" * 300_000, "a", 0.0)
NO_POOL: Any = None
"""Asked for nothing but its other endpoints, where an answer is not sound."""


@pytest.mark.parametrize(
    ("asked", "apart"), [(SMALL, False), (LARGE, True), ((SMALL, SMALL), False), ((SMALL, LARGE), True)]
)
async def test_only_large_answers_are_read_in_a_thread(asked: Any, apart: bool) -> None:
    async def ask(_: CallPolicy) -> Any:
        return asked

    thread, reply = await ask_validated(NO_POOL, "eth_call", ask, lambda _: threading.get_ident())
    assert reply is asked
    assert (thread != threading.get_ident()) is apart


async def test_what_a_large_answer_means_is_raised() -> None:
    async def ask(_: CallPolicy) -> Reply:
        return LARGE

    def read(_: Reply) -> None:
        raise NotFound("there is none")

    with pytest.raises(NotFound, match="there is none"):
        await ask_validated(NO_POOL, "eth_call", ask, read)
