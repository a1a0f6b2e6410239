# pragma version 0.4.3
# No token. It answers, logs and fails in the ways that a caller of contracts has to tell apart.

event Said:
    speaker: indexed(address)
    number: uint256
    text: String[64]

number: public(uint256)


@external
@pure
def answer() -> uint256:
    return 42


@external
@view
def pair(account: address) -> (uint256, address):
    return account.balance, account


@external
def say(number: uint256, text: String[64]) -> uint256:
    self.number = number
    log Said(speaker=msg.sender, number=number, text=text)
    return number + 1


@external
@payable
def deposit() -> uint256:
    return msg.value


@external
@view
def block_number() -> uint256:
    return block.number


@external
@pure
def fail_with_reason(text: String[64]):
    raise text


@external
@pure
def fail_with_code(code: uint256):
    raw_revert(abi_encode(code, method_id=method_id("Failed(uint256)")))


@external
@pure
def fail_with_panic():
    # Panic(uint256) with 0x11, as a checked overflow in Solidity code gives.
    raw_revert(abi_encode(convert(17, uint256), method_id=method_id("Panic(uint256)")))


@external
@pure
def fail_silently():
    raw_revert(b"")
