# pragma version 0.4.3
# Stand-in for a factory of lend-c's vaults of generation V1: it knows the vaults that it was told of instead of making them.

isMetaMorpho: public(HashMap[address, bool])
owner: address


@deploy
def __init__(owner: address):
    self.owner = owner


@external
def add(vault: address):
    assert msg.sender == self.owner, "caller is not the owner"
    self.isMetaMorpho[vault] = True
