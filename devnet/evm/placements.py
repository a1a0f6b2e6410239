"""What stands where on a chain before its first block: contracts at their addresses, their set-up calls, balances."""

from collections.abc import Callable, Iterator

from devnet import known
from devnet.evm import (
    funds,
    lending_a_v2,
    lending_a_v3,
    lending_b_v2,
    lending_b_v3,
    lending_c,
    lending_c_vaults,
    lending_d,
    staking_a,
    yield_a,
)
from devnet.evm.artifacts import RUNTIMES, multicall3, original, stand_ins, with_parent_number
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.exchanges import EXCHANGES
from devnet.evm.feeds import feed_placements
from devnet.evm.marketplace import marketplace_placements
from devnet.evm.names import name_placements
from devnet.evm.nfts import nft_placements, old_deeds
from devnet.evm.placement import Call, Placement
from devnet.evm.pools import POOLS
from devnet.evm.protocol import Protocol
from devnet.evm.treasury import market_token_placements
from devnet.evm.vaults import VAULTS
from devnet.evm.world import Chain, Token

HOLDINGS = {known.ALICE: 1_000_000_000_000, known.BOB: 50_000_000_000, known.VITALIK: 12_345_678_901}  # in millionths

# The DeFi protocols, in the order in which they are built: each finds the placements and the protocols before it.
PROTOCOLS: tuple[Protocol, ...] = (
    lending_a_v3.PROTOCOL,
    lending_a_v2.PROTOCOL,
    lending_b_v3.PROTOCOL,
    lending_b_v2.PROTOCOL,
    lending_c.PROTOCOL,
    lending_d.PROTOCOL,
    lending_c_vaults.PROTOCOL,
    *EXCHANGES,
    *POOLS,
    staking_a.PROTOCOL,
    *VAULTS,
    yield_a.PROTOCOL,
    funds.TOKENIZED_A,
    funds.VAULT_D,
)

_TOKEN_SET_UP = "initialize(string,string,uint8,address)"


def placements(chain: Chain) -> Iterator[Placement]:
    """Yield the contracts of a chain in an order in which each may rely on those before it."""
    yield Placement(
        known.MULTICALL3,
        creation=multicall3(),
        rewrite=with_parent_number if chain.parent_number is not None else None,
    )
    yield Placement(known.TOKEN_IMPLEMENTATION, creation=stand_ins()["token"])
    for token in chain.tokens:
        yield _BUILDS[token.build](token, chain)
    yield from _odd_contracts(chain)
    yield from feed_placements(chain.slug)
    yield from marketplace_placements(chain)
    yield from market_token_placements(chain.slug)
    for slug, build in _OWN.items():
        if slug == chain.slug:
            yield from build()


def _minted(token: Token) -> tuple[Call, ...]:
    return tuple(
        Call(known.DEVELOPER, encode_call("mint(address,uint256)", [holder, known.units(token, amount)]))
        for holder, amount in HOLDINGS.items()
    )


def _allowed(token: Token, chain: Chain) -> tuple[Call, ...]:
    return tuple(
        Call(known.VITALIK, encode_call("approve(address,uint256)", [spender, amount]))
        for spender in chain.spenders.values()
        if (amount := known.vitalik_allowance(token, spender, chain))
    )


def _weth9(token: Token, chain: Chain) -> Placement:
    deposits = tuple(
        Call(holder, encode_call("deposit()"), known.units(token, amount)) for holder, amount in HOLDINGS.items()
    )
    funds = Call(known.ALICE, encode_call("transfer(address,uint256)", [known.HOSTILE_TOKEN, 1_000 * 10**18]))
    calls = (*deposits, funds, *_allowed(token, chain))
    words = {0: _short_string(token.name), 1: _short_string(token.symbol)}  # WETH9 keeps its name in storage
    return Placement(token.address, original("weth9"), calls=calls, storage=words)


def _openzeppelin(token: Token, chain: Chain) -> Placement:
    arguments = encode_arguments("constructor(string,string)", [token.name, token.symbol])
    return Placement(token.address, original("erc20") + arguments, calls=_minted(token) + _allowed(token, chain))


