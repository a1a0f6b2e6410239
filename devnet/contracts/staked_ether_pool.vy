# pragma version 0.4.3
# Stand-in for Curve's pool of ether and stETH: balances are what it holds, as stETH grows by itself.

import stable_swap

interface Coin:
    def balanceOf(account: address) -> uint256: view
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

COUNT: constant(uint256) = 2
PRECISION: constant(uint256) = 100
FEE_ONE: constant(uint256) = 10**10
NATIVE: constant(address) = 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE

coins: public(address[COUNT])
admin_balances: public(uint256[COUNT])
A_precise: public(uint256)
fee: public(uint256)
admin_fee: public(uint256)
lp_token: public(address)


@external
def initialize(staked: address, token: address, amplification: uint256, fee: uint256, admin_fee: uint256):
    assert self.A_precise == 0, "already initialized"
    self.coins = [NATIVE, staked]
    self.lp_token = token
    self.A_precise = amplification * PRECISION
    self.fee = fee
    self.admin_fee = admin_fee


@external
@view
def A() -> uint256:
    return self.A_precise // PRECISION


@external
@view
def balances(i: uint256) -> uint256:
    return self._balances(0)[i]


@external
@view
def get_virtual_price() -> uint256:
    d: uint256 = stable_swap._invariant(self._balances(0), self.A_precise, PRECISION)
    return d * 10**18 // staticcall PoolToken(self.lp_token).totalSupply()


@external
@view
def get_dy(i: int128, j: int128, dx: uint256) -> uint256:
    gross: uint256 = self._bought(convert(i, uint256), convert(j, uint256), dx, self._balances(0))
    return gross - gross * self.fee // FEE_ONE


@external
@payable
def exchange(i: int128, j: int128, dx: uint256, min_dy: uint256) -> uint256:
    bought: uint256 = convert(j, uint256)
    gross: uint256 = self._bought(convert(i, uint256), bought, dx, self._balances(msg.value))
    fee: uint256 = gross * self.fee // FEE_ONE
    dy: uint256 = gross - fee
    assert dy >= min_dy, "Exchange resulted in fewer coins than expected"
    self.admin_balances[bought] += fee * self.admin_fee // FEE_ONE
    if bought == 1:
        assert msg.value == dx, "the value is not the amount"
        extcall Coin(self.coins[1]).transfer(msg.sender, dy)
    else:
        assert msg.value == 0, "ether is sent for another coin"
        extcall Coin(self.coins[1]).transferFrom(msg.sender, self, dx)
        send(msg.sender, dy)
    log TokenExchange(buyer=msg.sender, sold_id=i, tokens_sold=dx, bought_id=j, tokens_bought=dy)
    return dy


@external
@payable
def add_liquidity(amounts: uint256[COUNT], min_mint_amount: uint256) -> uint256:
    # The first deposit alone: later ones are not part of the stand-in.
    assert staticcall PoolToken(self.lp_token).totalSupply() == 0, "the stand-in takes one deposit"
    assert msg.value == amounts[0] and amounts[0] > 0 and amounts[1] > 0, "the first deposit is of every coin"
    extcall Coin(self.coins[1]).transferFrom(msg.sender, self, amounts[1])
    minted: uint256 = stable_swap._invariant(self._balances(0), self.A_precise, PRECISION)
    assert minted >= min_mint_amount, "Slippage screwed you"
    extcall PoolToken(self.lp_token).mint(msg.sender, minted)
    return minted


@external
def remove_liquidity(amount: uint256, min_amounts: uint256[COUNT]) -> uint256[COUNT]:
    supply: uint256 = staticcall PoolToken(self.lp_token).totalSupply()
    held: DynArray[uint256, 3] = self._balances(0)
    paid: uint256[COUNT] = [held[0] * amount // supply, held[1] * amount // supply]
    assert paid[0] >= min_amounts[0] and paid[1] >= min_amounts[1], "Withdrawal resulted in fewer coins than expected"
    extcall PoolToken(self.lp_token).burnFrom(msg.sender, amount)
    extcall Coin(self.coins[1]).transfer(msg.sender, paid[1])
    send(msg.sender, paid[0])
    return paid


@internal
@view
def _balances(sent: uint256) -> DynArray[uint256, 3]:
    # `sent`: ether that came with the call and is no part of the pool yet.
    staked: uint256 = staticcall Coin(self.coins[1]).balanceOf(self)
    return [self.balance - self.admin_balances[0] - sent, staked - self.admin_balances[1]]


@internal
@view
def _bought(sold: uint256, bought: uint256, dx: uint256, held: DynArray[uint256, 3]) -> uint256:
    assert sold != bought and sold < COUNT and bought < COUNT, "no such coin"
    amounts: DynArray[uint256, 3] = held
    d: uint256 = stable_swap._invariant(amounts, self.A_precise, PRECISION)
    had: uint256 = amounts[bought]
    amounts[sold] += dx
    return had - stable_swap._balance_of(bought, amounts, d, self.A_precise, PRECISION) - 1
