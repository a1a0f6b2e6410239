# pragma version 0.4.3
# Stand-in for Lido's stETH: what an account has is its share of all ether in the pool, so that balances grow with it.

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    value: uint256

event Approval:
    owner: indexed(address)
    spender: indexed(address)
    value: uint256

event TransferShares:
    sender: indexed(address)
    receiver: indexed(address)
    sharesValue: uint256

event TokenRebased:
    reportTimestamp: indexed(uint256)
    timeElapsed: uint256
    preTotalShares: uint256
    preTotalEther: uint256
    postTotalShares: uint256
    postTotalEther: uint256
    sharesMintedAsFees: uint256

sharesOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
getTotalShares: public(uint256)
getTotalPooledEther: public(uint256)
getBufferedEther: public(uint256)
isStakingPaused: public(bool)
oracle: public(address)


@external
def initialize(oracle: address):
    assert self.oracle == empty(address), "already initialized"
    self.oracle = oracle


@external
@pure
def name() -> String[32]:
    return "Liquid staked Ether 2.0"


@external
@pure
def symbol() -> String[8]:
    return "stETH"


@external
@pure
def decimals() -> uint8:
    return 18


@external
@view
def totalSupply() -> uint256:
    return self.getTotalPooledEther


@external
@view
def balanceOf(account: address) -> uint256:
    return self._ether(self.sharesOf[account])


@external
@view
def getSharesByPooledEth(amount: uint256) -> uint256:
    return self._shares(amount)


@external
@view
def getPooledEthByShares(shares: uint256) -> uint256:
    return self._ether(shares)


@external
@payable
def submit(referral: address) -> uint256:
    assert not self.isStakingPaused, "STAKING_PAUSED"
    assert msg.value > 0, "ZERO_DEPOSIT"
    shares: uint256 = msg.value
    if self.getTotalShares > 0:
        shares = self._shares(msg.value)
    self.getTotalShares += shares
    self.getTotalPooledEther += msg.value
    self.getBufferedEther += msg.value
    self.sharesOf[msg.sender] += shares
    log Transfer(sender=empty(address), receiver=msg.sender, value=msg.value)
    log TransferShares(sender=empty(address), receiver=msg.sender, sharesValue=shares)
    return shares


@external
def report(rewards: uint256, deposited: uint256):
    # What the oracle tells: ether that was earned, and how much of the buffer went to validators.
    assert msg.sender == self.oracle, "APP_AUTH_FAILED"
    self.getTotalPooledEther += rewards
    self.getBufferedEther -= deposited


@external
def rebase(reported_at: uint256, elapsed: uint256, rewards: uint256, fee: uint256):
    # A report of the oracle that is over with: ether that was earned, of which the oracle gets `fee` in shares.
    assert msg.sender == self.oracle, "APP_AUTH_FAILED"
    shares: uint256 = self.getTotalShares
    pooled: uint256 = self.getTotalPooledEther
    minted: uint256 = fee * shares // (pooled + rewards - fee)
    self.getTotalPooledEther = pooled + rewards
    self.getTotalShares = shares + minted
    self.sharesOf[msg.sender] += minted
    log TransferShares(sender=empty(address), receiver=msg.sender, sharesValue=minted)
    log TokenRebased(
        reportTimestamp=reported_at,
        timeElapsed=elapsed,
        preTotalShares=shares,
        preTotalEther=pooled,
        postTotalShares=shares + minted,
        postTotalEther=pooled + rewards,
        sharesMintedAsFees=minted,
    )


@external
def transfer(receiver: address, amount: uint256) -> bool:
    self._move(msg.sender, receiver, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log Approval(owner=msg.sender, spender=spender, value=amount)
    return True


@external
def transferFrom(owner: address, receiver: address, amount: uint256) -> bool:
    allowed: uint256 = self.allowance[owner][msg.sender]
    if allowed != max_value(uint256):
        assert allowed >= amount, "ALLOWANCE_EXCEEDED"
        self.allowance[owner][msg.sender] = allowed - amount
    self._move(owner, receiver, amount)
    return True


@internal
def _move(sender: address, receiver: address, amount: uint256):
    shares: uint256 = self._shares(amount)
    assert self.sharesOf[sender] >= shares, "BALANCE_EXCEEDED"
    self.sharesOf[sender] -= shares
    self.sharesOf[receiver] += shares
    log Transfer(sender=sender, receiver=receiver, value=amount)
    log TransferShares(sender=sender, receiver=receiver, sharesValue=shares)


@internal
@view
def _shares(amount: uint256) -> uint256:
    return amount * self.getTotalShares // self.getTotalPooledEther


@internal
@view
def _ether(shares: uint256) -> uint256:
    return shares * self.getTotalPooledEther // self.getTotalShares
