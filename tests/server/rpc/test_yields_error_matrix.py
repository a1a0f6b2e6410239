"""Every operation with every protocol on every chain: who refuses, in which words; no source is needed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from waypost.v1 import yield_protocol_pb2

from runtime.operations import literal, member
from server.catalog.protocols import load_address_book
from server.rpc.registration import PROTOCOLS
from tests.server.rpc.every import FAMILIES
from tests.server.rpc.refusals import refused
from tests.server.rpc.yields_table import (
    COMPARED_ALONE,
    NOT_COMPARED,
    OPERATIONS,
    TABLE,
    TAKES,
    WRONG_POOLS,
    members_of,
)

if TYPE_CHECKING:
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.slow

_VALUES = yield_protocol_pb2.YieldProtocol.DESCRIPTOR.values
WORDS = {value.number: literal(value).wire for value in _VALUES if value.number}
ALIASES = [(literal(value).wire, alias) for value in _VALUES for alias in literal(value).aliases]
ENTRIES = {
    WORDS[protocol.yields.protocol]: (protocol.slug, protocol.yields)
    for protocol in PROTOCOLS
    if protocol.yields is not None
}


def rpc(operation: str) -> str:
    return operation[0].upper() + operation[1:]


@pytest.mark.parametrize("operation", TAKES)
async def test_every_protocol_on_every_chain(bare: RunningGateway, operation: str) -> None:
    contract = OPERATIONS[operation]
    for protocol in WORDS.values():
        for chain, family in FAMILIES.items():
            row = TABLE.get(protocol)
            reported = await refused(
                bare, contract, members_of(operation, chain, protocol, row.pool if row is not None else "ETH")
            )
            case = operation, protocol, chain, reported
            if family != "evm" or chain not in contract.chains:
                assert reported[:3] == (400, "CHAIN_UNSUPPORTED", "chain"), case
                assert reported[3].endswith(", ".join(slug for slug in FAMILIES if slug in contract.chains)), case
            elif protocol not in TAKES[operation]:
                assert reported[:3] == (400, "INVALID_ARGUMENT", "protocol"), case
                assert all(taken in reported[3] for taken in TAKES[operation]), case
            elif row is None or chain not in row.chains:
                assert reported[:3] == (400, "CHAIN_UNSUPPORTED", "chain"), case
                assert row is not None
                assert all(slug in reported[3] for slug in row.chains), case
            else:
                assert reported[0] in (404, 503), case
                assert reported[1] in ("NOT_FOUND", "UPSTREAM_UNAVAILABLE", "PRICE_UNAVAILABLE"), case


@pytest.mark.parametrize(
    ("operation", "protocol"), [(operation, protocol) for operation, taken in TAKES.items() for protocol in taken]
)
async def test_a_pool_of_another_form_is_named(bare: RunningGateway, operation: str, protocol: str) -> None:
    row = TABLE[protocol]
    for chain in row.chains:
        if chain not in OPERATIONS[operation].chains:
            continue
        for pool in WRONG_POOLS[row.form]:
            reported = await refused(bare, OPERATIONS[operation], members_of(operation, chain, protocol, pool))
            assert reported[:3] == (400, "INVALID_ARGUMENT", "pool"), (chain, pool, reported)
            assert len(reported[3]) < 500


def test_the_operations_take_the_protocols_of_the_contract() -> None:
    for operation, taken in TAKES.items():
        field = OPERATIONS[operation].method.input_type.fields_by_name["protocol"]
        assert tuple(member(field).one_of) == taken
        needed = {chain for protocol in taken for chain in TABLE[protocol].chains}
        assert set(OPERATIONS[operation].chains) == needed


def test_every_protocol_has_the_chains_form_and_readers_of_the_contract() -> None:
    assert ENTRIES.keys() == TABLE.keys() | COMPARED_ALONE.keys()
    for protocol, (_, entry) in ENTRIES.items():
        if protocol in COMPARED_ALONE:
            assert (entry.chains, dict(entry.readers)) == (COMPARED_ALONE[protocol], {})
        else:
            assert (set(entry.chains), entry.pool) == (set(TABLE[protocol].chains), TABLE[protocol].form), protocol
            wanted = {rpc(operation) for operation, taken in TAKES.items() if protocol in taken}
            assert set(entry.readers) == wanted, protocol
        assert (entry.best is None) == (protocol in NOT_COMPARED), protocol


def test_the_types_are_those_that_the_operations_stand_for() -> None:
    for protocol, (_, entry) in ENTRIES.items():
        expected = "LENDING" if protocol in TAKES["getYieldsLending"] else "VAULT"
        expected = "STAKING" if protocol in COMPARED_ALONE else expected
        if protocol not in NOT_COMPARED:
            assert entry.type == yield_protocol_pb2.YieldType.Value(f"YIELD_TYPE_{expected}"), protocol


def test_the_address_book_has_the_chains_of_its_protocols() -> None:
    book = load_address_book()
    for slug, entry in ENTRIES.values():
        registered = book.protocols.get(slug)
        if registered is not None:
            # A chain of the contract where the protocol has no contract at all is answered from lists alone.
            assert set(entry.chains) - registered.contracts.keys() <= {"avalanche", "bsc", "polygon", "optimism"}, slug


@pytest.mark.parametrize(("protocol", "alias"), ALIASES)
async def test_the_products_own_names_are_taken(bare: RunningGateway, protocol: str, alias: str) -> None:
    for operation, taken in TAKES.items():
        members = members_of(operation, "ethereum", alias, "USDC")
        answer = await bare.ask(operation, members | {"pool": TABLE.get(protocol, TABLE["lend-a"]).pool})
        error = answer["error"]
        if protocol not in taken:
            assert error["data"]["field"] == ("chain" if "ethereum" not in OPERATIONS[operation].chains else "protocol")
        else:
            assert error["data"].get("field") != "protocol", error
