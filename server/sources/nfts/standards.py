"""Which standards a contract states to implement, as far as it can be believed, and what it certainly is not.

Sources: EIP-165 (detection, step by step), EIP-721, EIP-1155; the identifiers are the standards' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.contracts.calls import ContractCall
from server.contracts.words import word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from server.contracts.calls import ContractOutcome

_SUPPORTS = bytes.fromhex("01ffc9a7")
_DECIMALS = bytes.fromhex("313ce567")
# No function that anybody has: an answer to it is one to any call.
_UNKNOWN = bytes.fromhex("ffffffff") + bytes(64)
_ERC165, _INVALID = "01ffc9a7", "ffffffff"
_ERC721, _ENUMERABLE, _ERC1155 = "80ac58cd", "780e9d63", "d9b67a26"
_FALSE = bytes(32)
_ASKED = (_ERC165, _INVALID, _ERC721, _ENUMERABLE, _ERC1155)

PROBES = len(_ASKED) + 2
"""How many calls tell the standards of a contract."""


class Standard(NamedTuple):
    """What a contract states (EIP-165). All false for one that predates interface detection or answers it wrongly.

    `is_fungible` is True for what has decimals and states to be no NFT contract: a token of another kind (ERC-20).
    `to_anything` is what it answers to a function that nobody has, where it does: the same answer to another call
    tells nothing.
    """

    erc721: bool = False
    erc721_enumerable: bool = False
    erc1155: bool = False
    is_fungible: bool = False
    to_anything: bytes | None = None

    def tells(self, outcome: ContractOutcome) -> bool:
        """Return whether a call returned anything that the contract does not return to every call."""
        return outcome.succeeded and bool(outcome.data) and outcome.data != self.to_anything


def probes(contract: str) -> list[ContractCall]:
    """Return the calls that tell the standards of a contract; EIP-165 gives each 30,000 gas."""
    asked = [ContractCall(contract, _SUPPORTS + bytes.fromhex(identifier).ljust(32, b"\0")) for identifier in _ASKED]
    others = [ContractCall(contract, data, is_optional=True) for data in (_UNKNOWN, _DECIMALS)]
    return asked + others


def read_standard(outcomes: Sequence[ContractOutcome]) -> Standard:
    """Return what the first outcomes, those of `probes`, tell. Anything but a plain true counts as false."""
    answers = dict(zip(_ASKED, outcomes, strict=False))
    unknown, decimals = outcomes[len(_ASKED) : PROBES]
    to_anything = unknown.data if unknown.succeeded and unknown.data else None
    denial = answers[_INVALID]
    is_lie = denial.succeeded and bool(denial.data) and denial.data != _FALSE
    stated = (False, False, False)
    if _is_true(answers[_ERC165]) and not is_lie:
        stated = (_is_true(answers[_ERC721]), _is_true(answers[_ENUMERABLE]), _is_true(answers[_ERC1155]))
    standard = Standard(*stated, to_anything=to_anything)
    has_decimals = standard.tells(decimals) and len(decimals.data) == 32 and 0 < word(decimals.data) < 256
    return standard._replace(is_fungible=has_decimals and not any(stated))


def _is_true(outcome: ContractOutcome) -> bool:
    return outcome.succeeded and len(outcome.data) >= 32 and word(outcome.data) == 1
