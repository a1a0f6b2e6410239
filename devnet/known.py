"""What is certain about the seeded EVM world: addresses, balances and heights that tests and documentation may quote.

Amounts are raw integers of the asset's smallest unit. Odd contracts stand on every chain, except where stated.
Their addresses are the last 20 bytes of a Keccak-256 digest of words of ours, so that they collide with nothing real.
"""

from devnet.evm.world import Chain, Token

# Accounts. The node holds the keys of the first three (the well-known development mnemonic) and signs for them.
DEVELOPER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BOB = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
VITALIK = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"  # receives only, so that its balances are round
DELEGATED = "0xaBEe07033CD2c32AA1EF786c64F68b0Af22362B1"  # an account with an EIP-7702 delegation to PROBER
UNTOUCHED = "0xBd4f105F194A02e955175B15f818e7374BABEeeD"  # never used: no balance, no code, no transaction

# Contracts.
MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
ARB_SYS = "0x0000000000000000000000000000000000000064"  # arbitrum only
MKR = "0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2"  # ethereum only; name and symbol are bytes32
TOKEN_IMPLEMENTATION = "0xe07273f65077a810a65270496b7Cd50A1B4326Bc"  # what the proxy tokens delegate to
UNICODE_TOKEN = "0x492D63640CC21b1453bA56f78c0EE16044E89Be2"  # symbol and name outside ASCII
NAMELESS_TOKEN = "0xa465573b0550Bd3DAe1E23bE3A200906c6D3ae3d"  # neither name nor symbol
WHOLE_TOKEN = "0x1F8E8C5f75F4b9256d2D7d9C8b9B69097e520740"  # no decimals
HOSTILE_TOKEN = "0x70e632d3E83837BD7a4168eDC7E6F8212B752Eb0"  # balanceOf pays out 1 wrapped native when it is CALLed
PROBER = "0x3240623E416f390A4bEf8AB0a6C0D6ad61C0c788"  # no token; answers, logs and fails in many ways
GAS_BURNER = "0x707E81E82361d3999B7c1596b96dB4Aa336910D3"  # any call burns all gas it is given
REVERT_BOMBER = "0x0e113CE8A8E9F5DD77dAa35fFa15a06655b71d10"  # any call reverts with 1,000,000 bytes of zeros
RETURN_BOMBER = "0x52366c247B5A7BE2Feffa93A26c672bdbcA2B8De"  # any call returns 1,000,000 bytes of zeros
SILENT_CONTRACT = "0xA7fE554da5a3f0bC9D265575961D714Cb935D636"  # any call succeeds with empty data
DESTROYED_TOKEN = "0xfB369a11f0b35FC0D154A6cf800607D2258E314a"  # a token until its code went; see DESTROYED_AFTER

UNLIMITED = 2**256 - 1

# Heights, counted from a chain's first block (`Chain.height`). State is readable from the first block on.
SEEDED_BLOCKS = 20  # blocks after the first at fixed times; one more, of the present, is mined at every start
FINANCED_AT = 1  # VITALIK receives NATIVE_GIFT of the native asset here
PAID_AT = 2  # VITALIK receives the token gift here
DESTROYED_AFTER = 12  # the last block at which DESTROYED_TOKEN has code
CROWDED_AT = 10  # a block with CROWD transfers of one token
CROWD = 60

NATIVE_AT_FIRST = 1_234_567_890_123_456_789_012
NATIVE_GIFT = 1_500_000_000_000_000_000
NATIVE_AT_HEAD = NATIVE_AT_FIRST + NATIVE_GIFT
ODD_BALANCE = 1_234_567  # what VITALIK has of MKR and of the unicode, nameless, whole and destroyed tokens
HOSTILE_BALANCE = 7 * 10**18  # what HOSTILE_TOKEN answers for every account


def units(token: Token, millionths: int) -> int:
    """Return an amount given in millionths of a whole token as the raw integer of that token's decimals."""
    return millionths * int(10**token.decimals) // 10**6


def vitalik_at_first(token: Token) -> int:
    """Return VITALIK's raw balance of a catalogue token at the chain's first block: 12,345.678901 whole tokens."""
    return units(token, 12_345_678_901)


def vitalik_at_head(token: Token) -> int:
    """Return VITALIK's raw balance of a catalogue token from block PAID_AT on: 100.25 more than at the first block."""
    return vitalik_at_first(token) + units(token, 100_250_000)


def vitalik_allowance(token: Token, spender: str, chain: Chain) -> int:
    """Return VITALIK's raw allowance of a catalogue token to a spender.

    It is UNLIMITED for the first of the chain's spenders, 2,500 whole tokens for the second, 0 for the others. It was
    given before the first block, so there is no log of it.
    """
    names = list(chain.spenders.values())
    if spender in names[:1]:
        return UNLIMITED
    return units(token, 2_500_000_000) if spender in names[1:2] else 0
