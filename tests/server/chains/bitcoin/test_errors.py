"""What Bitcoin nodes and indexers say, replayed: the verdict, the error, and that the words of nodes go nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.chains.shared.error_rules import ErrorRules
from server.errors import (
    ArchiveRequired,
    GatewayError,
    HeightMissing,
    InvalidArgument,
    NotFound,
    NotSupported,
    TooMuchWork,
    UpstreamUnavailable,
)
from server.upstream.verdicts import Verdict

if TYPE_CHECKING:
    from typing import Literal

CORE, ESPLORA = ErrorRules("bitcoin", "core"), ErrorRules("bitcoin", "esplora")
SAID_BY_NODES = [
    (500, -5, "Block not found", Verdict.ELSEWHERE, NotFound),
    (500, -5, "No such mempool or blockchain transaction.", Verdict.ELSEWHERE, NotFound),
    (500, -5, "No such mempool transaction. Use -txindex to enable", Verdict.ELSEWHERE, NotSupported),
    (500, -8, "Block height out of range", Verdict.ELSEWHERE, HeightMissing),
    (500, -1, "Block number out of range", Verdict.ELSEWHERE, HeightMissing),
    (500, -8, "blockhash must be of length 64 (not 2, for '00')", Verdict.ANSWER, InvalidArgument),
    (500, -1, "Block not available (pruned data)", Verdict.ELSEWHERE, ArchiveRequired),
    (500, -1, "Block not available (not fully downloaded)", Verdict.ELSEWHERE, UpstreamUnavailable),
    (500, -1, 'getblock "blockhash" ( verbosity )\n\nArguments:\n1. blockhash', Verdict.ANSWER, InvalidArgument),
    (500, -1, "something else", Verdict.UNCLEAR, UpstreamUnavailable),
    (500, -8, 'Scan already in progress, use action "abort" or "status"', Verdict.ELSEWHERE, UpstreamUnavailable),
    (500, -3, "JSON value of type string is not of expected type number", Verdict.ANSWER, InvalidArgument),
    (500, -20, "Database error", Verdict.SICK, UpstreamUnavailable),
    (500, -22, "TX decode failed", Verdict.ANSWER, InvalidArgument),
    (500, -28, "Loading block index...", Verdict.ELSEWHERE, UpstreamUnavailable),
    (404, -32601, "Method not found", Verdict.ELSEWHERE, NotSupported),
    (503, None, "Work queue depth exceeded", Verdict.LIMITED, UpstreamUnavailable),
    (429, None, "", Verdict.LIMITED, UpstreamUnavailable),
    (502, None, "Bad gateway", Verdict.SICK, UpstreamUnavailable),
    (200, 12345, "never seen", Verdict.UNCLEAR, UpstreamUnavailable),
]
SAID_BY_INDEXERS = [
    (400, None, "Invalid Bitcoin address", Verdict.ELSEWHERE, InvalidArgument),
    (400, None, "Invalid number", Verdict.UNCLEAR, UpstreamUnavailable),
    (404, None, "Block not found", Verdict.ELSEWHERE, NotFound),
    (400, None, "Too many history entries", Verdict.ELSEWHERE, TooMuchWork),
    (403, None, "Forbidden", Verdict.ELSEWHERE, UpstreamUnavailable),
    (429, None, "Too Many Requests", Verdict.LIMITED, UpstreamUnavailable),
    (500, None, "internal", Verdict.SICK, UpstreamUnavailable),
]


@pytest.mark.parametrize(
    ("kind", "said"), [*(("core", said) for said in SAID_BY_NODES), *(("esplora", said) for said in SAID_BY_INDEXERS)]
)
def test_what_is_known(
    kind: Literal["core", "esplora"], said: tuple[int, int | None, str, Verdict, type[GatewayError]]
) -> None:
    status, code, message, verdict, error = said
    judged = ErrorRules("bitcoin", kind).classify(status, code, message, None)
    assert (judged.verdict, type(judged.error)) == (verdict, error)


@given(
    st.sampled_from((CORE, ESPLORA)),
    st.integers(200, 599),
    st.none() | st.integers(-40000, 40000),
    st.text(max_size=200),
    st.none() | st.binary(max_size=50),
)
def test_anything_is_judged_without_the_nodes_words(
    table: ErrorRules, status: int, code: int | None, message: str, data: bytes | None
) -> None:
    judged = table.classify(status, code, f"node at https://key@host says {message}", data)
    assert "host" not in judged.error.message
    assert "://" not in judged.error.message


def test_pruned_blocks_are_remembered_as_lacking() -> None:
    assert CORE.classify(500, -1, "Block not available (pruned data)", None).lacks == "block"
    assert CORE.classify(404, -32601, "Method not found", None).lacks == "method"
