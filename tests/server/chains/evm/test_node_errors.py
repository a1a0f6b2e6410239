"""What EVM nodes say, word for word, and what the gateway makes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.evm.node_errors import EvmErrors, revert_data
from server.contracts.reverts import describe_revert, is_revert_payload
from server.errors import OutOfGas
from server.rpc.pipeline.errors import facts_of
from server.upstream import Verdict

ERRORS = EvmErrors()

ERROR_STRING = "08c379a0" + f"{32:064x}{10:064x}" + b"user error".hex().ljust(64, "0")
PANIC = "4e487b71" + f"{0x12:064x}"


@pytest.mark.parametrize(
    ("status", "code", "message", "verdict", "reason"),
    [
        # geth, and the others that speak like it
        (200, 3, "execution reverted: user error", "answer", "REVERTED"),
        (200, -32000, "execution reverted", "answer", "REVERTED"),
        (200, -32000, "out of gas", "answer", "REVERTED"),
        (200, -32000, "invalid opcode: INVALID", "answer", "REVERTED"),
        (200, -32000, "insufficient funds for gas * price + value: address 0x00 have 0 want 1", "answer", "REVERTED"),
        (200, -32000, "gas required exceeds allowance (50000000)", "answer", "REVERTED"),
        (200, -32000, "missing trie node 7a61 (path ) state 0x7a61 is not available", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "header not found", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "required historical state unavailable (reexec=128)", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, 4444, "pruned history unavailable", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "transaction indexing is in progress", "elsewhere", "UPSTREAM_UNAVAILABLE"),
        (200, -32000, "exceed maximum block range: 5000", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32000, "exceed max addresses or topics per search position", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32003, "response too large", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32002, "request timed out", "elsewhere", "UPSTREAM_UNAVAILABLE"),
        (200, -32600, "batch too large", "elsewhere", "UPSTREAM_UNAVAILABLE"),
        (200, -32000, "finalized block not found", "elsewhere", "NOT_SUPPORTED"),
        # reth
        (200, -32603, "state at block #17000000 is pruned", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32001, "block not found: 0x1312d00", "elsewhere", "NOT_FOUND"),
        (200, -32602, "query exceeds max block range 100000", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32602, "query exceeds max results 20000, retry with the range 1-2", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32000, "EVM error: InvalidFEOpcode", "answer", "REVERTED"),
        # nethermind, erigon
        (200, -32015, "VM execution error.", "answer", "REVERTED"),
        (200, -32002, "No state available for block 0xabc", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "old data not available due to pruning", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "MDBX_PANIC: Update of meta-page failed", "sick", "UPSTREAM_UNAVAILABLE"),
        # anvil, as run
        (200, -32602, "BlockOutOfRangeError: block height is 7 but requested was 48", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32603, "EVM error OutOfGas", "answer", "REVERTED"),
        (200, -32603, "EVM error InvalidFEOpcode", "answer", "REVERTED"),
        (200, -32003, "Insufficient funds for gas * price + value", "answer", "REVERTED"),
        (200, -32003, "Out of gas: gas required exceeds allowance: 30000000", "answer", "REVERTED"),
        (200, -32601, "Method not found", "elsewhere", "NOT_SUPPORTED"),
        (200, -32602, "invalid string length", "elsewhere", "INVALID_ARGUMENT"),
        # chains with words of their own
        (200, -32000, "cannot query unfinalized data", "elsewhere", "NOT_FOUND"),
        (200, -32000, "requested from block 10 after last accepted block 5", "elsewhere", "NOT_FOUND"),
        (200, -32000, "requested too many blocks from 1 to 9, maximum is set to 5", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32000, "failed to recreate state", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "no historical RPC is available for this historical request", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32000, "block range is larger than max block range, max = 5", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32603, "block range is too wide (maximum 1024)", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32000, "State already discarded for 0x12", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32602, "might be querying historical state that is not available", "elsewhere", "ARCHIVE_REQUIRED"),
        (200, -32602, "invalid block height", "elsewhere", "ARCHIVE_REQUIRED"),
        # providers
        (429, None, "", "limited", "UPSTREAM_UNAVAILABLE"),
        (200, -32005, "rate limit exceeded", "limited", "UPSTREAM_UNAVAILABLE"),
        (200, -32001, "Exceeded the quota usage", "limited", "UPSTREAM_UNAVAILABLE"),
        (200, -32005, "limit exceeded", "limited", "UPSTREAM_UNAVAILABLE"),
        (200, -32005, "query returned more than 10000 results", "elsewhere", "RANGE_TOO_LARGE"),
        (200, -32600, "eth_getLogs is limited to a 10,000 range", "elsewhere", "RANGE_TOO_LARGE"),
        (403, -32000, "method is not whitelisted", "elsewhere", "NOT_SUPPORTED"),
        (200, -32004, "the method trace_block does not exist/is not available", "elsewhere", "NOT_SUPPORTED"),
        # the unknown
        (200, -32000, "the moon is in the wrong house", "unclear", "UPSTREAM_UNAVAILABLE"),
        (200, -12345, "", "unclear", "UPSTREAM_UNAVAILABLE"),
        (502, None, "the moon is in the wrong house", "sick", "UPSTREAM_UNAVAILABLE"),
        (200, -32603, "oops", "unclear", "UPSTREAM_UNAVAILABLE"),
    ],
)  # fmt: skip
def test_what_nodes_say(status, code, message, verdict, reason):
    judged = ERRORS.classify(status, code, message, None)
    assert (judged.verdict, judged.error.reason) == (Verdict(verdict), reason)


@pytest.mark.parametrize(
    "data",
    [
        f'"0x{ERROR_STRING}"',
        f'"Reverted 0x{ERROR_STRING}"',
        f'{{"data":"0x{ERROR_STRING}"}}',
        f'{{"originalError":{{"code":3,"data":"0x{ERROR_STRING}"}}}}',
    ],
)
def test_the_reason_is_found_in_every_shape_of_data(data):
    judged = ERRORS.classify(200, 3, "execution reverted", data.encode())
    assert judged.error.message == "execution reverted: user error"
    assert facts_of(judged.error)["data"] == "0x" + ERROR_STRING


@pytest.mark.parametrize(
    "data", [None, b"null", b"12", b'"0xzz"', b"[]", b"{", b'{"data":{"data":{"data":"0x"}}}', b'""']
)
def test_odd_data_is_no_data(data):
    assert revert_data(data) is None or revert_data(data) == b""
    assert ERRORS.classify(200, 3, "execution reverted", data).error.message == "execution reverted without a reason"


@pytest.mark.parametrize(
    ("code", "message", "data", "is_out_of_gas", "reported"),
    [
        # One error for all failures, the failure itself in `data`, as of Nethermind then and now
        (-32015, "VM execution error.", b'"OutOfGas"', True, "the call runs out of gas"),
        (-32015, "VM execution error.", b'"err: OutOfGas (supplied gas 100000000)"', True, "the call runs out of gas"),
        (-32015, "VM execution error.", b'"Out of gas"', True, "the call runs out of gas"),
        (-32015, "VM execution error.", b'"err: StackUnderflow (supplied gas 9)"', False, "the virtual machine"),
        (-32000, "VM Exception while processing transaction: out of gas", None, True, "the call runs out of gas"),
        (-32015, "VM execution error.", b'"Reverted 0x"', False, "reverted without a reason"),
        # What a contract says of itself is its own words
        (3, "execution reverted: out of gas", None, False, "execution reverted: out of gas"),
        (-32000, "VM Exception while processing transaction: revert out of gas", None, False, "reverted: out of gas"),
    ],
)  # fmt: skip
def test_a_failure_that_is_no_revert_is_reported_apart(code, message, data, is_out_of_gas, reported):
    judged = ERRORS.classify(200, code, message, data)
    assert judged.verdict is Verdict.ANSWER
    assert (isinstance(judged.error, OutOfGas), judged.error.reason) == (is_out_of_gas, "REVERTED")
    assert reported in judged.error.message


def test_without_data_the_nodes_words_are_the_reason_unless_they_name_an_address():
    judged = ERRORS.classify(200, -32000, "execution reverted: Pausable: paused", None)
    assert judged.error.message == "execution reverted: Pausable: paused"
    judged = ERRORS.classify(200, -32000, "execution reverted: see https://node.example/secret-key", None)
    assert "secret" not in judged.error.message


def test_the_oldest_block_is_reported_where_the_node_says_it():
    judged = ERRORS.classify(200, 4444, "pruned history unavailable: requested 100, earliest available 15537394", None)
    assert facts_of(judged.error) == {"oldestBlock": "15537394"}
    assert "15537394" in judged.error.message


def test_reverts_in_words():
    assert describe_revert(bytes.fromhex(PANIC)) == "execution reverted: panic 0x12 (division or modulo by zero)"
    assert describe_revert(b"\x01") == "execution reverted with data 0x01"
    assert describe_revert(bytes.fromhex("08c379a0")) == "execution reverted with custom error 0x08c379a0"
    assert is_revert_payload(bytes.fromhex(ERROR_STRING))
    assert not is_revert_payload(bytes.fromhex(ERROR_STRING)[:-4])


@given(
    st.integers(100, 599),
    st.none() | st.integers(-40000, 5000),
    st.text(max_size=80),
    st.none() | st.binary(max_size=80),
)
def test_every_error_gets_a_verdict_and_never_the_nodes_own_words(status, code, message, data):
    judged = ERRORS.classify(status, code, "see https://node.example/key " + message, data)
    assert judged.verdict in Verdict
    assert "://" not in judged.error.message
