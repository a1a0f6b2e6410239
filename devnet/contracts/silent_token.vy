# pragma version 0.4.3
# An ERC-20 whose transfer, approve and transferFrom return nothing, and whose approve wants zero first, as USDT on Ethereum does.

import ledger
initializes: ledger

exports: (ledger.balanceOf, ledger.allowance, ledger.totalSupply, ledger.mint)

name: public(String[64])
symbol: public(String[32])
decimals: public(uint8)


@external
def initialize(name: String[64], symbol: String[32], decimals: uint8, minter: address):
    ledger._open(minter)
    self.name = name
    self.symbol = symbol
    self.decimals = decimals


@external
def transfer(receiver: address, amount: uint256):
    ledger._move(msg.sender, receiver, amount)


@external
def approve(spender: address, amount: uint256):
    assert amount == 0 or ledger.allowance[msg.sender][spender] == 0, "set the allowance to zero first"
    ledger._allow(msg.sender, spender, amount)


@external
def transferFrom(owner: address, receiver: address, amount: uint256):
    ledger._spend(owner, msg.sender, amount)
    ledger._move(owner, receiver, amount)
