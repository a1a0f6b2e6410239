"""Closed sets hold for numbers and enums on both faces' way in, not only for texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from waypost.v1 import quote_pb2, yield_pb2, yield_protocol_pb2

from server.errors import InvalidArgument
from server.rpc.pipeline.validation import apply_rules, compile_rules

if TYPE_CHECKING:
    from google.protobuf.message import Message


def check(request: Message) -> None:
    apply_rules(compile_rules(request.DESCRIPTOR), request)


def quote(fee: int | None) -> quote_pb2.GetDexAV3QuoteRequest:
    token = "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"
    return quote_pb2.GetDexAV3QuoteRequest(chain="ethereum", token_in=token, token_out=token, amount="1", fee=fee)


def lending(protocol: yield_protocol_pb2.YieldProtocol) -> yield_pb2.GetYieldsLendingRequest:
    return yield_pb2.GetYieldsLendingRequest(chain="ethereum", protocol=protocol, pool="USDC")


@pytest.mark.parametrize("fee", [None, 500, 3000, 10000])
def test_a_number_of_the_set_is_taken(fee: int | None) -> None:
    check(quote(fee))


@pytest.mark.parametrize("fee", [0, 100, 3001])
def test_a_number_beyond_the_set_is_refused_with_the_set(fee: int) -> None:
    with pytest.raises(InvalidArgument, match=r"fee is .*write one of 500, 3000, 10000"):
        check(quote(fee))


def test_an_enum_is_narrowed_to_the_literals_of_the_field() -> None:
    check(lending(yield_protocol_pb2.YIELD_PROTOCOL_LEND_B))
    with pytest.raises(InvalidArgument, match="protocol is vault-a; write one of lend-a, lend-b, lend-c, lend-d"):
        check(lending(yield_protocol_pb2.YIELD_PROTOCOL_VAULT_A))


def test_a_required_enum_must_be_given() -> None:
    with pytest.raises(InvalidArgument, match="protocol is required"):
        check(lending(yield_protocol_pb2.YIELD_PROTOCOL_UNSPECIFIED))
