# pragma version 0.4.3
# A token whose balanceOf is not a view: asked by CALL it pays one whole unit of another token to the account in question, so that
# whoever reads that account next in the same execution sees a balance that is not on the chain. Asked by STATICCALL it cannot.

interface Coin:
    def transfer(receiver: address, amount: uint256) -> bool: nonpayable

name: public(String[64])
symbol: public(String[32])
decimals: public(uint8)
totalSupply: public(uint256)
coin: public(address)
unit: public(uint256)


@external
def initialize(name: String[64], symbol: String[32], coin: address, unit: uint256):
    assert self.coin == empty(address), "already initialized"
    self.name = name
    self.symbol = symbol
    self.decimals = 18
    self.totalSupply = 10 ** 24
    self.coin = coin
    self.unit = unit


@external
def balanceOf(account: address) -> uint256:
    paid: bool = raw_call(
        self.coin,
        abi_encode(account, self.unit, method_id=method_id("transfer(address,uint256)")),
        revert_on_failure=False,
    )
    return 7 * 10 ** 18


@external
@view
def allowance(owner: address, spender: address) -> uint256:
    return 0
