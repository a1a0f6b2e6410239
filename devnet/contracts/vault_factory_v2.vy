# pragma version 0.4.3
# Stand-in for the factory of lend-c's vaults of generation V2: it knows the vaults that it was told of instead of making them.

isVaultV2: public(HashMap[address, bool])
owner: address


@deploy
def __init__(owner: address):
    self.owner = owner


@external
def add(vault: address):
    assert msg.sender == self.owner, "caller is not the owner"
    self.isVaultV2[vault] = True
