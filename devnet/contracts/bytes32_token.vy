# pragma version 0.4.3
# A token of the time before ERC-20 settled on strings: name and symbol are bytes32, as in MKR.

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

name: public(bytes32)
symbol: public(bytes32)
decimals: public(uint256)


@external
def initialize(name: bytes32, symbol: bytes32, decimals: uint256, minter: address):
    ledger._open(minter)
    self.name = name
    self.symbol = symbol
    self.decimals = decimals
