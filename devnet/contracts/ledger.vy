# pragma version 0.4.3
# Balances and allowances of ERC-20 (EIP-20); the tokens of this folder differ in what they say about themselves.

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
totalSupply: public(uint256)
minter: public(address)


@internal
def _open(minter: address):
    assert self.minter == empty(address), "already initialized"
    self.minter = minter


@internal
def _move(sender: address, receiver: address, amount: uint256):
    assert self.balanceOf[sender] >= amount, "transfer amount exceeds balance"
    self.balanceOf[sender] -= amount
    self.balanceOf[receiver] += amount
    log Transfer(sender=sender, receiver=receiver, value=amount)


@internal
def _allow(owner: address, spender: address, amount: uint256):
    self.allowance[owner][spender] = amount
    log Approval(owner=owner, spender=spender, value=amount)


@internal
def _spend(owner: address, spender: address, amount: uint256):
    allowed: uint256 = self.allowance[owner][spender]
    if allowed != max_value(uint256):
        assert allowed >= amount, "insufficient allowance"
        self.allowance[owner][spender] = allowed - amount


@external
def mint(receiver: address, amount: uint256):
    assert msg.sender == self.minter, "caller is not the minter"
    self.balanceOf[receiver] += amount
    self.totalSupply += amount
    log Transfer(sender=empty(address), receiver=receiver, value=amount)


@external
def transfer(receiver: address, amount: uint256) -> bool:
    self._move(msg.sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self._allow(msg.sender, spender, amount)
    return True


@external
def transferFrom(owner: address, receiver: address, amount: uint256) -> bool:
    self._spend(owner, msg.sender, amount)
    self._move(owner, receiver, amount)
    return True
