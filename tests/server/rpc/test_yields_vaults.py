"""getYieldsVaults and getYieldsBalance of vault-a and vault-b, as callers of both faces get them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from devnet import known
from devnet.known_vaults import BEEFY, IMPOSTOR, YEARN
from runtime.settings import load_settings
from tests.e2e.gateway import run_gateway
from tests.server.rpc.every import message_of
from tests.server.rpc.refusals import refused
from tests.server.rpc.yields_table import OPERATIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from devnet.launcher import Devnet
    from tests.e2e.gateway import RunningGateway

pytestmark = pytest.mark.devnet

V = {vault.symbol: vault.address for vault in YEARN}
KINDS = {vault.kind: vault.id for vault in reversed(BEEFY) if vault.chain == "ethereum"}
UNRATED = next(vault.id for vault in BEEFY if not vault.has_apy)
CASES: list[tuple[str, str, str | None]] = [
    *(("vault-a", pool, "spot") for pool in KINDS.values()),
    ("vault-a", UNRATED, None),
    ("vault-b", V["yvUSDC-1"], "average"),
    ("vault-b", V["yvDAI-1"], "spot"),
    ("vault-b", V["yvUSDT-1"], None),
    ("vault-b", V["yvUSDT"], None),
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def vaults(devnet: Devnet, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """Both faces of a gateway over three chains and the stand-ins of the APIs."""
    overrides = devnet.settings_overrides() | {
        "storage": {"url": f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('vaults') / 'waypost.db'}"},
        "grpc": {"host": "127.0.0.1", "port": 0},
        "http": {"host": "127.0.0.1", "port": 0},
    }
    async with run_gateway(load_settings(environ={}, overrides=overrides)) as running:
        yield running


async def ask(faces: RunningGateway, name: str, members: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the row that JSON-RPC answers and the one that gRPC does."""
    answer = await faces.ask(name, members)
    assert "result" in answer, answer
    [row] = answer["result"]["data"]["results"]
    operation = OPERATIONS[name]
    [message] = (await faces.ask_grpc(operation, message_of(operation, members))).results  # type: ignore[attr-defined]
    return row, message


@pytest.mark.parametrize(("protocol", "pool", "basis"), CASES, ids=lambda one: str(one)[:24])
async def test_a_vaults_row(vaults: RunningGateway, protocol: str, pool: str, basis: str | None) -> None:
    members = {"chain": "ethereum", "protocol": protocol, "pool": pool}
    row, message = await ask(vaults, "getYieldsVaults", members)
    assert list(row) == ["chain", "protocol", "pool", "apy", "tvl", "updatedAt", "basis", "blockHeight"]
    assert {name: row[name] for name in members} == members
    assert row["basis"] == basis
    assert (row["apy"] is None) is (basis is None)
    assert row["tvl"] > 0
    assert isinstance(row["blockHeight"], int) is (protocol == "vault-b")
    assert row["updatedAt"].endswith("Z")
    assert (message.apy if message.HasField("apy") else None) == (row["apy"] and pytest.approx(row["apy"], rel=1e-12))
    assert message.tvl == pytest.approx(row["tvl"], rel=1e-12)


@pytest.mark.parametrize(
    ("protocol", "pool", "names"),
    [
        ("vault-a", KINDS["standard"], {"USDC"}),
        ("vault-a", KINDS["cowcentrated"], {"WBTC", "WETH"}),
        ("vault-b", V["yvUSDC-1"], {"USDC"}),
        ("vault-b", V["yvDAI"], {"DAI"}),
    ],
)
async def test_a_wallets_row(vaults: RunningGateway, protocol: str, pool: str, names: set[str]) -> None:
    members = {"chain": "ethereum", "protocol": protocol, "pool": pool, "address": known.ALICE}
    row, message = await ask(vaults, "getYieldsBalance", members)
    assert list(row) == ["chain", "protocol", "pool", "address", "balance", "updatedAt", "blockHeight"]
    assert set(row["balance"]) == names | {"USD"}
    assert all(amount > 0 for amount in row["balance"].values())
    assert {**message.balance.amounts, "USD": message.balance.usd} == pytest.approx(row["balance"], rel=1e-12)


async def test_products_names_and_lower_case_addresses_are_taken(vaults: RunningGateway) -> None:
    for product, protocol, pool in (("yearn", "vault-b", V["yvUSDC-1"].lower()), ("beefy", "vault-a", "bifi-vault")):
        answer = await vaults.ask("getYieldsVaults", {"chain": "ethereum", "protocol": product, "pool": pool})
        [row] = answer["result"]["data"]["results"]
        assert (row["protocol"], row["pool"]) == (protocol, pool)


@pytest.mark.parametrize(
    ("chain", "protocol", "pool", "code", "field", "words"),
    [
        ("ethereum", "vault-a", "bifi-valt", 404, "pool", "bifi-vault"),
        ("polygon", "vault-a", "bifi-vault", 404, "pool", "on ethereum, not on polygon"),
        ("ethereum", "vault-a", "bifi vault", 400, "pool", "id of a vault"),
        ("ethereum", "vault-a", "ü", 400, "pool", "id of a vault"),
        ("gnosis", "vault-a", "bifi-vault", 400, "chain", ""),
        ("polygon", "vault-b", V["yvUSDC-1"], 400, "chain", "ethereum, arbitrum"),
        ("ethereum", "vault-b", "yvUSDC", 400, "pool", "0x"),
        ("ethereum", "vault-b", V["yvUSDC-1"].swapcase().replace("0X", "0x"), 400, "pool", "EIP-55"),
        ("ethereum", "vault-b", IMPOSTOR, 404, "pool", "is no vault of vault-b"),
    ],
)
async def test_what_is_wrong_is_named(
    vaults: RunningGateway, chain: str, protocol: str, pool: str, code: int, field: str, words: str
) -> None:
    members = {"chain": chain, "protocol": protocol, "pool": pool}
    for name, more in (("getYieldsVaults", {}), ("getYieldsBalance", {"address": known.ALICE})):
        reported = await refused(vaults, OPERATIONS[name], members | more)
        assert (reported[0], reported[2]) == (code, field), reported
        assert words in reported[3]
