"""What `make clients` tries of every client, with the Python client; given by the environment (scripts/clients.py)."""

from __future__ import annotations

from os import environ
from typing import TYPE_CHECKING

import pytest
from waypost import AsyncWaypost, ChainUnknown, InvalidArgument, NotFound, RateLimited, Waypost, error_of
from waypost.v1.stream_pb2 import EVENT_KIND_ADDED

if TYPE_CHECKING:
    from collections.abc import Iterator

# Once over each transport.
FACES = ["WAYPOST_GRPC", "WAYPOST_HTTP"]


@pytest.fixture(params=FACES)
def client(request: pytest.FixtureRequest) -> Iterator[Waypost]:
    with Waypost(environ[request.param], key=environ["WAYPOST_KEY"]) as client:
        yield client


def test_a_balance(client: Waypost) -> None:
    answer = client.accounts.get_balance(chain="ethereum", address=environ["WAYPOST_HOLDER"])
    assert answer.balance_raw == environ["WAYPOST_BALANCE"]


def test_an_error_with_its_details(client: Waypost) -> None:
    with pytest.raises(InvalidArgument) as refused:
        client.accounts.get_balance(chain="ethereum", address="0x12")
    assert refused.value.field == "address"
    assert refused.value.request_id
    with pytest.raises(ChainUnknown):
        client.accounts.get_balance(chain="atlantis", address="0x12")


def test_a_row_that_fails(client: Waypost) -> None:
    first = int(environ["WAYPOST_LOGS_FROM"])
    rows = client.blocks.get_block_by_number(
        items=[{"chain": "ethereum", "block": first}, {"chain": "ethereum", "block": 1 << 40}]
    ).results
    assert error_of(rows[0]) is None
    assert isinstance(error_of(rows[1]), NotFound)


def test_pages_of_logs() -> None:
    with Waypost(environ["WAYPOST_GRPC"], key=environ["WAYPOST_KEY"]) as client:
        logs = client.logs.iterate_logs(
            chain="ethereum",
            address=environ["WAYPOST_LOGS_ADDRESS"],
            from_block=int(environ["WAYPOST_LOGS_FROM"]),
            to_block=int(environ["WAYPOST_LOGS_TO"]),
            page_size=2,
        )
        seen = {(log.transaction_hash, log.log_index) for log in logs}
    assert len(seen) == int(environ["WAYPOST_LOGS_COUNT"]) > 2


def test_a_chain_followed_that_goes_on_at_a_cursor(client: Waypost) -> None:
    with client.streams.watch_blocks(chain="base") as watch:
        first = next(event.block for event in watch if event.kind == EVENT_KIND_ADDED)
        cursor = watch.cursor
    with client.streams.watch_blocks(chain="base", cursor=cursor) as watch:
        blocks = (event.block for event in watch if event.kind == EVENT_KIND_ADDED)
        second = next(block for block in blocks if block.hash != first.hash)
    assert second.parent_hash == first.hash


@pytest.mark.parametrize("face", FACES)
async def test_a_chain_followed_in_an_event_loop(face: str) -> None:
    hashes: set[str] = set()
    async with AsyncWaypost(environ[face], environ["WAYPOST_KEY"]) as client:
        async for event in client.streams.watch_blocks(chain="base"):
            hashes.add(event.block_hash)
            if len(hashes) == 3:
                break
    assert len(hashes) == 3


def test_a_stream_that_cannot_begin(client: Waypost) -> None:
    with pytest.raises(InvalidArgument) as refused:
        next(client.streams.watch_blocks(chain="ethereum", cursor="none"))
    assert refused.value.field == "cursor"


@pytest.mark.parametrize("face", FACES)
def test_a_refusal_for_quota_that_is_waited_out(face: str) -> None:
    key = environ["WAYPOST_TIGHT_KEY"]
    with Waypost(environ[face], key=key) as hasty, pytest.raises(RateLimited) as refused:
        ask(hasty, 50)
    assert refused.value.retry_after is not None
    with Waypost(environ[face], key=key, quota_wait=10) as patient:
        ask(patient, 2)


def ask(client: Waypost, times: int) -> None:
    for _ in range(times):
        client.blocks.get_block_height(chain="ethereum")