def _proxy(token: Token, chain: Chain) -> Placement:
    set_up = encode_call(_TOKEN_SET_UP, [token.name, token.symbol, token.decimals, known.DEVELOPER])
    arguments = encode_arguments("constructor(address,bytes)", [known.TOKEN_IMPLEMENTATION, set_up])
    return Placement(token.address, original("proxy") + arguments, calls=_minted(token) + _allowed(token, chain))


def _stand_in(contract: str) -> Callable[[Token, Chain], Placement]:
    def build(token: Token, chain: Chain) -> Placement:
        set_up = encode_call(_TOKEN_SET_UP, [token.name, token.symbol, token.decimals, known.DEVELOPER])
        calls = (Call(known.DEVELOPER, set_up), *_minted(token), *_allowed(token, chain))
        return Placement(token.address, stand_ins()[contract], calls=calls)

    return build


_BUILDS: dict[str, Callable[[Token, Chain], Placement]] = {
    "weth9": _weth9,
    "openzeppelin": _openzeppelin,
    "proxy": _proxy,
    "token": _stand_in("token"),
    "silent": _stand_in("silent_token"),
}


def _odd_contracts(chain: Chain) -> Iterator[Placement]:
    code = stand_ins()
    yield _odd_token(known.UNICODE_TOKEN, "token", _TOKEN_SET_UP, "Übergröße ₮", "USD₮0", 6)
    yield _odd_token(known.DESTROYED_TOKEN, "token", _TOKEN_SET_UP, "Short Lived", "GONE", 18)
    yield _odd_token(known.NAMELESS_TOKEN, "nameless_token", "initialize(uint8,address)", 9)
    yield _odd_token(known.WHOLE_TOKEN, "whole_token", "initialize(string,string,address)", "Whole Pieces", "WHOLE")
    coin = chain.wrapped_native
    yield Placement(
        known.HOSTILE_TOKEN,
        code["hostile_token"],
        calls=(
            Call(
                known.DEVELOPER,
                encode_call(
                    "initialize(string,string,address,uint256)", ["Hostile", "HOST", coin.address, 10**coin.decimals]
                ),
            ),
        ),
    )
    yield Placement(known.PROBER, code["prober"])
    yield Placement(known.GAS_BURNER, runtime=RUNTIMES["gas_burner"])
    yield Placement(known.REVERT_BOMBER, runtime=RUNTIMES["revert_bomber"])
    yield Placement(known.RETURN_BOMBER, runtime=RUNTIMES["return_bomber"])
    yield Placement(known.SILENT_CONTRACT, runtime=RUNTIMES["silent"])
    yield Placement(known.DELEGATED, runtime=bytes.fromhex("ef0100" + known.PROBER[2:]))  # EIP-7702


def _odd_token(address: str, contract: str, signature: str, *arguments: object) -> Placement:
    """A token with arguments of its own and DEVELOPER as its minter, of which VITALIK has ODD_BALANCE."""
    set_up = encode_call(signature, [*arguments, known.DEVELOPER])
    mint = encode_call("mint(address,uint256)", [known.VITALIK, known.ODD_BALANCE])
    return Placement(address, stand_ins()[contract], calls=(Call(known.DEVELOPER, set_up), Call(known.DEVELOPER, mint)))


def _ethereum() -> Iterator[Placement]:
    words = [text.ljust(32, b"\0") for text in (b"Maker", b"MKR")]
    yield _odd_token(known.MKR, "bytes32_token", "initialize(bytes32,bytes32,uint256,address)", *words, 18)
    yield from name_placements()
    yield from nft_placements()


def _arbitrum() -> Iterator[Placement]:
    yield Placement(known.ARB_SYS, stand_ins()["arb_sys"])
    yield old_deeds()


_OWN: dict[str, Callable[[], Iterator[Placement]]] = {"ethereum": _ethereum, "arbitrum": _arbitrum}


def _short_string(text: str) -> bytes:
    """Return the storage word of a Solidity string of at most 31 bytes."""
    raw = text.encode()
    return raw.ljust(31, b"\0") + bytes([2 * len(raw)])
