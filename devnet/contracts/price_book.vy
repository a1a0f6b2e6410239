# pragma version 0.4.3
# Stand-in for Pyth's contract (getPriceUnsafe) and for a lending market's price oracle (getAssetPrice): prices by id or
# by asset, as somebody reported them.

struct Price:
    price: int64
    confidence: uint64
    exponent: int32
    age: uint256

prices: HashMap[bytes32, Price]
asset_prices: HashMap[address, uint256]


@external
def report(id: bytes32, price: int64, confidence: uint64, exponent: int32, age: uint256):
    self.prices[id] = Price(price=price, confidence=confidence, exponent=exponent, age=age)


@external
def report_asset(asset: address, price: uint256):
    self.asset_prices[asset] = price


@external
@view
def getPriceUnsafe(id: bytes32) -> (int64, uint64, int32, uint256):
    found: Price = self.prices[id]
    if found.price == 0:
        raw_revert(method_id("PriceFeedNotFound()"))
    return found.price, found.confidence, found.exponent, block.timestamp - found.age


@external
@pure
def BASE_CURRENCY_UNIT() -> uint256:
    return 10**8


@external
@view
def getAssetPrice(asset: address) -> uint256:
    return self.asset_prices[asset]


@external
@view
def getAssetsPrices(assets: DynArray[address, 64]) -> DynArray[uint256, 64]:
    prices: DynArray[uint256, 64] = []
    for asset: address in assets:
        prices.append(self.asset_prices[asset])
    return prices
