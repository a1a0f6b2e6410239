"""What venues answer: the recorded shapes, every member that is read in another shape, and shapes at random.

What an answer means is worked out here a second time, by Python's own JSON reader: the adapters may refuse what that
takes, naming the member, and never read it otherwise.
"""

from __future__ import annotations

import json
import random
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import UpstreamUnavailable
from server.venues import dydx, hyperliquid
from server.venues.rates import FundingRate
from tests.recordings.replay import recorded
from tests.server.yields.shapes import put

if TYPE_CHECKING:
    from collections.abc import Callable

    Path = tuple[str | int, ...]

OF_A, OF_B = (json.loads(recorded(f"venues/{name}.json")) for name in ("hyperliquid", "dydx"))
READ: dict[str, Callable[[bytes], tuple[FundingRate, ...]]] = {"a": hyperliquid.read_rates, "b": dydx.read_rates}
DOCUMENTS = {"a": OF_A, "b": OF_B}
MUTATIONS = 300


def meant_by_a(document: Any) -> dict[str, tuple[Decimal, str, str]]:
    coins, contexts = document
    assert len(coins["universe"]) == len(contexts)
    return {
        coin["name"]: (Decimal(one["funding"]), one["markPx"], one["openInterest"])
        for coin, one in zip(coins["universe"], contexts, strict=True)
        if coin.get("isDelisted") is not True
    }


def meant_by_b(document: Any) -> dict[str, tuple[Decimal, str, str]]:
    return {
        market["ticker"]: (Decimal(market["nextFundingRate"]), "", "")
        for market in document["markets"].values()
        if market["status"] == "ACTIVE"
    }


MEANT = {"a": meant_by_a, "b": meant_by_b}


def same(rows: tuple[FundingRate, ...], meant: dict[str, tuple[Decimal, str, str]]) -> bool:
    """Return whether rows say what is meant, in order."""
    found = {row.name: row for row in rows}
    if len(found) != len(rows) or set(found) != set(meant):
        return False
    for name, (rate, price, interest) in meant.items():
        row = found[name]
        year = rate * 24 * 365 * 100
        if (
            Decimal(row.rate) != rate
            or "e" in row.rate.lower()
            or abs(Decimal(row.annualized) - year) > abs(year) / 10**12
        ):
            return False
        for written, wanted in ((row.mark_price, price), (row.open_interest, interest)):
            if written != wanted and ("e" in written.lower() or Decimal(written) != Decimal(wanted)):
                return False
    return list(rows) == sorted(rows, key=lambda row: (-abs(row.annualized), row.name))


def test_the_recorded_answer_of_venue_a() -> None:
    assert hyperliquid.read_rates(json.dumps(OF_A).encode()) == (
        FundingRate("kPEPE", "0.00011875", 104.025, "0.004312", "1203441.0"),
        FundingRate("xyz:GOLD", "-0.0001", -87.6, "4123.9", "12.25"),
        FundingRate("BTC", "0.0000125", 10.95, "91234.0", "688.11"),
        FundingRate("ETH", "-0.0000043", -3.7668, "3012.4", "10211.5"),
        FundingRate("@107", "0.0", 0.0, "1.0", "0.0"),
    )


def test_the_recorded_answer_of_venue_b() -> None:
    assert dydx.read_rates(json.dumps(OF_B).encode()) == (
        FundingRate("BTC-USD", "0.0000112", 9.8112),
        FundingRate("ETH-USD", "-0.00000325", -2.847),
        FundingRate("BUFFI,RAYDIUM,A1B2C3D4-USD", "0.00000015", 0.1314),
        FundingRate("SOL-USD", "0", 0.0),
    )


