"""The contracts behind the marketplace's published methods, and the transactions that write an event of every kind.

Originals: OpenZeppelin's ERC-721, the Safe of 1.4.1 and of 1.3.0. Stand-ins of our own, at the canonical addresses: the
staked, restaked and pooled ethers, the staked dollar, the locator, and the spot price oracle on its six chains.
"""

from collections.abc import Iterator

from devnet import known
from devnet import known_marketplace as places
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.placement import Call, Placement
from devnet.evm.step import Step
from devnet.evm.world import Chain

_ETHER = 10**18
_NOBODY = "0x" + "00" * 20
_FIRST_OWNER = "0x" + "00" * 19 + "01"  # stands before the newest owner in a Safe's list
_TOKENS = (places.STETH, places.WSTETH, places.WEETH, places.SUSDE, places.CBETH, places.RETH)


def marketplace_placements(chain: Chain) -> Iterator[Placement]:
    """Yield the contracts that stand on the chain, each after those it relies on."""
    if chain.slug in places.SPOT_ORACLE_CHAINS:
        yield _oracle(chain)
    if chain.slug == "ethereum":
        yield _collection()
        yield from _safes()
        yield from _lido()
        yield from _ethers()
        yield from _dollar()


def marketplace_steps(chain: Chain) -> list[Step]:
    """Return the transactions of block EVENTS_AT; DEVELOPER sends them all."""
    if chain.slug != "ethereum":
        return []
    collection = places.COLLECTION
    moves = [
        Step(f"{name} of {token}", known.DEVELOPER, token, encode_call(signature, [receiver, amount]))
        for token in _TOKENS
        for name, signature, receiver, amount in (
            ("published transfer", "transfer(address,uint256)", known.ALICE, _ETHER // 8),
            ("published approval", "approve(address,uint256)", known.BOB, 3 * _ETHER),
        )
    ]
    return [
        *moves,
        _step("rate", places.CBETH, "updateExchangeRate(uint256)", 1_117_200_000_000_000_001),
        _step("nft approval", collection, "approve(address,uint256)", known.BOB, 1),
        _step("nft operator", collection, "setApprovalForAll(address,bool)", known.ALICE, True),
        _step("nft transfer", collection, "transferFrom(address,address,uint256)", known.DEVELOPER, known.BOB, 2),
        *_owner_changes(places.SAFE),
        *_owner_changes(places.OLD_SAFE),
    ]


def safe_transaction(safe: str, data: bytes) -> bytes:
    """Return the call by which DEVELOPER has the Safe call itself: the sender's own signature is its address."""
    signature = encode_arguments("f(address,uint256)", [known.DEVELOPER, 0]) + b"\x01"
    arguments = [safe, 0, data, 0, 0, 0, 0, _NOBODY, _NOBODY, signature]
    types = "address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes"
    return encode_call(f"execTransaction({types})", arguments)


def _step(name: str, to: str, signature: str, *arguments: object) -> Step:
    return Step(f"published {name} of {to}", known.DEVELOPER, to, encode_call(signature, arguments))


def _call(signature: str, *arguments: object, value: int = 0) -> Call:
    return Call(known.DEVELOPER, encode_call(signature, arguments), value)


def _owner_changes(safe: str) -> Iterator[Step]:
    added = encode_call("addOwnerWithThreshold(address,uint256)", [known.BOB, 1])
    removed = encode_call("removeOwner(address,address,uint256)", [_FIRST_OWNER, known.BOB, 1])
    for name, data in (("added", added), ("removed", removed)):
        yield Step(f"published owner {name} of {safe}", known.DEVELOPER, safe, safe_transaction(safe, data))


def _collection() -> Placement:
    signature = "constructor(string,string,string)"
    named = encode_arguments(signature, ["Local Collection", "LOCAL", "https://collection.example/"])
    mints = tuple(_call("mint(address)", known.DEVELOPER) for _ in places.TOKEN_IDS)
    return Placement(places.COLLECTION, original("erc721") + named, calls=mints)


def _safes() -> Iterator[Placement]:
    owners = list(places.SAFE_OWNERS)
    signature = "setup(address[],uint256,address,bytes,address,address,uint256,address)"
    set_up = _call(signature, owners, 1, _NOBODY, b"", _NOBODY, _NOBODY, 0, _NOBODY)
    for name, singleton, safe in (
        ("safe", places.SAFE_SINGLETON, places.SAFE),
        ("old_safe", places.OLD_SAFE_SINGLETON, places.OLD_SAFE),
    ):
        yield Placement(singleton, original(name))
        behind = encode_arguments("constructor(address)", [singleton])
        yield Placement(safe, original(f"{name}_proxy") + behind, calls=(set_up,))


def _lido() -> Iterator[Placement]:
    code = stand_ins()
    yield Placement(
        places.STETH,
        code["staked_ether"],
        calls=(
            _call("initialize(address)", known.DEVELOPER),
            _call("submit(address)", _NOBODY, value=1_000 * _ETHER),
            _call("report(uint256,uint256)", 187_654_321_987_654_321_098, 960 * _ETHER),
            _call("approve(address,uint256)", places.WSTETH, known.UNLIMITED),
        ),
    )
    wrap = (_call("initialize(address)", places.STETH), _call("wrap(uint256)", 400 * _ETHER))
    yield Placement(places.WSTETH, code["wrapped_staked_ether"], calls=wrap)
    setup = _call("initialize(address[16])", list(places.LIDO_PLACES.values()))
    yield Placement(places.LIDO_LOCATOR, code["lido_locator"], calls=(setup,))


def _ethers() -> Iterator[Placement]:
    code = stand_ins()
    opened = _call("initialize(address)", known.DEVELOPER)
    minted = _call("mint(address,uint256)", known.DEVELOPER, 500 * _ETHER)
    pool = _call("initialize(uint256,uint256,address)", 2_718_281 * _ETHER, 2_500_000 * _ETHER + 7, known.DEVELOPER)
    yield Placement(places.WEETH, code["restaked_ether"], calls=(pool, minted))
    rate = _call("updateExchangeRate(uint256)", 1_117_000_000_000_000_000)
    yield Placement(places.CBETH, code["rated_ether"], calls=(opened, minted, rate))
    reported = _call("report(uint256)", 571_828_182_845_904_523_536)
    funded = _call("depositExcess()", value=61 * _ETHER)
    yield Placement(places.RETH, code["pooled_ether"], calls=(opened, minted, reported, funded))


def _dollar() -> Iterator[Placement]:
    code = stand_ins()
    described = _call("initialize(string,string,uint8,address)", "USDe", "USDe", 18, known.DEVELOPER)
    minted = _call("mint(address,uint256)", known.DEVELOPER, 10_000 * _ETHER)
    allowed = _call("approve(address,uint256)", places.SUSDE, known.UNLIMITED)
    yield Placement(places.USDE, code["token"], calls=(described, minted, allowed))
    deposits = (
        _call("initialize(address)", places.USDE),
        _call("deposit(uint256,address)", 2_000 * _ETHER, known.DEVELOPER),
    )
    yield Placement(places.SUSDE, code["staked_dollar"], calls=deposits)


def _oracle(chain: Chain) -> Placement:
    prices = [
        _call(
            "set_price(address,uint256,uint256,bool)", token.address, (index + 3) * 10**14, token.decimals, index == 2
        )
        for index, token in enumerate(chain.tokens)
    ]
    kinds = [_call("add_oracle(address,uint8)", f"0x{0x0AC1E + index:040x}", index) for index in range(3)]
    opened = _call("initialize(address)", known.DEVELOPER)
    return Placement(places.SPOT_ORACLE, stand_ins()["spot_oracle"], calls=(opened, *prices, *kinds))
