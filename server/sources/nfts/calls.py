"""The functions of EIP-721, its extensions and EIP-1155 that are read, as calls.

`gas` bounds how many calls share an execution: listing is slow in some contracts, and some make whole images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.contracts.interface import Interface

if TYPE_CHECKING:
    from server.contracts.calls import ContractCall

_NFT = Interface.load("server.sources.nfts", "nft")
_NAME, _SYMBOL, _TOTAL_SUPPLY = _NFT["name"], _NFT["symbol"], _NFT["totalSupply"]
_OWNER_OF, _TOKEN_URI, _URI = _NFT["ownerOf"], _NFT["tokenURI"], _NFT["uri"]
_BALANCE_OF, _MULTI_BALANCE_OF = _NFT["balanceOf(address)"], _NFT["balanceOf(address,uint256)"]
_TOKEN_OF_OWNER_BY_INDEX = _NFT["tokenOfOwnerByIndex"]

_GAS_OF_A_DOCUMENT = 2_000_000


def name(contract: str) -> ContractCall:
    """Return `name()`."""
    return _NAME.call(contract)


def symbol(contract: str) -> ContractCall:
    """Return `symbol()`."""
    return _SYMBOL.call(contract)


def total_supply(contract: str) -> ContractCall:
    """Return `totalSupply()`."""
    return _TOTAL_SUPPLY.call(contract)


def owner_of(contract: str, token_id: int) -> ContractCall:
    """Return `ownerOf(uint256)`."""
    return _OWNER_OF.call(contract, token_id)


def of_any_token(contract: str, token_id: int) -> list[ContractCall]:
    """Return `ownerOf(uint256)`, `tokenURI(uint256)` and EIP-1155's `uri(uint256)`; no contract has all three."""
    return [
        _OWNER_OF.call(contract, token_id, is_optional=True),
        _TOKEN_URI.call(contract, token_id, gas=_GAS_OF_A_DOCUMENT, is_optional=True),
        _URI.call(contract, token_id, gas=_GAS_OF_A_DOCUMENT, is_optional=True),
    ]


def balance_of(contract: str, account: str) -> ContractCall:
    """Return `balanceOf(address)`."""
    return _BALANCE_OF.call(contract, account)


def token_of(contract: str, account: str, index: int) -> ContractCall:
    """Return `tokenOfOwnerByIndex(address,uint256)`."""
    return _TOKEN_OF_OWNER_BY_INDEX.call(contract, account, index)


def multi_balance(contract: str, account: str, token_id: int) -> ContractCall:
    """Return `balanceOf(address,uint256)` of EIP-1155."""
    return _MULTI_BALANCE_OF.call(contract, account, token_id)
