"""lend-d: the contracts of lend-a V3, which it is a fork of, at the addresses that its market has."""

from devnet.evm import lending_a_v3
from devnet.evm.builder import Builder
from devnet.evm.protocol import Protocol
from devnet.evm.world import Chain
from devnet.known_lending import LEND_D


async def build(chain: Chain, builder: Builder) -> None:
    """Build the chain's market with its reserves and positions."""
    await lending_a_v3.set_up(chain, LEND_D[chain.slug], builder)


PROTOCOL = Protocol(
    name="lend-d",
    word="original",
    note="lend-a V3's contracts, of release 3.0: @aave/core-v3 1.19.3",
    chains=tuple(LEND_D),
    build=build,
    archives=lending_a_v3.PROTOCOL.archives,
)
