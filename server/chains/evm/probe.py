"""A program that a node runs without any contract being deployed: an account's code hash and the block it was read at.

An `eth_call` without `to` runs its data as creation code and returns what that code returns. Number and hash come out
of one execution, so they are of one block. Only instructions that every chain has had since Constantinople are used
(EIP-1052).
"""

from __future__ import annotations

from typing import NamedTuple

from server.chains.evm.chain import ARB_BLOCK_NUMBER, ARB_SYS, EvmChain
from server.chains.evm.quantity import word

# PUSH1 0, MSTORE: what is on the stack becomes word 0.
_STORE_0 = bytes.fromhex("600052")
# NUMBER
_NUMBER = bytes.fromhex("43")
# PUSH4 selector, PUSH1 224, SHL, PUSH1 0, MSTORE, then STATICCALL(GAS, ArbSys, 0, 4, 0, 32), POP: word 0 is its answer.
_ARB_NUMBER = (
    b"\x63" + ARB_BLOCK_NUMBER + bytes.fromhex("60e01b600052") + bytes.fromhex("6020600060046000")
    + b"\x60" + ARB_SYS[-1:] + bytes.fromhex("5afa50")
)  # fmt: skip
# EXTCODEHASH, PUSH1 32, MSTORE; RETURN(0, 64)
_FINISH = bytes.fromhex("3f60205260406000f3")

NO_CODE = bytes.fromhex("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
"""Keccak-256 of nothing: the hash of an account that exists and has no code; one that does not exist has zero."""


class CodeProof(NamedTuple):
    """The block an execution ran at, and the code hash it saw."""

    block: int
    code_hash: bytes


def code_proof_program(chain: EvmChain, account: bytes) -> bytes:
    """Return creation code that answers with block number and code hash of `account`, two words."""
    from_arb_sys = chain.number_call.target == ARB_SYS
    number = _ARB_NUMBER if from_arb_sys else _NUMBER + _STORE_0
    return number + b"\x73" + account + _FINISH


def parse_code_proof(data: bytes) -> CodeProof:
    """Return what the program answered.

    Raises:
        ValueError: that is no answer of the program.
    """
    if len(data) != 64:
        raise ValueError("not an answer of the program")
    return CodeProof(word(data), data[32:])
