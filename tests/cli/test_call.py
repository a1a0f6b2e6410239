"""`waypost call` against a running gateway (no chain is asked: these calls need none)."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from cli.__main__ import main
from cli.call import find_operation, parameters_json
from devnet.ports import free_port
from runtime.operations import load_operations
from runtime.settings import Settings
from server.app import Gateway
from transcoder.errors import Failure
from transcoder.params import parameters_reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def target(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    store: Path = tmp_path_factory.mktemp("store") / "waypost.db"
    values: dict[str, Any] = {
        "profile": "devnet",
        "grpc": {"port": 0},
        "storage": {"url": f"sqlite:///{store}"},
        "chains": {"ethereum": {"endpoints": [{"label": "closed", "url": "http://127.0.0.1:9"}]}},
    }
    gateway = await Gateway.create(Settings(**values))
    yield f"127.0.0.1:{await gateway.start()}"
    await gateway.drain(0)


async def call(*arguments: str) -> int:
    return await asyncio.to_thread(main, ["call", *arguments])


async def test_an_answer_is_printed_with_the_names_of_the_json_face(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await call("getHealth", "--target", target, "--key", "local") == 0
    answer = json.loads(capsys.readouterr().out)["data"]
    assert answer["status"] == "ok"
    assert isinstance(answer["uptimeSeconds"], int)


@pytest.mark.parametrize("place", range(4))
async def test_options_may_stand_anywhere_among_the_parameters(
    target: str, place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["listMarketplaceMethods", "appId=erc20", "abiType=event"]
    words[place:place] = ["--target", target, "--compact"]
    assert await call(*words) == 0
    methods = json.loads(capsys.readouterr().out)["data"]["methods"]
    assert {(one["appId"], one["abiType"]) for one in methods} == {("erc20", "event")}


async def test_an_option_that_is_none_is_refused_among_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        await call("getHealth", "--targt", "127.0.0.1:1", "chain=ethereum")
    assert caught.value.code == 2
    assert "unrecognized arguments: --targt" in capsys.readouterr().err


async def test_compact_is_one_line(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert await call("getHealth", "--target", target, "--key", "local", "--compact") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


async def test_the_key_may_come_from_the_environment(
    target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_KEY", "local")
    assert await call("getHealth", "--target", target) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "code", "reason", "words"),
    [
        (["getHealth", "--key", "wp_wrong"], 401, "KEY_INVALID", ""),
        (["getBlockHeight", "chain=etherum", "--key", "local"], 404, "CHAIN_UNKNOWN", "ethereum"),
        (["getBlockHeight", "--key", "local"], 400, "INVALID_ARGUMENT", "chain"),
        (["getBlockHeight", "chain=ethereum", "--key", "local"], 503, "UPSTREAM_UNAVAILABLE", ""),
        (["getBlockHeight", "chian=ethereum", "--key", "local"], 400, "UNKNOWN_PARAMETER", "chain"),
        (["getBlockHeight", "ethereum", "--key", "local"], 400, "INVALID_ARGUMENT", "key=value"),
        (["getBlockHeight", "chain=a", "chain=b", "--key", "local"], 400, "INVALID_ARGUMENT", "twice"),
        (["getBlockHeigth", "--key", "local"], 404, "METHOD_UNKNOWN", "did you mean getBlockHeight?"),
        (["svc_erc20_erc20api_call_nam", "--key", "local"], 404, "METHOD_UNKNOWN", "svc_erc20_erc20api_call_name"),
        (["svc_erc20_erc20api_call_name", "--key", "local"], 400, "INVALID_ARGUMENT", "chain is required"),
        (
            ["svc_cbeth_ethereum_cbeth_call_balanceOf", 'args=["0x12"]', "--key", "local"],
            400,
            "INVALID_ARGUMENT",
            "args",
        ),
        (["getFundingRates", "--key", "local"], 503, "UPSTREAM_UNAVAILABLE", "none is configured"),
    ],
)
async def test_errors_have_code_reason_and_words(
    target: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    reason: str,
    words: str,
) -> None:
    monkeypatch.delenv("WAYPOST_KEY", raising=False)
    assert await call(*arguments, "--target", target) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    error = json.loads(captured.err)["error"]
    assert (error["code"], error["reason"]) == (code, reason)
    assert words in error["message"]
    assert "127.0.0.1:9" not in captured.err


async def test_on_this_machine_the_devnet_needs_no_key(
    target: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYPOST_KEY", raising=False)
    assert await call("getHealth", "--target", target) == 0
    assert json.loads(capsys.readouterr().out)


async def test_a_gateway_that_is_no_devnet_asks_for_a_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYPOST_KEY", raising=False)
    storage: Any = {"url": f"sqlite:///{tmp_path}/waypost.db"}
    gateway = await Gateway.create(Settings(grpc={"port": 0}, storage=storage))  # type: ignore[arg-type]
    try:
        target = f"127.0.0.1:{await gateway.start()}"
        assert await call("getHealth", "--target", target) == 1
        error = json.loads(capsys.readouterr().err)["error"]
        assert (error["code"], error["reason"]) == (401, "KEY_MISSING")
        assert "--key or WAYPOST_KEY" in error["message"]
        _, key = await gateway.keys.create_key("caller")
        assert await call("getHealth", "--target", target, "--key", key) == 0
    finally:
        await gateway.drain(0)


async def test_no_gateway_is_reported_as_that(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"127.0.0.1:{free_port()}"
    assert await call("getHealth", "--key", "local", "--target", target, "--timeout", "5") == 1
    assert f"no gateway answers at {target}" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["a key", "é", "k\n", "k" * 129])
async def test_a_key_that_cannot_be_one_is_refused_before_it_is_sent(
    key: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert await call("getHealth", "--key", key, "--target", f"127.0.0.1:{free_port()}") == 1
    # All of it: gRPC writes of metadata that it cannot send by itself.
    error = json.loads(capfd.readouterr().err)["error"]
    assert (error["code"], error["reason"]) == (401, "KEY_INVALID")
    assert "malformed" in error["message"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        *(("--timeout", value, "give seconds above 0") for value in ("0", "-1", "nan", "inf", "1e400", "x")),
        ("--target", "", "give HOST:PORT"),
        ("--target", "\udcff:1", "give HOST:PORT"),
    ],
)
async def test_an_option_that_cannot_be_is_refused(
    option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        await call("getHealth", f"{option}={value}")
    assert caught.value.code == 2
    assert words in capsys.readouterr().err


async def test_bytes_that_are_no_text_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert await call("getBlockHeight", "chain=\udcff") == 1
    assert "UTF-8" in json.loads(capsys.readouterr().err)["error"]["message"]


@pytest.mark.parametrize(
    ("method", "parameters", "expected"),
    [
        ("getBalance", ["chain=ethereum", "address=0x1", "blockHeight=17"], {"block_height": 17}),
        ("getBalance", ["chain=ethereum", "address=123"], {"address": "123"}),
        ("getBalance", ["chain=ethereum", "address=a=b"], {"address": "a=b"}),
        ("searchTokens", ["q=1", "limit=5"], {"q": "1", "limit": 5}),
        ("getNftBatchBalance", ["addresses=0x1,0x2", "tokenIds=1,2"], {"addresses": ["0x1", "0x2"]}),
        (
            "getNftBatchBalance",
            ['addresses=["0x1"]', 'tokenIds=["115792089237316195423570985"]'],
            {"addresses": ["0x1"]},
        ),
    ],
)
def test_values_become_what_the_parameter_is(method: str, parameters: list[str], expected: dict[str, Any]) -> None:
    operation = find_operation(method)
    assert operation is not None
    request = parameters_reader(operation)(parameters_json(operation, parameters))
    for name, value in expected.items():
        found = getattr(request, name)
        assert (list(found) if isinstance(value, list) else found) == value


@pytest.mark.parametrize(
    "text", ["items=ethereum:1,base:2", 'items=[{"chain":"ethereum","block":1},{"chain":"base","block":2}]']
)
def test_items_in_both_forms(text: str) -> None:
    operation = find_operation("getBlockByNumber")
    assert operation is not None
    request: Any = parameters_reader(operation)(parameters_json(operation, [text]))
    assert [(item.chain, item.block) for item in request.items] == [("ethereum", 1), ("base", 2)]


@pytest.mark.parametrize("text", ["blockHeight=1.5", "blockHeight=true", "blockHeight=0x10", "blockHeight={}"])
def test_wrong_values_are_refused_by_the_codec(text: str) -> None:
    operation = find_operation("getBalance")
    assert operation is not None
    with pytest.raises(Failure) as caught:
        parameters_reader(operation)(parameters_json(operation, ["chain=ethereum", "address=0x1", text]))
    assert caught.value.code == 400


def test_every_operation_can_be_found_by_name_and_alias() -> None:
    for operation in load_operations():
        for name in (operation.name, *operation.aliases):
            assert find_operation(name) is operation
