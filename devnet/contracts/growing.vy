# pragma version 0.4.3
# Shares of a deposit that grows by a fixed part of itself per second, as a vault's does while its strategies earn. What
# it grows by has to lie in the contract beforehand, so that every share can be redeemed for what it is worth.

interface Coin:
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

UNIT: constant(uint256) = 10**18

coin: address
stored: uint256
since: uint256
rate: uint256


@internal
def _start(coin: address, rate: uint256):
    # The rate is a part per second, times 10**18.
    self.coin = coin
    self.rate = rate
    self.since = block.timestamp


@internal
@view
def _assets() -> uint256:
    return self.stored + self.stored * self.rate * (block.timestamp - self.since) // UNIT


@internal
@view
def _worth(shares: uint256, supply: uint256) -> uint256:
    if supply == 0:
        return shares
    return shares * self._assets() // supply


@internal
@view
def _shares(assets: uint256, supply: uint256) -> uint256:
    if supply == 0:
        return assets
    return assets * supply // self._assets()


@internal
def _take(assets: uint256):
    # Nothing is earned on what was earned before the last deposit or withdrawal until then.
    self.stored = self._assets() + assets
    self.since = block.timestamp
    extcall Coin(self.coin).transferFrom(msg.sender, self, assets, default_return_value=True)


@internal
def _give(assets: uint256, receiver: address):
    self.stored = self._assets() - assets
    self.since = block.timestamp
    extcall Coin(self.coin).transfer(receiver, assets, default_return_value=True)
