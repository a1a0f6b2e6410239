"""The five Cosmos chains of the devnet: one process with a small state machine per chain.

Real: protobuf types and JSON, secp256k1 signatures and their check, sequences, hashes of transactions, headers and
validator sets, Bech32 addresses. Ours: no consensus (block commits carry no signatures), a fixed validator set, no
slashing, no IBC; fees are burnt; rewards grow by a stated formula (`state.reward_of`).
"""

WORD = "model"
"""What a Cosmos chain is here: our own state machine with the real encodings."""
