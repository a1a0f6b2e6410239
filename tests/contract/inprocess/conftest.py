"""A whole gateway of the devnet profile, its account service answered by a servicer of the test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from runtime.settings import GrpcSettings, ServerLimits, Settings, StorageSettings
from server.app import Gateway
from tests.contract.inprocess.accounts import CREDENTIAL, Accounts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        profile="devnet",
        storage=StorageSettings(url=SecretStr(f"sqlite:///{tmp_path}/waypost.db")),
        grpc=GrpcSettings(port=0, private_listen=f"unix:{tmp_path}/private.sock", credential=SecretStr(CREDENTIAL)),
        server_limits=ServerLimits(max_in_flight=40, max_in_flight_per_key=20),
    )


@pytest.fixture
async def gateway(settings: Settings) -> AsyncIterator[Gateway]:
    gateway = await Gateway.create(settings, servicers=(Accounts(),))
    yield gateway
    await gateway.drain(0)
