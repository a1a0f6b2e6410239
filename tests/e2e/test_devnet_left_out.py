"""A devnet starts without a protocol whose package cannot be had, and says which one that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from devnet import archives, install
from devnet.install import InstallError
from devnet.known_lending import LEND_A_V3
from devnet.known_lending_b import LEND_B_V3
from devnet.launcher import Devnet
from devnet.status import describe

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.devnet


async def test_a_missing_package_leaves_out_one_protocol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def npm(folder: Path, *arguments: str) -> None:
        raise InstallError("`npm pack` failed (ENOTFOUND)")

    monkeypatch.setattr(archives, "STATE", tmp_path)  # nothing fetched so far
    monkeypatch.setattr(install, "npm", npm)
    async with Devnet.start(["optimism"], mines=False) as devnet:
        # All that stands there as somebody's published code; stand-ins need no package.
        left_out = dict.fromkeys(("lend-a V3", "dex-a V3", "dex-a V4", "yield-a"), "`npm pack` failed (ENOTFOUND)")
        assert devnet.left_out == left_out
        node = devnet.nodes["optimism"]
        assert await node.call("eth_getCode", LEND_A_V3["optimism"].pool, "latest") == "0x"
        assert await node.call("eth_getCode", LEND_B_V3["optimism"][0].address, "latest") != "0x"
        table = await describe(devnet.summary(), devnet.sources(), devnet.left_out)
        assert "left out: lend-a V3: `npm pack` failed (ENOTFOUND)" in table
        assert "stand-in: lend-b V3" in table


async def test_status_says_what_the_protocols_are(devnet: Devnet) -> None:
    assert devnet.left_out == {}
    lines = (await describe(devnet.summary(), devnet.sources(), devnet.left_out)).splitlines()
    [of_lend_a] = [line for line in lines if "lend-a V3" in line]
    assert of_lend_a.startswith("original: ")
    assert of_lend_a.endswith("on ethereum, polygon, arbitrum")
    assert any(line.startswith("fork: lend-b V2") for line in lines)
