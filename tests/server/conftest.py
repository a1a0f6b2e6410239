"""What tests of the server share: databases, how long reads wait for company, and a whole gateway without a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from runtime.settings import GrpcSettings, ServerLimits, Settings, StorageSettings
from server.app import Gateway
from server.chains.evm.reads import planner
from server.storage.database import open_database
from tests.examples import IS_FAST
from tests.server.accounts import CREDENTIAL, Accounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncEngine

    from tests.postgresql import PostgreSql


@pytest.fixture(autouse=True)
def _company(request: pytest.FixtureRequest) -> None:
    """Reads of one moment leave together, also where other processes keep this one from running between their turns.

    Tests on nodes count requests. The bound is there for a gateway whose own loop is busy, and is tried without nodes.
    """
    if request.node.get_closest_marker("devnet") is not None:
        request.getfixturevalue("monkeypatch").setattr(planner, "LONGEST_SECONDS", 10.0)


# Where only what is fast is run, no server is started.
@pytest.fixture(params=["sqlite"] if IS_FAST else ["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, on both kinds that the gateway keeps its keys and prices in.

    Where a test has `database` too, which would make the tables at once, PostgreSQL copies a database that has them.
    """
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/data/waypost.db"
    server: PostgreSql = request.getfixturevalue("postgresql")
    if "database" not in request.fixturenames:
        return server.database()
    if server.template is None:
        server.template = server.database()
        await (await open_database(server.template)).dispose()
    return server.database(server.template)


@pytest.fixture
async def database(url: str) -> AsyncIterator[AsyncEngine]:
    engine = await open_database(url)
    yield engine
    await engine.dispose()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A gateway of the devnet profile without endpoints."""
    return Settings(
        profile="devnet",
        storage=StorageSettings(url=SecretStr(f"sqlite:///{tmp_path}/waypost.db")),
        grpc=GrpcSettings(port=0, private_listen=f"unix:{tmp_path}/private.sock", credential=SecretStr(CREDENTIAL)),
        server_limits=ServerLimits(max_in_flight=40, max_in_flight_per_key=20),
    )


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Gateway]:
    """A whole gateway, its account service answered by a servicer of the test."""
    gateway = await Gateway.create(settings, servicers=(Accounts(),))
    yield gateway
    await gateway.drain(0)
