# pragma version 0.4.3
# Stand-in for a reward pool of Beefy, of the kind `gov`: what is staked is withdrawn one to one; it pays no rewards.

import ledger
initializes: ledger

exports: (
    ledger.balanceOf,
    ledger.allowance,
    ledger.totalSupply,
    ledger.transfer,
    ledger.approve,
    ledger.transferFrom,
)

interface Coin:
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

name: public(String[64])
symbol: public(String[64])
decimals: public(constant(uint8)) = 18
stakedToken: public(address)


@external
def initialize(name: String[64], symbol: String[64], staked: address):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    self.stakedToken = staked


@external
def stake(amount: uint256):
    ledger.balanceOf[msg.sender] += amount
    ledger.totalSupply += amount
    extcall Coin(self.stakedToken).transferFrom(msg.sender, self, amount, default_return_value=True)
    log ledger.Transfer(sender=empty(address), receiver=msg.sender, value=amount)


@external
def withdraw(amount: uint256):
    ledger.balanceOf[msg.sender] -= amount
    ledger.totalSupply -= amount
    extcall Coin(self.stakedToken).transfer(msg.sender, amount, default_return_value=True)
    log ledger.Transfer(sender=msg.sender, receiver=empty(address), value=amount)
