# pragma version 0.4.3
# A plain ERC-20 with chosen decimals, usable behind a proxy: its storage is written by `initialize`, not by a constructor.

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

name: public(String[64])
symbol: public(String[32])
decimals: public(uint8)


@external
def initialize(name: String[64], symbol: String[32], decimals: uint8, minter: address):
    ledger._open(minter)
    self.name = name
    self.symbol = symbol
    self.decimals = decimals
