# pragma version 0.4.3
# Stand-in for a vault of Beefy, of the kind `standard`: shares of 18 decimals over one token, earning a fixed rate. It
# has no `balance()`, which is a word of this language.

import ledger
import growing
initializes: ledger
initializes: growing

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

name: public(String[64])
symbol: public(String[64])
decimals: public(constant(uint8)) = 18


@external
def initialize(name: String[64], symbol: String[64], want: address, rate: uint256):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    growing._start(want, rate)


@external
@view
def want() -> address:
    return growing.coin


@external
@view
def getPricePerFullShare() -> uint256:
    if ledger.totalSupply == 0:
        return 10**18
    return growing._assets() * 10**18 // ledger.totalSupply


@external
def deposit(amount: uint256):
    shares: uint256 = growing._shares(amount, ledger.totalSupply)
    growing._take(amount)
    ledger.balanceOf[msg.sender] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=msg.sender, value=shares)


@external
def withdraw(shares: uint256):
    assets: uint256 = growing._worth(shares, ledger.totalSupply)
    ledger.balanceOf[msg.sender] -= shares
    ledger.totalSupply -= shares
    growing._give(assets, msg.sender)
    log ledger.Transfer(sender=msg.sender, receiver=empty(address), value=shares)
