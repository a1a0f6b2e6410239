"""What is certain about the seeded Solana world: addresses, amounts and slots that tests and documentation may quote.

Amounts are raw integers of the smallest unit. The accounts' keys are seeded from words of ours and hold nothing on the
real chain; mints and programs have their real addresses.
"""

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey


def key_of(word: str) -> Keypair:
    """Return the key pair of a name in this world."""
    return Keypair.from_seed(bytes(Hash.hash(b"waypost devnet " + word.encode())))


GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"

# Programs and mints at their real addresses.
TOKEN_PROGRAM = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022_PROGRAM = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED_TOKEN_PROGRAM = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
METADATA_PROGRAM = Pubkey.from_string("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")
USDC = Pubkey.from_string("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
WRAPPED_SOL = Pubkey.from_string("So11111111111111111111111111111111111111112")

# Mints of this world.
TOKEN_2022 = key_of("token-2022 mint").pubkey()  # name, symbol and uri in the mint's own extension
POINTING = key_of("pointing mint").pubkey()  # a Token-2022 mint whose metadata pointer names its Metaplex account
NAMELESS = key_of("nameless mint").pubkey()  # no metadata of any kind

# Accounts.
BANK = key_of("bank").pubkey()  # pays all fees and may mint every token
ALICE = key_of("alice").pubkey()  # receives only
BOB = key_of("bob").pubkey()  # sends the failed transaction
UNTOUCHED = key_of("untouched").pubkey()  # never used

ALICE_LAMPORTS = 12_345_678_901
BOB_LAMPORTS = 2_000_000_000
FEE = 5_000
ALICE_USDC = (1_000_000_001, 234_567_890, 7)  # in three accounts of hers
ALICE_TOKEN_2022 = (5_000_000_000, 25)  # in two
ALICE_WRAPPED = 1_500_000_000
ALICE_NAMELESS = 42

USDC_METADATA = ("USD Coin", "USDC", "https://metadata.waypost.test/usdc.json")
TOKEN_2022_METADATA = ("Waypost Extension Token", "WET", "https://metadata.waypost.test/wet.json")
POINTING_METADATA = ("Pointing Token", "PNT", "https://metadata.waypost.test/pnt.json")
DECIMALS = {str(USDC): 6, str(WRAPPED_SOL): 9, str(TOKEN_2022): 9, str(POINTING): 2, str(NAMELESS): 0}

# Slots. The first that the ledger keeps; every transaction is a slot of its own; some slots have no block.
FIRST_SLOT = 300_000_000
FIRST_TIME = 1_735_689_600  # unix, 2025-01-01
SLOT_SECONDS = 0.4
FIRST_BLOCK_HEIGHT = 278_000_000  # block height of the first slot: smaller than the slot, as on the real chain
SKIPPED = (FIRST_SLOT + 3, FIRST_SLOT + 7, FIRST_SLOT + 8)
VERSIONED_SLOT = FIRST_SLOT + 17  # a transaction of version 0, whose receiver comes from a look-up table
VERSIONED = "36seJimyUUmVcqpxWXmqhodBYU6YAM9y9txFvXbk98nvwGYgGYnb4vb1J2yARei4JunJu1nfQH1Q1LYzqRM1rZnj"
FAILED = "9tvKoXXATCG5YYJ6Ctj6ufXxuVN183XpWBVAJ87AsiecgEgb5wn7EMFkVdgscj4ptX9tTCq6F48c6A5LEuS9ZBq"
