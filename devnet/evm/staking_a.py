"""stake-a: who holds the wrapped token on the chains that it is bridged to, and both tokens on ethereum.

The tokens are ours and stand there without this: market_tokens.toml has the bridged ones, marketplace.py ethereum's.
"""

from devnet import known, known_marketplace
from devnet.evm.builder import Builder
from devnet.evm.calls import encode_call
from devnet.evm.protocol import Protocol
from devnet.evm.step import Step
from devnet.evm.treasury import provide, token_of
from devnet.evm.world import FIRST_TIMESTAMP, Chain
from devnet.known_lending import REBASE, STAKED, TREASURY


async def build(chain: Chain, builder: Builder) -> None:
    """Hand the wallets what they hold."""
    for (holder, symbol), millionths in STAKED[chain.slug].items():
        amount = known.units(token_of(chain, symbol), millionths)
        token = await provide(chain, builder, symbol, amount, TREASURY)
        await builder.call(TREASURY, token.address, "transfer(address,uint256)", holder, amount)


def rebase_steps(chain: Chain) -> list[Step]:
    """Return the transaction of block REBASED_AT: the oracle reports what was earned in the day before."""
    if chain.slug != "ethereum":
        return []
    arguments = [FIRST_TIMESTAMP, REBASE.elapsed, REBASE.rewards, REBASE.fee]
    data = encode_call("rebase(uint256,uint256,uint256,uint256)", arguments)
    return [Step("rebase", known.DEVELOPER, known_marketplace.STETH, data)]


PROTOCOL = Protocol(
    name="stake-a",
    word="stand-in",
    note="our own code; plain tokens where it is bridged",
    chains=tuple(STAKED),
    build=build,
)
