"""The local Starknet chain: cairo-lang's execution layer under our own blocks and JSON-RPC.

Runs in a Python environment of its own (`devnet/starknet/requirements.txt`), as `python -m devnet.starknet.engine`.
"""
