"""What is certain about the five modelled Cosmos chains: names, amounts and heights that tests and documents may quote.

Amounts are in base units. Addresses follow from fixed keys, the same on every chain under each chain's prefix;
`devnet.cosmos.world` returns them by name (`address`, `operator`). Heights are counted from a chain's first block.
"""

# Names of accounts. ALICE signs; BOB only receives, so that his public key is unknown; VESTER is a vesting account.
ALICE, BOB, CAROL, VESTER = "alice", "bob", "carol", "vester"
UNTOUCHED = "nobody"  # no account
STAKING_MODULE = "bonded_tokens_pool"  # a module account

ENDOWMENT = 1_000_000_000  # of the native denom, ALICE and VESTER at the first block
SENT = 1_500_000  # what ALICE sends to BOB at SENT_AT
FEE = 5_000  # of every transaction, failed ones included
IBC_HASH = "27394FB092D2ECCD56123C74F36E4C1F926001CEADA9CA97EA622B25F41E5EB2"
IBC_DENOM = f"ibc/{IBC_HASH}"
IBC_HELD = 77_000_000  # ALICE holds this much of IBC_DENOM, all there is
FACTORY_SUBDENOM = "gold"  # the denom is factory/<ALICE>/gold
FACTORY_HELD = 123_456_789
DELEGATED, DELEGATED_TO_SECOND = 25_000_000, 5_000_000
UNDELEGATED = 2_000_000

SENT_AT = 1
FAILED_AT = 2  # a transfer of more than ALICE has: code 5
STAKED_AT = 3  # two delegations, and between them bytes that are no transaction (not on Noble)
UNSTAKED_AT = 4  # (not on Noble)
SEEDED_BLOCKS = 8  # after the first

INSUFFICIENT_FUNDS = 5  # code of the SDK
UNDECODABLE = 2  # code of the SDK for bytes that are no transaction
GARBAGE = bytes.fromhex("0a03ff") + b"vote extensions"
