from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf.json_format import ParseDict

from server.errors import ChainUnknown, ChainUnsupported, GatewayError, NotAvailable
from server.rpc.pipeline.availability import Availability
from server.rpc.pipeline.call import Method, RequestState

if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.operations import Operation


@pytest.fixture
def ask(families: dict[str, str], operation: Callable[[str], Operation]) -> Any:
    async def servicer(request: Any, context: Any) -> None:
        """Never reached."""

    async def ask(name: str, fields: dict[str, Any], **changes: Any) -> RequestState:
        wanted = replace(operation(name), **changes)
        method = Method(wanted.path, grpc.unary_unary_rpc_method_handler(servicer), wanted)
        state = RequestState("id", wanted, 0.0, {})
        check = Availability(families).check(method)
        assert check is not None
        check(ParseDict(fields, wanted.request()), state)
        return state

    return ask


async def refusal(ask: Any, *arguments: Any, **changes: Any) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await ask(*arguments, **changes)
    return caught.value


async def test_a_chain_that_has_the_operation_passes(ask: Any) -> None:
    state = await ask("getBalance", {"chain": "base"})
    assert state.chain == "base"


async def test_an_unknown_chain_is_not_found_and_the_nearest_is_named(ask: Any) -> None:
    error = await refusal(ask, "getBalance", {"chain": "etherium"})
    assert isinstance(error, ChainUnknown)
    assert (error.field, "did you mean `ethereum`?" in error.message) == ("chain", True)
    far = await refusal(ask, "getBalance", {"chain": "zzz\n" * 99})
    assert "chains are: ethereum, " in far.message
    assert far.message.isprintable()


async def test_a_chain_without_the_operation_is_reported_which_have_it(ask: Any) -> None:
    error = await refusal(ask, "getBalance", {"chain": "cosmoshub"})
    assert isinstance(error, ChainUnsupported)
    assert "ethereum, polygon" in error.message
    assert "noble" not in error.message


async def test_the_contracts_narrower_list_counts(ask: Any) -> None:
    changes = {"available": frozenset({"evm"})}
    assert (await ask("getPoolALend", {"chain": "optimism"}, **changes)).chain == "optimism"
    error = await refusal(ask, "getPoolALend", {"chain": "base"}, **changes)
    assert isinstance(error, ChainUnsupported)
    assert error.message.endswith("ethereum, optimism, arbitrum")


async def test_a_family_not_built_yet_is_not_available(ask: Any) -> None:
    error = await refusal(ask, "getBalance", {"chain": "solana"}, available=frozenset({"evm"}))
    assert isinstance(error, NotAvailable)
    assert error.field == "chain"


async def test_an_operation_not_built_yet_is_not_available_whatever_is_asked(ask: Any) -> None:
    for fields in ({}, {"chain": "nowhere"}):
        error = await refusal(ask, "getLogs", fields, available=frozenset())
        assert isinstance(error, NotAvailable)
        assert "getLogs" in error.message


async def test_every_item_is_looked_at(ask: Any) -> None:
    items = [{"chain": "ethereum", "block": "1"}, {"chain": "base", "block": "1"}]
    assert (await ask("getBlockByNumber", {"items": items})).chain == "ethereum"
    error = await refusal(ask, "getBlockByNumber", {"items": [*items, {"chain": "starknet"}]})
    assert isinstance(error, ChainUnsupported)
    assert error.field == "params[2].chain"


async def test_a_list_of_chains_is_looked_at(ask: Any) -> None:
    everything = frozenset({"evm", "solana", "bitcoin", "starknet", "cosmos"})
    error = await refusal(ask, "getPortfolio", {"chains": ["base", "bse"]}, available=everything)
    assert isinstance(error, ChainUnknown)
    assert error.field == "chains[1]"


async def test_a_filter_of_an_operation_without_chains_knows_every_chain(ask: Any) -> None:
    changes = {"available": frozenset({"chainless"})}
    await ask("getProtocols", {"chain": "bitcoin"}, **changes)
    await ask("getProtocols", {}, **changes)
    assert isinstance(await refusal(ask, "getProtocols", {"chain": "bitcorn"}, **changes), ChainUnknown)


async def test_an_absent_chain_is_left_to_validation(ask: Any) -> None:
    assert (await ask("getBalance", {})).chain == ""
