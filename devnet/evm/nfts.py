"""The NFT contracts of the local ethereum: OpenZeppelin's presets, as published, and odd ones of our own."""

from collections.abc import Iterator

from devnet import known, known_nft
from devnet.evm.artifacts import original, stand_ins
from devnet.evm.calls import encode_arguments, encode_call
from devnet.evm.placement import Call, Placement

# Contracts of a few instructions, as runtime code. Liar: PUSH1 1 PUSH0 MSTORE PUSH1 32 PUSH0 RETURN. Reverter: PUSH0
# PUSH0 REVERT.
_LIAR = bytes.fromhex("60015f5260205ff3")
_REVERTER = bytes.fromhex("5f5ffd")


def nft_placements() -> Iterator[Placement]:
    """Yield the contracts with their tokens."""
    texts = [known_nft.LIGHTHOUSES_NAME, known_nft.LIGHTHOUSES_SYMBOL, known_nft.LIGHTHOUSES_BASE]
    arguments = encode_arguments("constructor(string,string,string)", texts)
    yield Placement(known_nft.LIGHTHOUSES, original("erc721") + arguments, calls=tuple(_lighthouses()))
    arguments = encode_arguments("constructor(string)", [known_nft.GOODS_URI])
    yield Placement(known_nft.GOODS, original("erc1155") + arguments, calls=tuple(_goods()))
    yield _own(known_nft.DOCUMENTS, "documents_nft", "Written Documents", "DOC", *_documents())
    yield old_deeds()
    yield _own(known_nft.BOASTER, "boastful_nft", "Boaster", "BOAST")
    yield Placement(known_nft.LIAR, runtime=_LIAR)
    yield Placement(known_nft.REVERTER, runtime=_REVERTER)


def old_deeds() -> Placement:
    """Return the contract of the time before interface detection."""
    texts = [text.ljust(32, b"\0") for text in (b"Old Deeds", b"DEED")]
    opened = Call(known.DEVELOPER, encode_call("initialize(bytes32,bytes32)", texts))
    minted = [Call(known.DEVELOPER, encode_call("mint(address)", [known.VITALIK]))] * 3
    return Placement(known_nft.OLD_DEEDS, stand_ins()["old_nft"], calls=(opened, *minted))


def _own(address: str, contract: str, name: str, symbol: str, *calls: Call) -> Placement:
    opened = Call(known.DEVELOPER, encode_call("initialize(string,string)", [name, symbol]))
    return Placement(address, stand_ins()[contract], calls=(opened, *calls))


def _lighthouses() -> Iterator[Call]:
    holders = [known.ALICE] * known_nft.ALICE_HAS + [known.VITALIK] * known_nft.VITALIK_HAS + [known.BOB]
    for holder in holders:
        yield Call(known.DEVELOPER, encode_call("mint(address)", [holder]))
    yield Call(known.BOB, encode_call("burn(uint256)", [known_nft.BURNT]))


def _goods() -> Iterator[Call]:
    for (holder, token_id), amount in known_nft.GOODS_HELD.items():
        arguments = [holder, token_id, amount, b""]
        yield Call(known.DEVELOPER, encode_call("mint(address,uint256,uint256,bytes)", arguments))


def _documents() -> Iterator[Call]:
    for token_id, uri in known_nft.WRITTEN.items():
        arguments = [known.VITALIK, token_id, uri]
        yield Call(known.DEVELOPER, encode_call("mint(address,uint256,string)", arguments))
