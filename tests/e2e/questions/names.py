"""Names of Ethereum."""

from __future__ import annotations

from devnet import known, known_names
from tests.e2e.questions.question import Question


def resolve(name: str, note: str) -> Question:
    return Question("resolveENS", {"name": name}, note)


def reverse(address: str, note: str) -> Question:
    return Question("reverseENS", {"address": address}, note)


QUESTIONS = [
    resolve("vitalik.eth", "a name"),
    resolve("Vitalik.ETH", "not in normal form"),
    resolve(known_names.CYCLING, "an emoji"),
    resolve("pay.alice.eth", "a name below another"),
    resolve(f"anybody.{known_names.WILDCARD}", "a wildcard"),
    resolve(known_names.INTEGRATION, "only the Universal Resolver tells it"),
    resolve("traveller.offchain.eth", "off the chain"),
    reverse(known.VITALIK, "an address"),
    reverse(known.VITALIK.lower(), "lower case"),
    reverse(known_names.CYCLIST, "an emoji"),
    reverse(known_names.TRAVELLER, "a name off the chain"),
]

REFUSED = [
    Question("resolveENS", {}, "nothing"),
    resolve("", "empty"),
    resolve("a..eth", "an empty label"),
    resolve("x_.eth", "an underscore inside"),
    resolve("xn--abc.eth", "punycode"),
    resolve("ens\N{ZERO WIDTH JOINER}.eth", "an invisible character"),
    resolve("\N{CYRILLIC SMALL LETTER DZE}park.eth", "a confusable script"),
    resolve("vitalik.eth\n", "a line break"),
    resolve("a" * 256, "oversized"),
    resolve("\N{BICYCLIST}" * 64, "a label too long in bytes"),
    resolve(known_names.UNREGISTERED, "unregistered"),
    resolve(known_names.NO_RESOLVER, "no resolver"),
    resolve(known_names.NO_ADDRESS, "no address"),
    resolve(known_names.ACCOUNT_FOR_RESOLVER, "an account for a resolver"),
    resolve(known_names.REVERTING_RESOLVER, "a resolver that reverts"),
    resolve("nobody.offchain.eth", "nothing off the chain"),
    resolve("sub.alice.eth", "below a name that answers for itself alone"),
    Question("reverseENS", {}, "nothing"),
    reverse("vitalik.eth", "a name for an address"),
    reverse("0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "wrong checksum"),
    reverse("0x" + "a" * 5000, "oversized"),
    reverse(known.UNTOUCHED, "no name set"),
    reverse(known_names.LIAR, "the name of somebody else"),
    reverse(known_names.SHOUTER, "a name not in normal form"),
    reverse(known_names.HOARDER, "a name without an address"),
]
