# pragma version 0.4.3
# Stand-in for Curve's 3pool: three dollars of different decimals along the StableSwap invariant.

import stable_swap

interface Coin:
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable
    def transferFrom(owner: address, receiver: address, amount: uint256) -> bool: nonpayable

interface PoolToken:
    def totalSupply() -> uint256: view
    def mint(receiver: address, amount: uint256): nonpayable
    def burnFrom(owner: address, amount: uint256): nonpayable

event TokenExchange:
    buyer: indexed(address)
    sold_id: int128
    tokens_sold: uint256
    bought_id: int128
    tokens_bought: uint256

COUNT: constant(uint256) = 3
SCALES: constant(uint256[COUNT]) = [1, 10**12, 10**12]
FEE_ONE: constant(uint256) = 10**10

coins: public(address[COUNT])
balances: public(uint256[COUNT])
admin_balances: public(uint256[COUNT])
A: public(uint256)
fee: public(uint256)
admin_fee: public(uint256)
token: PoolToken


@external
def initialize(coins: address[COUNT], token: address, amplification: uint256, fee: uint256, admin_fee: uint256):
    assert self.A == 0, "already initialized"
    self.coins = coins
    self.token = PoolToken(token)
    self.A = amplification
    self.fee = fee
    self.admin_fee = admin_fee


@external
@view
def get_virtual_price() -> uint256:
    return self._invariant(self.balances) * 10**18 // staticcall self.token.totalSupply()


@external
@view
def get_dy(i: int128, j: int128, dx: uint256) -> uint256:
    sold: uint256 = convert(i, uint256)
    bought: uint256 = convert(j, uint256)
    gross: uint256 = self._bought(sold, bought, dx) // SCALES[bought]
    return gross - gross * self.fee // FEE_ONE


@external
def exchange(i: int128, j: int128, dx: uint256, min_dy: uint256):
    sold: uint256 = convert(i, uint256)
    bought: uint256 = convert(j, uint256)
    gross: uint256 = self._bought(sold, bought, dx)
    fee: uint256 = gross * self.fee // FEE_ONE
    dy: uint256 = (gross - fee) // SCALES[bought]
    assert dy >= min_dy, "Exchange resulted in fewer coins than expected"
    kept: uint256 = fee * self.admin_fee // FEE_ONE // SCALES[bought]
    self.balances[sold] += dx
    self.balances[bought] -= dy + kept
    self.admin_balances[bought] += kept
    extcall Coin(self.coins[sold]).transferFrom(msg.sender, self, dx, default_return_value=True)
    extcall Coin(self.coins[bought]).transfer(msg.sender, dy, default_return_value=True)
    log TokenExchange(buyer=msg.sender, sold_id=i, tokens_sold=dx, bought_id=j, tokens_bought=dy)


@external
def add_liquidity(amounts: uint256[COUNT], min_mint_amount: uint256):
    supply: uint256 = staticcall self.token.totalSupply()
    before: uint256 = self._invariant(self.balances)
    after: uint256[COUNT] = self.balances
    for place: uint256 in range(COUNT):
        assert supply > 0 or amounts[place] > 0, "the first deposit is of every coin"
        after[place] += amounts[place]
    grown: uint256 = self._invariant(after)
    assert grown > before, "nothing is added"
    minted: uint256 = grown
    if supply == 0:
        self.balances = after
    else:
        minted = supply * (self._charge(before, grown, after) - before) // before
    assert minted >= min_mint_amount, "Slippage screwed you"
    for place: uint256 in range(COUNT):
        if amounts[place] > 0:
            extcall Coin(self.coins[place]).transferFrom(msg.sender, self, amounts[place], default_return_value=True)
    extcall self.token.mint(msg.sender, minted)


@external
def remove_liquidity(amount: uint256, min_amounts: uint256[COUNT]):
    supply: uint256 = staticcall self.token.totalSupply()
    for place: uint256 in range(COUNT):
        paid: uint256 = self.balances[place] * amount // supply
        assert paid >= min_amounts[place], "Withdrawal resulted in fewer coins than expected"
        self.balances[place] -= paid
        extcall Coin(self.coins[place]).transfer(msg.sender, paid, default_return_value=True)
    extcall self.token.burnFrom(msg.sender, amount)


@internal
def _charge(before: uint256, grown: uint256, after: uint256[COUNT]) -> uint256:
    # Takes the fee of what departs from the pool's proportions; returns the invariant without it.
    rate: uint256 = stable_swap._imbalance_fee(self.fee, COUNT)
    rest: uint256[COUNT] = after
    for place: uint256 in range(COUNT):
        ideal: uint256 = grown * self.balances[place] // before
        fee: uint256 = rate * (max(ideal, after[place]) - min(ideal, after[place])) // FEE_ONE
        kept: uint256 = fee * self.admin_fee // FEE_ONE
        self.balances[place] = after[place] - kept
        self.admin_balances[place] += kept
        rest[place] -= fee
    return self._invariant(rest)


@internal
@view
def _bought(sold: uint256, bought: uint256, dx: uint256) -> uint256:
    # What `dx` buys before fees, in 18 decimals, one less than the invariant gives.
    assert sold != bought and sold < COUNT and bought < COUNT, "no such coin"
    amounts: DynArray[uint256, COUNT] = self._scaled(self.balances)
    d: uint256 = stable_swap._invariant(amounts, self.A, 1)
    had: uint256 = amounts[bought]
    amounts[sold] += dx * SCALES[sold]
    return had - stable_swap._balance_of(bought, amounts, d, self.A, 1) - 1


@internal
@view
def _invariant(balances: uint256[COUNT]) -> uint256:
    return stable_swap._invariant(self._scaled(balances), self.A, 1)


@internal
@pure
def _scaled(balances: uint256[COUNT]) -> DynArray[uint256, COUNT]:
    amounts: DynArray[uint256, COUNT] = []
    for place: uint256 in range(COUNT):
        amounts.append(balances[place] * SCALES[place])
    return amounts
