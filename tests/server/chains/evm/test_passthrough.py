"""What is passed on to EVM nodes, and what is refused before a node hears of it."""

from __future__ import annotations

import json

import pytest

from server.chains.evm.passthrough import ALLOWED
from server.chains.shared.passthrough import MAX_PARAMS_BYTES, AllowList
from server.errors import InvalidArgument, RangeTooLarge

TRACED = '["0xab", {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}}]'


@pytest.mark.parametrize(
    "method",
    [
        "eth_sendRawTransaction",
        "eth_sendTransaction",
        "eth_sign",
        "eth_signTypedData_v4",
        "eth_accounts",
        "eth_newFilter",
        "eth_newBlockFilter",
        "eth_getFilterChanges",
        "eth_uninstallFilter",
        "eth_subscribe",
        "personal_unlockAccount",
        "admin_peers",
        "admin_addPeer",
        "miner_start",
        "debug_setHead",
        "debug_traceCall",
        "debug_traceBlockByNumber",
        "trace_filter",
        "trace_call",
        "txpool_content",
        "engine_newPayloadV3",
        "anvil_setBalance",
        "hardhat_reset",
        "evm_mine",
        "eth_simulateV1",
        "ETH_CHAINID",
        " eth_chainId",
        "eth_chainId ",
        "rpc_modules",
        "",
        "x" * 10_000,
    ],
)
def test_what_is_no_read_is_refused_by_name(method):
    with pytest.raises(InvalidArgument) as caught:
        ALLOWED.parse(method, b"[]")
    assert caught.value.field == "method"
    assert len(caught.value.message) < 200
    assert "eth_getTransactionCount" not in caught.value.message


def test_a_near_miss_is_named():
    with pytest.raises(InvalidArgument, match="eth_getBalance"):
        ALLOWED.parse("eth_getBalanse", None)


def test_parameters_stay_as_they_are_written():
    params = b'[ {"to":"0xAB", "gas" : 1e3,"x":18446744073709551617}, "latest" ,{"a":"\\u00e9"}]'
    items = ALLOWED.parse("eth_call", params)
    assert [bytes(item) for item in items] == [
        b'{"to":"0xAB", "gas" : 1e3,"x":18446744073709551617}',
        b'"latest"',
        b'{"a":"\\u00e9"}',
    ]
    assert ALLOWED.parse("eth_chainId", None) == ALLOWED.parse("eth_chainId", b"[]") == []


@pytest.mark.parametrize(
    "params",
    [
        b"",
        b"{}",
        b'"0x1"',
        b"[1",
        b"[1]]",
        b'["0x1","latest"],"id":7',
        b'[1],"method":"eth_sendRawTransaction","params":[]',
        b'["\xff"]',
        b"[NaN]",
        b"[" * 100_000,
        b'["' + b"0" * MAX_PARAMS_BYTES + b'"]',
    ],
)
def test_what_is_no_json_array_is_refused(params):
    with pytest.raises(InvalidArgument) as caught:
        ALLOWED.parse("eth_getBalance", params)
    assert caught.value.field == "params"


def test_more_parameters_than_the_method_has_are_refused():
    with pytest.raises(InvalidArgument, match="takes 2 at most"):
        ALLOWED.parse("eth_getBalance", b'["0x1","latest",{}]')


@pytest.mark.parametrize(
    "wanted",
    [
        {"fromBlock": "0x10", "toBlock": "0x20"},
        {"fromBlock": "0x0", "toBlock": hex(9_999)},
        {"blockHash": "0xab"},
        {"fromBlock": "latest"},
        {"fromBlock": "0x10"},
        {"address": ["0xab"], "topics": [None, ["0xcd"]]},
        {},
        {"fromBlock": "finalized", "toBlock": "latest"},
        {"fromBlock": None, "toBlock": None},
    ],
)
def test_log_filters_within_bounds(wanted):
    raw = json.dumps([wanted]).encode()
    assert [bytes(item) for item in ALLOWED.parse("eth_getLogs", raw)] == [raw[1:-1]]


@pytest.mark.parametrize(
    "wanted",
    [{"fromBlock": "0x0", "toBlock": hex(10_000)}, {"fromBlock": "earliest", "toBlock": "0xffffff"}],
)
def test_log_filters_over_too_many_blocks(wanted):
    with pytest.raises(RangeTooLarge, match="10000") as caught:
        ALLOWED.parse("eth_getLogs", json.dumps([wanted]).encode())
    assert caught.value.field == "params"


@pytest.mark.parametrize(
    "params",
    [
        b"[]",
        b"[null]",
        b'["0x1"]',
        b'[{"fromBlock":1,"toBlock":2}]',
        b'[{"fromBlock":"1","toBlock":"2"}]',
        b'[{"fromBlock":[],"toBlock":{}}]',
        b'[{"fromBlock":"finalized","toBlock":"0xffffff"}]',
        # Nodes written in Go match members without regard to case, and differ in which of two equal ones they take.
        b'[{"fromBlock":"0x10","toBlock":"0x11","FROMBLOCK":"0x0"}]',
        b'[{"fromBlock":"0x0","toBlock":"0x11","fromBlock":"0x10"}]',
        b'[{"fromBlock":"0x0","toBlock":"0x11","from\\u0042lock":"0x10"}]',
        b'[{"fromBlock":"0x10","toBlock":"0x11","limit":5}]',
    ],
)
def test_log_filters_that_nodes_could_read_otherwise(params):
    with pytest.raises(InvalidArgument) as caught:
        ALLOWED.parse("eth_getLogs", params)
    assert caught.value.field == "params"


def test_traces_need_a_tracer_of_the_nodes_own():
    assert len(ALLOWED.parse("debug_traceTransaction", TRACED.encode())) == 2
    for options in (
        "",
        ", {}",
        ', {"tracer": "{step: function() {}, fault: function() {}, result: function() {}}"}',
        ', {"tracer": "callTracer", "timeout": "10h"}',
        ', {"tracer": "callTracer", "tracer": "x"}',
        ', {"disableStorage": true}',
        ', "callTracer"',
    ):
        with pytest.raises(InvalidArgument):
            ALLOWED.parse("debug_traceTransaction", f'["0xab"{options}]'.encode())


@pytest.mark.parametrize(
    ("method", "params", "is_allowed"),
    [
        ("eth_feeHistory", '["0x400","latest",[50]]', True),
        ("eth_feeHistory", '[1024,"latest"]', True),
        ("eth_feeHistory", '["0x401","latest",[]]', False),
        ("eth_feeHistory", '[true,"latest"]', False),
        ("eth_feeHistory", '["many","latest"]', False),
        ("eth_feeHistory", "[]", False),
        ("eth_feeHistory", f'["0x1","latest",{[1] * 101}]', False),
        ("eth_getProof", f'["0xab",{["0x1"] * 100},"latest"]'.replace("'", '"'), True),
        ("eth_getProof", f'["0xab",{["0x1"] * 101},"latest"]'.replace("'", '"'), False),
    ],
)
def test_counts_and_lists_are_bounded(method, params, is_allowed):
    if is_allowed:
        ALLOWED.parse(method, params.encode())
    else:
        with pytest.raises(InvalidArgument):
            ALLOWED.parse(method, params.encode())


def test_a_table_with_an_unknown_check_is_refused(tmp_path):
    table = tmp_path / "passthrough.toml"
    table.write_text('[methods]\nread = 1\n[[checks.read]]\nposition = 0\ncheck = "nonsense"\n')
    with pytest.raises(KeyError, match="nonsense"):
        AllowList(table, {})
