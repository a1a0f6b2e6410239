"""Reads one by one, pinned to a block: where Multicall3 is not deployed, does not run, or must not be used.

On chains of unproved history such a read stands between two looks at the block that the node really runs calls at. A
look is an execution that returns its own block number: if the same endpoint returns the same block before and after a
read, the read is of that block, whatever block was asked for.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from server.chains.evm.chain import ARB_BLOCK_NUMBER, ARB_SYS, EvmChain
from server.chains.evm.newest import read_newest_height
from server.chains.evm.reads.multicall import GET_ETH_BALANCE, Call, Outcome
from server.chains.shared.validated_reads import Doubtful, OtherChain, read_validated
from server.chains.view import BlockAnswer
from server.contracts.words import block_tag, check_count, json_data, json_word, word
from server.errors import NotSupported, OutOfGas, Reverted, UpstreamDisagrees
from server.upstream.connector import CallPolicy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import TypeVar

    from server.chains.evm.reads.executions import Quarantine
    from server.upstream.pool import Pool

    Answer = TypeVar("Answer")


class UnbatchedReads:
    """Runs the planner's reads as one `eth_call` or `eth_getBalance` each, in one JSON-RPC batch.

    An address that burns all gas even so is put into quarantine.
    """

    def __init__(self, chain: EvmChain, pool: Pool, quarantine: Quarantine) -> None:
        self._chain = chain
        self._pool = pool
        self._quarantine = quarantine
        self._proofs = Proofs(chain, pool)

    async def read(
        self, block: int | None, calls: Sequence[Call], policy: CallPolicy, deadline: float | None
    ) -> tuple[int, str | None, list[Outcome]]:
        """Return block, endpoint and outcomes of `calls`.

        At `latest` the head's number is asked for first and the reads are pinned to it, a second round trip. Where
        nodes may answer with another block's state, the block is the one that they prove to have read.
        """
        if not self._chain.history_is_pinned:
            block_answer = await self._proofs.prove(
                block, lambda steered: self._all(calls, block, steered, deadline), policy, deadline
            )
            return block_answer.block, block_answer.endpoint, [outcome for _, outcome in block_answer.answer]
        if block is None:
            head = await read_newest_height(self._pool, deadline, policy)
            block = head.block
            policy = CallPolicy(min_block=block, prefer=head.endpoint, held=True, may_be_refused=policy.may_be_refused)
        answers = await self._all(calls, block, policy, deadline)
        endpoint = answers[0][0] if answers else policy.prefer
        return block, endpoint, [outcome for _, outcome in answers]

    async def _all(
        self, calls: Sequence[Call], block: int | None, policy: CallPolicy, deadline: float | None
    ) -> list[tuple[str | None, Outcome]]:
        # A contract may fail with any text; a balance cannot.
        plain = replace(policy, may_be_refused=False) if policy.may_be_refused else policy
        return await asyncio.gather(*(self._one(call, block, policy, plain, deadline) for call in calls))

    async def _one(
        self, call: Call, block: int | None, policy: CallPolicy, plain: CallPolicy, deadline: float | None
    ) -> tuple[str | None, Outcome]:
        tag = block_tag(block)
        if call.target == self._chain.multicall and call.data.startswith(GET_ETH_BALANCE):
            account = "0x" + call.data[-20:].hex()
            balance, endpoint = await read_validated(
                self._pool, "eth_getBalance", [account, tag], json_word, plain, deadline=deadline
            )
            return endpoint, Outcome(True, balance)
        message = {"to": "0x" + call.target.hex(), "data": "0x" + call.data.hex()}
        if call.sender is not None:
            message["from"] = "0x" + call.sender.hex()
        # Where the endpoint must be the one that a look was made by, others cannot be asked what they think.
        read = json_data if policy.avoid else _read_doubtful
        try:
            data, endpoint = await read_validated(
                self._pool, "eth_call", [message, tag], read, policy, deadline=deadline
            )
        except Reverted as error:
            if isinstance(error, OutOfGas):
                self._quarantine.add(call.target)
            return policy.prefer, Outcome(False, error.data or b"")
        except _NoData:
            return policy.prefer, Outcome(True, b"")
        return endpoint, Outcome(True, data)


class _NoData(NotSupported):
    """No endpoint's call returns anything."""


def _read_doubtful(result: bytes) -> bytes:
    """Return the data of a call; Doubtful for none, which addresses without code return, and nodes without state."""
    data = json_data(result)
    if not data:
        raise Doubtful(_NoData("no contract is there"))
    return data


