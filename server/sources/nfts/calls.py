"""The functions of EIP-721, its extensions and EIP-1155 that are read, as calls.

`gas` bounds how many calls share an execution: listing is slow in some contracts, and some make whole images.
"""

from __future__ import annotations

from server.contracts.address import address_bytes
from server.contracts.calls import ContractCall
from server.contracts.words import address_word

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


def of_any_token(contract: str, token_id: int) -> list[ContractCall]:
    """Return `ownerOf(uint256)`, `tokenURI(uint256)` and EIP-1155's `uri(uint256)`; no contract has all three."""
    number = _number(token_id)
    return [
        ContractCall(contract, _OWNER_OF + number, is_optional=True),
        ContractCall(contract, _TOKEN_URI + number, _GAS_OF_A_DOCUMENT, is_optional=True),
        ContractCall(contract, _URI + number, _GAS_OF_A_DOCUMENT, is_optional=True),
    ]


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
