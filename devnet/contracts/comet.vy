# pragma version 0.4.3
# Stand-in for a market of lend-b V3: the read interface and the arithmetic of interest, balances, collateral and
# liquidation of the original, in its units and roundings. Left out: rewards, liquidations and reserves.

interface Token:
    def transfer(receiver: address, amount: uint256): nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256): nonpayable

interface Feed:
    def latestRoundData() -> (uint80, int256, uint256, uint256, uint80): view

struct AssetInfo:
    offset: uint8
    asset: address
    priceFeed: address
    scale: uint64
    borrowCollateralFactor: uint64
    liquidateCollateralFactor: uint64
    liquidationFactor: uint64
    supplyCap: uint128

struct UserBasic:
    principal: int104
    baseTrackingIndex: uint64
    baseTrackingAccrued: uint64
    assetsIn: uint16
    _reserved: uint8

struct TotalsBasic:
    baseSupplyIndex: uint64
    baseBorrowIndex: uint64
    trackingSupplyIndex: uint64
    trackingBorrowIndex: uint64
    totalSupplyBase: uint104
    totalBorrowBase: uint104
    lastAccrualTime: uint40
    pauseFlags: uint8

struct UserCollateral:
    balance: uint128
    _reserved: uint128

FACTOR: constant(uint256) = 10**18
INDEX: constant(uint256) = 10**15
YEAR: constant(uint256) = 31_536_000
MAX_ASSETS: constant(uint256) = 24
IN_FIRST_WORD: constant(uint8) = 16  # assets whose bits stand in assetsIn; those of the others stand in _reserved

name: public(String[32])
symbol: public(String[16])
decimals: public(immutable(uint8))
baseToken: public(immutable(address))
baseTokenPriceFeed: public(immutable(address))
baseScale: public(immutable(uint256))
baseBorrowMin: public(constant(uint256)) = 100
supplyKink: public(constant(uint256)) = 9 * 10**17
borrowKink: public(constant(uint256)) = 9 * 10**17
supplyPerSecondInterestRateBase: public(constant(uint256)) = 0
supplyPerSecondInterestRateSlopeLow: public(constant(uint256)) = 36 * 10**15 // YEAR
supplyPerSecondInterestRateSlopeHigh: public(constant(uint256)) = 303 * 10**16 // YEAR
borrowPerSecondInterestRateBase: public(constant(uint256)) = 15 * 10**15 // YEAR
borrowPerSecondInterestRateSlopeLow: public(constant(uint256)) = 28 * 10**15 // YEAR
borrowPerSecondInterestRateSlopeHigh: public(constant(uint256)) = 357 * 10**16 // YEAR
trackingIndexScale: public(constant(uint256)) = 10**15
baseTrackingSupplySpeed: public(constant(uint256)) = 0
baseTrackingBorrowSpeed: public(constant(uint256)) = 0
priceScale: public(constant(uint256)) = 10**8

assets: DynArray[AssetInfo, MAX_ASSETS]
totals: TotalsBasic
userBasic: public(HashMap[address, UserBasic])
userCollateral: public(HashMap[address, HashMap[address, UserCollateral]])
totalsCollateral: public(HashMap[address, UserCollateral])


@deploy
def __init__(name: String[32], symbol: String[16], base: address, feed: address, places: uint8):
    self.name = name
    self.symbol = symbol
    decimals = places
    baseToken = base
    baseTokenPriceFeed = feed
    baseScale = 10**convert(places, uint256)
    self.totals.baseSupplyIndex = convert(INDEX, uint64)
    self.totals.baseBorrowIndex = convert(INDEX, uint64)
    self.totals.lastAccrualTime = convert(block.timestamp, uint40)


@external
def add_asset(asset: address, feed: address, places: uint8, borrow: uint64, liquidate: uint64):
    """What governance does by a new implementation: list one more collateral."""
    info: AssetInfo = AssetInfo(
        offset=convert(len(self.assets), uint8),
        asset=asset,
        priceFeed=feed,
        scale=convert(10**convert(places, uint256), uint64),
        borrowCollateralFactor=borrow,
        liquidateCollateralFactor=liquidate,
        liquidationFactor=95 * 10**16,
        supplyCap=max_value(uint128),
    )
    self.assets.append(info)


