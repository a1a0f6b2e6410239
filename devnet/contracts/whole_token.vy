# pragma version 0.4.3
# A token without decimals, which EIP-20 makes optional: it counts whole pieces.

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


@external
def initialize(name: String[64], symbol: String[32], minter: address):
    ledger._open(minter)
    self.name = name
    self.symbol = symbol
