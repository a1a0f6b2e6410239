"""What is certain about the names of the local ethereum: registry, resolvers, records on and off the chain.

Addresses of what is real are the real ones; those of our own contracts are the last 20 bytes of a Keccak-256 digest of
words of ours.
"""

import hashlib

from ecdsa import SECP256k1, SigningKey  # type: ignore[import-untyped]
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known

# Source: ensdomains/ens-contracts 5421b56, deployments/mainnet; ensdomains/docs 239866c.
REGISTRY = "0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e"
PUBLIC_RESOLVER = "0x231b0Ee14048e9dCcD1d247744d114a4EB5E8E63"
REVERSE_REGISTRAR = "0xa58E81fe9b61B5c3fE2AFD33CF304c454AbFc7Cb"
UNIVERSAL_RESOLVER = "0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe"


def made_up(words: str) -> str:
    """Return the address that belongs to words of ours."""
    return to_checksum_address(keccak(text=f"waypost devnet {words}")[-20:])


WILDCARD_RESOLVER = made_up("wildcard resolver")
INTEGRATION_RESOLVER = made_up("integration resolver")
OFFCHAIN_RESOLVER = made_up("offchain resolver")

CYCLIST, SHOUTER, LIAR, TRAVELLER, HOARDER = map(made_up, ("cyclist", "shouter", "liar", "traveller", "hoarder"))

# Names whose address lies on the chain, in the public resolver, in normal form except where stated.
CYCLING = "raffy\N{BICYCLIST}\N{ZERO WIDTH JOINER}\N{MALE SIGN}.eth"
SHOUTED = "Shout.eth"  # not in normal form; its records lie under the hash of exactly this text
ADDRESSES = {
    "vitalik.eth": known.VITALIK,
    "alice.eth": known.ALICE,
    "pay.alice.eth": known.BOB,
    CYCLING: CYCLIST,
    SHOUTED: SHOUTER,
}
NO_ADDRESS = "empty.eth"  # a resolver without a record for it
NO_RESOLVER = "unused.eth"  # in the registry, without a resolver
UNREGISTERED = "nobody-has-this.eth"

# Names whose resolver is something else: an account, or a contract that fails.
ACCOUNT_FOR_RESOLVER = "account.eth"
BURNING_RESOLVER = "burner.eth"
BURSTING_RESOLVER = "burster.eth"
SILENT_RESOLVER = "silent.eth"
REVERTING_RESOLVER = "reverting.eth"
ODD_RESOLVERS = {
    ACCOUNT_FOR_RESOLVER: known.ALICE,
    BURNING_RESOLVER: known.GAS_BURNER,
    BURSTING_RESOLVER: known.RETURN_BOMBER,
    SILENT_RESOLVER: known.SILENT_CONTRACT,
    REVERTING_RESOLVER: known.REVERT_BOMBER,
}

# Names of resolvers that answer for every name below (ENSIP-10). The first names' addresses are made from the name's
# bytes (`wildcard_address`); the second is the test name of the Universal Resolver's own makers: a caller that asks the
# resolver itself gets DECOY.
WILDCARD = "wild.eth"
INTEGRATION = "ur.integration-tests.eth"
INTEGRATION_ADDRESS = "0x2222222222222222222222222222222222222222"
DECOY = "0x1111111111111111111111111111111111111111"

# Names whose records lie with the gateway, which signs what it answers.
OFFCHAIN = "offchain.eth"
OFFCHAIN_ADDRESSES = {
    "offchain.eth": known.ALICE,
    "traveller.offchain.eth": TRAVELLER,
    "deep.under.offchain.eth": known.BOB,
}
SIGNING_KEY = SigningKey.from_string(hashlib.sha256(b"waypost devnet names").digest(), curve=SECP256k1)
SIGNER = to_checksum_address(keccak(SIGNING_KEY.verifying_key.to_string())[-20:])

# What accounts have set as their name. The last three are no primary names: not in normal form, of another account, and
# of a name without an address.
REVERSE = {
    known.VITALIK: "vitalik.eth",
    known.ALICE: "alice.eth",
    CYCLIST: CYCLING,
    TRAVELLER: "traveller.offchain.eth",
    SHOUTER: SHOUTED,
    LIAR: "vitalik.eth",
    HOARDER: NO_ADDRESS,
}


def wildcard_address(wire_form: bytes) -> str:
    """Return the address of a name below WILDCARD, given in DNS wire form."""
    return to_checksum_address(keccak(wire_form)[-20:])
