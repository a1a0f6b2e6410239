"""Morpho's listings in pages: both generations at once, whole or not at all."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from server.apis.documents import DocumentStore
from server.errors import UpstreamUnavailable
from server.upstream.cache import CacheContext
from server.yields.morpho import PAGE, MorphoApi
from server.yields.morpho import vaults_of as vaults_of_chain
from tests.server.yields.test_morpho import RECORDED, Server, vaults_of


async def test_a_chain_is_asked_for_both_generations_at_once() -> None:
    server = Server(lambda asked: RECORDED)
    await vaults_of(server)
    [asked] = server.asked
    assert asked["variables"] == {"chain": 1, "first": PAGE, "skip": 0}
    assert "whitelisted: true" in asked["query"]
    assert "WORD" not in asked["query"]


@pytest.mark.parametrize(("first", "second"), [(0, 0), (100, 0), (101, 3), (0, 250), (200, 201)])
async def test_pages_follow_until_both_generations_are_whole(first: int, second: int) -> None:
    server = Server(lambda asked: page_of(asked, first, second))
    vaults = await vaults_of(server)
    assert len(vaults) == first + second
    assert sum(vault.version == "V2" for vault in vaults) == second
    pages = max(1, -(-max(first, second) // PAGE))
    assert [asked["variables"]["skip"] for asked in server.asked] == [PAGE * place for place in range(pages)]
    sizes = [vault.total_assets_usd for vault in vaults]
    assert sizes == sorted(sizes, key=lambda size: -(size or 0))


def page_of(asked: dict[str, Any], first: int, second: int) -> dict[str, Any]:
    """A page of a listing with so many vaults."""
    skip = asked["variables"]["skip"]
    document = copy.deepcopy(RECORDED)
    for part, count, base in (("vaults", first, 1), ("vaultV2s", second, 1_000_000)):
        row = RECORDED["data"][part]["items"][0]
        items = []
        for place in range(skip, min(skip + PAGE, count)):
            item = copy.deepcopy(row) | {"address": f"0x{base + place:040x}"}
            item.get("state", item)["totalAssetsUsd"] = float(base + place * 7919 % 997)
            items.append(item)
        info = {"count": len(items), "countTotal": count, "skip": skip}
        document["data"][part] = {"items": items, "pageInfo": info}
    return document


async def test_a_list_that_changes_between_pages_is_not_put_together() -> None:
    server = Server(lambda asked: page_of(asked, 150 + asked["variables"]["skip"] // PAGE, 0))
    with pytest.raises(UpstreamUnavailable, match="changed its list"):
        await vaults_of(server)


async def test_a_list_without_end_is_given_up() -> None:
    server = Server(lambda asked: page_of(asked, 100_000, 0))
    with pytest.raises(UpstreamUnavailable, match="more than 5000 vaults"):
        await vaults_of(server)
    assert len(server.asked) == 50


async def test_a_listing_is_kept_a_minute_and_stands_in_for_an_hour_with_its_own_time() -> None:
    now = [1000.0]
    server = Server(lambda asked: RECORDED)

    async def sleep(seconds: float) -> None:
        await asyncio.Event().wait()  # nothing is refreshed by itself here

    store = DocumentStore(
        {"morpho": MorphoApi(server)},  # type: ignore[arg-type]
        clock=lambda: now[0],
        wall=lambda: 1_795_000_000.0 + now[0],
        sleep=sleep,
    )
    first = await store.read(vaults_of_chain("ethereum"), deadline=None, cache=None)
    now[0] += 59
    assert await store.read(vaults_of_chain("ethereum"), deadline=None, cache=None) == first
    assert len(server.asked) == 1
    server.answer = lambda asked: UpstreamUnavailable("away")
    for later in (2, 3500):
        now[0] += later
        cache = CacheContext()
        stale = await store.read(vaults_of_chain("ethereum"), deadline=None, cache=cache)
        assert (stale.value, stale.read_at, stale.is_stale, cache.status) == (first.value, first.read_at, True, "stale")
    now[0] += 100
    with pytest.raises(UpstreamUnavailable, match="away"):
        await store.read(vaults_of_chain("ethereum"), deadline=None, cache=None)
    await store.close()
