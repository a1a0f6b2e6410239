# pragma version 0.4.3
# Stand-in for a token of EIP-5115 that markets of yield-a are made of: it holds one asset, in which its owner keeps more
# than it owes, and its exchange rate grows by a constant per second. `set_rate` changes both, also downwards. No rewards.

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

interface Token:
    def transfer(receiver: address, amount: uint256): nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256): nonpayable

ONE: constant(uint256) = 10 ** 18
TOKEN: constant(uint8) = 0  # kind of asset: its amounts are those of a token

name: public(String[64])
symbol: public(String[32])
decimals: public(uint8)
asset: public(address)
kind: uint8
owner: address
rate: uint256
growth: uint256
since: uint256


@deploy
def __init__(name: String[64], symbol: String[32], asset: address, decimals: uint8, owner: address, growth: uint256):
    self.name = name
    self.symbol = symbol
    self.asset = asset
    self.decimals = decimals
    self.owner = owner
    self.rate = ONE
    self.growth = growth
    self.since = block.timestamp


@internal
@view
def _rate() -> uint256:
    return self.rate + self.growth * (block.timestamp - self.since)


@external
@view
def exchangeRate() -> uint256:
    return self._rate()


@external
def set_rate(rate: uint256, growth: uint256):
    assert msg.sender == self.owner, "caller is not the owner"
    self.rate = rate
    self.growth = growth
    self.since = block.timestamp


@external
def set_kind(kind: uint8):
    assert msg.sender == self.owner, "caller is not the owner"
    self.kind = kind


@external
@view
def assetInfo() -> (uint8, address, uint8):
    return self.kind, self.asset, self.decimals


@external
@view
def yieldToken() -> address:
    return self.asset


@external
@view
def getTokensIn() -> DynArray[address, 1]:
    return [self.asset]


@external
@view
def getTokensOut() -> DynArray[address, 1]:
    return [self.asset]


@external
@view
def isValidTokenIn(token: address) -> bool:
    return token == self.asset


@external
@view
def isValidTokenOut(token: address) -> bool:
    return token == self.asset


@external
@view
def previewDeposit(token: address, amount: uint256) -> uint256:
    return amount * ONE // self._rate()


@external
@view
def previewRedeem(token: address, shares: uint256) -> uint256:
    return shares * self._rate() // ONE


@external
def deposit(receiver: address, token: address, amount: uint256, least: uint256) -> uint256:
    assert token == self.asset, "not the asset"
    shares: uint256 = amount * ONE // self._rate()
    assert shares >= least, "too few shares"
    extcall Token(token).transferFrom(msg.sender, self, amount)
    ledger.balanceOf[receiver] += shares
    ledger.totalSupply += shares
    log ledger.Transfer(sender=empty(address), receiver=receiver, value=shares)
    return shares


@external
def redeem(receiver: address, shares: uint256, token: address, least: uint256, own: bool) -> uint256:
    assert token == self.asset, "not the asset"
    holder: address = self if own else msg.sender
    assert ledger.balanceOf[holder] >= shares, "too few shares"
    ledger.balanceOf[holder] -= shares
    ledger.totalSupply -= shares
    log ledger.Transfer(sender=holder, receiver=empty(address), value=shares)
    amount: uint256 = shares * self._rate() // ONE
    assert amount >= least, "too little of the asset"
    extcall Token(token).transfer(receiver, amount)
    return amount


@external
@view
def getRewardTokens() -> DynArray[address, 1]:
    return []


@external
def claimRewards(account: address) -> DynArray[uint256, 1]:
    return []


@external
@view
def accruedRewards(account: address) -> DynArray[uint256, 1]:
    return []


@external
def rewardIndexesCurrent() -> DynArray[uint256, 1]:
    return []


@external
@view
def rewardIndexesStored() -> DynArray[uint256, 1]:
    return []


# What markets ask the gauge controller: the token of rewards, here the asset, and the rewards themselves, of which there
# are none.

@external
@view
def pendle() -> address:
    return self.asset


@external
def redeemMarketReward():
    pass
