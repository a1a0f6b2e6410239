"""Looks names and addresses up through the Universal Resolver (contract section 4.5).

It is the one entry point of ENS, an upgradeable proxy whose address stays. It finds the resolver (wildcards of ENSIP-10
included), asks it, and passes off-chain look-ups on. Asked with the local batch gateway (ENSIP-21), it leaves the
requests of a look-up to us; otherwise a third party's service would send them.

Source: ensdomains/docs, resolvers/universal.mdx.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from server.contracts.address import checksum_address
from server.contracts.calls import ContractCall
from server.contracts.types import encoder
from server.errors import InvalidArgument, NotFound, NotSupported, Reverted, UpstreamUnavailable
from server.names.gateways import Budget
from server.names.lookups import (
    LOCAL_BATCH_GATEWAY,
    HttpError,
    follow,
    read_address,
    read_bytes,
    read_http_error,
    read_lookup,
    read_number,
)
from server.names.normalisation import MAX_CHARACTERS, Unnormalisable, dns_encode, namehash, normalise

if TYPE_CHECKING:
    from collections.abc import Callable

    from server.chains.capabilities.contracts import CallsContracts
    from server.chains.view import ReadView
    from server.errors import GatewayError
    from server.names.gateways import Gateways

UNIVERSAL_RESOLVER = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"

_RESOLVE = bytes.fromhex("a1472844")  # resolveWithGateways(bytes,bytes,string[])
_REVERSE = bytes.fromhex("b7d6ca64")  # reverseWithGateways(bytes,uint256,string[])
_ADDR = bytes.fromhex("3b3b57de")  # addr(bytes32)
_RESOLVE_ARGUMENTS = encoder("bytes", "bytes", "string[]")
_REVERSE_ARGUMENTS = encoder("bytes", "uint256", "string[]")
_COIN_TYPE_ETHER = 60  # SLIP-44
_ERRORS = Path(__file__).with_name("resolver_errors.toml")


@dataclass(frozen=True, slots=True)
class ResolverError:
    """An error of the Universal Resolver: whether the record is `absent` or a server `unreachable`, and why."""

    signature: str
    selector: bytes
    means: str
    message: str


@cache
def load_errors() -> dict[bytes, ResolverError]:
    """Return the known errors by selector."""
    rows = tomllib.loads(_ERRORS.read_text(encoding="utf-8"))["error"]
    errors = [ResolverError(**row | {"selector": bytes.fromhex(row["selector"][2:])}) for row in rows]
    return {error.selector: error for error in errors}


def address_question(name: str) -> bytes:
    """Return the calldata that asks for the Ethereum address of a normal name."""
    inner = _ADDR + namehash(name)
    return _RESOLVE + _RESOLVE_ARGUMENTS((dns_encode(name), inner, [LOCAL_BATCH_GATEWAY]))


def name_question(address: bytes) -> bytes:
    """Return the calldata that asks for the primary name of an address on Ethereum."""
    return _REVERSE + _REVERSE_ARGUMENTS((address, _COIN_TYPE_ETHER, [LOCAL_BATCH_GATEWAY]))


def read_resolved(data: bytes) -> str | None:
    """Return the checksummed address in what `address_question` is answered with; None where none is set.

    The answer is `(bytes result, address resolver)`, the result being whatever the name's own resolver returned.

    Raises ValueError when the Universal Resolver answered something else.
    """
    at = follow(data, 0, 0)
    result = read_bytes(data, at, len(data))
    read_address(data, 32)
    try:
        address = read_address(result, 0)
    except ValueError:
        return None
    return checksum_address("0x" + address.hex()) if any(address) else None


def read_primary(data: bytes) -> str | None:
    """Return the name, normal or not, in what `name_question` is answered with; None where none is set.

    The answer is `(string primary, address resolver, address reverseResolver)`; the Universal Resolver has checked that
    the name points back. Raises ValueError when it answered something else.
    """
    at = follow(data, 0, 0)
    read_address(data, 32)
    if read_number(data, at) > 4 * MAX_CHARACTERS:
        return None
    try:
        return read_bytes(data, at, 4 * MAX_CHARACTERS).decode() or None
    except UnicodeDecodeError:
        return None


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
            # It runs code of the name's owner, so it shares its execution with no other call.
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
    """Raise the error that a revert of the Universal Resolver means for the name."""
    if budget.failures:
        # Without the gateways it is unknown whether there is a record.
        raise _unreachable()
    passed_on = read_http_error(revert)
    if passed_on is not None:
        raise _silence(subject, passed_on)
    error = load_errors().get(revert[:4])
    if error is not None and error.means != _ABSENT:
        raise _unreachable()
    if error is not None:
        raise NotFound(f"{subject}: {error.message}")
    if not revert:
        # Its resolver used up the gas, or returned what cannot be read.
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
