"""The facts of one chain as the EVM readers use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.chains.evm.reads.multicall import (
    GET_BLOCK_NUMBER,
    GET_BLOCK_TIME,
    GET_CHAIN_ID,
    GET_LAST_BLOCK_HASH,
    GET_PREVRANDAO,
    Call,
)
from server.errors import MovedOn, NotSupported, UpstreamDisagrees

if TYPE_CHECKING:
    from server.chains.facts import ChainFacts
    from server.chains.view import ReadView

# Arbitrum's system contract; the NUMBER opcode there returns a block of the parent chain.
# Source: Arbitrum documentation, ArbSys precompile, arbBlockNumber().
ARB_SYS = bytes.fromhex("64").rjust(20, b"\0")
ARB_BLOCK_NUMBER = bytes.fromhex("a3b1b31d")

# Multicall3's canonical address: the same on every chain that has it.
MULTICALL3 = bytes.fromhex("cA11bde05977b3631167028862bE2a173976CA11")

_NEVER_DEPLOYED = 1 << 63

# What an execution can return of its block besides number and time; see `marks` in chains.toml.
_MARKS = {"parent": GET_LAST_BLOCK_HASH, "randao": GET_PREVRANDAO}


@dataclass(frozen=True, slots=True)
class EvmChain:
    """Facts of an EVM chain with addresses as bytes.

    `place_calls` are the calls whose return words are the block that an execution runs at, that block's time and the id
    of its chain; `mark_calls` are those whose return words distinguish blocks of one height. `history_is_pinned` states
    that nodes answer a historical read with that block's state or refuse it; where it is False, an answer counts only
    if it proves its block.
    """

    slug: str
    facts: ChainFacts
    multicall: bytes
    deploy_block: int
    place_calls: tuple[Call, Call, Call]
    mark_calls: tuple[Call, ...]
    history_is_pinned: bool

    @classmethod
    def of(cls, facts: ChainFacts) -> EvmChain:
        """Return the chain of one table of chains.toml."""
        multicall = MULTICALL3 if facts.multicall is None else bytes.fromhex(facts.multicall.address[2:])
        number_calls = {
            "opcode": Call(multicall, GET_BLOCK_NUMBER),
            "arbsys": Call(ARB_SYS, ARB_BLOCK_NUMBER),
        }
        return cls(
            slug=facts.slug,
            facts=facts,
            multicall=multicall,
            deploy_block=_NEVER_DEPLOYED if facts.multicall is None else facts.multicall.deploy_block,
            place_calls=(
                number_calls[facts.block_number],
                Call(multicall, GET_BLOCK_TIME),
                Call(multicall, GET_CHAIN_ID),
            ),
            mark_calls=tuple(Call(multicall, _MARKS[mark]) for mark in facts.marks),
            history_is_pinned=facts.history == "pinned",
        )

    def wrong_chain(self, chain_id: int) -> str | None:
        """Return why what was answered by the chain of that id is void, None if that is this chain."""
        expected = self.facts.chain_id
        # An untrusted number: no more of it than an id can have.
        return None if chain_id == expected else f"serves chain id {chain_id % (1 << 64)} instead of {expected}"

    def check_block(self, view: ReadView, answered: int) -> None:
        """Check that an answer which proves to be of block `answered` is of the view's block, where it has one.

        Raises:
            NotSupported: the caller chose the block, and the chain's nodes have the latest state alone.
            MovedOn: the chain moved on between two reads of the view; a new attempt may succeed (`read_in_steps`).
            UpstreamDisagrees: a node answered for another block although the chain's history is pinned.
        """
        asked = view.block
        if asked is None or answered == asked:
            return
        if self.history_is_pinned:
            raise UpstreamDisagrees(f"a node of {self.slug} answered for block {answered} when asked for block {asked}")
        if not view.is_chosen:
            raise MovedOn(f"{self.slug} moved on while it was read; try again", retry_after_ms=1000)
        raise NotSupported(
            f"the nodes of {self.slug} answer only with the latest state (block {answered}), not with that of block "
            f"{asked}: leave blockHeight out, or configure an archive node for the chain",
            field="blockHeight",
        )
