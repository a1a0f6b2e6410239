"""Opens the Starknet family's driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.chains.memory import ChainMemory
from server.chains.shared.error_rules import ErrorRules
from server.chains.sound_answers import read_sound
from server.chains.starknet.answers import NEWEST, json_felt, json_members, json_number, json_text, parse_newest
from server.chains.starknet.driver import StarknetDriver
from server.upstream import Ask, Header, HeadQuery, IdentityCheck, Pool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.settings import EndpointSettings
    from server.chains.facts import ChainFacts
    from server.upstream.cache import Cache
    from server.upstream.observer import Observer
    from server.upstream.transport import Session

_ERRORS = ErrorRules("starknet")


def open_driver(
    facts: ChainFacts,
    endpoints: Sequence[EndpointSettings],
    http: Session,
    observer: Observer | None,
    cache: Cache | None,
    *,
    is_local: bool,
    hedge: bool = False,
) -> StarknetDriver:
    """Return a driver on the endpoints of kind `jsonrpc`; each proves its chain id before it is used.

    With `is_local` the age of a head says nothing, because the local chain makes blocks only when told to. With
    `hedge` slow reads are asked of a second endpoint as well.
    """
    pool = Pool(
        facts.slug,
        [endpoint for endpoint in endpoints if endpoint.kind == "jsonrpc"],
        _ERRORS,
        http,
        block_time=facts.block_time,
        verify=IdentityCheck("starknet_chainId", [], lambda result: _wrong_chain(facts, result)),
        head=HeadQuery(
            *NEWEST,
            lambda result: parse_newest(result).height,
            made_at=lambda result: parse_newest(result).made_at,
            header=_read_header,
        ),
        growth=None if is_local else facts.growth,
        observer=observer,
        hedge=hedge,
    )

    async def ask_finalized() -> int:
        # Nodes before 0.9 know no such tag and refuse it; then nothing is taken for final.
        block, _ = await read_sound(pool, "starknet_getBlockWithTxHashes", ["l1_accepted"], _read_number, deadline=None)
        return block

    memory = ChainMemory(facts.slug, cache, pool.heads, block_time=facts.block_time, ask_finalized=ask_finalized)
    pool.on_distrust(memory.forget)
    return StarknetDriver(facts, pool, memory, judges_age=not is_local)


async def _read_header(ask: Ask, block: int) -> Header:
    """Return the header of a block; ValueError where the node has none."""
    members = json_members(await ask("starknet_getBlockWithTxHashes", [{"block_number": block}]))
    try:
        number = json_number(members["block_number"])
        parent = hex(json_felt(members["parent_hash"])) if number > 0 else ""
        made_at = json_number(members["timestamp"])
        return Header(number, hex(json_felt(members["block_hash"])), made_at, number - 1, parent)
    except KeyError:
        raise ValueError("not a block") from None


def _read_number(result: bytes) -> int:
    """Return the number of a block as a node answered it; ValueError for what is no block."""
    try:
        return json_number(json_members(result)["block_number"])
    except KeyError:
        raise ValueError("not a block") from None


def _wrong_chain(facts: ChainFacts, result: bytes) -> str | None:
    """Return why a node that answered `starknet_chainId` so is of another chain, None if it is of this one.

    The chain id is a short text written as a felt: SN_MAIN is 0x534e5f4d41494e.
    """
    try:
        number = int(json_text(result), 16)
    except ValueError:
        return "does not tell its chain id"
    name = number.to_bytes(max((number.bit_length() + 7) // 8, 1), "big") if number > 0 else b""
    if name == str(facts.chain_id).encode("ascii"):
        return None
    return f"serves chain id {hex(number)[:66]} instead of 0x{str(facts.chain_id).encode('ascii').hex()}"
