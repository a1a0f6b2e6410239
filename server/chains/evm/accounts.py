"""Native balances, and the code at addresses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from server.chains.capabilities.accounts import Balance, ReadsBalances, WritesAddresses
from server.chains.capabilities.contracts import Code, ReadsCode, ReadsPrograms
from server.chains.evm.newest import read_newest_height
from server.chains.evm.reads.multicall import eth_balance_call
from server.chains.evm.reads.unbatched import NO_CODE, CodeProof, code_proof_program, parse_code_proof
from server.chains.shared.cache import CachedState
from server.chains.shared.validated_reads import Doubtful, OtherChain, read_validated
from server.chains.view import BlockAnswer
from server.contracts.address import address_bytes, checksum_address, parse_address
from server.contracts.keccak import keccak
from server.contracts.words import block_tag, check_count, json_data, word
from server.errors import InvalidArgument, NotSupported, Reverted, UpstreamUnavailable
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from server.chains.evm.chain import EvmChain
    from server.chains.evm.newest import Heights
    from server.chains.evm.reads.cached import CachedReads
    from server.chains.evm.reads.planner import ReadPlanner
    from server.chains.shared.cache import ChainCache
    from server.chains.view import ReadView
    from server.upstream.pool import Pool


class AccountReader(WritesAddresses, ReadsBalances):
    """Reads accounts of one chain."""

    def __init__(self, chain: EvmChain, reads: CachedReads, heights: Heights) -> None:
        self._chain = chain
        self._reads = reads
        self._heights = heights

    def canonical_address(self, text: str) -> str:
        """Return the address with its EIP-55 checksum; InvalidArgument for what is none."""
        return parse_address(text, "address")

    async def read_balance(self, address: str, view: ReadView) -> Balance:
        """Return the native balance of the account in wei.

        Multicall3's getEthBalance touches nothing but the balance, so balances of different callers share one
        execution.
        """
        account = parse_address(address, "address")
        call = eth_balance_call(self._chain.multicall, bytes.fromhex(account[2:]))
        read = self._reads.read_shared(view, (call,), is_whole=True)
        outcomes = await (read if view.block is None else self._heights.explain_block_error(read, view))
        if not outcomes[0].success or view.block is None:
            raise UpstreamUnavailable(f"the nodes of {self._chain.slug} did not answer a balance")
        try:
            raw = word(outcomes[0].data)
        except ValueError:
            raise UpstreamUnavailable(f"the nodes of {self._chain.slug} answered a malformed balance") from None
        return Balance(account, view.block, raw, self._chain.facts.native.decimals)


# `eth_getCode` does not state which block it was answered at, and two items of a JSON-RPC batch may see different
# heads. So at `latest` the code travels together with a `CodeProof` in one batch: the code whose hash the proof names
# is the code at the proof's block. Only when the two differ (the code changed in between), or the node runs no such
# program, or turns out to lag behind the others, the code is read again, pinned, in a second round trip. A
# read at a given block needs no proof where nodes answer historical reads with that block's state.

# An EIP-7702 delegation: these three bytes, then the target's address.
_DELEGATION = bytes.fromhex("ef0100")
_DELEGATION_SIZE = 23

_CODE = CachedState("code", msgspec.msgpack.encode, msgspec.msgpack.Decoder(Code).decode, lambda code: bool(code.code))


class CodeReader(ReadsCode, ReadsPrograms):
    """Reads code on one chain."""

    def __init__(self, chain: EvmChain, pool: Pool, planner: ReadPlanner, cache: ChainCache, heights: Heights) -> None:
        self._chain = chain
        self._pool = pool
        self._planner = planner
        self._cache = cache
        self._heights = heights

    async def read_code(self, address: str, view: ReadView) -> Code:
        """Return the code at `address`; empty for an account without code, 23 bytes for an EIP-7702 delegation."""
        return await self._heights.explain_block_error(self._read_cached(address, view), view)

    async def read_program_size(self, address: str, view: ReadView) -> int:
        """Return how many bytes of code are at the address."""
        return len((await self._read_cached(address, view)).code)

    async def _read_cached(self, address: str, view: ReadView) -> Code:
        account = parse_address(address, "address")
        return await self._cache.read_state(view, _CODE, address_bytes(account), lambda: self._read_code(account, view))

    async def _read_code(self, account: str, view: ReadView) -> Code:
        if view.block is None or not self._chain.history_is_pinned:
            async with view.turn():
                code = await self._proved(account, view)
        else:
            code = await self._code(account, view.block, view)
        is_delegation = len(code) == _DELEGATION_SIZE and code.startswith(_DELEGATION)
        target = checksum_address("0x" + code[3:].hex()) if is_delegation else None
        return Code(account, view.block or 0, code, target)

    async def _proved(self, account: str, view: ReadView) -> bytes:
        chain, asked = self._chain, view.block
        code, proof = await asyncio.gather(self._code(account, asked, view), self._proof(account, asked, view))
        if proof is not None:
            chain.check_block(view, proof.block)
            if _matches(code, proof.answer) and (asked is not None or self._keeps_pace(proof)):
                view.settle(proof.block, view.endpoint)
                return code
        if not chain.history_is_pinned:
            raise UpstreamUnavailable(f"the nodes of {chain.slug} do not prove which block they answer for; try again")
        if proof is not None and self._keeps_pace(proof):
            block = proof.block
        else:
            block = (await read_newest_height(self._pool, view.deadline)).block
        view.settle(block, view.endpoint)
        return await self._code(account, block, view)

    def _keeps_pace(self, block_answer: BlockAnswer[CodeProof]) -> bool:
        self._pool.observe_head(block_answer.endpoint, block_answer.block, block_answer.made_at)
        return not self._pool.heads.is_out_of_step(block_answer.endpoint)

    async def _code(self, account: str, block: int | None, view: ReadView) -> bytes:
        await self._planner.in_turn()
        policy = CallPolicy(min_block=block, prefer=view.endpoint, held=True)
        params = [account, block_tag(block)]
        code, _ = await read_validated(self._pool, "eth_getCode", params, json_data, policy, deadline=view.deadline)
        return code

    async def _proof(self, account: str, block: int | None, view: ReadView) -> BlockAnswer[CodeProof] | None:
        """Return the proof and its endpoint, None where the nodes run no such program."""
        program = "0x" + code_proof_program(self._chain, address_bytes(account)).hex()
        await self._planner.in_turn()
        policy = CallPolicy(min_block=block, prefer=view.endpoint, held=True)
        params = [{"data": program}, block_tag(block)]
        try:
            proof, endpoint = await read_validated(
                self._pool, "eth_call", params, self._read_proof, policy, deadline=view.deadline
            )
        except (Reverted, NotSupported, InvalidArgument):
            return None
        return BlockAnswer(proof, endpoint, proof.block, proof.made_at)

    def _read_proof(self, result: bytes) -> CodeProof:
        """Return the proof; Doubtful for what is none: the answers of nodes that run no such program vary."""
        try:
            proof = parse_code_proof(self._chain, json_data(result))
            check_count(proof.block)
            return proof
        except OtherChain:
            raise
        except ValueError:
            raise Doubtful(NotSupported("the nodes run no code without an address")) from None


def _matches(code: bytes, proof: CodeProof) -> bool:
    if not code:
        return proof.code_hash in (NO_CODE, bytes(32))
    return bool(keccak(code) == proof.code_hash)