@external
def supplyTo(dst: address, asset: address, amount: uint256):
    if asset == baseToken:
        self._accrue()
        self._set_balance(dst, self._present(self.userBasic[dst].principal) + convert(amount, int256))
    else:
        info: AssetInfo = self._info_of(asset)
        before: uint128 = self.userCollateral[dst][asset].balance
        self.userCollateral[dst][asset].balance = before + convert(amount, uint128)
        self.totalsCollateral[asset].balance += convert(amount, uint128)
        if before == 0 and amount > 0:
            user: UserBasic = self.userBasic[dst]
            if info.offset < IN_FIRST_WORD:
                user.assetsIn |= convert(1 << convert(info.offset, uint256), uint16)
            else:
                user._reserved |= convert(1 << convert(info.offset - IN_FIRST_WORD, uint256), uint8)
            self.userBasic[dst] = user
    extcall Token(asset).transferFrom(msg.sender, self, amount, skip_contract_check=True)


@external
def withdrawTo(to: address, asset: address, amount: uint256):
    assert asset == baseToken, "collateral stays here"
    self._accrue()
    balance: int256 = self._present(self.userBasic[msg.sender].principal) - convert(amount, int256)
    self._set_balance(msg.sender, balance)
    if balance < 0:
        assert convert(-balance, uint256) >= baseBorrowMin, "borrow too small"
        assert self._liquidity(msg.sender, False) >= 0, "not collateralized"
    extcall Token(asset).transfer(to, amount, skip_contract_check=True)


@external
def accrueAccount(account: address):
    self._accrue()


@external
@view
def numAssets() -> uint8:
    return convert(len(self.assets), uint8)


@external
@view
def getAssetInfo(i: uint8) -> AssetInfo:
    if convert(i, uint256) >= len(self.assets):
        raw_revert(method_id("Absent()"))
    return self.assets[i]


@external
@view
def getAssetInfoByAddress(asset: address) -> AssetInfo:
    return self._info_of(asset)


@external
@view
def getPrice(feed: address) -> uint256:
    return self._price(feed)


@external
@view
def getUtilization() -> uint256:
    return self._utilization()


@external
@view
def getSupplyRate(utilization: uint256) -> uint64:
    return self._supply_rate(utilization)


@external
@view
def getBorrowRate(utilization: uint256) -> uint64:
    return self._borrow_rate(utilization)


@external
@view
def totalsBasic() -> TotalsBasic:
    return self.totals


@external
@view
def totalSupply() -> uint256:
    return convert(self.totals.totalSupplyBase, uint256) * self._indices()[0] // INDEX


@external
@view
def totalBorrow() -> uint256:
    return convert(self.totals.totalBorrowBase, uint256) * self._indices()[1] // INDEX


@external
@view
def balanceOf(account: address) -> uint256:
    principal: int104 = self.userBasic[account].principal
    return convert(principal, uint256) * self._indices()[0] // INDEX if principal > 0 else 0


@external
@view
def borrowBalanceOf(account: address) -> uint256:
    principal: int104 = self.userBasic[account].principal
    return convert(-principal, uint256) * self._indices()[1] // INDEX if principal < 0 else 0


@external
@view
def collateralBalanceOf(account: address, asset: address) -> uint128:
    return self.userCollateral[account][asset].balance


@external
@view
def isBorrowCollateralized(account: address) -> bool:
    return self.userBasic[account].principal >= 0 or self._liquidity(account, False) >= 0


@external
@view
def isLiquidatable(account: address) -> bool:
    return self.userBasic[account].principal < 0 and self._liquidity(account, True) < 0


