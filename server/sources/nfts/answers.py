"""What contracts returned, read without trust: any contract may return anything to any call."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from server.checksum import checksum_address
from server.contracts.reverts import reverted
from server.contracts.text import dynamic_bytes
from server.contracts.words import word
from server.errors import NotAToken

if TYPE_CHECKING:
    from server.contracts.calls import ContractOutcome
    from server.errors import GatewayError
    from server.sources.nfts.standards import Standard


class Asked(NamedTuple):
    """What a contract was asked as: the standard and the function, for telling callers what it does not answer."""

    chain: str
    contract: str
    standard: str
    function: str

    def number(self, outcome: ContractOutcome, standard: Standard) -> int:
        """Return the number that a call returned; what `refusal` returns is raised where it told none."""
        found = uint_in(outcome) if standard.tells(outcome) else None
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
