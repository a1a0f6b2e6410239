# pragma version 0.4.3
# A token without name and symbol: both are optional in EIP-20.

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

decimals: public(uint8)


@external
def initialize(decimals: uint8, minter: address):
    ledger._open(minter)
    self.decimals = decimals