# Every member that is read, with the words by which a refusal names it.
MEMBERS: list[tuple[str, Path, str]] = [
    ("a", (0,), r"\$\[0\]|array"),
    ("a", (1,), r"\$\[1\]|array"),
    ("a", (0, "universe"), "universe"),
    ("a", (0, "universe", 1), "universe"),
    ("a", (0, "universe", 1, "name"), "name"),
    ("a", (1, 1), r"\$\[1\]"),
    ("a", (1, 1, "funding"), "funding"),
    ("a", (1, 1, "markPx"), "markPx"),
    ("a", (1, 1, "openInterest"), "openInterest"),
    ("b", ("markets",), "markets"),
    ("b", ("markets", "ETH-USD", "ticker"), "ticker"),
    ("b", ("markets", "ETH-USD", "status"), "status"),
    ("b", ("markets", "ETH-USD", "nextFundingRate"), "nextFundingRate"),
]
OTHERS = [..., None, 5, 0.5, True, ["0.1"], {"value": "0.1"}]
NO_FIGURES = [
    *(
        "",
        " ",
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "1,5",
        "0x10",
        "1e",
        "e5",
        "--1",
        "+0.1",
        " 0.1",
        "0.1 ",
        "0.1\n",
        ".5",
    ),
    *("5.", "00.1", "1_000", "\u0661", "1e999", "1e99", "9" * 81, "0." + "0" * 80 + "1", "1e-99", "abc"),
]
FIGURE_NAMES = ("funding", "markPx", "openInterest", "nextFundingRate")
FIGURES = [path for venue, path, _ in MEMBERS if path[-1] in FIGURE_NAMES]


@pytest.mark.parametrize(("venue", "path", "named"), MEMBERS, ids=lambda value: str(value))
@pytest.mark.parametrize("other", OTHERS, ids=lambda value: "missing" if value is ... else repr(value))
def test_a_member_that_is_missing_null_or_another_is_refused_by_name(
    venue: str, path: Path, named: str, other: Any
) -> None:
    with pytest.raises(UpstreamUnavailable, match="does not know") as raised:
        READ[venue](json.dumps(put(DOCUMENTS[venue], path, other)).encode())
    assert re.search(named, raised.value.message), raised.value.message


@pytest.mark.parametrize("other", [None, 5, "yes", []])
def test_a_flag_that_is_no_flag_is_refused(other: Any) -> None:
    with pytest.raises(UpstreamUnavailable, match="isDelisted"):
        hyperliquid.read_rates(json.dumps(put(OF_A, (0, "universe", 2, "isDelisted"), other)).encode())


def test_a_flag_that_is_false_is_none() -> None:
    rows = hyperliquid.read_rates(json.dumps(put(OF_A, (0, "universe", 2, "isDelisted"), False)).encode())
    assert "MATIC" in {row.name for row in rows}


@pytest.mark.parametrize("text", NO_FIGURES)
@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path[-1])
def test_text_that_is_no_figure_is_refused_by_name(path: Path, text: str) -> None:
    venue = "b" if path[0] == "markets" else "a"
    with pytest.raises(UpstreamUnavailable, match=str(path[-1])):
        READ[venue](json.dumps(put(DOCUMENTS[venue], path, text)).encode())


@pytest.mark.parametrize("text", ["1.0000001", "-1.1", "25"])
@pytest.mark.parametrize("path", [path for path in FIGURES if "unding" in str(path[-1])], ids=lambda path: path[-1])
def test_a_rate_that_nobody_charges_is_refused_by_name(path: Path, text: str) -> None:
    venue = "b" if path[0] == "markets" else "a"
    with pytest.raises(UpstreamUnavailable, match=str(path[-1])):
        READ[venue](json.dumps(put(DOCUMENTS[venue], path, text)).encode())


@pytest.mark.parametrize("member", ["markPx", "openInterest"])
def test_a_negative_price_or_amount_is_refused_by_name(member: str) -> None:
    with pytest.raises(UpstreamUnavailable, match=member):
        hyperliquid.read_rates(json.dumps(put(OF_A, (1, 1, member), "-0.5")).encode())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("1.25e-5", "0.0000125"), ("-1E-7", "-0.0000001"), ("2e+0", "2"), ("1.5e3", "1500"), ("-0.0", "-0.0")),
        *(("0.10", "0.10"), ("1e-40", "0." + "0" * 39 + "1"), ("0e5", "0")),
    ],
)
def test_figures_are_written_as_the_venue_does_but_without_exponent(text: str, written: str) -> None:
    member = "funding" if abs(Decimal(text)) <= 1 else "markPx"
    rows = hyperliquid.read_rates(json.dumps(put(OF_A, (1, 0, member), text)).encode())
    [row] = [row for row in rows if row.name == "BTC"]
    assert (row.rate if member == "funding" else row.mark_price) == written
    assert str(row.annualized) != "-0.0"


