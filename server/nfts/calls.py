"""What NFT contracts are asked, how their answers are read, and which standards they implement.

Any contract may return anything to any call, so answers are read without trust; what a contract states to implement is
believed as far as it can be. `gas` of a call bounds how many share an execution: listing is slow in some contracts, and
some make whole images.

Sources: EIP-165 (detection, step by step), EIP-721 with its extensions, EIP-1155; the identifiers are the standards'
own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.address import checksum_address
from server.contracts.calls import ContractCall, dynamic_bytes
from server.contracts.interface import Interface
from server.contracts.reverts import reverted
from server.contracts.words import word
from server.errors import NotAToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractOutcome
    from server.errors import GatewayError

_SUPPORTS = bytes.fromhex("01ffc9a7")
_DECIMALS = bytes.fromhex("313ce567")
# A function that no contract has: an answer to it is one to any call.
_UNKNOWN = bytes.fromhex("ffffffff") + bytes(64)
_ERC165, _INVALID = "01ffc9a7", "ffffffff"
_ERC721, _ENUMERABLE, _ERC1155 = "80ac58cd", "780e9d63", "d9b67a26"
_FALSE = bytes(32)
_ASKED = (_ERC165, _INVALID, _ERC721, _ENUMERABLE, _ERC1155)

PROBES = len(_ASKED) + 2
"""How many calls find the standards of a contract."""


class Standard(NamedTuple):
    """What a contract states (EIP-165). All false for one that predates interface detection or answers it wrongly.

    `is_fungible` is True for what has decimals and states to be no NFT contract: a token of another kind (ERC-20).
    `to_anything` is what it answers to a function that no contract has, where it does: the same answer to another
    call proves nothing.
    """

    erc721: bool = False
    erc721_enumerable: bool = False
    erc1155: bool = False
    is_fungible: bool = False
    to_anything: bytes | None = None

    def is_answer(self, outcome: ContractOutcome) -> bool:
        """Return whether a call returned anything that the contract does not return to every call."""
        return outcome.succeeded and bool(outcome.data) and outcome.data != self.to_anything


def probes(contract: str) -> list[ContractCall]:
    """Return the calls that find the standards of a contract; EIP-165 gives each 30,000 gas."""
    asked = [ContractCall(contract, _SUPPORTS + bytes.fromhex(identifier).ljust(32, b"\0")) for identifier in _ASKED]
    others = [ContractCall(contract, data, is_optional=True) for data in (_UNKNOWN, _DECIMALS)]
    return asked + others


def read_standard(outcomes: Sequence[ContractOutcome]) -> Standard:
    """Return what the first outcomes, those of `probes`, state. Anything but a plain true counts as false."""
    answers = dict(zip(_ASKED, outcomes, strict=False))
    unknown, decimals = outcomes[len(_ASKED) : PROBES]
    to_anything = unknown.data if unknown.succeeded and unknown.data else None
    denial = answers[_INVALID]
    is_lie = denial.succeeded and bool(denial.data) and denial.data != _FALSE
    stated = (False, False, False)
    if _is_true(answers[_ERC165]) and not is_lie:
        stated = (_is_true(answers[_ERC721]), _is_true(answers[_ENUMERABLE]), _is_true(answers[_ERC1155]))
    standard = Standard(*stated, to_anything=to_anything)
    has_decimals = standard.is_answer(decimals) and len(decimals.data) == 32 and 0 < word(decimals.data) < 256
    return standard._replace(is_fungible=has_decimals and not any(stated))


def _is_true(outcome: ContractOutcome) -> bool:
    return outcome.succeeded and len(outcome.data) >= 32 and word(outcome.data) == 1


class Asked(NamedTuple):
    """What a contract was asked as: the standard and the function, for errors that name what it does not answer."""

    chain: str
    contract: str
    standard: str
    function: str

    def number(self, outcome: ContractOutcome, standard: Standard) -> int:
        """Return the number that a call returned; what `refusal` returns is raised where it returned none."""
        found = uint_in(outcome) if standard.is_answer(outcome) else None
        if found is None:
            raise self.refusal(outcome)
        return found

    def refusal(self, outcome: ContractOutcome) -> GatewayError:
        """Return why the outcome is no answer: the contract's own reason, or that it is no such contract."""
        if not outcome.succeeded and outcome.data:
            return reverted(outcome.data)
        what = f"{self.contract} on {self.chain} is no {self.standard} contract"
        if outcome.succeeded and not outcome.data:
            return NotAToken(f"{what}: nothing there answers {self.function}", field="contract")
        return NotAToken(f"{what}: it does not answer {self.function} as the standard asks", field="contract")


def uint_in(outcome: ContractOutcome) -> int | None:
    """Return the number that a call returned, None where it failed or returned none."""
    return word(outcome.data) if outcome.succeeded and len(outcome.data) >= 32 else None


def owner_in(outcome: ContractOutcome) -> str | None:
    """Return the address that a call returned, checksummed; None where it returned none, or the zero address."""
    number = uint_in(outcome)
    if not number or number >> 160:
        return None
    return checksum_address(f"0x{number:040x}")


def long_text(outcome: ContractOutcome, max_bytes: int) -> str | None:
    """Return the string that a call returned, whole; None where it returned none, or a longer one.

    Bytes that are no UTF-8 become replacement characters; NULs go.
    """
    content = dynamic_bytes(outcome.data) if outcome.succeeded else None
    if content is None or len(content) > max_bytes:
        return None
    return content.decode("utf-8", "replace").replace("\0", "")


_NFT = Interface.load("server.nfts", "nft")
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
