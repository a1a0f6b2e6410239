# pragma version 0.4.3
# Stand-in for Coinbase's cbETH: a token with a rate that its oracle sets.

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

event ExchangeRateUpdated:
    oracle: indexed(address)
    newExchangeRate: uint256

name: public(constant(String[32])) = "Coinbase Wrapped Staked ETH"
symbol: public(constant(String[8])) = "cbETH"
decimals: public(constant(uint8)) = 18
exchangeRate: public(uint256)


@external
def initialize(minter: address):
    ledger._open(minter)


@external
def updateExchangeRate(rate: uint256):
    assert msg.sender == ledger.minter, "caller is not the oracle"
    self.exchangeRate = rate
    log ExchangeRateUpdated(oracle=msg.sender, newExchangeRate=rate)
