"""How single values are printed (design section 4, decisions 2.3 to 2.6)."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from waypost.v1 import (
    account_pb2,
    block_pb2,
    common_pb2,
    evm_pb2,
    gas_pb2,
    log_pb2,
    position_lending_pb2,
    receipt_pb2,
    registry_pb2,
    system_pb2,
    transaction_pb2,
    yield_share_pb2,
)

from transcoder import render
from transcoder.render import Unprintable, members_renderer, result_renderer, source_of


def printed(message: Any) -> Any:
    return json.loads(orjson.dumps(members_renderer(message.DESCRIPTOR)(message)))


def test_zeros_and_empty_lists_are_printed() -> None:
    block = printed(evm_pb2.EvmBlock())
    assert block["transactionCount"] == 0
    assert block["transactions"] == []
    assert block["baseFeePerGas"] is None
    assert "size" not in block
    assert "timestamp" not in block


def test_optional_members_and_zero_differ() -> None:
    assert printed(evm_pb2.EvmBlock(size=0))["size"] == 0


@pytest.mark.parametrize("number", [2**53 - 1, -(2**53 - 1), 2**53, 860000000000000000, -(2**60)])
def test_integers_that_doubles_hold_are_numbers(number: int) -> None:
    assert printed(account_pb2.GetBalanceResponse(block_height=number))["blockHeight"] == number


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, -(2**53) - 1])
def test_integers_that_doubles_lose_are_refused(number: int) -> None:
    with pytest.raises(Unprintable, match="block_height"):
        printed(account_pb2.GetBalanceResponse(block_height=number))


def test_an_lltv_is_a_number() -> None:
    messages = position_lending_pb2.DESCRIPTOR.message_types_by_name.values()
    (owner,) = [message for message in messages if "lltv" in message.fields_by_name]
    message = owner._concrete_class(lltv=860000000000000000)
    assert b'"lltv":860000000000000000' in orjson.dumps(members_renderer(owner)(message))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_only_finite_numbers_are_printed(number: float) -> None:
    with pytest.raises(Unprintable):
        printed(gas_pb2.ChainGas(base_fee_gwei=number))


@pytest.mark.parametrize("number", [0.1, 1e300, 5e-324, 12.0, 0.0, 1 / 3])
def test_numbers_are_printed_shortest(number: float) -> None:
    text = orjson.dumps(members_renderer(gas_pb2.ChainGas.DESCRIPTOR)(gas_pb2.ChainGas(base_fee_gwei=number)))
    assert json.loads(text)["baseFeeGwei"] == number
    assert len(text.split(b":")[2].split(b",")[0]) <= 22


@pytest.mark.parametrize(
    ("seconds", "nanos", "text"),
    [
        (0, 0, "1970-01-01T00:00:00Z"),
        (1767225600, 0, "2026-01-01T00:00:00Z"),
        (1767225600, 120_000_000, "2026-01-01T00:00:00.12Z"),
        (1767225600, 1, "2026-01-01T00:00:00.000000001Z"),
        (-62135596800, 0, "0001-01-01T00:00:00Z"),
        (253402300799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_times(seconds: int, nanos: int, text: str) -> None:
    assert render.rfc3339(Timestamp(seconds=seconds, nanos=nanos)) == text


def test_times_as_unix_seconds() -> None:
    assert printed(evm_pb2.EvmBlock(timestamp=Timestamp(seconds=7)))["timestamp"] == 7


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("5", 5), ("0", 0), ("9007199254740991", 2**53 - 1), ("9007199254740992", "9007199254740992")),
        *(("18:4", "18:4"), ("007", "007"), ("-5", "-5"), ("", None), ("٣", "٣"), ("5\n", "5\n")),
    ],
)
def test_cursors(text: str, value: Any) -> None:
    assert printed(log_pb2.GetLogsResponse(next_page_token=text))["cursor"] == value


def test_a_missing_cursor_is_null() -> None:
    assert printed(log_pb2.GetLogsResponse())["cursor"] is None


def test_enum_literals() -> None:
    assert printed(system_pb2.GetHealthResponse(status="HEALTH_STATUS_OK"))["status"] == "ok"


def test_native_members_follow_the_typed_ones_and_never_replace_them() -> None:
    block = block_pb2.Block(bitcoin=block_pb2.BitcoinBlock(number="7", hash="00ab"))
    block.bitcoin.native.json = b'{"hash":"other","confirmations":3,"difficulty":1.50,"big":12345678901234567890123}'
    text = orjson.dumps(members_renderer(block.DESCRIPTOR)(block))
    assert text == (b'{"number":"7","hash":"00ab","confirmations":3,"difficulty":1.50,"big":12345678901234567890123}')


def test_native_members_do_not_replace_members_further_out() -> None:
    answer = block_pb2.GetBlockTransactionsResponse(chain="starknet")
    answer.starknet.block_number = 5
    answer.starknet.native.json = b'{"chain":"x","block_number":6,"blockNumber":9}'
    data = printed(answer)
    assert (data["chain"], data["blockNumber"], data["block_number"]) == ("starknet", 5, 6)


@pytest.mark.parametrize("native", [b"[]", b"nonsense", b'{"a":"\xff"}', b'{"a":1}x'])
def test_broken_native_payloads_are_refused(native: bytes) -> None:
    block = block_pb2.Block()
    block.bitcoin.native.json = native
    with pytest.raises(Unprintable):
        printed(block)


def test_native_values_are_printed_as_they_came() -> None:
    value = common_pb2.NativeJson(json=b'{"b": 1.0,"a":[ 18446744073709551616 ]}')
    assert orjson.dumps({"x": render.native(value)}) == b'{"x":' + value.json + b"}"


def test_maps_are_sorted() -> None:
    answer = registry_pb2.GetRegistryContractsResponse()
    for key in ("zeta", "alpha", "mid"):
        answer.contracts[key].address = key
    assert list(printed(answer)["contracts"]) == ["alpha", "mid", "zeta"]


def test_a_map_is_printed_inline_beside_members_that_are_always_there() -> None:
    amounts = {"USDC": 1.5, "aUSDC": 2.0}
    held = yield_share_pb2.YieldBalance(balance=yield_share_pb2.BalanceAmounts(amounts=amounts))
    assert printed(held)["balance"] == {**amounts, "USD": None}
    held.balance.usd = 3.5
    assert printed(held)["balance"] == {**amounts, "USD": 3.5}
    assert printed(yield_share_pb2.YieldBalance(balance=yield_share_pb2.BalanceAmounts()))["balance"] == {"USD": None}


def test_a_map_with_an_order_is_printed_in_it() -> None:
    log = receipt_pb2.DecodedLog(args=dict.fromkeys(["alpha", "mid", "zeta"], "1"), arg_names=["zeta", "alpha"])
    reported = printed(log)
    assert list(reported["args"]) == ["zeta", "alpha", "mid"]
    assert "argNames" not in reported
    # Messages that were kept from before the order was reported print like any map.
    log.ClearField("arg_names")
    assert list(printed(log)["args"]) == ["alpha", "mid", "zeta"]
    log.arg_names.extend(["gone", "mid"])
    assert list(printed(log)["args"]) == ["mid", "alpha", "zeta"]


def test_a_data_field_is_the_data_itself() -> None:
    from runtime.operations import load_operations

    operation = next(entry for entry in load_operations() if entry.name == "getRegistryCategories")
    render = result_renderer(operation.response.DESCRIPTOR, operation.options.result)
    assert render(operation.response()) == b'{"data":[]}'


def frames(parents: list[int | None]) -> transaction_pb2.TraceTransactionResponse:
    answer = transaction_pb2.TraceTransactionResponse()
    for index, parent in enumerate(parents):
        answer.trace.add(type=f"T{index}", parent=parent)
    return answer


def shape(frame: Any) -> Any:
    return [frame["type"], *map(shape, frame.get("calls", []))]


def test_traces_are_nested() -> None:
    trace = printed(frames([None, 0, 1, 0, 1, 3]))["trace"]
    assert shape(trace) == ["T0", ["T1", ["T2"], ["T4"]], ["T3", ["T5"]]]
    assert "parent" not in json.dumps(trace)


def test_an_empty_trace_is_null() -> None:
    assert printed(frames([]))["trace"] is None


def test_traces_nest_as_deep_as_the_evm() -> None:
    depth = 5000
    answer = frames([None, *range(depth - 1)])
    text = orjson.dumps(members_renderer(answer.DESCRIPTOR)(answer))
    assert text.count(b'"calls":[') == depth - 1
    assert text.count(b'"type":"T') == depth


@pytest.mark.parametrize("parents", [[0], [None, None], [None, 1], [None, 2, 0], [None, -1]])
def test_rows_that_are_no_tree_are_refused(parents: list[int | None]) -> None:
    with pytest.raises(Unprintable):
        printed(frames(parents))


def test_the_generated_source_has_no_lookups_by_name() -> None:
    source = source_of(account_pb2.GetBalanceResponse.DESCRIPTOR)
    assert "getattr" not in source
    assert "m.block_height" in source
