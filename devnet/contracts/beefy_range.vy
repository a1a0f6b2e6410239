# pragma version 0.4.3
# Stand-in for a vault of Beefy, of the kind `cowcentrated`: shares of two tokens. It exchanges and earns nothing; who
# deposits first says in which proportion the tokens lie in it.

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
    def balanceOf(account: address) -> uint256: view
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

name: public(String[64])
symbol: public(String[64])
decimals: public(constant(uint8)) = 18
first: address
second: address


@external
def initialize(name: String[64], symbol: String[64], first: address, second: address):
    ledger._open(msg.sender)
    self.name = name
    self.symbol = symbol
    self.first = first
    self.second = second


@external
@view
def wants() -> (address, address):
    return self.first, self.second


@external
@view
def balances() -> (uint256, uint256):
    return self._balances()


@external
@view
def previewWithdraw(shares: uint256) -> (uint256, uint256):
    return self._worth(shares)


@external
def deposit(amount0: uint256, amount1: uint256, shares: uint256):
    # The real one computes the shares of the amounts' worth; here the first depositor names them.
    minted: uint256 = shares
    if ledger.totalSupply != 0:
        held0: uint256 = 0
        held1: uint256 = 0
        held0, held1 = self._balances()
        minted = min(amount0 * ledger.totalSupply // held0, amount1 * ledger.totalSupply // held1)
    ledger.balanceOf[msg.sender] += minted
    ledger.totalSupply += minted
    extcall Coin(self.first).transferFrom(msg.sender, self, amount0, default_return_value=True)
    extcall Coin(self.second).transferFrom(msg.sender, self, amount1, default_return_value=True)
    log ledger.Transfer(sender=empty(address), receiver=msg.sender, value=minted)


@external
def withdraw(shares: uint256, least0: uint256, least1: uint256):
    amount0: uint256 = 0
    amount1: uint256 = 0
    amount0, amount1 = self._worth(shares)
    assert amount0 >= least0 and amount1 >= least1, "TooMuchSlippage"
    ledger.balanceOf[msg.sender] -= shares
    ledger.totalSupply -= shares
    extcall Coin(self.first).transfer(msg.sender, amount0, default_return_value=True)
    extcall Coin(self.second).transfer(msg.sender, amount1, default_return_value=True)
    log ledger.Transfer(sender=msg.sender, receiver=empty(address), value=shares)


@internal
@view
def _balances() -> (uint256, uint256):
    return staticcall Coin(self.first).balanceOf(self), staticcall Coin(self.second).balanceOf(self)


@internal
@view
def _worth(shares: uint256) -> (uint256, uint256):
    held0: uint256 = 0
    held1: uint256 = 0
    held0, held1 = self._balances()
    return held0 * shares // ledger.totalSupply, held1 * shares // ledger.totalSupply
