# pragma version 0.4.3
# Stand-in for ether.fi's weETH: a token of shares in a pool of eETH, whose size is told to it.

import ledger
initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.mint,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

name: public(constant(String[32])) = "Wrapped eETH"
symbol: public(constant(String[8])) = "weETH"
decimals: public(constant(uint8)) = 18
pooled: public(uint256)
shares: public(uint256)


@external
def initialize(pooled: uint256, shares: uint256, minter: address):
    ledger._open(minter)
    self.pooled = pooled
    self.shares = shares


@external
@view
def getWeETHByeETH(amount: uint256) -> uint256:
    return amount * self.shares // self.pooled


@external
@view
def getEETHByWeETH(amount: uint256) -> uint256:
    return amount * self.pooled // self.shares
