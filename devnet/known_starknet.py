"""What the local Starknet chain holds: addresses, amounts and blocks, the same on every start."""

STRK = "0x4718f5a0fc34cc1af16a1cdee98ffb20c31f5cd61d6ab07201858f4287c938d"
ETH = "0x49d36570d4e46f48e99674bd3fcc84644ddd6b96f7c741b1562b82f9e004dc7"
USDC = "0x53c91253bc9682c04929ca02ed00b3e423f6710d2ee7e0d5ebb06f3ecf368a8"
SNAKE_TOKEN = "0x5a0e1"
"""Answers to `balance_of` alone."""
OLD_TOKEN = "0x01d70c"
"""Answers to `balanceOf` alone, with one felt."""

PRIVATE_KEY = 0x1C9053C053EDF324AEC366A34C6901B1095B07AF69495BFFEC7D7FE21EFFB1B
SALT = 0x57415950
ALICE = "0x3ab3c23f144e5d4d2dd2fe3b59a949ea0e27f650345c6d12ecf1a8c6442a099"
"""The account of the key; its class is `contracts/account.cairo`."""
BOB = "0x2d59f0f7b0e2d5f9e3a2d6d4b1f9e3c5a7b9d1f3e5c7a9b1d3f5e7c9a1b3d5f"
"""A wallet that was never deployed."""

STRK_SUPPLY = 10_000_000 * 10**18
ETH_SUPPLY = 1_000 * 10**18
USDC_SUPPLY = 5_000_000 * 10**6
SNAKE_SUPPLY = 2**200 + 12345
OLD_SUPPLY = 777_000

STRK_BLOCK = 1
"""Alice sends Bob STRK."""
STRK_SENT = 5 * 10**18
CROWDED_BLOCK = 2
"""Alice sends Bob ETH; then she tries to send more than she has, which is reverted."""
ETH_SENT = 15 * 10**17
USDC_BLOCK = 4
"""Alice sends Bob USDC and once more STRK, both in one transaction; block 3 is empty."""
USDC_SENT = 250_000_001
STRK_SENT_LATER = 7
HEIGHT = 12

FIRST_TIMESTAMP = 1_767_225_600
