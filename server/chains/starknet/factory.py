"""Opens the drivers of Starknet chains: one pool of JSON-RPC endpoints, and every reader on it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from server.chains.shared.chain_health import HeadReader, HeadSource
from server.chains.shared.error_rules import ErrorRules
from server.chains.shared.factory import ChainFactory, Driver, FinalizedQuery, PoolPlan
from server.chains.shared.passthrough import PassThrough, allow_list
from server.chains.starknet.answers import (
    NEWEST,
    NEWEST_CALL,
    json_felt,
    json_members,
    json_number,
    json_text,
    parse_address,
    parse_newest,
)
from server.chains.starknet.blocks import BlockReader, TransactionReader
from server.chains.starknet.following import LinkReader
from server.chains.starknet.tokens import BalanceReader, HoldingReader, TokenReader
from server.upstream import Ask, Header, HeadQuery, IdentityCheck

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
from server.chains.shared.factory import ChainParts

_ERRORS = ErrorRules("starknet")


class StarknetFactory(ChainFactory):
    """Opens the driver of one chain."""

    def plans(self) -> tuple[PoolPlan]:
        """Return the plan of the kind `jsonrpc`."""
        return (
            PoolPlan(
                kind="jsonrpc",
                errors=_ERRORS,
                verify=IdentityCheck("starknet_chainId", [], partial(_wrong_chain, self.facts)),
                head=HeadQuery(
                    *NEWEST,
                    lambda result: parse_newest(result).height,
                    made_at=lambda result: parse_newest(result).made_at,
                    header=_read_header,
                ),
                # Nodes before 0.9 know no such tag and refuse it; then nothing is taken for final.
                finalized=FinalizedQuery("starknet_getBlockWithTxHashes", ["l1_accepted"], _read_number),
            ),
        )

    def driver(self, parts: ChainParts) -> Driver:
        """Return the driver; ValueError where chains.toml names no contract of the native coin."""
        facts, pool, cache = self.facts, parts.pools["jsonrpc"], parts.caches["jsonrpc"]
        if facts.native.address is None:
            raise ValueError(f"chains.toml names no contract of the native coin of {facts.slug}")
        native = parse_address(facts.native.address, "native")
        heads = HeadReader(facts.block_time, HeadSource(pool, NEWEST_CALL), judges_age=parts.judges_age)
        tokens = TokenReader(facts.slug, pool, native, facts.native.decimals, cache)
        balances, transactions = BalanceReader(native, tokens), TransactionReader(facts, pool, cache)
        readers = (
            heads,
            BlockReader(facts.slug, pool, cache),
            LinkReader(pool, parts.ask_final["jsonrpc"]),
            transactions,
            balances,
            HoldingReader(facts, native, tokens, pool),
            PassThrough(pool, allow_list("starknet")),
        )
        return Driver(parts, readers)


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
        return "does not report its chain id"
    name = number.to_bytes(max((number.bit_length() + 7) // 8, 1), "big") if number > 0 else b""
    if name == str(facts.chain_id).encode("ascii"):
        return None
    return f"serves chain id {hex(number)[:66]} instead of 0x{str(facts.chain_id).encode('ascii').hex()}"
