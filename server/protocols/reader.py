"""What a protocol's folder provides: readers of questions, and how they are registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from server.prices import Price
    from server.protocols.plan import More, Outcomes, Plan, Renewed
    from server.protocols.yields import YieldEntry

    TokenPrices = Mapping[tuple[str, str], Price]


@dataclass(frozen=True, slots=True)
class ChainQuestion:
    """What a protocol has on a chain. `block` is the block that the caller chose, None for the latest."""

    chain: str
    block: int | None = None


@dataclass(frozen=True, slots=True)
class WalletQuestion(ChainQuestion):
    """What a wallet has in a protocol; `address` is checksummed."""

    address: str = ""


@dataclass(frozen=True, slots=True)
class SwapQuestion(ChainQuestion):
    """What a swap would yield. Addresses are checksummed, as the caller asked; `amount` is decimal text in whole units.

    `fee` is in hundredths of a basis point and None where the caller left it open, `tick_spacing` likewise.
    """

    token_in: str = ""
    token_out: str = ""
    amount: str = ""
    fee: int | None = None
    tick_spacing: int | None = None


Question_contra = TypeVar("Question_contra", bound=ChainQuestion, contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


class Reader(Protocol[Question_contra, Answer_co]):
    """Plans the calls that answer a question, and builds the answer from their outcomes. It asks no node.

    Tables are what changes by governance or never (lists of reserves, decimals, symbols). They are read on first use
    and kept a day; `build` checks them against what the same read returned.
    """

    def subject(self, question: Question_contra) -> Hashable:
        """Return what the tables of the question are of, the protocol and as a rule the chain.

        Questions of one subject share tables, also those of several readers.
        """
        ...

    def load(self, question: Question_contra, outcomes: Outcomes) -> Any | More:
        """Return the tables, or what has to be read for them. Called without outcomes at first.

        A reader that needs none returns None at once. Raises GatewayError where there can be none.
        """
        ...

    def plan(self, question: Question_contra, tables: Any) -> Plan:
        """Return what has to be read; InvalidArgument where the question does not fit the tables.

        A wallet's address stands in calldata and changes nothing else: plans of wallets are made once for the tables.
        """
        ...

    def build(
        self, question: Question_contra, outcomes: Outcomes, tables: Any, prices: TokenPrices
    ) -> Answer_co | Renewed | More:
        """Return the answer, or what has to be read besides (the outcomes then hold all).

        A reader that could answer although its tables proved to be old hands new ones over (`Renewed`).

        Raises:
            StaleTables: the tables are no longer those of the chain; they are read anew, once, and planned with.
            GatewayError: there is no answer (ContractUnreadable where a contract did not answer as it does).
        """
        ...


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """What a folder exports as `PROTOCOL`.

    `slug` is its name in the address book; `readers` are by the name of the rpc that they answer. `in_summary` is the
    name of the rpc whose answer is the protocol's row in the summary, None where it has none, and `member` the member
    of `SummaryData` that takes it. `yields` is what it provides for rpcs that several protocols answer.
    """

    slug: str
    readers: Mapping[str, Reader[Any, Any]]
    in_summary: str | None = None
    member: str = ""
    yields: YieldEntry | None = None
