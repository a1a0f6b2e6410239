"""The chain's state at one block, as the Cairo engine reads and writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from devnet.starknet.engine.cairo import BlockInfo, SyncState


@dataclass
class Facts:
    """Everything that contracts stored: class hashes and nonces by address, storage by (address, key)."""

    classes: dict[int, int] = field(default_factory=dict)
    nonces: dict[int, int] = field(default_factory=dict)
    storage: dict[tuple[int, int], int] = field(default_factory=dict)

    def copy(self) -> Facts:
        """Return the same facts, apart from these from now on."""
        return Facts(dict(self.classes), dict(self.nonces), dict(self.storage))


class WorkingState(SyncState):  # type: ignore[misc]
    """Facts under execution: reads see them, writes change them. `compiled` is by class hash."""

    def __init__(self, facts: Facts, compiled: dict[int, Any], block_info: Any) -> None:
        self.facts = facts
        self._compiled = compiled
        self._block_info = block_info

    @property
    def block_info(self) -> Any:
        """The block that is executed."""
        return self._block_info

    def update_block_info(self, block_info: Any) -> None:
        """Execute another block from now on."""
        self._block_info = block_info

    def get_compiled_class(self, compiled_class_hash: int) -> Any:
        """Return a class; the chain names compiled classes by their class hash."""
        return self._compiled[compiled_class_hash]

    def get_sierra_class(self, class_hash: int) -> Any:
        """Fail: executing asks for compiled classes alone."""
        raise KeyError(class_hash)

    def get_compiled_class_hash(self, class_hash: int) -> int:
        """Return the name of the compiled class."""
        return class_hash if class_hash in self._compiled else 0

    def set_compiled_class_hash(self, class_hash: int, compiled_class_hash: int) -> None:
        """Fail: the chain has no declare transactions."""
        raise KeyError(class_hash)

    def get_class_hash_at(self, contract_address: int) -> int:
        """Return the class of the contract, 0 where there is none."""
        return self.facts.classes.get(contract_address, 0)

    def set_class_hash_at(self, contract_address: int, class_hash: int) -> None:
        """Make the address a contract of the class."""
        self.facts.classes[contract_address] = class_hash

    def get_nonce_at(self, data_availability_mode: Any, contract_address: int) -> int:
        """Return the contract's nonce."""
        return self.facts.nonces.get(contract_address, 0)

    def increment_nonce(self, data_availability_mode: Any, contract_address: int) -> None:
        """Count one more transaction."""
        self.facts.nonces[contract_address] = self.facts.nonces.get(contract_address, 0) + 1

    def get_storage_at(self, data_availability_mode: Any, contract_address: int, key: int) -> int:
        """Return what the contract stored under the key, 0 if nothing."""
        return self.facts.storage.get((contract_address, key), 0)

    def set_storage_at(self, data_availability_mode: Any, contract_address: int, key: int, value: int) -> None:
        """Store a felt."""
        self.facts.storage[contract_address, key] = value


def block_info(number: int, timestamp: int) -> Any:
    """Return the engine's description of a block."""
    return BlockInfo.create_for_testing(block_number=number, block_timestamp=timestamp)
