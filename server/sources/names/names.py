"""Looks names and addresses up (contract section 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from server.contracts.calls import ContractCall
from server.errors import InvalidArgument, NotFound, NotSupported, Reverted, UpstreamUnavailable
from server.sources.names.gateways import Budget
from server.sources.names.lookups import HttpError, read_http_error, read_lookup
from server.sources.names.normalisation import Unnormalisable, normalise
from server.sources.names.resolver import (
    UNIVERSAL_RESOLVER,
    address_question,
    load_errors,
    name_question,
    read_primary,
    read_resolved,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.capabilities import CallsContracts
    from server.chains.view import ReadView
    from server.errors import GatewayError
    from server.sources.names.gateways import Gateways

MAX_LOOKUPS = 4
"""How often one question may lead off the chain and back, one after the other."""

# A resolver that checks proofs of another chain's storage takes millions; few of them fit into one execution.
_GAS = 5_000_000
_ABSENT = "absent"


class Names:
    """Reads names of one chain. `contracts` calls its contracts, `gateways` answers off-chain look-ups."""

    def __init__(self, contracts: CallsContracts, gateways: Gateways) -> None:
        self._contracts = contracts
        self._gateways = gateways

    async def resolve(self, name: str, view: ReadView) -> str:
        """Return the checksummed address that a name points to, at the view's block.

        Raises:
            InvalidArgument: no name has that text.
            NotFound: the name points to no address.
            GatewayError: no node, or no gateway of the name's, answered.
        """
        try:
            normal = await normalise(name)
        except Unnormalisable as error:
            raise InvalidArgument(f"name: {error}", field="name") from None
        subject = "the name does not resolve"
        address = _read(read_resolved, await self._ask(address_question(normal), view, subject))
        if address is None:
            raise NotFound(f"{subject}: it has no address set")
        return address

    async def reverse(self, address: str, view: ReadView) -> str:
        """Return the primary name of an address, in normal form: it points back to the address.

        Raises:
            NotFound: the address has none.
            GatewayError: as `resolve`.
        """
        subject = "the address has no primary name"
        question = name_question(bytes.fromhex(address[2:]))
        name = _read(read_primary, await self._ask(question, view, subject))
        if name is None:
            raise NotFound(f"{subject}: none is set")
        try:
            if await normalise(name) == name:
                return name
        except Unnormalisable:
            pass
        raise NotFound(f"{subject}: the one set is not in normal form (ENSIP-15)")

    async def _ask(self, question: bytes, view: ReadView, subject: str) -> bytes:
        """Return what the Universal Resolver answers, off-chain look-ups included."""
        budget = Budget(view.deadline)
        for _ in range(MAX_LOOKUPS + 1):
            # It runs code of the name's owner, so it shares its execution with nobody.
            call = ContractCall(UNIVERSAL_RESOLVER, question, _GAS)
            [outcome] = await self._contracts.call_contracts([call], view, are_known=False)
            if outcome.succeeded:
                if not outcome.data:
                    raise NotSupported("the nodes hold no ENS Universal Resolver")
                return outcome.data
            try:
                lookup = read_lookup(outcome.data)
            except ValueError:
                raise NotSupported(f"{subject}: its off-chain look-up is larger than is followed") from None
            if lookup is None:
                _refuse(outcome.data, subject, budget)
            if "0x" + lookup.query.sender.hex() != UNIVERSAL_RESOLVER.lower():
                raise NotFound(f"{subject}: its off-chain look-up is not its resolver's own")
            answer = await self._gateways.ask(lookup.query, budget)
            if isinstance(answer, HttpError):
                raise _silence(subject, answer)
            question = lookup.answer(answer)
        raise NotSupported(f"{subject}: it leads off the chain more than {MAX_LOOKUPS} times")


def _refuse(revert: bytes, subject: str, budget: Budget) -> NoReturn:
    """Raise what a revert of the Universal Resolver says about the name."""
    if budget.failures:
        # Without the gateways nobody can tell whether there is a record.
        raise _unreachable()
    passed_on = read_http_error(revert)
    if passed_on is not None:
        raise _silence(subject, passed_on)
    error = load_errors().get(revert[:4])
    if error is not None and error.means != _ABSENT:
        raise _unreachable()
    if error is not None:
        raise NotFound(f"{subject}: {error.says}")
    if not revert:
        # Its resolver burnt the gas, or returned what cannot be read.
        raise NotFound(f"{subject}: its resolver fails")
    raise Reverted(
        f"{subject}: the Universal Resolver reverts with an unknown error 0x{revert[:4].hex()}",
        data=revert,
    )


def _silence(subject: str, error: HttpError) -> GatewayError:
    return NotFound(f"{subject}: its off-chain gateway has no record of it") if error.is_absence else _unreachable()


def _unreachable() -> UpstreamUnavailable:
    return UpstreamUnavailable("the off-chain gateway that holds the record does not answer as it should; try again")


def _read(reader: Callable[[bytes], str | None], data: bytes) -> str | None:
    try:
        return reader(data)
    except ValueError:
        raise UpstreamUnavailable("the ENS Universal Resolver answered something that cannot be read") from None
