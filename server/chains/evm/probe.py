"""A program that a node runs without any contract being deployed: an account's code hash, and where it was read.

An `eth_call` without `to` runs its data as creation code and returns what that code returns. Block, chain and hash
come out of one execution, so they belong together. Only instructions that every chain has had since Istanbul are
used (EIP-1052, EIP-1344): it runs at the newest block, or where all blocks have them.
"""

from __future__ import annotations

from typing import NamedTuple

from server.chains.evm.chain import ARB_BLOCK_NUMBER, ARB_SYS, EvmChain
from server.chains.sound_answers import OtherChain
from server.contracts.words import word

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
