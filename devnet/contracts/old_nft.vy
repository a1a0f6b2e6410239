# pragma version 0.4.3
# A collection of the time before interface detection (ERC-165): it owns, lists and has no documents. What it refuses it
# refuses without a reason; what was burnt belongs to the zero address.

name: public(bytes32)
symbol: public(bytes32)
totalSupply: public(uint256)
owners: HashMap[uint256, address]
tokens: HashMap[address, DynArray[uint256, 100]]


@external
def initialize(name: bytes32, symbol: bytes32):
    self.name = name
    self.symbol = symbol


@external
def mint(receiver: address):
    self.owners[self.totalSupply] = receiver
    self.tokens[receiver].append(self.totalSupply)
    self.totalSupply += 1


@external
@view
def balanceOf(owner: address) -> uint256:
    return len(self.tokens[owner])


@external
@view
def ownerOf(token_id: uint256) -> address:
    assert token_id < self.totalSupply * 2
    return self.owners[token_id]


@external
@view
def tokenOfOwnerByIndex(owner: address, index: uint256) -> uint256:
    return self.tokens[owner][index]
