"""How parameters are read: what arrives at the server, and what callers are reported (decisions 1.8, 1.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.transcoder.scripted import Face

BLOCKS = [{"chain": "ethereum", "block": 1}, {"chain": "base", "block": 22}]


@pytest.mark.parametrize(
    "params",
    [
        BLOCKS,
        {"items": BLOCKS},
        {"items": "ethereum:1,base:22"},
        {"items": " ethereum : 1 , base:22 "},
        {"items": ["ethereum:1", "base:22"]},
        {"items": ["ethereum:1", {"chain": "base", "block": "22"}]},
        [BLOCKS],
        [["ethereum:1", "base:22"]],
    ],
)
async def test_the_forms_of_items_are_one(face: Face, params: Any) -> None:
    assert "result" in await face.call("getBlockByNumber", params)
    _, request, _ = face.server.asked[-1]
    items = [(item.chain, item.block) for item in request.items]  # type: ignore[attr-defined]
    assert items == [("ethereum", 1), ("base", 22)]


async def test_hashes_may_hold_colons(face: Face) -> None:
    await face.call("getBlockByHash", {"items": "ethereum:0xa:b"})
    (item,) = face.server.asked[-1][1].items  # type: ignore[attr-defined]
    assert (item.chain, item.hash) == ("ethereum", "0xa:b")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ([{"chain": "ethereum", "block": 1}, {"chain": "base", "block": "x"}], "params[1].block"),
        ({"items": [{"chain": 5}]}, "params[0].chain"),
        ({"items": "ethereum:1,base"}, "params[1]"),
        ({"items": "ethereum:1,,base:2"}, "items"),
        ({"items": "ethereum:1,"}, "items"),
        ({"items": ":1"}, "params[0]"),
        ({"items": [7]}, "params[0]"),
        ({"items": 7}, "params"),
        ([{"chain": "a"}, {"chian": "b"}], "params[1].chian"),
        ({"itemz": "ethereum:1"}, "itemz"),
        ("ethereum:1", "params"),
        ([BLOCKS, BLOCKS], "params[0]"),
        ([[BLOCKS]], "params[0]"),
        ([{"chain": "e", "block": 1}] * 51, "params"),
        ({"items": ",".join(["e:1"] * 51)}, "params"),
    ],
)
async def test_mistakes_in_items_name_their_place(face: Face, params: Any, field: str) -> None:
    error = (await face.call("getBlockByNumber", params))["error"]
    assert (error["code"], error["data"]["field"]) == (400, field), error
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


async def test_no_items_reach_the_server_which_refuses_them(face: Face) -> None:
    forms: list[Any] = [None, {}, [], {"items": []}, {"items": ""}, {"items": None}]
    for params in forms:
        await face.call("getBlockByNumber", params)
        assert not face.server.asked[-1][1].items  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [7, "7", "007"[2:]])
async def test_integers_may_be_decimal_text(face: Face, value: Any) -> None:
    assert "result" in await face.call("getBalance", {"chain": "e", "address": "a", "blockHeight": value})
    assert face.server.asked[-1][1].block_height == 7  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "value", [True, False, 1.5, 1.0, "0x10", "1.0", "", " 7", "+7", "07", [], {}, 2**53, -(2**53), 2**64, "9" * 30]
)
async def test_other_integers_are_refused(face: Face, value: Any) -> None:
    error = (await face.call("getBalance", {"chain": "e", "address": "a", "blockHeight": value}))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (
        400,
        "INVALID_ARGUMENT",
        "blockHeight",
    )


async def test_null_means_absent(face: Face) -> None:
    await face.call("getBalance", {"chain": None, "address": "a", "blockHeight": None})
    _, request, _ = face.server.asked[-1]
    assert not request.HasField("block_height")
    assert request.chain == ""  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [1, True, [], {}, 1.5])
async def test_texts_must_be_texts(face: Face, value: Any) -> None:
    error = (await face.call("getBalance", {"chain": value, "address": "a"}))["error"]
    assert error["data"]["field"] == "chain"
    assert '"ethereum"' in error["message"]


@pytest.mark.parametrize(
    ("given", "hint"), [("adress", "address"), ("block_height", "blockHeight"), ("Chain", "chain"), ("zzzzz", "chain")]
)
async def test_unknown_parameters_name_the_nearest(face: Face, given: str, hint: str) -> None:
    error = (await face.call("getBalance", {"chain": "e", given: 1}))["error"]
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "UNKNOWN_PARAMETER", given)
    assert hint in error["message"]


async def test_operations_without_parameters_take_none(face: Face) -> None:
    error = (await face.call("getHealth", {"chain": "e"}))["error"]
    assert error["data"]["reason"] == "UNKNOWN_PARAMETER"
    assert "takes none" in error["message"]


@pytest.mark.parametrize("params", [5, "x", True])
async def test_params_are_objects_or_arrays(face: Face, params: Any) -> None:
    error = (await face.call("getBalance", params))["error"]
    assert error["code"] == 400
    assert "(chain, address, blockHeight)" in error["message"]


@pytest.mark.parametrize(
    ("method", "values", "names"),
    [
        ("getBalance", ["e", "a", 7], {"chain": "e", "address": "a", "blockHeight": 7}),
        ("getBalance", ["e", "a"], {"chain": "e", "address": "a"}),
        ("getBalance", ["e", "a", None], {"chain": "e", "address": "a"}),
        ("getBalance", [None, "a"], {"address": "a"}),
        ("estimateGas", ["e", "t", "f", "0x1"], {"chain": "e", "to": "t", "from": "f", "value": "0x1"}),
        ("getHealth", [], {}),
    ],
)
async def test_params_may_be_given_by_position(face: Face, method: str, values: Any, names: dict[str, Any]) -> None:
    assert "result" in await face.call(method, values)
    assert "result" in await face.call(method, names)
    assert face.server.asked[-2][1] == face.server.asked[-1][1]
    assert len(face.server.asked[-1][1].ListFields()) == len(names)


async def test_raw_values_by_position_arrive_as_they_were_written(face: Face) -> None:
    value = b'[ 1.50,{"a" : 1e2} ]'
    for params in (b'["e" , "m" ,%b]', b'{"chain":"e","method":"m","params":%b}'):
        body = b'{"jsonrpc":"2.0","id":1,"method":"chainRpc","params":' + params % value + b"}"
        assert "result" in (await face.post(body))[1]
    assert face.server.asked[-2][1] == face.server.asked[-1][1]
    assert len(face.server.asked[-1][1].ListFields()) == 3


@pytest.mark.parametrize(
    ("method", "values", "field", "words"),
    [
        ("getBalance", ["e", "a", 7, 8], "params", "chain, address, blockHeight"),
        ("getBalance", ["e", "a", 7, None], "params", "chain, address, blockHeight"),
        ("getHealth", [1], "params", "none"),
        ("chainRpc", ["e", "m", [], 1], "params", "chain, method, params"),
        ("getBalance", [1, "a"], "chain", "text"),
        ("getBalance", [{"chain": "e", "address": "a"}], "chain", "text"),
        ("getBalance", ["e", "a", "x"], "blockHeight", "integer"),
        ("svc_x", ["e"], "", "named members"),
    ],
)
async def test_mistakes_by_position_name_their_parameter(
    face: Face, method: str, values: Any, field: str, words: str
) -> None:
    error = (await face.call(method, values))["error"]
    assert (error["code"], error["data"]["reason"], error["data"].get("field", "")) == (400, "INVALID_ARGUMENT", field)
    assert words in error["message"]
    assert [name for name, _, _ in face.server.asked] == ["Admit"]


@pytest.mark.parametrize(
    ("name", "hint"), [("getBalanc", "getBalance"), ("GETBALANCE", "getBalance"), ("eth_call", None), ("", None)]
)
async def test_unknown_methods_name_the_nearest(face: Face, name: str, hint: str | None) -> None:
    error = (await face.call(name))["error"]
    assert (error["code"], error["data"]["reason"]) == (404, "METHOD_UNKNOWN")
    assert (hint or "rpc.discover") in error["message"]


async def test_a_huge_method_name_is_cut(face: Face) -> None:
    error = (await face.call("g" * 50_000))["error"]
    assert error["code"] == 404
    assert len(error["message"]) < 300


async def test_products_names_are_accepted(face: Face) -> None:
    assert "result" in await face.call("getAaveV3UserPositions", {"chain": "ethereum", "address": "0x"})
    assert face.server.asked[-1][0] == "getLendAV3UserPositions"


async def test_published_methods_carry_their_own_name(face: Face) -> None:
    assert "result" in await face.call("svc_erc20_erc20api_call_name", {"chain": "base", "args": [1, {"b": 2.50}]})
    name, request, _ = face.server.asked[-1]
    assert name == "svc_*"
    assert request.method == "svc_erc20_erc20api_call_name"  # type: ignore[attr-defined]
    for strange in ("method", "methd", "limit"):
        error = (await face.call("svc_x", {"chain": "base", strange: "svc_y"}))["error"]
        assert (error["data"]["reason"], error["data"]["field"]) == ("UNKNOWN_PARAMETER", strange)
        assert "method" not in error["message"].partition(";")[2], "no parameter of theirs"


async def test_native_params_arrive_as_written(face: Face) -> None:
    native = '[ 1.50, 123456789012345678901234567890, {"b":1,"a":"\\u00e9"} , 1e400]'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"chainRpc","params":{{"chain":"e","method":"m","params":{native}}}}}'
    assert "result" in (await face.post(body.encode()))[1]
    assert face.server.asked[-1][1].params.json == native  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["0xa,0xb", " 0xa , 0xb ", ["0xa", "0xb"]])
async def test_comma_separated_lists(face: Face, value: Any) -> None:
    assert "result" in await face.call("getLendCVaultData", {"chain": "e", "vaults": value})
    assert list(face.server.asked[-1][1].vaults) == ["0xa", "0xb"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["0xa,,0xb", ",0xa", 5, ["0xa", 5], ["0xa", None]])
async def test_malformed_lists(face: Face, value: Any) -> None:
    error = (await face.call("getLendCVaultData", {"chain": "e", "vaults": value}))["error"]
    assert error["code"] == 400
    assert error["data"]["field"].startswith("vaults")


@pytest.mark.parametrize(("value", "text"), [(5, "5"), ("5", "5"), ("latest", "latest"), ("5:2", "5:2")])
async def test_cursors_may_be_integers(face: Face, value: Any, text: str) -> None:
    assert "result" in await face.call("getLogs", {"chain": "e", "cursor": value})
    assert face.server.asked[-1][1].page_token == text  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("getUsage", {"limit": 0}, "limit is 0; write a number of at least 1"),
        ("getUsage", {"limit": "0"}, "limit is 0; write a number of at least 1"),
        (
            "getLogs",
            {"chain": "e", "cursor": ""},
            "cursor is ``; write the cursor of the previous page as it was answered",
        ),
    ],
)
async def test_what_means_none_in_messages_is_no_value_in_json(
    face: Face, method: str, params: dict[str, Any], message: str
) -> None:
    error = (await face.call(method, params))["error"]
    assert (error["code"], error["data"]["reason"], error["message"]) == (400, "INVALID_ARGUMENT", message)


@pytest.mark.parametrize("name", ["pageSize", "page_size", "pageToken"])
@pytest.mark.parametrize("method", ["getLogs", "getTransfers", "svc_a"])
async def test_pages_are_asked_for_by_the_contracts_names_in_json(face: Face, method: str, name: str) -> None:
    error = (await face.call(method, {name: 5}))["error"]
    assert (error["data"]["reason"], error["data"]["field"]) == ("UNKNOWN_PARAMETER", name)


@pytest.mark.parametrize(
    ("value", "number"), [(5, 5), ("5", 5), ("007", 7), (0, 0), ("latest", -1), (2**53 - 1, 2**53 - 1)]
)
async def test_a_block_is_an_integer_its_text_or_latest(face: Face, value: Any, number: int) -> None:
    assert "result" in await face.call("getLogs", {"chain": "e", "fromBlock": value})
    request = face.server.asked[-1][1]
    assert (request.from_block, request.HasField("to_block")) == (number, False)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["", "-1", -1, str(2**53), 2**53, "Latest", "pending", "0x1", "1.0", 1.5, True, []])
async def test_what_is_no_block_is_refused_by_name(face: Face, value: Any) -> None:
    error = (await face.call("getLogs", {"chain": "e", "fromBlock": value}))["error"]
    assert (error["code"], error["data"]["field"]) == (400, "fromBlock")
    if isinstance(value, (str, int)) and value is not True:
        words = f"fromBlock is `{value}`; write a whole block number in decimal digits, or `latest`"
        assert error["message"] == words


@pytest.mark.parametrize(
    ("length", "message"),
    [
        (64, f"fromBlock is `{'7' * 64}`; write a whole block number in decimal digits, or `latest`"),
        (4096, f"fromBlock is `{'7' * 64}…`; write a whole block number in decimal digits, or `latest`"),
        (4097, "fromBlock has 4097 characters; write at most 4096"),
    ],
)
async def test_a_long_text_for_a_block_is_refused_as_every_text_is(face: Face, length: int, message: str) -> None:
    error = (await face.call("getLogs", {"chain": "e", "fromBlock": "7" * length}))["error"]
    assert (error["message"], error["data"]["field"]) == (message, "fromBlock")


@pytest.mark.parametrize(
    ("value", "number"),
    [(26050001, 26050001), (0, 0), ("0x18D7DD1", 26050001), ("latest", -1), ("0x" + "f" * 14, 2**56 - 1)],
)
async def test_a_hex_block_may_be_an_integer(face: Face, value: Any, number: int) -> None:
    params = {"chain": "e", "to": "0x0", "data": "0x", "block": value}
    assert "result" in await face.call("simulateCall", params)
    assert face.server.asked[-1][1].block == number  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["", "0x", "5", "earliest", "0x" + "f" * 15, "0xg"])
async def test_what_is_no_hex_block_is_refused_by_name(face: Face, value: str) -> None:
    params = {"chain": "e", "to": "0x0", "data": "0x", "block": value}
    error = (await face.call("simulateCall", params))["error"]
    assert error["message"] == f"block is `{value}`; write a hex block number, or `latest`"
    assert error["data"]["field"] == "block"


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("getBlockTransactions", {"chain": "ethereum"}, "blockNumber"),
        ("getBlockTransactions", {"chain": "ethereum", "blockNumber": None}, "blockNumber"),
        ("getBlockByNumber", [{"chain": "ethereum", "block": 0}, {"chain": "base"}], "params[1].block"),
    ],
)
async def test_a_required_number_that_is_not_given_is_refused(face: Face, method: str, params: Any, field: str) -> None:
    error = (await face.call(method, params))["error"]
    assert error["message"] == f"{field} is required; for example 26050001"
    assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (400, "INVALID_ARGUMENT", field)


async def test_a_required_number_may_be_zero(face: Face) -> None:
    assert "result" in await face.call("getBlockTransactions", {"chain": "ethereum", "blockNumber": 0})
