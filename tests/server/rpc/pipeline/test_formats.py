from __future__ import annotations

import pytest
from waypost.options.v1 import options_pb2

from server.catalog.tokens import PRICED_SYMBOLS
from server.rpc.pipeline.formats import CHECKS

WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"

CASES = {
    "FORMAT_EVM_ADDRESS": ([WALLET, WALLET.lower()], ["", "0x", WALLET[2:], WALLET + "0", WALLET.replace("A9", "a9")]),
    "FORMAT_EVM_HASH": (["0x" + "aB" * 32], ["0x" + "a" * 63, "a" * 64, "0x" + "g" * 64, "0x" + "a" * 64 + "\n"]),
    "FORMAT_HEX_DATA": (["0x", "0xaB01"], ["", "0xa", "ab", "0xzz"]),
    "FORMAT_HEX_QUANTITY": (["0x0", "0x" + "f" * 64], ["0x", "10", "0x" + "f" * 65]),
    "FORMAT_DECIMAL": (["0", "1.5", "007"], ["", ".5", "1.", "-1", "1e5", "1,5", "٣"]),
    "FORMAT_UINT": (["0", str(2**256 - 1)], ["", "-1", str(2**256), "1.0", "0x1", "²", "1" * 79]),
    "FORMAT_CURSOR": (["18000000", "18000000:5"], ["", "a b", "x" * 257, "ä"]),
    "FORMAT_SYMBOL": (["ETH", "wstETH"], ["eth", "", "WSTETH"]),
    "FORMAT_DATE": (["2026-02-28"], ["2026-02-29", "2026-2-1", "20260201", "2026-W01-1", "٢٠٢٦-01-01"]),
    "FORMAT_BASE58": (["So11111111111111111111111111111111111111112"], ["0" * 32, "l" * 40, "a" * 31, "a" * 45]),
    "FORMAT_COSMOS_HASH": (["Ab" * 32], ["0x" + "ab" * 32, "ab" * 31]),
    "FORMAT_URL": (
        ["https://example.org/x", "http://[::1]:80"],
        ["ftp://a", "example.org", "http://", "https://[", ""],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_formats_accept_and_refuse(name: str) -> None:
    check = CHECKS[options_pb2.Format.Value(name)]
    accepted, refused = CASES[name]
    for text in accepted:
        assert check(text) is None, text
    for text in refused:
        assert check(text), text


def test_every_text_format_is_checked_here_or_by_the_chains_driver() -> None:
    elsewhere = {
        "FORMAT_UNSPECIFIED",
        "FORMAT_CHAIN",  # by the availability stage
        "FORMAT_ADDRESS",
        "FORMAT_HASH",
        "FORMAT_BECH32",
        "FORMAT_RFC3339",  # timestamps, not text
        "FORMAT_UNIX_SECONDS",
        "FORMAT_TREE",  # answers only
        "FORMAT_INTEGER_TEXT",
        "FORMAT_BLOCK",  # numbers
        "FORMAT_HEX_BLOCK",
    }
    assert {options_pb2.Format.Name(number) for number in CHECKS} | elsewhere == set(options_pb2.Format.keys())
    assert set(CASES) == {options_pb2.Format.Name(number) for number in CHECKS}


def test_there_are_39_symbols() -> None:
    assert len(set(PRICED_SYMBOLS)) == len(PRICED_SYMBOLS) == 39
