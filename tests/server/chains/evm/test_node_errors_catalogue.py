"""Every message of EVM nodes and providers that is known, replayed word for word: none may be taken for another.

Sources: ethereum/execution-apis error groups; go-ethereum, reth, nethermind, erigon, besu, coreth, nitro, op-geth,
scroll l2geth and moonbeam; Monad and HyperEVM documents; the normalisers of ponder, erpc and dshackle; anvil as run.
"""

from __future__ import annotations

from server.chains.evm.node_errors import EvmErrors
from tests.each import each

ERRORS = EvmErrors()

# (verdict, reason, what is said to be missing) of (code, message).
CATALOGUE: dict[tuple[str, str, str | None], list[tuple[int, str]]] = {
    ("unclear", "UPSTREAM_UNAVAILABLE", None): [
        (-32700, 'Parse error'),
        (-32600, 'Invalid request'),
        (-32603, 'Internal error'),
        (-32000, 'Invalid input'),
        (-32603, 'Unexpected error'),
    ],
    ("elsewhere", "NOT_SUPPORTED", "method"): [
        (-32601, 'Method not found'),
        (-32004, 'Method not supported'),
        (-32000, 'the method trace_block does not exist/is not available'),
        (-32000, 'method not supported'),
        (-32000, 'method is not whitelisted'),
        (-32604, 'Method not enabled'),
        (-32601, "The method 'trace_transaction' is not supported."),
        (-32600, "The method 'debug_traceTransaction' is found but the namespace 'Debug' is disabled for (address)"),
        (-32600, "The method 'trace_transaction' is found in namespace 'Trace' for (address) but is disabled."),
        (-32600, "The method 'debug_traceTransaction' must be authenticated."),
    ],
    ("elsewhere", "INVALID_ARGUMENT", None): [
        (-32602, 'Invalid params'),
        (-32005, 'Transaction gas limit exceeds block gas limit'),
        (-32005, 'Transaction gas limit cap exceeded'),
    ],
    ("elsewhere", "NOT_FOUND", None): [
        (-32001, 'Resource not found'),
        (-32602, 'block range extends beyond current head block'),
        (-32000, 'request beyond head block'),
        (-32001, 'block not found: 0x1312d00'),
        (-32000, 'transaction not found'),
        (-32000, 'resource not found'),
        (-32000, 'cannot query unfinalized data'),
        (-32000, 'requested from block 10 after last accepted block 5'),
        (-32000, 'unknown block'),
        (-32000, 'block not found'),
        (-32000, 'could not find block'),
        (-32000, 'block extends beyond current head'),
        (-32000, 'block number is greater than latest'),
        (-32000, 'height must be less than or equal to the current blockchain height'),
        (-32000, 'hash abc is not currently canonical'),
    ],
    ("elsewhere", "UPSTREAM_UNAVAILABLE", None): [
        (-32002, 'Resource unavailable'),
        (-32003, 'Transaction rejected'),
        (-32002, 'request timed out'),
        (-32600, 'batch too large'),
        (-32005, 'Number of requests exceeds max batch size'),
        (-32005, 'Batch size limit exceeded'),
        (-32603, 'Timeout expired'),
        (-32005, 'query timeout exceeded'),
        (-32000, 'transaction indexing is in progress'),
        (-32002, 'unavailable'),
        (-32016, 'timeout'),
        (-32017, 'timeout'),
        (-32000, 'block 17 exists but transaction indexing is not yet complete'),
        (-32000, 'execution timeout'),
    ],
    ("limited", "UPSTREAM_UNAVAILABLE", None): [
        (-32005, 'Limit exceeded'),
        (-32005, 'limit'),
        (-32000, 'too many requests'),
        (-32000, 'rate limit'),
        (-32000, 'request limit reached'),
        (-32000, 'requests limited to 10 per second'),
        (-32012, 'credits limited to 6000/sec'),
        (-32000, 'your app has exceeded its compute units per second capacity'),
        (-32001, 'Exceeded the quota usage'),
        (-32000, 'exceeded the quota'),
        (-32000, 'limit exceeded'),
        (-32000, 'capacity limit'),
        (-32000, 'under too much load'),
        (-32000, 'no server available'),
        (-32005, 'rate limit exceeded'),
        (-32007, 'request failed'),
        (-32009, 'request failed'),
    ],
    ("elsewhere", "NOT_SUPPORTED", None): [
        (-32006, 'JSON-RPC version not supported'),
        (4445, 'before fork'),
        (-32000, 'finalized block not found'),
        (-32000, 'safe block not found'),
        (-32000, 'pending block is not available'),
        (-32000, 'latest is not a supported commitment level'),
        (-32602, 'malformed blocknumber'),
        (-32000, 'genesis is not traceable'),
    ],
    ("answer", "REVERTED", None): [
        (3, 'execution reverted: user error'),
        (-32000, 'out of gas'),
        (-32000, 'invalid opcode: opcode 0xfe not defined'),
        (-32000, 'EVM error: InvalidJump'),
        (-32000, 'EVM error: StackOverflow'),
        (-32015, 'VM execution error.'),
        (-32000, 'execution reverted'),
        (-32015, 'Reverted 0x'),
        (-32603, 'VM Exception while processing transaction: revert'),
        (-32000, 'transaction: revert'),
        (-32603, 'EVM error: Revert'),
        (-32004, 'Upfront cost exceeds account balance'),
        (-32004, 'transaction up-front cost 0x12 exceeds transaction sender account balance 0x0'),
        (-32003, 'Intrinsic gas exceeds gas limit'),
        (-32003, 'intrinsic gas cost 21000 exceeds gas limit 1'),
        (-32000, 'insufficient sender balance'),
        (-32000, 'insufficient MaxFeePerGas for sender balance'),
        (-32000, 'gas limit below intrinsic gas'),
        (-32000, 'Transaction execution always fails'),
        (-32000, 'Cannot estimate gas, gas spent exceeded transaction and block gas limit'),
    ],
    ("elsewhere", "ARCHIVE_REQUIRED", "block"): [
        (4444, 'pruned history unavailable'),
        (-32000, 'missing trie node 0ab1 (path ) state 0x0ab1 is not available, not found'),
        (-32000, 'header not found'),
        (-32000, 'header for hash not found'),
        (-32000, 'required historical state unavailable (reexec=128)'),
        (-32000, 'historical state 0xabc is not available'),
        (4444, 'pruned history unavailable: requested 12, earliest available 15537394'),
        (-32603, 'state at block #17000000 is pruned'),
        (-32002, 'No state available for block 0xabc'),
        (-32000, 'old data not available due to pruning'),
        (-32000, 'receipts purged for block 17'),
        (-32602, 'BlockOutOfRangeError: block height is 7 but requested was 48'),
        (-32000, 'block number not supported: 12'),
        (-32000, 'failed to recreate state'),
        (-32000, 'Failed to call fallback API'),
        (-32000, 'no historical RPC is available for this historical (pre-bedrock) execution request'),
        (-32000, 'historical backend error: connection refused'),
        (-32000, 'State already discarded for 0x12'),
        (-32602, 'Request might be querying historical state that is not available'),
        (-32602, 'invalid block height: 12'),
        (-32000, 'state is not available'),
        (-32000, 'empty reader set'),
        (-32000, "state histories haven't been fully indexed yet"),
        (-32000, 'state at block 17 could not be found'),
        (-32000, 'Block with such an ID is pruned'),
        (-32000, 'block 17 is not available, lowest height is 100'),
        (-32000, 'node state is pruned'),
        (-32000, 'World state unavailable'),
        (-32603, 'no state found for block number 49107280'),
        (-32000, 'This request is not supported because your node is running with state pruning.'),
        (-32000, 'block has been pruned'),
        (-32000, 'earliest available is 100'),
        (-32000, 'querying historical state that is not available'),
        (-32000, 'unsupported block number 12'),
        (-32000, 'unexpected state root'),
        (-32000, 'access to archival, debug, or trace data is not included in your current plan'),
    ],
    ("elsewhere", "RANGE_TOO_LARGE", None): [
        (-32602, 'invalid block range params'),
        (-32003, 'response too large'),
        (-32000, 'exceed maximum block range 10000'),
        (-32000, 'exceed max addresses or topics per search position'),
        (-32000, 'exceed max topics'),
        (-32602, 'query exceeds max block range 100000'),
        (-32602, 'query exceeds max results 20000, retry with the range 1-2'),
        (-32008, 'Response is too big'),
        (-32000, 'requested too many blocks from 1 to 9000, maximum is set to 2048'),
        (-32000, 'logs matched by query exceeds limit of 10000'),
        (-32000, 'block range is larger than max block range, block range = 100, max block range = 50'),
        (-32603, 'block range is too wide (maximum 1024)'),
        (-32602, 'block range too large'),
        (-32602, 'Log response size exceeded. You can make eth_getLogs requests with up to a 2K '
         'block range. Based on your parameters, this block range should work: [0x1, 0x2]'),
        (-32005, 'try with this block range [0xA, 0xB]'),
        (-32005, 'query returned more than 10000 results. Try with this block range [0xA, 0xB].'),
        (-32000, 'block range is too large'),
        (-32000, 'exceeds the range'),
        (-32000, 'max block range 100'),
        (-32000, 'maximum block range: 100'),
        (-32000, 'Max range: 100'),
        (-32000, 'exceed max block range: 100'),
        (-32000, 'limited to a 10,000 range'),
        (-32000, 'limited to 1000 block'),
        (-32000, 'exceeds the range allowed for your plan (2000 > 1000)'),
        (-32000, 'Block range limit exceeded'),
        (-32000, 'please limit the query to at most 1000 blocks'),
        (-32000, 'up to a 500 block range'),
        (-32000, 'range is too large, max is 10k blocks'),
        (-32000, 'range is too large, max is 1k blocks'),
        (-32000, 'maximum [from, to] blocks distance: 100'),
        (-32000, 'Maximum allowed number of requested blocks is 100'),
        (35, 'ranges over 10000 blocks are not supported on freetier'),
        (-32000, 'query must be smaller than size 100'),
        (-32000, 'log response size exceeded'),
        (-32000, 'response size should not greater than 150000000 bytes'),
        (-32000, 'backend response too large'),
        (-32000, 'the answer is too big'),
        (-32000, 'try paginating'),
        (-32614, 'eth_getLogs is limited to a 10,000 range'),
        (-32012, 'Max block range exceeded'),
        (-32701, 'please specify less number of address'),
        (-32000, 'request contains 20 filters. The current limit is 10'),
        (-32005, 'Requested range exceeds maximum RPC range limit'),
        (-32005, 'Too many logs requested. Max logs per response is 20000.'),
        (-32602, 'Block range 20001 exceeds the maximum of 10000 blocks per logs request.'),
    ],
    ("elsewhere", "RESPONSE_TOO_LARGE", None): [
        (-32005, 'MaxBatchResponseBodySize of 32768KB exceeded'),
    ],
    ("answer", "INVALID_ARGUMENT", None): [
        (-32000, 'end (5) < begin (9)'),
    ],
    ("sick", "UPSTREAM_UNAVAILABLE", None): [
        (-32000, 'MDBX_PANIC: Update of meta-page failed'),
    ],
}  # fmt: skip
CASES = [(*meaning, code, message) for meaning, reported in CATALOGUE.items() for code, message in reported]


@each(CASES)
def test_a_known_message_means_what_it_says(
    verdict: str, reason: str, lacks: str | None, code: int, message: str
) -> None:
    judged = ERRORS.classify(200, code, message, None)
    assert (judged.verdict.value, judged.error.reason, judged.lacks) == (verdict, reason, lacks)


@each(CASES)
def test_case_and_surroundings_change_nothing(
    verdict: str, reason: str, lacks: str | None, code: int, message: str
) -> None:
    judged = ERRORS.classify(200, code, f"RPC failed. {message.upper()} (request 7)", None)
    if verdict != "unclear":
        assert (judged.verdict.value, judged.error.reason, judged.lacks) == (verdict, reason, lacks)


def test_what_nobody_knows_marks_a_node_at_once_only_with_a_server_error() -> None:
    assert ERRORS.classify(200, -32603, "oops", None).verdict.value == "unclear"
    assert ERRORS.classify(500, -32603, "oops", None).verdict.value == "sick"
    assert ERRORS.classify(200, -32099, "oops", None).verdict.value == "unclear"
    assert ERRORS.classify(503, None, "", None).verdict.value == "sick"
