"""What Kong answers: the recorded shape, every member that is read in another shape, and shapes at random.

What an answer means is worked out here a second time, by Python's own JSON reader.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest

from server.errors import UpstreamUnavailable
from server.yields import kong
from tests.recordings.replay import recorded
from tests.server.yields.shapes import OTHERS, mutated, put

RECORDED = json.loads(recorded("yields/kong_list.json"))
NAMED = re.compile(r"kong answers (in a shape that this build does not know: .*`|with something that is no JSON)")


def read(document: Any) -> dict[str, kong.Vault]:
    return kong.read_list(document if isinstance(document, bytes) else json.dumps(document).encode(), "ethereum")


def meant(document: Any) -> list[tuple[Any, ...]]:
    found = []
    for row in document:
        assert row["chainId"] == 1
        history = (row["performance"] or {}).get("historical")
        net = None if history is None else history["net"]
        found.append(
            (
                row["address"].lower(),
                row["apiVersion"] or "",
                "" if row["asset"] is None else row["asset"]["symbol"],
                None if net is None else float(Decimal(repr(float(net))) * 100),
                row["tvl"],
                not (row["isRetired"] or row["isHidden"]),
            )
        )
    return found


def shown(vaults: dict[str, kong.Vault]) -> list[tuple[Any, ...]]:
    assert all(key == vault.address for key, vault in vaults.items())
    return [(vault.address.lower(), *vault[1:]) for vault in vaults.values()]


def test_the_recorded_list() -> None:
    found = read(RECORDED)
    assert shown(found) == meant(RECORDED)
    first = found["0x00000000000000000000000000000000000000A1"]
    assert (first.apy, first.tvl, first.version, first.symbol) == (4.87, 12345678.9, "3.0.2", "USDC")
    assert [vault.apy for vault in found.values()][1:] == [None, None, None]
    assert [vault.is_open for vault in found.values()] == [True, False, False, True]


# Every member that is read, with the words by which a refusal names it, and what it may be besides.
MEMBERS: list[tuple[tuple[str | int, ...], str, tuple[Any, ...]]] = [
    ((0,), r"\$\[0\]", ()),
    ((0, "chainId"), "chainId", ()),
    ((0, "address"), "address", ()),
    ((0, "apiVersion"), "apiVersion", (None, "", "NaN", "0.5")),
    ((0, "asset"), "asset", (None,)),
    ((0, "asset", "symbol"), "symbol", ("", "NaN", "0.5")),
    ((0, "tvl"), "tvl", (None, 0.5, 1e300)),
    ((0, "performance"), "performance", ()),
    ((0, "performance", "historical"), "historical", (None,)),
    ((0, "performance", "historical", "net"), "net", (None, 0.5, -1, 1e300)),
    ((0, "isRetired"), "isRetired", (True,)),
    ((0, "isHidden"), "isHidden", (True,)),
]


@pytest.mark.parametrize(("path", "name", "allowed"), MEMBERS, ids=lambda one: str(one)[:40])
def test_a_member_in_another_shape_is_refused_by_name(
    path: tuple[str | int, ...], name: str, allowed: tuple[Any, ...]
) -> None:
    for other in OTHERS:
        # The only row that has a history: where no row has one, it is called something else.
        document = put(RECORDED[:1], path, other)
        if any(other is one or (type(other) is type(one) and other == one) for one in allowed):
            assert shown(read(document)) == meant(document)
            continue
        with pytest.raises(UpstreamUnavailable, match=name if other is not ... or len(path) > 1 else "lists no vault"):
            read(document)


@pytest.mark.parametrize("empty", ["[]", "{}", "null", "5", '"text"', "", "[[[", "Not found"])
def test_what_is_no_such_document_is_refused(empty: str) -> None:
    with pytest.raises(UpstreamUnavailable, match="kong answers"):
        read(empty.encode())


def test_a_list_of_another_chain_is_refused() -> None:
    with pytest.raises(UpstreamUnavailable, match="chainId"):
        kong.read_list(json.dumps(RECORDED).encode(), "arbitrum")


def test_an_address_that_stands_there_twice_is_refused() -> None:
    again = {**RECORDED[0], "address": RECORDED[0]["address"].lower()}
    with pytest.raises(UpstreamUnavailable, match=r"\$\[4\].address` stands there twice"):
        read([*RECORDED, again])


def test_shapes_at_random_are_read_rightly_or_refused() -> None:
    read_rightly, messages = 0, list[str]()
    for body in mutated(RECORDED, 500):
        try:
            found = read(body)
        except UpstreamUnavailable as error:
            messages.append(error.message)
            continue
        read_rightly += 1
        assert shown(found) == meant(json.loads(body)), body
    assert [message for message in messages if not NAMED.match(message)] == []
    assert min(read_rightly, len(messages)) > 50
