"""ethereum with as many reserves and vaults as the real one has, for the benchmark; the devnet has a few of each.

What is added has a price, and no wallet has any of it. lend-b V3, lend-c, lend-b V2 and stake-a have that size anyway.
Numbers: those of the protocols on Ethereum, of June 2026.
"""

from dataclasses import replace

from devnet import known, known_exchanges
from devnet.evm import lending_a_v2, lending_a_v3
from devnet.evm.artifacts import original
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_arguments
from devnet.evm.pools import add_vault
from devnet.evm.protocol import Protocol
from devnet.evm.world import Chain, Token
from devnet.known_exchanges import Vault, own_address
from devnet.known_lending import LEND_A_V2, LEND_A_V3, Pool, Reserve, SetUp, place_of

RESERVES_V3, RESERVES_V2, VAULTS = 67, 37, 48
_VAULTS_V2 = 8  # of them in the second factory


async def build(chain: Chain, builder: Builder) -> None:
    """Add reserves and vaults to what the chain has."""
    pools = LEND_A_V3[chain.slug], LEND_A_V2[chain.slug]
    missing = [most - len(pool.set_up.reserves) for most, pool in zip((RESERVES_V3, RESERVES_V2), pools, strict=True)]
    tokens = [_token(number) for number in range(max(missing))]
    for token in tokens:
        named = encode_arguments("constructor(string,string)", [token.name, token.symbol])
        await builder.place(token.address, original("erc20") + named)
    larger = replace(chain, tokens=(*chain.tokens, *tokens))
    for protocol, pool, count in zip((lending_a_v3, lending_a_v2), pools, missing, strict=True):
        await protocol.extend(larger, _added(pool, tokens[:count]), builder)
    for vault in _vaults(chain.slug):
        await add_vault(chain, builder, vault)


def _token(number: int) -> Token:
    address = place_of(f"token {number} of mainnet size")
    return Token(f"LARGE{number}", f"Token {number}", address, 18, "openzeppelin", "ours")


def _added(pool: Pool, tokens: list[Token]) -> Pool:
    reserves = tuple(Reserve(token.symbol, 5_000, 6_500) for token in tokens)
    return replace(pool, set_up=SetUp(reserves, supplies=(), debts=()))


def _vaults(slug: str) -> list[Vault]:
    """Return the vaults that are missing, in either factory."""
    counts = {1: VAULTS - _VAULTS_V2, 2: _VAULTS_V2}
    vaults = []
    for generation, count in counts.items():
        present = sum(one.chain == slug and one.generation == generation for one in known_exchanges.VAULTS)
        for number in range(present, count):
            address = own_address(f"vault {number} of factory {generation} of mainnet size")
            name = f"LARGE{number}-long" if generation == 1 else ""
            supplied = {known_exchanges.PROVIDER: 50_000, known.VITALIK: 10 + number}
            vaults.append(
                Vault(slug, generation, address, name, "crvUSD", "wstETH", supplied, lent=20_000, interest=77)
            )
    return vaults


MAINNET_SIZE = Protocol(
    name="mainnet size",
    word="original",
    note="more reserves of both versions of lend-a, more vaults of pool-a's stand-ins",
    chains=("ethereum",),
    build=build,
)
