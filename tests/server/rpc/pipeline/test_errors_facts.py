"""What errors bring besides their reason, as callers read it (docs/decisions/0013)."""

from __future__ import annotations

import pytest

from server.errors import (
    ArchiveRequired,
    GatewayError,
    InvalidArgument,
    NotFound,
    NotSupported,
    OutOfGas,
    RangeAdvice,
    RangeTooLarge,
    Reverted,
    VersionRefused,
)
from server.rpc.pipeline.errors import facts_of

LONG = bytes(range(256)) * 5


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (Reverted("no contract reverted"), {}),
        (OutOfGas("out of gas"), {}),
        (Reverted("nothing", data=b""), {"data": "0x"}),
        (Reverted("bytes", data=b"\x01\x02\x03"), {"data": "0x010203"}),
        (Reverted("error", data=b"\x08\xc3\x79\xa0\xff"), {"data": "0x08c379a0ff", "selector": "0x08c379a0"}),
        (
            Reverted("long", data=LONG),
            {"data": "0x" + LONG[:1024].hex(), "selector": "0x00010203", "dataLength": "1280"},
        ),
        (ArchiveRequired("old"), {}),
        (ArchiveRequired("old", oldest_block=0), {"oldestBlock": "0"}),
        (NotFound("none"), {}),
        (NotFound("none", endpoints_asked=3, head=0), {"endpointsAsked": "3", "head": "0"}),
        (RangeTooLarge("wide", most_blocks=5), {"mostBlocks": "5"}),
        (RangeTooLarge("wide", advice=RangeAdvice("results", None)), {"rangeHint": "results"}),
        (RangeTooLarge("wide", advice=RangeAdvice("window", 7)), {"rangeHint": "window", "maxBlocks": "7"}),
        (VersionRefused("version", version=2), {"maxSupportedTransactionVersion": "2"}),
        (VersionRefused("version"), {}),
        (NotSupported("never"), {}),
        (InvalidArgument("never", field="params"), {}),
    ],
)
def test_facts_are_text_by_name(error: GatewayError, facts: dict[str, str]) -> None:
    assert facts_of(error) == facts
