"""The functions of EIP-721, its extensions and EIP-1155 that are read, as calls.

`gas` bounds how many calls share an execution: listing is slow in some contracts, and some make whole images.
"""

from __future__ import annotations

from server.chains.contract_reads import ContractCall
from server.chains.evm.address import address_bytes
from server.chains.evm.quantity import address_word

_NAME = bytes.fromhex("06fdde03")
_SYMBOL = bytes.fromhex("95d89b41")
_TOTAL_SUPPLY = bytes.fromhex("18160ddd")
_OWNER_OF = bytes.fromhex("6352211e")
_BALANCE_OF = bytes.fromhex("70a08231")
_TOKEN_OF_OWNER_BY_INDEX = bytes.fromhex("2f745c59")
_TOKEN_URI = bytes.fromhex("c87b56dd")
_URI = bytes.fromhex("0e89341c")
_MULTI_BALANCE_OF = bytes.fromhex("00fdd58e")

_GAS_OF_A_DOCUMENT = 2_000_000


def name(contract: str) -> ContractCall:
    """Return `name()`."""
    return ContractCall(contract, _NAME)


def symbol(contract: str) -> ContractCall:
    """Return `symbol()`."""
    return ContractCall(contract, _SYMBOL)


def total_supply(contract: str) -> ContractCall:
    """Return `totalSupply()`."""
    return ContractCall(contract, _TOTAL_SUPPLY)


def owner_of(contract: str, token_id: int) -> ContractCall:
    """Return `ownerOf(uint256)`."""
    return ContractCall(contract, _OWNER_OF + _number(token_id))


def token_uri(contract: str, token_id: int) -> ContractCall:
    """Return `tokenURI(uint256)`."""
    return ContractCall(contract, _TOKEN_URI + _number(token_id), _GAS_OF_A_DOCUMENT)


def uri(contract: str, token_id: int) -> ContractCall:
    """Return `uri(uint256)` of EIP-1155."""
    return ContractCall(contract, _URI + _number(token_id), _GAS_OF_A_DOCUMENT)


def balance_of(contract: str, account: str) -> ContractCall:
    """Return `balanceOf(address)`."""
    return ContractCall(contract, _BALANCE_OF + address_word(address_bytes(account)))


def token_of(contract: str, account: str, index: int) -> ContractCall:
    """Return `tokenOfOwnerByIndex(address,uint256)`."""
    data = _TOKEN_OF_OWNER_BY_INDEX + address_word(address_bytes(account)) + _number(index)
    return ContractCall(contract, data)


def multi_balance(contract: str, account: str, token_id: int) -> ContractCall:
    """Return `balanceOf(address,uint256)` of EIP-1155."""
    data = _MULTI_BALANCE_OF + address_word(address_bytes(account)) + _number(token_id)
    return ContractCall(contract, data)


def _number(value: int) -> bytes:
    return value.to_bytes(32, "big")