LOOKS = 4
"""How often a read is made again because the chain moved on meanwhile."""


def look_at(chain: EvmChain, block: int | None) -> tuple[str, list[object]]:
    """Return the call, method and parameters, that returns the block it runs at when asked to run at `block`."""
    return "eth_call", [{"data": "0x" + code_proof_program(chain, bytes(20)).hex()}, block_tag(block)]


def read_look(chain: EvmChain, result: bytes) -> int:
    """Return the block that an execution really ran at; ValueError where the answer does not state it."""
    return check_count(parse_code_proof(chain, json_data(result)).block)


class Proofs:
    """Proves the blocks of reads on one chain."""

    def __init__(self, chain: EvmChain, pool: Pool) -> None:
        self._chain = chain
        self._pool = pool

    async def prove(
        self,
        block: int | None,
        ask: Callable[[CallPolicy], Awaitable[Answer]],
        policy: CallPolicy,
        deadline: float | None,
    ) -> BlockAnswer[Answer]:
        """Return what `ask` brings, made with the policy that it is given, and the block that it proves to be of.

        That need not be `block`. For reads whose failure is an answer: such a failure would fail a bundle as a whole,
        and the looks in it.

        Raises:
            UpstreamDisagrees: the chain moves on faster than it is read.
            GatewayError: why nodes could not be asked, or what `ask` raises.
        """
        method, params = look_at(self._chain, block)
        look = replace(policy, joinable=False, may_be_refused=False)
        read = partial(read_look, self._chain)
        for _ in range(LOOKS):
            before, endpoint = await read_validated(self._pool, method, params, read, look, deadline=deadline)
            steered = replace(policy, prefer=endpoint, avoid=frozenset(self._pool.labels) - {endpoint})
            answer = await ask(steered)
            again = replace(steered, joinable=False, may_be_refused=False)
            reply = await self._pool.call(method, params, again, deadline=deadline)
            try:
                after = read(reply.result)
            except ValueError as error:
                if isinstance(error, OtherChain):
                    self._pool.observe_chain(reply, error.reason)
                look = replace(look, prefer=None, found_invalid=look.found_invalid | {reply.endpoint})
                continue
            if endpoint == reply.endpoint and before == after:
                return BlockAnswer(answer, endpoint, after)
        raise UpstreamDisagrees(f"{self._chain.slug} moves on faster than the call runs; try again")


# PUSH1 0, MSTORE: what is on the stack becomes word 0.
_STORE_0 = bytes.fromhex("600052")
# NUMBER
_NUMBER = bytes.fromhex("43")
# PUSH4 selector, PUSH1 224, SHL, PUSH1 0, MSTORE, then STATICCALL(GAS, ArbSys, 0, 4, 0, 32), POP: word 0 is its answer.
_ARB_NUMBER = (
    b"\x63" + ARB_BLOCK_NUMBER + bytes.fromhex("60e01b600052") + bytes.fromhex("6020600060046000")
    + b"\x60" + ARB_SYS[-1:] + bytes.fromhex("5afa50")
)  # fmt: skip
# EXTCODEHASH, PUSH1 32, MSTORE; CHAINID, PUSH1 64, MSTORE; TIMESTAMP, PUSH1 96, MSTORE; RETURN(0, 128)
_FINISH = bytes.fromhex("3f602052" + "46604052" + "42606052" + "60806000f3")

NO_CODE = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
"""Keccak-256 of nothing: the hash of an account that exists and has no code; one that does not exist has zero."""


class CodeProof(NamedTuple):
    """The block, its time (unix seconds) and the chain that an execution ran at, and the code hash it saw."""

    block: int
    code_hash: bytes
    chain_id: int
    made_at: int


def code_proof_program(chain: EvmChain, account: bytes) -> bytes:
    """Return creation code that answers with block number, code hash of `account`, chain id and time: four words."""
    from_arb_sys = chain.place_calls[0].target == ARB_SYS
    number = _ARB_NUMBER if from_arb_sys else _NUMBER + _STORE_0
    return number + b"\x73" + account + _FINISH


def parse_code_proof(chain: EvmChain, data: bytes) -> CodeProof:
    """Return what the program answered.

    Raises:
        OtherChain: it ran on another chain than this one.
        ValueError: that is no answer of the program.
    """
    if len(data) != 128:
        raise ValueError("not an answer of the program")
    proof = CodeProof(word(data), data[32:64], word(data, 2), word(data, 3))
    reason = chain.wrong_chain(proof.chain_id)
    if reason is not None:
        raise OtherChain(reason)
    return proof
