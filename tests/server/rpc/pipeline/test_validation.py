"""The rules compiled from field options, on real request messages of the contract."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given
from hypothesis import strategies as st

from runtime.operations import load_operations, member
from server.errors import InvalidArgument
from server.rpc.pipeline.formats import item_root, shown
from server.rpc.pipeline.validation import _default, apply_rules, compile_rules
from tests.each import each

if TYPE_CHECKING:
    from google.protobuf.message import Message

OPERATIONS = {operation.name: operation for operation in load_operations()}
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
HASH = "0x" + "ab" * 32


def checked(name: str, **fields: Any) -> Any:
    """Return the operation's request with the fields (as protobuf names them), once it has passed its rules."""
    operation = OPERATIONS[name]
    request: Message = ParseDict(fields, operation.request())
    apply_rules(compile_rules(operation.method.input_type, item_root(operation)), request)
    return request


def refused(name: str, **fields: Any) -> tuple[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        checked(name, **fields)
    assert caught.value.field
    return caught.value.field, caught.value.message


@each(OPERATIONS.values(), name=attrgetter("name"))
def test_every_operation_has_rules_that_compile_and_defaults_that_pass(operation: Any) -> None:
    rules = compile_rules(operation.method.input_type, item_root(operation))
    request = operation.request()
    for field in operation.method.input_type.fields:
        # A default that its own rule refuses would be refused when a caller writes it.
        text = member(field).default_value
        if text:
            value = _default(field)
            setattr(request, field.name, value)
            for rule in rules:
                try:
                    apply_rules((rule,), request)
                except InvalidArgument as error:
                    assert error.field != field.json_name, error.message  # noqa: PT017


@pytest.mark.parametrize(
    ("name", "fields", "path", "words"),
    [
        ("getBalance", {"chain": "ethereum"}, "address", "address is required; for example"),
        ("getBalance", {"address": WALLET}, "chain", "chain is required"),
        ("getBalance", {"chain": "ethereum", "address": WALLET, "block_height": -1}, "blockHeight", "at least 0"),
        ("getBlockTransactions", {"chain": "ethereum"}, "blockNumber", "required"),
        ("getBlockByNumber", {}, "params", "params is required"),
        (
            "getBlockByNumber",
            {"items": [{"chain": "base", "block": "1"}] * 51},
            "params",
            "51 elements; give at most 50",
        ),
        (
            "getBlockByHash",
            {"items": [{"chain": "base", "hash": HASH}, {"chain": "base"}]},
            "params[1].hash",
            "required",
        ),
        ("getPrice", {"symbol": "eth"}, "symbol", "`eth`; write one of BTC, ETH"),
        ("getPrices", {"items": [{"symbol": "ETH"}, {"symbol": "<b>"}]}, "params[1].symbol", "write one of BTC"),
        ("getPriceHistory", {"symbol": "ETH", "days": 91}, "days", "is 91; write a number of at most 90"),
        ("getTopPrices", {"limit": 201}, "limit", "at most 200"),
        ("getUsage", {"page_size": 1001}, "limit", "at most 1000"),
        ("getUsage", {"page_size": -1}, "limit", "at least 1"),
        ("getLogs", {"chain": "ethereum", "page_size": 1001}, "page_size", "at most 1000"),
        ("getLogs", {"chain": "ethereum", "page_size": -1}, "page_size", "at least 1"),
        ("getTransfers", {"chain": "ethereum", "address": WALLET, "page_size": 1001}, "page_size", "at most 1000"),
        ("svc_*", {"method": "svc_a", "page_size": 101}, "page_size", "at most 100"),
        ("getTopPrices", {"currency": 9}, "currency", "is 9; write one of USD, EUR"),
        ("getYieldsLending", {"chain": "ethereum", "protocol": 99}, "protocol", "write one of lend-a, lend-b"),
        (
            "getLogs",
            {"chain": "ethereum", "from_block": "pending"},
            "fromBlock",
            "`pending`; write a whole block number",
        ),
        ("getLogs", {"chain": "ethereum", "from_block": "0x10"}, "fromBlock", "decimal digits, or `latest`"),
        ("getLogs", {"chain": "ethereum", "topic0": "0x12"}, "topic0", "`0x12`; write 0x and 64 hex digits"),
        ("getLogs", {"chain": "ethereum", "address": WALLET[:-1]}, "address", "40 hex digits"),
        ("getLogs", {"chain": "ethereum", "address": WALLET.replace("d8dA", "D8dA")}, "address", "checksum"),
        ("getNetworkCalendar", {"from_date": "2026-02-30"}, "from", "YYYY-MM-DD"),
        ("getPortfolio", {"address": WALLET, "chains": ["base"] * 25}, "chains", "at most 24"),
        ("getBalance", {"chain": "ethereum", "address": "a" * 4097}, "address", "4097 characters; write at most 4096"),
    ],
)
def test_mistakes_are_named_with_what_to_write(name: str, fields: dict[str, Any], path: str, words: str) -> None:
    field, message = refused(name, **fields)
    assert field == path
    assert message.startswith(path)
    assert words in message


def test_numbers_of_a_closed_set() -> None:
    fields = {"chain": "ethereum", "token_in": WALLET, "token_out": WALLET, "amount": "1.5"}
    assert checked("getDexAV3Quote", **fields, fee=500).fee == 500
    assert not checked("getDexAV3Quote", **fields).HasField("fee")
    assert refused("getDexAV3Quote", **fields, fee=501) == ("fee", "fee is 501; write one of 500, 3000, 10000")


def test_enum_values_of_a_narrowed_set() -> None:
    names = OPERATIONS["getYieldsLending"].method.input_type.fields_by_name["protocol"].enum_type.values_by_name
    outside = next(value.number for name, value in names.items() if "VAULT_A" in name)
    field, message = refused("getYieldsLending", chain="ethereum", protocol=outside)
    assert field == "protocol"
    assert "vault-a; write one of lend-a, lend-b, lend-c, lend-d" in message


def test_absent_parameters_get_their_defaults() -> None:
    assert checked("getTopPrices").limit == 50
    assert checked("searchTokens", q="eth").limit == 20
    assert (
        checked("getLogs", chain="ethereum").page_size
        == checked("getLogs", chain="base", page_size=0).page_size
        == 1000
    )
    assert checked("getTopPrices").currency == 1
    assert checked("getLogs", chain="ethereum").to_block == "latest"
    assert checked("getLogs", chain="ethereum", to_block="5").to_block == "5"
    assert checked("getPriceHistory", symbol="ETH", days=3).days == 3


def test_an_unset_optional_parameter_stays_unset() -> None:
    assert not checked("getBalance", chain="ethereum", address=WALLET).HasField("block_height")
    assert checked("getBalance", chain="ethereum", address=WALLET, block_height=0).block_height == 0


@pytest.mark.parametrize("casing", [str.lower, lambda text: "0x" + text[2:].upper(), str])
def test_addresses_are_accepted_in_any_valid_casing(casing: Any) -> None:
    assert checked("getLogs", chain="ethereum", address=casing(WALLET)).address == casing(WALLET)


@given(st.text(max_size=200))
def test_what_is_shown_is_short_printable_and_on_one_line(text: str) -> None:
    out = shown(text)
    assert len(out) <= 67
    assert out.isprintable()
    assert "\n" not in out


@given(st.text(max_size=90), st.sampled_from(["address", "topic0", "from_block", "to_block", "page_token"]))
def test_no_text_does_more_than_pass_or_be_refused(text: str, field: str) -> None:
    refusal = None
    try:
        request = checked("getLogs", chain="ethereum", **{field: text})
    except InvalidArgument as error:
        refusal = error.field
    named = {"from_block": "fromBlock", "to_block": "toBlock", "page_token": "cursor"}.get(field, field)
    assert refusal == named if refusal else getattr(request, field) == text
