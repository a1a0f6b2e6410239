# pragma version 0.4.3
# Stand-in for Lido's wstETH: holds stETH and gives its shares out as a token whose balances stand still.

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

interface StakedEther:
    def getSharesByPooledEth(amount: uint256) -> uint256: view
    def getPooledEthByShares(shares: uint256) -> uint256: view
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

name: public(constant(String[32])) = "Wrapped liquid staked Ether 2.0"
symbol: public(constant(String[8])) = "wstETH"
decimals: public(constant(uint8)) = 18
stETH: public(address)


@external
def initialize(steth: address):
    assert self.stETH == empty(address), "already initialized"
    self.stETH = steth


@external
def wrap(amount: uint256) -> uint256:
    shares: uint256 = staticcall StakedEther(self.stETH).getSharesByPooledEth(amount)
    ledger.balanceOf[msg.sender] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=msg.sender, value=shares)
    extcall StakedEther(self.stETH).transferFrom(msg.sender, self, amount)
    return shares


@external
@view
def getWstETHByStETH(amount: uint256) -> uint256:
    return staticcall StakedEther(self.stETH).getSharesByPooledEth(amount)


@external
@view
def getStETHByWstETH(amount: uint256) -> uint256:
    return staticcall StakedEther(self.stETH).getPooledEthByShares(amount)


@external
@view
def stEthPerToken() -> uint256:
    return staticcall StakedEther(self.stETH).getPooledEthByShares(10**18)


@external
@view
def tokensPerStEth() -> uint256:
    return staticcall StakedEther(self.stETH).getSharesByPooledEth(10**18)
