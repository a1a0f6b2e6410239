"""One gateway over the shared devnet for the end-to-end tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.gateway import RunningGateway, run_gateway, settings_over

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from devnet.launcher import Devnet


@pytest.fixture(scope="session")
async def gateway(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """A gateway on loopback sockets over the devnet's chains, with a key store of its own."""
    async with run_gateway(settings_over(devnet, tmp_path_factory.mktemp("gateway"))) as running:
        yield running


@pytest.fixture
def config(devnet: Devnet, tmp_path: Path) -> Path:
    """A configuration file for a gateway on the devnet's chains."""
    path = tmp_path / "waypost.toml"
    devnet.write_config(path)
    return path
