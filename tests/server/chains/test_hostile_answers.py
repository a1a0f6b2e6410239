"""Answers of nodes that are made to cost more than they are long: they take linear time, or are refused at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from server.chains.bitcoin.balances import _read_scan
from server.chains.evm.calls.simulation import parse_traced_call
from server.chains.evm.calls.trace import parse_trace_list
from server.chains.evm.logs.entries import read_entries
from server.chains.evm.node_errors import EvmErrors
from server.chains.evm.reads.multicall import decode_aggregate3
from server.chains.shared.error_rules import ErrorRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.upstream.verdicts import ErrorTable

# Hashes of integers are their rests modulo this.
SAME_HASH = (1 << 61) - 1
ADDRESS = b"0x" + b"12" * 20


def seconds_of(read: Callable[[], object]) -> float:
    before = time.process_time()
    read()
    return time.process_time() - before


def refuse(read: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        read()


@pytest.mark.parametrize("amount", [b"1e999990", b"-1e999990", b"9" * 1_000_000, b"1" * 300_000 + b"e690000", b"1e25"])
def test_an_amount_of_a_million_digits_is_none(amount: bytes) -> None:
    scan = b'{"success":true,"height":1,"total_amount":%b}' % amount
    # The first one took two minutes.
    assert seconds_of(lambda: refuse(lambda: _read_scan(scan))) < 1


def test_all_coins_are_an_amount() -> None:
    scan = b'{"success":true,"height":1,"total_amount":20999999.97690000}'
    assert _read_scan(scan) == (2_099_999_997_690_000, 1)


def test_calls_whose_places_have_one_hash_are_no_trace() -> None:
    call = b'{"action":{"from":"%b","value":"0x0","gas":"0x1"},"traceAddress":[%b],"type":"call"}'
    places = [b"", *(b"%d" % (number * SAME_HASH) for number in range(1, 60_000))]
    answer = b"[%b]" % b",".join(call % (ADDRESS, place) for place in places)
    # It took half a minute at a fifth of the size.
    assert seconds_of(lambda: refuse(lambda: parse_trace_list(answer))) < 2


def test_logs_whose_indices_have_one_hash_are_none() -> None:
    log = (
        b'{"address":"%b","topics":[],"data":"0x","blockNumber":"0x1","transactionHash":"0x%064x","logIndex":"0x%x"}'
        % (ADDRESS, 1, SAME_HASH)
    )
    with pytest.raises(ValueError, match="more logs than any block has"):
        read_entries(b"[%b]" % log)


@pytest.mark.slow
def test_logs_of_deep_calls_are_put_in_order_in_linear_time() -> None:
    depth = 40_000
    opening = b'{"type":"CALL","gasUsed":"0x1","logs":[{"address":"%b","topics":[],"data":"0x"}],"calls":[' % ADDRESS
    answer = opening * depth + b"]}" * depth
    ran = None

    def read() -> None:
        nonlocal ran
        ran = parse_traced_call(answer)

    # The path of each call is as long as the call is deep: all of them took minutes, and twelve gigabytes.
    assert seconds_of(read) < 30
    assert ran is not None
    assert ran.logs is not None
    assert len(ran.logs) == depth


def test_results_that_share_their_bytes_are_no_answer_of_multicall() -> None:
    def word(number: int) -> bytes:
        return number.to_bytes(32, "big")

    count, size = 200, 1_000_000
    shared = word(1) + word(64) + word(size) + bytes(size)
    answer = word(32) + word(count) + word(32 * count) * count + shared
    with pytest.raises(ValueError, match="outside"):
        decode_aggregate3(answer, count)


@pytest.mark.slow
@pytest.mark.parametrize(
    "errors",
    [EvmErrors(), ErrorRules("starknet"), ErrorRules("cosmos"), ErrorRules("solana"), ErrorRules("bitcoin", "core")],
)
@pytest.mark.parametrize(
    "piece", ["limited to 1,", "('a", "entry point ", "range 1 ", "lowest height is 1", "the method 'a"]
)
def test_what_a_node_says_at_length_is_judged_in_linear_time(errors: ErrorTable, piece: str) -> None:
    said = piece * (30_000_000 // len(piece))
    data = b'"%b"' % said.encode()
    # A step that starts anew at every word would take hours.
    assert seconds_of(lambda: errors.classify(200, 3, said[:500], data)) < 5


def test_why_a_simulation_failed_is_reported_in_linear_time() -> None:
    words = "limited to 1," * 2_000_000
    call = b'{"type":"CALL","gasUsed":"0x1","error":"%b"}' % words.encode()
    assert seconds_of(lambda: parse_traced_call(call)) < 5


def test_what_failed_innermost_is_reported_of_long_details() -> None:
    details = b'"' + b"0x1 " * 200_000 + b"('not enough')" + b'"'
    reported = ErrorRules("starknet").classify(200, 40, "Contract error", details)
    assert reported.error is not None
    assert reported.error.message.endswith(": not enough")
