# pragma version 0.4.3
# Stand-in for Curve's tricrypto2: three coins of different worth along the CryptoSwap invariant, at a fixed price scale.
#
# Deposits after the first and exchanges are not part of it. What is sent to it and taken in by claim_admin_fees raises the
# worth of its shares, as fees do.

interface Coin:
    def balanceOf(account: address) -> uint256: view
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

interface PoolToken:
    def totalSupply() -> uint256: view
    def mint(receiver: address, amount: uint256): nonpayable
    def burnFrom(owner: address, amount: uint256): nonpayable

COUNT: constant(uint256) = 3
SCALES: constant(uint256[COUNT]) = [10**12, 10**10, 1]
ONE: constant(uint256) = 10**18
A_ONE: constant(uint256) = 10**4
MOST_ROUNDS: constant(uint256) = 255

coins: public(address[COUNT])
balances: public(uint256[COUNT])
token: public(address)
A: public(uint256)
gamma: public(uint256)
mid_fee: public(uint256)
out_fee: public(uint256)
fee_gamma: public(uint256)
D: public(uint256)
virtual_price: public(uint256)
prices: uint256[2]


@external
def initialize(
    coins: address[COUNT], token: address, figures: uint256[2], fees: uint256[3], prices: uint256[2]
):
    # `figures` are A and gamma, `fees` the one in balance, the one out of it and the gamma between them.
    assert self.A == 0, "already initialized"
    self.coins = coins
    self.token = token
    self.A = figures[0]
    self.gamma = figures[1]
    self.mid_fee = fees[0]
    self.out_fee = fees[1]
    self.fee_gamma = fees[2]
    self.prices = prices


@external
@view
def price_scale(k: uint256) -> uint256:
    return self.prices[k]


@external
@view
def price_oracle(k: uint256) -> uint256:
    return self.prices[k]


@external
@view
def last_prices(k: uint256) -> uint256:
    return self.prices[k]


@external
@view
def get_virtual_price() -> uint256:
    return ONE * self._worth(self.D) // staticcall PoolToken(self.token).totalSupply()


@external
@view
def fee() -> uint256:
    scaled: uint256[COUNT] = self._scaled()
    total: uint256 = scaled[0] + scaled[1] + scaled[2]
    balance: uint256 = ONE
    for amount: uint256 in scaled:
        balance = balance * COUNT * amount // total
    if self.fee_gamma > 0:
        balance = self.fee_gamma * ONE // (self.fee_gamma + ONE - balance)
    return (self.mid_fee * balance + self.out_fee * (ONE - balance)) // ONE


@external
def add_liquidity(amounts: uint256[COUNT], min_mint_amount: uint256):
    assert staticcall PoolToken(self.token).totalSupply() == 0, "the stand-in takes one deposit"
    for place: uint256 in range(COUNT):
        extcall Coin(self.coins[place]).transferFrom(msg.sender, self, amounts[place], default_return_value=True)
    self.balances = amounts
    self.D = self._invariant(self._scaled())
    minted: uint256 = self._worth(self.D)
    assert minted >= min_mint_amount, "Slippage"
    extcall PoolToken(self.token).mint(msg.sender, minted)
    self.virtual_price = ONE


@external
def claim_admin_fees():
    for place: uint256 in range(COUNT):
        self.balances[place] = staticcall Coin(self.coins[place]).balanceOf(self)
    self.D = self._invariant(self._scaled())
    self.virtual_price = ONE * self._worth(self.D) // staticcall PoolToken(self.token).totalSupply()


@external
def remove_liquidity(amount: uint256, min_amounts: uint256[COUNT]):
    # One unit of the shares stays, as in the original.
    supply: uint256 = staticcall PoolToken(self.token).totalSupply()
    extcall PoolToken(self.token).burnFrom(msg.sender, amount)
    counted: uint256 = amount - 1
    for place: uint256 in range(COUNT):
        paid: uint256 = self.balances[place] * counted // supply
        assert paid >= min_amounts[place], "Slippage"
        self.balances[place] -= paid
        extcall Coin(self.coins[place]).transfer(msg.sender, paid, default_return_value=True)
    self.D -= self.D * counted // supply


@internal
@view
def _scaled() -> uint256[COUNT]:
    return [
        self.balances[0] * SCALES[0],
        self.balances[1] * SCALES[1] * self.prices[0] // ONE,
        self.balances[2] * SCALES[2] * self.prices[1] // ONE,
    ]


@internal
@view
def _worth(d: uint256) -> uint256:
    # What the pool would be worth in balance: the geometric mean of its coins' amounts.
    return self._mean(
        self._sorted([d // COUNT, d * ONE // (COUNT * self.prices[0]), d * ONE // (COUNT * self.prices[1])])
    )


@internal
@pure
def _sorted(amounts: uint256[COUNT]) -> uint256[COUNT]:
    # The largest first.
    found: uint256[COUNT] = amounts
    for place: uint256 in range(1, COUNT):
        for step: uint256 in range(COUNT):
            at: uint256 = place - min(step, place)
            if at > 0 and found[at] > found[at - 1]:
                larger: uint256 = found[at]
                found[at] = found[at - 1]
                found[at - 1] = larger
    return found


@internal
@pure
def _mean(amounts: uint256[COUNT]) -> uint256:
    mean: uint256 = amounts[0]
    for _: uint256 in range(MOST_ROUNDS):
        last: uint256 = mean
        ratio: uint256 = ONE
        for amount: uint256 in amounts:
            ratio = ratio * amount // mean
        mean = mean * ((COUNT - 1) * ONE + ratio) // (COUNT * ONE)
        change: uint256 = max(mean, last) - min(mean, last)
        if change <= 1 or change * ONE < mean:
            return mean
    raise "the mean does not converge"


@internal
@view
def _invariant(amounts: uint256[COUNT]) -> uint256:
    # Newton's method on K * D ** (n - 1) * sum(x) + prod(x) = K * D ** n + (D / n) ** n, where K depends on A and gamma.
    found: uint256[COUNT] = self._sorted(amounts)
    total: uint256 = found[0] + found[1] + found[2]
    d: uint256 = COUNT * self._mean(found)
    for _: uint256 in range(MOST_ROUNDS):
        last: uint256 = d
        k: uint256 = ONE
        for amount: uint256 in found:
            k = k * amount * COUNT // d
        apart: uint256 = max(self.gamma + ONE, k) - min(self.gamma + ONE, k) + 1
        first: uint256 = ONE * d // self.gamma * apart // self.gamma * apart * A_ONE // self.A
        second: uint256 = 2 * ONE * COUNT * k // apart
        slope: uint256 = total + total * second // ONE + first * COUNT // k - second * d // ONE
        up: uint256 = d * (slope + total) // slope
        down: uint256 = d * d // slope
        step: uint256 = d * (first // slope) // ONE * (max(ONE, k) - min(ONE, k)) // k
        down = down + step if ONE > k else down - step
        d = up - down if up > down else (down - up) // 2
        change: uint256 = max(d, last) - min(d, last)
        if change * 10**14 < max(10**16, d):
            return d
    raise "the invariant does not converge"
