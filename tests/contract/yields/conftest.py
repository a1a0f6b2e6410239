"""Gateways with every reader: over no source, where whatever passes its checks fails, and over all of the devnet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest_asyncio

from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway, run_gateway_on

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from devnet.launcher import Devnet


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bare(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over chains and sources without endpoints."""
    async with run_gateway_on({}, tmp_path_factory.mktemp("bare")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def faces(full_devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over every local chain and every stand-in of an API."""
    overrides = full_devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('faces') / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield running
