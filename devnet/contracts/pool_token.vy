# pragma version 0.4.3
# Stand-in for the token of a pool's shares: an ERC-20 that its minter, the pool, mints and burns.

import ledger
initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.mint,
    ledger.minter,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

name: public(String[64])
symbol: public(String[32])
decimals: public(constant(uint8)) = 18


@external
def initialize(name: String[64], symbol: String[32], minter: address):
    ledger._open(minter)
    self.name = name
    self.symbol = symbol


@external
def burnFrom(owner: address, amount: uint256):
    assert msg.sender == ledger.minter, "caller is not the minter"
    ledger.balanceOf[owner] -= amount
    ledger.totalSupply -= amount
    log ledger.Transfer(sender=owner, receiver=empty(address), value=amount)
