"""Revert data in the words of an ABI's errors."""

from __future__ import annotations

from typing import Any

import pytest
from eth_abi import encode
from eth_utils import keccak

from server.contracts.events import CustomError

VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def error(*inputs: dict[str, Any]) -> CustomError:
    return CustomError.parse({"type": "error", "name": "Refused", "inputs": list(inputs)})


def data(types: list[str], values: list[Any]) -> bytes:
    return keccak(text=f"Refused({','.join(types)})")[:4] + encode(types, values)


def test_arguments_are_reported_with_their_names() -> None:
    refused = error({"name": "who", "type": "address"}, {"type": "bool"}, {"name": "why", "type": "string[]"})
    raw = data(["address", "bool", "string[]"], [VITALIK, True, ["a\nb", "c"]])
    assert refused.describe(raw) == f"Refused(who: {VITALIK}, true, why: [a b, c])"
    assert error().describe(data([], [])) == "Refused()"


def test_other_data_is_none_of_it() -> None:
    refused = error({"name": "much", "type": "uint8"})
    for raw in (b"", b"\0" * 36, data(["uint8"], [1])[:-1], data(["uint8"], [1])[:4] + b"\1" * 32):
        assert refused.describe(raw) is None


def test_long_ones_are_cut_and_hostile_ones_given_up() -> None:
    assert len(error({"type": "string"}).describe(data(["string"], ["x" * 700])) or "") == 515
    assert error({"type": "uint8[]"}).describe(data(["uint8[]"], [[1] * 100])) is None


@pytest.mark.parametrize("item", [{"type": "function", "name": "f"}, {"type": "error"}, {"type": "error", "name": "1"}])
def test_what_is_no_error_is_refused(item: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not an error"):
        CustomError.parse(item)