@pytest.mark.parametrize(
    ("venue", "document", "named"),
    [
        ("a", [{"universe": []}, []], "nothing that is traded"),
        ("a", [{"universe": [{"name": "A", "isDelisted": True}]}, [OF_A[1][0]]], "nothing that is traded"),
        ("a", [{"universe": [{"name": "A"}, {"name": "A"}]}, OF_A[1][:2]], "names a contract twice"),
        ("a", [{"universe": [{"name": ""}]}, OF_A[1][:1]], "name"),
        ("a", [{"universe": [{"name": "x" * 129}]}, OF_A[1][:1]], "name"),
        ("a", [{"universe": [{"name": "A\nB"}]}, OF_A[1][:1]], "name"),
        ("a", [OF_A[0], OF_A[1][:-1]], "not equally long"),
        ("a", [OF_A[0], [*OF_A[1], OF_A[1][0]]], "not equally long"),
        ("a", [*OF_A, {}], "length 2"),
        ("a", [OF_A[0]], "length 2"),
        ("a", {"universe": []}, "array"),
        ("a", None, "array"),
        ("b", {"markets": {}}, "nothing that is traded"),
        ("b", {"markets": {"A-USD": OF_B["markets"]["BTC-USD"]}}, "ticker"),
        ("b", {"markets": {"LUNA-USD": OF_B["markets"]["LUNA-USD"]}}, "nothing that is traded"),
        ("b", {"errors": [{"msg": "no"}]}, "markets"),
        ("b", [], "object"),
    ],
)
def test_documents_that_no_venue_sends(venue: str, document: Any, named: str) -> None:
    with pytest.raises(UpstreamUnavailable, match=named):
        READ[venue](json.dumps(document).encode())


@pytest.mark.parametrize("venue", READ)
@pytest.mark.parametrize("body", [b"", b"null", b"<html>", b"[" * 5000, b'{"markets":{"\xff', b"\xff\xfe"])
def test_what_is_no_document_is_refused(venue: str, body: bytes) -> None:
    with pytest.raises(UpstreamUnavailable):
        READ[venue](body)


@pytest.mark.parametrize("venue", READ)
def test_half_a_document_is_refused(venue: str) -> None:
    body = json.dumps(DOCUMENTS[venue]).encode()
    for end in range(0, len(body), 97):
        with pytest.raises(UpstreamUnavailable):
            READ[venue](body[:end])


def places(value: Any, path: Path = ()) -> list[Path]:
    """Return the paths of everything in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for step, part in inner for found in places(part, (*path, step)))]


def mutated(document: Any, chance: random.Random) -> tuple[Any, Path]:
    """Return the document with something at random changed, and where."""
    everywhere = [one for one in places(document) if one]
    read = [one for one in everywhere if one[-1] in FIGURE_NAMES]
    path = chance.choice(chance.choice((everywhere, read)))
    kind = chance.choice(("drop", "replace", "extra", "text", "number"))
    if kind == "drop":
        return put(document, path, ...), path
    if kind == "extra" and isinstance(path[-1], str) and path[:-1] != ("markets",):
        return put(document, (*path[:-1], f"extra{chance.randrange(9)}"), {"x": 1}), path
    if kind == "text":
        return put(document, path, chance.choice(NO_FIGURES)), path
    if kind == "number":
        figure = f"{chance.uniform(-2, 2):.{chance.randrange(9)}f}" + chance.choice(("", "e-3", "e2"))
        return put(document, path, figure), path
    return put(document, path, chance.choice(OTHERS[1:])), path


@pytest.mark.parametrize("venue", READ)
def test_shapes_at_random_are_read_right_or_refused_by_name(venue: str) -> None:
    chance = random.Random(f"{venue} of 2026")
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTATIONS):
        document, path = mutated(DOCUMENTS[venue], chance)
        rows, refusal = ask(venue, document)
        if refusal is not None:
            outcomes["refused"] += 1
            # By the member itself, or by the one that holds it.
            assert "$" in refusal or "length 2" in refusal or "Expected `object`" in refusal, (path, refusal)
            if path[-1] in FIGURE_NAMES:
                assert str(path[-1]) in refusal, (path, refusal)
        else:
            outcomes["read"] += 1
            assert same(rows, MEANT[venue](document)), (path, document)
    assert min(outcomes.values()) >= MUTATIONS // 10, outcomes


def ask(venue: str, document: Any) -> tuple[tuple[FundingRate, ...], str | None]:
    """Return the rates, or the words of the refusal."""
    try:
        return READ[venue](json.dumps(document).encode()), None
    except UpstreamUnavailable as error:
        return (), error.message
