"""What is certain on the local Bitcoin chain: addresses, amounts in satoshi, blocks; seeded by bitcoin/world.json."""

MINER = "1PTGu4hDd7PBe7e22p3waTA5QeZ95cjPHx"
P2PKH = "1CA1Vr5KH317wfwpjad8caRozVkcTiFx5i"
P2SH = "38iGNVti91R1ePwNqZPfyibS1Gw3qhF8tt"
P2WPKH = "bc1qyemsszt4espcszn4zmvakl350gprskf3ac2uqq"
P2WSH = "bc1qalpr9frw7lta806t5gf8n2sa2us7xznesgaagq580fx2hkvk4e0s5kaflh"

# Taproot, as BIP-350 writes it: a valid address that nothing was ever paid to, because bcoin knows no taproot.
P2TR = "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"

CONFIRMED = {P2PKH: 499_990_000, P2SH: 1_264_567_891, P2WPKH: 1_599_990_001, P2WSH: 546, P2TR: 0}
"""Balances at the start; a transaction that takes 1,599,990,001 from P2WPKH waits in the memory pool."""

GENESIS = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"
HEIGHT = 504
"""The newest block at the start; those up to 503 have the same hashes on every start."""

PAYMENTS = 501
"""The block of the payments out of the first two coinbases."""
PAYMENTS_HASH = "4089fb29cda44887b98e931fa66d3a95a964add01493ff3710f23861f971bcd0"
PAYMENT = "442b90ce4a371f14fa4f55b477aaa0decc85abc9b9136b3a84034919df08ea85"
"""The transaction that made them."""
