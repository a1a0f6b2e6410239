"""Errors of Starknet nodes as the specification and real implementations word them."""

from __future__ import annotations

import json

import pytest

from server import errors
from server.chains.shared.error_rules import ErrorRules
from server.errors import ContractMissing, EntryPointMissing
from server.upstream.verdicts import Verdict

TABLE = ErrorRules("starknet")
ANSWER, ELSEWHERE, UNCLEAR, LIMITED = Verdict.ANSWER, Verdict.ELSEWHERE, Verdict.UNCLEAR, Verdict.LIMITED


@pytest.mark.parametrize(
    ("code", "message", "data", "verdict", "error"),
    [
        (20, "Contract not found", None, ANSWER, ContractMissing),
        (21, "Requested entrypoint does not exist in the contract", None, ANSWER, EntryPointMissing),
        (24, "Block not found", None, ELSEWHERE, errors.NotFound),
        (29, "Transaction hash not found", None, ELSEWHERE, errors.NotFound),
        (31, "Requested page size is too big", None, ANSWER, errors.RangeTooLarge),
        (33, "The supplied continuation token is invalid or unknown", None, ANSWER, errors.InvalidArgument),
        (40, "Contract error", {"revert_error": "Error at pc=0:12"}, ANSWER, errors.Reverted),
        (
            40,
            "Contract error",
            {"revert_error": "Entry point EntryPointSelector(0x2e42) not found in contract."},
            ANSWER,
            EntryPointMissing,
        ),
        (
            40,
            "Contract error",
            {"revert_error": {"class_hash": "0x1", "error": "0x454e545259504f494e545f4e4f545f464f554e44"}},
            ANSWER,
            EntryPointMissing,
        ),
        (
            40,
            "Contract error",
            {"revert_error": "Requested contract address 0x1 is not deployed."},
            ANSWER,
            ContractMissing,
        ),
        (41, "Transaction execution error", {"execution_error": "out of gas"}, ANSWER, errors.Reverted),
        (-32601, "Method not found", None, ELSEWHERE, errors.NotSupported),
        (-32602, "Invalid params", {"reason": "unknown variant `pre_confirmed`"}, ELSEWHERE, errors.InvalidArgument),
        (-32603, "Internal error", None, UNCLEAR, errors.UpstreamUnavailable),
        (-32005, "limit exceeded", None, LIMITED, errors.UpstreamUnavailable),
        (-32000, "Too many requests", None, LIMITED, errors.UpstreamUnavailable),
        (None, "", None, UNCLEAR, errors.UpstreamUnavailable),
        (63, "An unexpected error occurred", None, UNCLEAR, errors.UpstreamUnavailable),
    ],
)
def test_what_an_error_means(code, message, data, verdict, error) -> None:
    found = TABLE.classify(200, code, message, None if data is None else json.dumps(data).encode())
    assert (found.verdict, type(found.error)) == (verdict, error)


def test_the_status_of_http_counts() -> None:
    assert TABLE.classify(429, None, "", None).verdict is LIMITED
    assert TABLE.classify(502, None, "<html>", None).verdict is Verdict.SICK


def test_a_contract_speaks_and_the_node_does_not() -> None:
    details = {"revert_error": "at http://10.0.0.1/key: [0x62616c ('balance too small')], 0x1 ('ENTRYPOINT_FAILED')"}
    error = TABLE.classify(200, 40, "Contract error", json.dumps(details).encode()).error
    assert error.message == "execution reverted: balance too small, ENTRYPOINT_FAILED"


def test_what_looks_like_an_address_stays_behind() -> None:
    error = TABLE.classify(200, 40, "Contract error", b"""{"revert_error": "('http://10.0.0.1/secret')"}""").error
    assert error.message == "execution reverted"


@pytest.mark.parametrize("data", [b"", b"null", b"\xff\xfe", b"[" * 10_000])
def test_odd_data_is_survived(data: bytes) -> None:
    assert TABLE.classify(200, 40, "Contract error", data).verdict is ANSWER
