"""Off-chain look-ups as contracts encode them, and as somebody would who wants to keep the gateway busy."""

from __future__ import annotations

import time

import pytest
from eth_abi.abi import decode, encode
from eth_utils.crypto import keccak
from hypothesis import given, settings
from hypothesis import strategies as st

from server.names import lookups
from server.names.lookups import HttpError, Query, read_batch, read_lookup, write_batch_answer
from server.names.names import (
    address_question,
    load_errors,
    name_question,
    read_primary,
    read_resolved,
)
from tests.examples import examples

SENDER = bytes(range(1, 21))
LOOKUP = ["address", "string[]", "bytes", "bytes4", "bytes"]
BATCH = ["(address,string[],bytes)[]"]


def encoded(urls: list[str], data: bytes, callback: bytes = b"call", extra: bytes = b"") -> bytes:
    return lookups.OFFCHAIN_LOOKUP + encode(LOOKUP, [SENDER, urls, data, callback, extra])


def batch(queries: list[tuple[bytes, list[str], bytes]]) -> bytes:
    return lookups.QUERY + encode(BATCH, [queries])


def word(number: int) -> bytes:
    return number.to_bytes(32, "big")


def test_selectors_are_those_of_the_standards() -> None:
    assert keccak(text="OffchainLookup(address,string[],bytes,bytes4,bytes)")[:4] == lookups.OFFCHAIN_LOOKUP
    assert keccak(text="query((address,string[],bytes)[])")[:4] == lookups.QUERY
    assert keccak(text="HttpError(uint16,string)")[:4] == lookups.HTTP_ERROR
    assert keccak(text="resolveWithGateways(bytes,bytes,string[])")[:4] == address_question("a.eth")[:4]
    assert keccak(text="reverseWithGateways(bytes,uint256,string[])")[:4] == name_question(SENDER)[:4]
    for selector, error in load_errors().items():
        assert keccak(text=error.signature)[:4] == selector
        assert error.means in ("absent", "unreachable")


@given(
    urls=st.lists(st.text(max_size=50), max_size=lookups.MAX_URLS),
    data=st.binary(max_size=200),
    callback=st.binary(min_size=4, max_size=4),
    extra=st.binary(max_size=200),
    response=st.binary(max_size=200),
)
def test_a_lookup_is_read_and_answered(
    urls: list[str], data: bytes, callback: bytes, extra: bytes, response: bytes
) -> None:
    lookup = read_lookup(encoded(urls, data, callback, extra))
    assert lookup is not None
    assert lookup.query == Query(SENDER, tuple(urls), data)
    answer = lookup.answer(response)
    assert answer[:4] == callback
    assert decode(["bytes", "bytes"], answer[4:]) == (response, extra)


@given(st.lists(st.tuples(st.lists(st.text(max_size=20), max_size=3), st.binary(max_size=70)), max_size=5))
def test_a_batch_is_read(queries: list[tuple[list[str], bytes]]) -> None:
    read = read_batch(batch([(SENDER, urls, data) for urls, data in queries]))
    assert read == [Query(SENDER, tuple(urls), data) for urls, data in queries]


def test_a_batch_is_answered() -> None:
    failures, responses = decode(["bool[]", "bytes[]"], write_batch_answer([b"one", HttpError(502, "no")]))
    assert failures == (False, True)
    assert responses[0] == b"one"
    assert decode(["uint16", "string"], responses[1][4:]) == (502, "no")


def test_other_reverts_are_no_lookups() -> None:
    assert read_lookup(b"") is None
    assert read_lookup(b"\x08\xc3\x79\xa0" + bytes(64)) is None


@pytest.mark.parametrize(
    "revert",
    [
        encoded(["https://a/"] * (lookups.MAX_URLS + 1), b""),
        encoded(["https://a/" + "b" * lookups.MAX_URL_CHARACTERS], b""),
        encoded(["https://a/"], bytes(lookups.MAX_BYTES + 1)),
        encoded(["https://a/"], b"", extra=bytes(lookups.MAX_BYTES + 1)),
        encoded(["https://a/"], b"")[:-1],
        encoded(["https://a/"], b"")[:100],
        lookups.OFFCHAIN_LOOKUP,
        lookups.OFFCHAIN_LOOKUP + b"\xff" * 32 + encoded([], b"")[36:],
        encoded(["https://a/"], b"").replace(b"https", b"\xff\xfe\xfd\xfc\xfb"),
    ],
    ids=["urls", "long url", "data", "extra", "cut", "cut short", "empty", "no address", "not text"],
)
def test_what_cannot_be_read_or_is_too_large(revert: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_lookup(revert)


@settings(max_examples=examples(80))
@given(st.binary(max_size=400))
def test_garbage_is_refused_and_nothing_worse(data: bytes) -> None:
    for read in (read_batch, read_resolved, read_primary):
        for prefix in (b"", lookups.QUERY):
            try:
                read(prefix + data)  # type: ignore[operator]
            except ValueError:
                continue
    try:
        lookup = read_lookup(lookups.OFFCHAIN_LOOKUP + data)
    except ValueError:
        return
    assert lookup is not None


def test_arrays_that_point_to_one_place_stay_small() -> None:
    """Sixteen requests, each with the same eight URLs and the same data: some kilobytes that mean megabytes."""
    inner = encode(["(address,string[],bytes)"], [(SENDER, ["x" * 2000] * 8, bytes(200_000))])[32:]
    many = lookups.QUERY + word(32) + word(16) + word(512) * 16 + inner
    began = time.process_time()
    assert len(read_batch(many)) == 16
    assert time.process_time() - began < 0.5
    with pytest.raises(ValueError, match="too long"):
        read_batch(lookups.QUERY + word(32) + word(17) + word(544) * 17 + inner)
    with pytest.raises(ValueError, match=r"."):
        read_batch(lookups.QUERY + word(32) + word(2**255) + inner)


def test_what_resolvers_return() -> None:
    def resolved(result: bytes) -> bytes:
        return encode(["bytes", "address"], [result, SENDER])

    assert read_resolved(resolved(encode(["address"], [SENDER]))) == "0x0102030405060708090a0B0c0d0e0f1011121314"
    for nothing in (b"", bytes(31), bytes(32), b"\1" * 32, bytes(20)):
        assert read_resolved(resolved(nothing)) is None
    for broken in (b"", bytes(31), word(2**200) + bytes(64)):
        with pytest.raises(ValueError, match=r"."):
            read_resolved(broken)


def test_what_reverse_records_hold() -> None:
    def primary(name: bytes) -> bytes:
        return encode(["bytes", "address", "address"], [name, SENDER, SENDER])

    assert read_primary(primary("raffy🚴‍♂.eth".encode())) == "raffy🚴‍♂.eth"
    for nothing in (b"", b"\xff\xfe", b"a" * 2000):
        assert read_primary(primary(nothing)) is None
