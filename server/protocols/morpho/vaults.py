"""What lend-c's vaults are: proved by the protocol's factories, with the asset and the markets that they supply.

An address that a caller names may be any contract's, so a factory has to know it, and it is read in executions of its
own. What it answers as well as a vault does is of no matter then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from server.catalog.protocols import load_address_book
from server.contracts.interface import Interface
from server.protocols.plan import ContractUnreadable, Group
from server.protocols.tokens import TokenFacts, describe, read_facts
from server.yields.morpho import FIRST, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from server.contracts.calls import ContractCall
    from server.contracts.interface import Function
    from server.protocols.plan import Answered

SLUG = "morpho"
MOST_MARKETS = 30
"""The longest queue that a vault takes (ConstantsLib.MAX_QUEUE_LENGTH)."""

_VAULT = Interface.load("server.protocols.morpho", "vault")
_FACTORY = Interface.load("server.protocols.morpho", "vault_factory")
_PARAMETERS = Interface.load("server.protocols.morpho", "morpho")["idToMarketParams"]

ASSET = _VAULT["asset"]
_NAMES = (_VAULT["name"], _VAULT["symbol"])
DECIMALS = _VAULT["decimals"]
QUEUE_LENGTH = _VAULT["withdrawQueueLength"]
QUEUE = _VAULT["withdrawQueue"]
# Keys of the address book with what their contracts are asked; the first factory made many of the large vaults.
_FACTORIES: tuple[tuple[str, str, Function], ...] = (
    ("metaMorphoFactory", FIRST, _FACTORY["isMetaMorpho"]),
    ("firstMetaMorphoFactory", FIRST, _FACTORY["isMetaMorpho"]),
    ("vaultV2Factory", SECOND, _FACTORY["isVaultV2"]),
)

_WORD_GAS = 20_000
# Where the ids begin in what `describe_vault` returns.
_AT_QUEUE = 5
_NO_MODEL = "0x" + "0" * 40


class VaultMarket(NamedTuple):
    """A market of a vault's queue: its id and the contract's parameters, in their order."""

    id: bytes
    params: tuple[Any, ...]

    @property
    def irm(self) -> str:
        """The rate model."""
        return str(self.params[3])

    @property
    def is_idle(self) -> bool:
        """Whether it has no borrowers: without a rate model there is no interest."""
        return self.irm == _NO_MODEL


class Vault(NamedTuple):
    """A vault that a factory knows. `markets` are those of its withdraw queue, empty for generation V2.

    `name` and `symbol` are empty where it does not answer for them.
    """

    address: str
    version: str
    name: str
    symbol: str
    asset: TokenFacts
    decimals: int
    markets: tuple[VaultMarket, ...]


def has_vaults(chain: str) -> bool:
    """Return whether the protocol has a factory of vaults on a chain."""
    return bool(_factories(chain))


def prove(chain: str, vaults: Iterable[str]) -> Group:
    """Return the calls by which `proved` knows what addresses are: of the protocol's own contracts alone."""
    factories = _factories(chain)
    return Group(
        tuple(asked.call(factory, vault, gas=_WORD_GAS) for vault in vaults for factory, _, asked in factories)
    )


def proved(chain: str, vaults: Sequence[str], returned: Sequence[Answered]) -> dict[str, str]:
    """Return the generation by address of those that are vaults; ContractUnreadable where a factory does not answer."""
    factories = _factories(chain)
    answers = iter(returned)
    found = dict[str, str]()
    for vault in vaults:
        for _, version, asked in factories:
            if next(answers).read_one(asked):
                found[vault] = version
    return found


def describe_vault(version: str, vault: str) -> Group:
    """Return the first of the calls that a vault's facts come from; the queue is asked for as long as it may be."""
    calls: list[ContractCall] = [ASSET.call(vault), DECIMALS.call(vault)]
    calls += [one.call(vault, is_optional=True) for one in _NAMES]
    if version == FIRST:
        calls.append(QUEUE_LENGTH.call(vault))
        calls += [QUEUE.call(vault, place, gas=_WORD_GAS, is_optional=True) for place in range(MOST_MARKETS)]
    return Group(tuple(calls), is_known=False)


def read_queue(version: str, returned: Sequence[Answered]) -> tuple[bytes, ...]:
    """Return the ids of the markets of what `describe_vault` returned; ContractUnreadable where it is no queue."""
    if version == SECOND:
        return ()
    length = int(returned[_AT_QUEUE - 1].read_one(QUEUE_LENGTH))
    if length > MOST_MARKETS:
        raise ContractUnreadable(f"the vault {returned[2].call.to} has a longer queue than one may have")
    return tuple(one.read_one(QUEUE) for one in returned[_AT_QUEUE : _AT_QUEUE + length])


def describe_asset(returned: Sequence[Answered]) -> Group:
    """Return the calls that describe the asset of what `describe_vault` returned: a token of the vault's choice."""
    return Group(describe(returned[0].read_one(ASSET)), is_known=False)


def describe_markets(chain: str, ids: Sequence[bytes]) -> Group:
    """Return the calls for the parameters of markets."""
    morpho = load_address_book().find_contract(SLUG, chain, "morpho").address
    return Group(tuple(_PARAMETERS.call(morpho, one) for one in ids))


def read_parameters(ids: Sequence[bytes], returned: Sequence[Answered]) -> dict[bytes, VaultMarket]:
    """Return the markets of what `describe_markets` returned, by id."""
    return {
        one: VaultMarket(one, tuple(answered.read(_PARAMETERS))) for one, answered in zip(ids, returned, strict=True)
    }


def read_vault(
    version: str,
    returned: Sequence[Answered],
    asset: Sequence[Answered],
    markets: Mapping[bytes, VaultMarket],
) -> Vault:
    """Return a vault of what `describe_vault` and `describe_asset` returned."""
    name, symbol = ((one.read_if_answered(asked) or ("",))[0] for one, asked in zip(returned[2:4], _NAMES, strict=True))
    return Vault(
        address=returned[0].call.to,
        version=version,
        name=name,
        symbol=symbol,
        asset=read_facts(*asset),
        decimals=int(returned[1].read_one(DECIMALS)),
        markets=tuple(markets[one] for one in read_queue(version, returned)),
    )


def _factories(chain: str) -> list[tuple[str, str, Function]]:
    contracts = load_address_book().protocols[SLUG].contracts.get(chain, {})
    return [(contracts[key].address, version, asked) for key, version, asked in _FACTORIES if key in contracts]
