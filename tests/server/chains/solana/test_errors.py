"""What Solana nodes say, replayed: the verdict, the error, and that the words of nodes go nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.shared.error_rules import ErrorRules
from server.errors import (
    ArchiveRequired,
    GatewayError,
    InvalidArgument,
    NotAToken,
    NotFound,
    NotSupported,
    UpstreamUnavailable,
    VersionRefused,
)
from server.rpc.pipeline.errors import facts_of
from server.upstream.verdicts import Verdict

TABLE = ErrorRules("solana")
SAID = [
    (
        -32001,
        "Block 5 cleaned up, does not exist on node. First available block: 77",
        None,
        "ELSEWHERE",
        ArchiveRequired,
    ),
    (-32004, "Block not available for slot 9", None, "ELSEWHERE", NotFound),
    (-32005, "Node is behind by 42 slots", b'{"numSlotsBehind":42}', "ELSEWHERE", UpstreamUnavailable),
    (-32005, "Node is unhealthy", None, "ELSEWHERE", UpstreamUnavailable),
    (-32005, "", b'{"numSlotsBehind":null}', "ELSEWHERE", UpstreamUnavailable),
    (-32005, "daily quota used", None, "LIMITED", UpstreamUnavailable),
    (-32007, "Slot 9 was skipped, or missing due to ledger jump", None, "ELSEWHERE", NotFound),
    (-32009, "Slot 9 was skipped, or missing in long-term storage", None, "ELSEWHERE", NotFound),
    (-32010, "excluded from account secondary indexes", None, "ELSEWHERE", NotSupported),
    (-32011, "Transaction history is not available from this node", None, "ELSEWHERE", ArchiveRequired),
    (-32014, "Block status not yet available for slot 9", None, "ELSEWHERE", NotFound),
    (-32015, "Transaction version (3) is not supported", None, "ANSWER", VersionRefused),
    (-32016, "Minimum context slot has not been reached", b'{"contextSlot":4}', "ELSEWHERE", UpstreamUnavailable),
    (-32019, "Failed to query long-term storage", None, "ELSEWHERE", UpstreamUnavailable),
    (-32601, "Method not found", None, "ELSEWHERE", NotSupported),
    (-32602, "Invalid param: could not find mint", None, "ANSWER", NotAToken),
    (-32602, "Invalid param: not a Token mint", None, "ANSWER", NotAToken),
    (-32602, "Invalid param: WrongSize", None, "ELSEWHERE", InvalidArgument),
    (-32602, "Invalid param: unrecognized Token program id", None, "ELSEWHERE", NotSupported),
    (429, "slow down", None, "LIMITED", UpstreamUnavailable),
    (-31999, "something new", None, "UNCLEAR", UpstreamUnavailable),
    (None, "", None, "UNCLEAR", UpstreamUnavailable),
]


@pytest.mark.parametrize(("code", "message", "data", "verdict", "error"), SAID)
def test_replay(code: int | None, message: str, data: bytes | None, verdict: str, error: type[GatewayError]):
    judged = TABLE.classify(200, code, message, data)
    assert judged.verdict is Verdict[verdict]
    assert type(judged.error) is error
    assert not message or message not in judged.error.message


def test_what_is_read_out_of_the_words():
    pruned = TABLE.classify(200, -32001, "Block 5 cleaned up. First available block: 77", None)
    assert facts_of(pruned.error) == {"oldestBlock": "77"}
    assert pruned.lacks == "block"
    newer = TABLE.classify(200, -32015, "Transaction version (3) is not supported", None)
    assert facts_of(newer.error) == {"maxSupportedTransactionVersion": "3"}


def test_the_status_counts():
    assert TABLE.classify(429, None, "", None).verdict is Verdict.LIMITED
    assert TABLE.classify(502, None, "", None).verdict is Verdict.SICK


@given(st.integers() | st.none(), st.text(max_size=60), st.binary(max_size=20) | st.none(), st.integers(100, 599))
def test_nothing_is_raised(code: int | None, message: str, data: bytes | None, status: int):
    assert isinstance(TABLE.classify(status, code, message, data).error, GatewayError)
