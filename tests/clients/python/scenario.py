"""What `make clients` tries of every client, with the Python client; given by the environment (scripts/clients.py)."""

from __future__ import annotations

from os import environ
from typing import TYPE_CHECKING

import pytest
from waypost import ChainUnknown, InvalidArgument, NotFound, RateLimited, Waypost, error_of

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
