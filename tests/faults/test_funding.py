"""Venues that are slow, throttle, send half a document, rename a member or are down: one of them, or both."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from devnet.offchain import dydx, hyperliquid
from devnet.offchain.modes import MODES
from server.apis import documents
from server.venues.dydx import Dydx
from server.venues.hyperliquid import Hyperliquid
from tests.server.rpc.refusals import OPERATIONS
from tests.server.venues.conftest import A, B, opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.venues.conftest import Asked

RATES, OF_A, OF_B = "getFundingRates", "getVenueAFunding", "getVenueBFunding"
FAULTS = (*MODES, "down")
LISTS = {A: "venueA", B: "venueB"}
ROWS = {A: len(hyperliquid.COINS), B: len(dydx.MARKETS)}
OWN = {A: OF_A, B: OF_B}
# What a refusal states for each fault.
WORDS = {
    "slow": "did not answer",
    "limited": "throttled",
    "half": "not JSON",
    "renamed": "this build does not know",
    "down": "answered",
}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is refreshed meanwhile, and slow venues are given up sooner."""
    for venue in (Hyperliquid, Dydx):
        monkeypatch.setattr(venue, "lifetime", 600.0)
    monkeypatch.setattr("server.venues.hyperliquid.ANSWER_SECONDS", 1.0)
    monkeypatch.setattr("server.venues.dydx.ANSWER_SECONDS", 1.0)


def other_than(venue: str) -> str:
    return B if venue == A else A


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("venue", [A, B])
async def test_one_venue_fails_and_the_other_is_answered(tmp_path: Path, venue: str, fault: str) -> None:
    other = other_than(venue)
    async with opened(tmp_path, {venue: fault}) as asked:
        over_json, over_grpc = await asked.both(RATES)
        assert over_json["unavailable"] == [LISTS[venue]]
        assert over_json[LISTS[venue]] == []
        assert len(over_json[LISTS[other]]) == ROWS[other]
        assert len(over_grpc.unavailable) == 1
        assert abs(timestamp_of(over_json) - datetime.now(UTC)) < timedelta(seconds=15)
        code, reason, field, message = await asked.refused(OWN[venue])
        assert (code, field) == (503, None)
        assert reason in ("UPSTREAM_UNAVAILABLE", "DEADLINE_EXCEEDED")
        assert venue in message
        assert WORDS[fault] in message
        assert "127.0.0.1" not in message
        own, _ = await asked.both(OWN[other])
        assert len(own) == ROWS[other]


@pytest.mark.parametrize("fault", FAULTS)
async def test_both_venues_fail(tmp_path: Path, fault: str) -> None:
    async with opened(tmp_path, {A: fault, B: fault}) as asked:
        code, reason, _, message = await asked.refused(RATES)
        assert (code, reason) == (503, "UPSTREAM_UNAVAILABLE")
        assert A in message
        assert B in message
        assert (await asked.cache_of(RATES))[0] == 503


@pytest.mark.parametrize(("of_a", "of_b"), [("slow", "renamed"), ("limited", "half"), ("down", "slow")])
async def test_both_venues_fail_in_ways_of_their_own(tmp_path: Path, of_a: str, of_b: str) -> None:
    async with opened(tmp_path, {A: of_a, B: of_b}) as asked:
        code, _, _, message = await asked.refused(RATES)
        assert code == 503
        assert WORDS[of_a] in message
        assert WORDS[of_b] in message


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 502, 503])
@pytest.mark.parametrize("venue", [A, B])
async def test_no_status_of_a_venue_becomes_the_callers_fault(tmp_path: Path, venue: str, status: int) -> None:
    async with opened(tmp_path) as asked:
        asked.venues.fail(venue, status=status)
        code, reason, _, message = await asked.refused(OWN[venue])
        assert (code, reason) == (503, "UPSTREAM_UNAVAILABLE"), message


@pytest.mark.parametrize("body", ["", "<html>Just a moment...</html>", "null", "[]", "{}", "[" * 3000, "\ufeff{}"])
@pytest.mark.parametrize("venue", [A, B])
async def test_no_body_of_a_venue_is_taken_for_rates(tmp_path: Path, venue: str, body: str) -> None:
    async with opened(tmp_path) as asked:
        asked.venues.answer(venue, body)
        over_json, _ = await asked.both(RATES)
        assert (over_json[LISTS[venue]], over_json["unavailable"]) == ([], [LISTS[venue]])
        assert (await asked.refused(OWN[venue]))[0] == 503


