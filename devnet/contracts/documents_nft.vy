# pragma version 0.4.3
# An ERC-721 that cannot list its tokens, each of which has an owner and a document address of its own, in any writing.

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    token_id: indexed(uint256)

name: public(String[64])
symbol: public(String[32])
balances: HashMap[address, uint256]
owners: HashMap[uint256, address]
uris: HashMap[uint256, String[2048]]


@external
def initialize(name: String[64], symbol: String[32]):
    self.name = name
    self.symbol = symbol


@external
def mint(receiver: address, token_id: uint256, uri: String[2048]):
    assert self.owners[token_id] == empty(address), "minted already"
    self.owners[token_id] = receiver
    self.balances[receiver] += 1
    self.uris[token_id] = uri
    log Transfer(sender=empty(address), receiver=receiver, token_id=token_id)


@external
@view
def supportsInterface(interface_id: bytes4) -> bool:
    return interface_id in [0x01ffc9a7, 0x80ac58cd, 0x5b5e139f]


@external
@view
def balanceOf(owner: address) -> uint256:
    assert owner != empty(address), "the zero address owns nothing"
    return self.balances[owner]


@external
@view
def ownerOf(token_id: uint256) -> address:
    assert self.owners[token_id] != empty(address), "no such token"
    return self.owners[token_id]


@external
@view
def tokenURI(token_id: uint256) -> String[2048]:
    assert self.owners[token_id] != empty(address), "no such token"
    return self.uris[token_id]
