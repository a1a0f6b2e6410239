# pragma version 0.4.3
# Stand-in for Rocket Pool's rETH: the network's ether over the token's supply is its rate; its own ether is the collateral.

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

name: public(constant(String[32])) = "Rocket Pool ETH"
symbol: public(constant(String[8])) = "rETH"
decimals: public(constant(uint8)) = 18
network_ether: public(uint256)


@external
def initialize(minter: address):
    ledger._open(minter)


@external
@payable
def depositExcess():
    assert msg.value > 0, "nothing sent"


@external
def report(network_ether: uint256):
    assert msg.sender == ledger.minter, "caller is not the oracle"
    self.network_ether = network_ether


@external
@view
def getEthValue(amount: uint256) -> uint256:
    return self._ether(amount)


@external
@view
def getRethValue(amount: uint256) -> uint256:
    return amount * ledger.totalSupply // self.network_ether


@external
@view
def getExchangeRate() -> uint256:
    return self._ether(10**18)


@external
@view
def getTotalCollateral() -> uint256:
    return self.balance


@external
@view
def getCollateralRate() -> uint256:
    return self.balance * 10**18 // self._ether(ledger.totalSupply)


@internal
@view
def _ether(amount: uint256) -> uint256:
    return amount * self.network_ether // ledger.totalSupply