@internal
@view
def _liquidity(account: address, liquidation: bool) -> int256:
    """The worth of an account by the stored index: what it owes, and its collateral by one factor or the other.

    It stops at the first collateral that suffices, as the original does: the feeds of the others are not asked.
    """
    user: UserBasic = self.userBasic[account]
    owed: uint256 = convert(-user.principal, uint256) * convert(self.totals.baseBorrowIndex, uint256) // INDEX
    left: int256 = -convert(owed * self._price(baseTokenPriceFeed) // baseScale, int256)
    for info: AssetInfo in self.assets:
        if not self._holds(user, info.offset):
            continue
        if left >= 0:
            return left
        amount: uint256 = convert(self.userCollateral[account][info.asset].balance, uint256)
        value: uint256 = amount * self._price(info.priceFeed) // convert(info.scale, uint256)
        factor: uint64 = info.liquidateCollateralFactor if liquidation else info.borrowCollateralFactor
        left += convert(value * convert(factor, uint256) // FACTOR, int256)
    return left


@internal
@pure
def _holds(user: UserBasic, offset: uint8) -> bool:
    if offset < IN_FIRST_WORD:
        return convert(user.assetsIn, uint256) & (1 << convert(offset, uint256)) != 0
    return convert(user._reserved, uint256) & (1 << convert(offset - IN_FIRST_WORD, uint256)) != 0


@internal
@view
def _price(feed: address) -> uint256:
    id: uint80 = 0
    price: int256 = 0
    begun: uint256 = 0
    at: uint256 = 0
    answered: uint80 = 0
    (id, price, begun, at, answered) = staticcall Feed(feed).latestRoundData()
    if price <= 0:
        raw_revert(method_id("BadPrice()"))
    return convert(price, uint256)


@internal
@view
def _info_of(asset: address) -> AssetInfo:
    for info: AssetInfo in self.assets:
        if info.asset == asset:
            return info
    raw_revert(method_id("BadAsset()"))


@internal
@view
def _utilization() -> uint256:
    """By the stored indices, not by those of this moment."""
    supplied: uint256 = convert(self.totals.totalSupplyBase, uint256) * convert(self.totals.baseSupplyIndex, uint256)
    borrowed: uint256 = convert(self.totals.totalBorrowBase, uint256) * convert(self.totals.baseBorrowIndex, uint256)
    return 0 if supplied == 0 else borrowed // INDEX * FACTOR // (supplied // INDEX)


@internal
@view
def _supply_rate(utilization: uint256) -> uint64:
    low: uint256 = supplyPerSecondInterestRateSlopeLow * min(utilization, supplyKink) // FACTOR
    high: uint256 = 0
    if utilization > supplyKink:
        high = supplyPerSecondInterestRateSlopeHigh * (utilization - supplyKink) // FACTOR
    return convert(supplyPerSecondInterestRateBase + low + high, uint64)


@internal
@view
def _borrow_rate(utilization: uint256) -> uint64:
    low: uint256 = borrowPerSecondInterestRateSlopeLow * min(utilization, borrowKink) // FACTOR
    high: uint256 = 0
    if utilization > borrowKink:
        high = borrowPerSecondInterestRateSlopeHigh * (utilization - borrowKink) // FACTOR
    return convert(borrowPerSecondInterestRateBase + low + high, uint64)


@internal
@view
def _indices() -> (uint256, uint256):
    """The indices of supply and borrow as of this block."""
    supply: uint256 = convert(self.totals.baseSupplyIndex, uint256)
    borrow: uint256 = convert(self.totals.baseBorrowIndex, uint256)
    elapsed: uint256 = block.timestamp - convert(self.totals.lastAccrualTime, uint256)
    if elapsed > 0:
        utilization: uint256 = self._utilization()
        supply += supply * (convert(self._supply_rate(utilization), uint256) * elapsed) // FACTOR
        borrow += borrow * (convert(self._borrow_rate(utilization), uint256) * elapsed) // FACTOR
    return supply, borrow


@internal
def _accrue():
    supply: uint256 = 0
    borrow: uint256 = 0
    (supply, borrow) = self._indices()
    self.totals.baseSupplyIndex = convert(supply, uint64)
    self.totals.baseBorrowIndex = convert(borrow, uint64)
    self.totals.lastAccrualTime = convert(block.timestamp, uint40)


@internal
@view
def _present(principal: int104) -> int256:
    """The balance by the stored indices, negative for a debt."""
    if principal >= 0:
        return convert(convert(principal, uint256) * convert(self.totals.baseSupplyIndex, uint256) // INDEX, int256)
    return -convert(convert(-principal, uint256) * convert(self.totals.baseBorrowIndex, uint256) // INDEX, int256)


@internal
def _set_balance(account: address, balance: int256):
    """Store a balance as principal: supplies are rounded down, debts up."""
    old: int104 = self.userBasic[account].principal
    new: int104 = 0
    if balance >= 0:
        new = convert(convert(balance, uint256) * INDEX // convert(self.totals.baseSupplyIndex, uint256), int104)
    else:
        index: uint256 = convert(self.totals.baseBorrowIndex, uint256)
        new = -convert((convert(-balance, uint256) * INDEX + index - 1) // index, int104)
    self.userBasic[account].principal = new
    supplied: int256 = convert(self.totals.totalSupplyBase, int256) + self._positive(new) - self._positive(old)
    borrowed: int256 = convert(self.totals.totalBorrowBase, int256) + self._positive(-new) - self._positive(-old)
    self.totals.totalSupplyBase = convert(supplied, uint104)
    self.totals.totalBorrowBase = convert(borrowed, uint104)


@internal
@pure
def _positive(principal: int104) -> int256:
    return convert(max(principal, 0), int256)