async def test_a_document_of_32_megabytes_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as asked:
        # Right but for its size; and more than is read of any answer.
        asked.venues.answer(B, json.dumps(dydx.document()).ljust(documents.MOST_BYTES))
        asked.venues.answer(A, json.dumps(hyperliquid.document()).ljust(33 * 1024 * 1024))
        for name in (OF_A, OF_B):
            code, reason, _, message = await asked.refused(name)
            assert (code, reason) == (503, "UPSTREAM_UNAVAILABLE")
            assert "32 MB" in message


async def test_rates_are_answered_past_their_lifetime_while_a_venue_fails_and_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for venue in (Hyperliquid, Dydx):
        monkeypatch.setattr(venue, "lifetime", 0.2)
        monkeypatch.setattr(venue, "stale_for", 4.0)
    async with opened(tmp_path) as asked:
        first = (await asked.faces.ask(RATES, {}))["result"]["data"]
        asked.venues.fail(A)
        await asyncio.sleep(0.5)
        response = await asked.faces.post({"jsonrpc": "2.0", "id": 1, "method": RATES, "params": {}})
        stale = (await response.json())["result"]["data"]
        assert response.headers["X-Waypost-Cache"] == "stale"
        assert (stale["venueA"], stale["unavailable"]) == (first["venueA"], [])
        # Venue-b is new; the time is venue-a's.
        assert timestamp_of(stale) < timestamp_of(first) + timedelta(seconds=0.5)
        assert await asked.cache_of(OF_A) == (200, "stale")
        assert (await asked.cache_of(OF_B))[1] in ("hit", "miss")
        await asyncio.sleep(4.0)
        over_json, _ = await asked.both(RATES)
        assert (over_json["venueA"], over_json["unavailable"]) == ([], ["venueA"])
        assert (await asked.refused(OF_A))[0] == 503


async def test_a_venue_that_answers_again_is_answered_from_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "PAUSE_SECONDS", 0.3)
    async with opened(tmp_path) as asked:
        asked.venues.fail(A, B)
        assert (await asked.refused(RATES))[0] == 503
        asked.venues.twists.clear()
        await until_answered(asked)
        over_json, _ = await asked.both(RATES)
        assert over_json["unavailable"] == []


async def until_answered(asked: Asked) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if (await asked.faces.ask(RATES, {})).get("result", {}).get("data", {}).get("unavailable") == []:
            return
        await asyncio.sleep(0.2)
    raise AssertionError("the venues are not answered from again")


@pytest.mark.parametrize("headers", [None, {"Retry-After": "60"}])
@pytest.mark.parametrize("status", [429, 500])
async def test_a_failing_venue_is_not_stormed(tmp_path: Path, status: int, headers: dict[str, str] | None) -> None:
    async with opened(tmp_path) as asked:
        asked.venues.fail(A, B, status=status, headers=headers)
        for _ in range(5):
            await asyncio.gather(*(asked.faces.ask(name, {}) for name in (RATES, OF_A, OF_B) for _ in range(20)))
        # A request, and a second one for what may have been an accident.
        assert all(1 <= count <= 2 for count in asked.venues.counts().values()), asked.venues.counts()
        error = (await asked.faces.ask(OF_A, {}))["error"]
        assert error["data"]["retryAfterMs"] >= (1000 if headers is None or status == 500 else 30_000)


async def test_a_venue_that_hangs_costs_no_more_than_the_callers_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.venues.hyperliquid.ANSWER_SECONDS", 60.0)
    async with opened(tmp_path, {A: "slow"}) as asked:
        operation = OPERATIONS[RATES]
        call = asked.faces.channel.unary_unary(
            operation.path,
            request_serializer=operation.request.SerializeToString,
            response_deserializer=operation.response.FromString,
        )
        started = time.monotonic()
        answer: Any = await call(operation.request(), metadata=(("x-api-key", "local"),), timeout=3.0)
        assert time.monotonic() - started < 3.0
        assert (len(answer.venue_a), len(answer.venue_b)) == (0, ROWS[B])
        assert list(answer.unavailable) == [1]


async def test_a_venue_that_is_switched_off_is_unavailable(tmp_path: Path) -> None:
    async with opened(tmp_path, {A: "off"}) as asked:
        over_json, _ = await asked.both(RATES)
        assert over_json["unavailable"] == ["venueA"]
        assert "none is configured" in (await asked.refused(OF_A))[3]
        assert asked.venues.counts()[A] == 0


def timestamp_of(rates: Any) -> datetime:
    return datetime.fromisoformat(rates["timestamp"].replace("Z", "+00:00"))
