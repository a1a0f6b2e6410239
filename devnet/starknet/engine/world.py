"""The seeded world: tokens at their real addresses, one account, and a few blocks of its transactions."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

from devnet import known_starknet as known
from devnet.install import cache_folder
from devnet.starknet.engine.cairo import (
    CompiledClass,
    ContractClass,
    calculate_contract_address_from_hash,
    compute_class_hash,
    private_to_stark_key,
)
from devnet.starknet.engine.chain import Call, LocalStarknet
from devnet.starknet.engine.execution import construct, short_text
from devnet.starknet.engine.state import Facts, WorkingState, block_info

_HERE = Path(__file__).resolve().parent
_CONTRACTS = _HERE.parent / "contracts"
_LOW = (1 << 128) - 1


def kept_world() -> LocalStarknet:
    """Return the chain of `build_world`, built once per content: hashing and running its classes takes six seconds."""
    path = cache_folder("starknet-worlds", _content_hash()) / "world.pickle"
    if path.is_file():
        kept: LocalStarknet = pickle.loads(path.read_bytes())
        return kept
    world = build_world()
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_bytes(pickle.dumps(world))
    partial.replace(path)
    return world


def build_world() -> LocalStarknet:
    """Return the chain with its blocks up to `known_starknet.HEIGHT`."""
    classes = {name: _load(name) for name in ("token", "snake_token", "old_token", "account")}
    compiled = dict(classes.values())
    state = WorkingState(Facts(), compiled, block_info(0, known.FIRST_TIMESTAMP))
    alice, bob = place_account(state, classes["account"][0]), int(known.BOB, 16)
    token = classes["token"][0]
    for address, name, symbol, decimals, supply in (
        (known.STRK, "Starknet Token", "STRK", 18, known.STRK_SUPPLY),
        (known.ETH, "Ether", "ETH", 18, known.ETH_SUPPLY),
        (known.USDC, "USD Coin", "USDC", 6, known.USDC_SUPPLY),
    ):
        felts = (short_text(name), short_text(symbol), decimals, *_u256(supply), alice)
        construct(state, int(address, 16), token, felts)
    snake = (short_text("SNAKE"), 8, *_u256(known.SNAKE_SUPPLY), alice)
    construct(state, int(known.SNAKE_TOKEN, 16), classes["snake_token"][0], snake)
    construct(state, int(known.OLD_TOKEN, 16), classes["old_token"][0], (3, known.OLD_SUPPLY, alice))

    chain = LocalStarknet(compiled, state.facts, known.FIRST_TIMESTAMP)
    chain.mine()
    strk, ether, usdc = (int(address, 16) for address in (known.STRK, known.ETH, known.USDC))
    chain.invoke(alice, known.PRIVATE_KEY, [transfer(strk, bob, known.STRK_SENT)])
    chain.mine()
    chain.invoke(alice, known.PRIVATE_KEY, [transfer(ether, bob, known.ETH_SENT)])
    chain.invoke(alice, known.PRIVATE_KEY, [transfer(ether, bob, known.ETH_SUPPLY)])
    chain.mine(2)
    calls = [transfer(usdc, bob, known.USDC_SENT), transfer(strk, bob, known.STRK_SENT_LATER)]
    chain.invoke(alice, known.PRIVATE_KEY, calls)
    chain.mine(known.HEIGHT - chain.head.number)
    return chain


def place_account(state: WorkingState, class_hash: int) -> int:
    """Deploy the account of the known key and return its address."""
    public_key = private_to_stark_key(known.PRIVATE_KEY)
    address: int = calculate_contract_address_from_hash(
        salt=known.SALT, class_hash=class_hash, constructor_calldata=[public_key], deployer_address=0
    )
    construct(state, address, class_hash, [public_key])
    return address


def transfer(token: int, recipient: int, amount: int) -> Call:
    """Return the call that moves an amount of a token."""
    return Call(token, "transfer", (recipient, *_u256(amount)))


def _content_hash() -> str:
    """Hash everything that the world is made from."""
    digest = hashlib.sha256(sys.version.encode())
    sources = [*_HERE.glob("*.py"), *_CONTRACTS.glob("*.json"), Path(known.__file__), _HERE.parent / "requirements.txt"]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _load(name: str) -> tuple[int, Any]:
    """Return the class hash and the compiled class."""
    sierra = json.loads((_CONTRACTS / f"{name}.sierra.json").read_text())
    sierra["abi"] = json.dumps(sierra["abi"], separators=(",", ":"))
    casm = json.loads((_CONTRACTS / f"{name}.casm.json").read_text())
    casm["pythonic_hints"] = [[offset, hints] for offset, hints in casm["pythonic_hints"]]
    return compute_class_hash(ContractClass.load(sierra)), CompiledClass.load(casm)


def _u256(amount: int) -> tuple[int, int]:
    return amount & _LOW, amount >> 128
