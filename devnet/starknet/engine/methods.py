"""The JSON-RPC methods: reads of the specification 0.10, and two of our own that make blocks and transactions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from devnet import known_starknet as known
from devnet.starknet.engine.chain import L1_DEPTH, Block
from devnet.starknet.engine.documents import (
    block_document,
    felts,
    receipt_document,
    transaction_document,
    waiting_document,
)
from devnet.starknet.engine.execution import CHAIN_ID, Failed, NoContract, NoEntryPoint, run
from devnet.starknet.engine.world import transfer

if TYPE_CHECKING:
    from collections.abc import Callable

    from devnet.starknet.engine.chain import LocalStarknet, Transaction
    from devnet.starknet.engine.state import Facts

# The specification's own pattern: no leading zeros, at most 63 digits.
_FELT = re.compile(r"0x(0|[a-fA-F1-9][a-fA-F0-9]{0,62})")

_MOST_CALLED = 1000

Waiting = None
"""The pre-confirmed block."""


class RpcError(Exception):
    """An error of the specification: code, message and data."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error: dict[str, object] = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Methods:
    """Answers requests about one chain."""

    def __init__(self, chain: LocalStarknet) -> None:
        self._chain = chain
        self._called: dict[tuple[int, ...], list[str]] = {}
        self._methods: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
            "starknet_specVersion": (lambda: "0.10.2", ()),
            "starknet_chainId": (lambda: hex(CHAIN_ID), ()),
            "starknet_blockNumber": (lambda: chain.head.number, ()),
            "starknet_blockHashAndNumber": (self._head, ()),
            "starknet_syncing": (lambda: False, ()),
            "starknet_getBlockWithTxs": (lambda block_id: self._block(block_id, full=True), ("block_id",)),
            "starknet_getBlockWithTxHashes": (lambda block_id: self._block(block_id, full=False), ("block_id",)),
            "starknet_getBlockTransactionCount": (self._count, ("block_id",)),
            "starknet_getTransactionByHash": (self._transaction, ("transaction_hash",)),
            "starknet_getTransactionReceipt": (self._receipt, ("transaction_hash",)),
            "starknet_call": (self._call, ("request", "block_id")),
            "starknet_getClassHashAt": (self._class_hash, ("block_id", "contract_address")),
            "starknet_getNonce": (self._nonce, ("block_id", "contract_address")),
            "devnet_mine": (self._mine, ("blocks",)),
            "devnet_transfer": (self._transfer, ("token", "recipient", "amount")),
        }

    def answer(self, method: str, params: object) -> Any:
        """Return the result of one request; RpcError for what is refused. Parameters come by position or by name."""
        known_method = self._methods.get(method)
        if known_method is None:
            raise RpcError(-32601, "Method not found")
        function, names = known_method
        if isinstance(params, dict):
            if set(params) != set(names):
                raise _invalid()
            return function(*(params[name] for name in names))
        if not isinstance(params, list) or len(params) != len(names):
            raise _invalid()
        return function(*params)

    def _head(self) -> dict[str, Any]:
        return {"block_hash": hex(self._chain.head.hash), "block_number": self._chain.head.number}

    def _block(self, block_id: object, *, full: bool) -> dict[str, Any]:
        block = self._find(block_id)
        if block is Waiting:
            return waiting_document(self._chain, full=full)
        return block_document(self._chain, block, full=full)

    def _count(self, block_id: object) -> int:
        block = self._find(block_id)
        return len(self._chain.waiting if block is Waiting else block.transactions)

    def _transaction(self, transaction_hash: object) -> dict[str, Any]:
        return transaction_document(self._locate(transaction_hash)[0])

    def _receipt(self, transaction_hash: object) -> dict[str, Any]:
        return receipt_document(self._chain, *self._locate(transaction_hash))

    def _call(self, request: object, block_id: object) -> list[str]:
        if not isinstance(request, dict) or set(request) != {"contract_address", "entry_point_selector", "calldata"}:
            raise _invalid()
        if not isinstance(request["calldata"], list):
            raise _invalid()
        address, selector = _felt(request["contract_address"]), _felt(request["entry_point_selector"])
        calldata = [_felt(felt) for felt in request["calldata"]]
        block = self._find(block_id)
        if block is Waiting:
            return self._execute(block, address, selector, calldata)
        # What is called at a block stays as it is, and the Cairo VM takes a tenth of a second for it.
        call = (block.hash, address, selector, *calldata)
        if call not in self._called:
            if len(self._called) >= _MOST_CALLED:
                self._called.clear()
            self._called[call] = self._execute(block, address, selector, calldata)
        return self._called[call]

    def _execute(self, block: Block | None, address: int, selector: int, calldata: list[int]) -> list[str]:
        facts, number, timestamp = self._state(block)
        try:
            return felts(
                run(self._chain.state_of(facts.copy(), number, timestamp), address, selector, calldata).returned
            )
        except NoContract:
            raise RpcError(20, "Contract not found") from None
        except NoEntryPoint:
            raise RpcError(21, "Requested entrypoint does not exist in the contract") from None
        except Failed as error:
            raise RpcError(40, "Contract error", {"revert_error": str(error)}) from None

    def _class_hash(self, block_id: object, contract_address: object) -> str:
        class_hash = self._state(self._find(block_id))[0].classes.get(_felt(contract_address))
        if class_hash is None:
            raise RpcError(20, "Contract not found")
        return hex(class_hash)

    def _nonce(self, block_id: object, contract_address: object) -> str:
        facts, address = self._state(self._find(block_id))[0], _felt(contract_address)
        if address not in facts.classes:
            raise RpcError(20, "Contract not found")
        return hex(facts.nonces.get(address, 0))

    def _mine(self, blocks: object) -> int:
        if not isinstance(blocks, int) or not 0 < blocks <= 10_000:
            raise _invalid()
        return self._chain.mine(blocks)

    def _transfer(self, token: object, recipient: object, amount: object) -> str:
        call = transfer(_felt(token), _felt(recipient), _felt(amount))
        return hex(self._chain.invoke(_felt(known.ALICE), known.PRIVATE_KEY, [call]).signed.hash)

    def _state(self, block: Block | None) -> tuple[Facts, int, int]:
        if block is Waiting:
            return self._chain.facts, len(self._chain.blocks), self._chain.head.timestamp
        return block.facts, block.number, block.timestamp

    def _find(self, block_id: object) -> Block | None:
        chain = self._chain
        tags: dict[object, Block | None] = {
            "latest": chain.head,
            "pre_confirmed": Waiting,
            "l1_accepted": chain.blocks[max(chain.head.number - L1_DEPTH, 0)],
        }
        if isinstance(block_id, str) and block_id in tags:
            return tags[block_id]
        if not isinstance(block_id, dict) or len(block_id) != 1:
            raise _invalid()
        number, block_hash = block_id.get("block_number"), block_id.get("block_hash")
        if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
            if number < len(chain.blocks):
                return chain.blocks[number]
        elif block_hash is not None:
            wanted = _felt(block_hash)
            for block in chain.blocks:
                if block.hash == wanted:
                    return block
        else:
            raise _invalid()
        raise RpcError(24, "Block not found")

    def _locate(self, transaction_hash: object) -> tuple[Transaction, Block | None]:
        wanted = _felt(transaction_hash)
        for block in reversed(self._chain.blocks):
            for transaction in block.transactions:
                if transaction.signed.hash == wanted:
                    return transaction, block
        for transaction in self._chain.waiting:
            if transaction.signed.hash == wanted:
                return transaction, Waiting
        raise RpcError(29, "Transaction hash not found")


def _felt(value: object) -> int:
    if not isinstance(value, str) or not _FELT.fullmatch(value):
        raise _invalid()
    return int(value, 16)


def _invalid() -> RpcError:
    return RpcError(-32602, "Invalid params")
