"""The published apps are those of the contract; what operators add is judged file by file (tests/apps)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.__main__ import main
from runtime.config_errors import ConfigError
from runtime.settings import Settings
from server.catalog.data_file import FilesRefused
from server.marketplace.catalogue import signature
from server.marketplace.folders import load_catalogue, open_catalogue

if TYPE_CHECKING:
    from server.marketplace.catalogue import Catalogue

APPS = Path(__file__).parents[2] / "apps"
BROKEN = sorted(path for path in (APPS / "broken").iterdir() if path.is_dir())

# Methods and deployments by appId, as contract section 4.16 counts them.
COUNTS = {
    "lido": (45, 3),
    "erc721api": (10, 1),
    "erc20": (8, 1),
    "etherfi": (10, 1),
    "ethena": (11, 1),
    "cbeth": (10, 1),
    "rocketpool": (13, 1),
    "oneinch": (18, 6),
    "multisigwallet": (8, 1),
}
CONCRETE = re.compile(r"svc_[a-z0-9]+_[a-z0-9]+_[a-z0-9]+_(call|simulateCall|getLogs)_\w+")
TEMPLATE = re.compile(r"svc_[a-z0-9]+_[a-z0-9]+_(call|simulateCall|getLogs)_\w+")


def test_nine_apps_with_the_counts_of_the_contract(catalogue: Catalogue) -> None:
    counted = {
        app.app_id: (sum(len(deployment.methods) for deployment in app.deployments), len(app.deployments))
        for app in catalogue.apps.values()
    }
    assert counted == COUNTS
    assert len(catalogue.methods) == sum(count for count, _ in COUNTS.values())
    assert list(catalogue.methods) == sorted(catalogue.methods)
    assert [app.app_id for app in catalogue.apps.values() if app.is_template] == [
        "erc20",
        "erc721api",
        "multisigwallet",
    ]


def test_names_have_the_contract_s_form(catalogue: Catalogue) -> None:
    for name, method in catalogue.methods.items():
        deployment = method.deployment
        parts = ["svc", method.app.app_id, deployment.chain, deployment.name, method.operation, method.abi_name]
        assert name == method.name == "_".join(part for part in parts if part)
        assert (TEMPLATE if method.app.is_template else CONCRETE).fullmatch(name)
        assert not method.is_overloaded


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("svc_erc20_erc20api_call_allowance", "allowance(address,address)"),
        ("svc_erc721api_erc721_getLogs_Transfer", "Transfer(address,address,uint256)"),
        ("svc_lido_ethereum_steth_call_getPooledEthByShares", "getPooledEthByShares(uint256)"),
        ("svc_oneinch_polygon_offchainoracle_call_getRate", "getRate(address,address,bool)"),
        (
            "svc_multisigwallet_safe_simulateCall_execTransaction",
            "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        ),
        ("svc_cbeth_ethereum_cbeth_getLogs_ExchangeRateUpdated", "ExchangeRateUpdated(address,uint256)"),
    ],
)
def test_methods_are_the_items_that_they_name(catalogue: Catalogue, name: str, declared: str) -> None:
    assert signature(catalogue.methods[name].abi_item) == declared


def test_the_operation_follows_from_the_item(catalogue: Catalogue) -> None:
    for method in catalogue.methods.values():
        wanted = {"view": "call", "pure": "call", "nonpayable": "simulateCall", "payable": "simulateCall"}
        mutability = method.abi_item.get("stateMutability")
        assert method.operation == ("getLogs" if mutability is None else wanted[mutability])
        assert method.abi_type == ("event" if method.operation == "getLogs" else "function")


def test_rates_that_leave_out_what_runs_out_of_gas_run_alone(catalogue: Catalogue) -> None:
    alone = {name for name, method in catalogue.methods.items() if method.runs_alone}
    chains = ("arbitrum", "avalanche", "base", "bsc", "ethereum", "polygon")
    rates = ("getRate", "getRateToEth")
    assert alone == {f"svc_oneinch_{chain}_offchainoracle_call_{rate}" for chain in chains for rate in rates}


def test_versions_of_an_event_are_one_method(catalogue: Catalogue) -> None:
    versions = {method.abi_name for method in catalogue.methods.values() if method.variants}
    assert versions == {"ExecutionSuccess", "AddedOwner", "RemovedOwner"}
    method = catalogue.methods["svc_multisigwallet_safe_getLogs_AddedOwner"]
    assert [item["inputs"][0]["indexed"] for item in (method.abi_item, *method.variants)] == [False, True]


def test_the_abi_is_answered_as_it_was_read(catalogue: Catalogue) -> None:
    for app in catalogue.apps.values():
        for deployment in app.deployments:
            assert json.loads(deployment.abi) == list(deployment.abi_items)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("svc_erc20_erc20api_call_balanceof", "svc_erc20_erc20api_call_balanceOf"),
        ("svc_lido_steth_call_sharesOf", "svc_lido_ethereum_steth_call_sharesOf"),
        ("nothing of the kind", None),
        ("svc_" + "x" * 100_000, None),
    ],
)
def test_the_nearest_published_name(catalogue: Catalogue, name: str, near: str | None) -> None:
    assert catalogue.nearest(name) == near


def test_an_operator_s_apps_are_published_beside_the_others(odd_catalogue: Catalogue) -> None:
    assert set(odd_catalogue.apps) == {*COUNTS, "1odd", "vault"}
    odd = {name: method for name, method in odd_catalogue.methods.items() if method.app.app_id == "1odd"}
    assert len(odd) == 16
    assert [name for name, method in odd.items() if method.is_overloaded] == ["svc_1odd_odd_call_get"]
    assert {"svc_1odd_odd_call_nothing", "svc_1odd_odd_simulateCall_nothing"} <= set(odd)
    assert "svc_1odd_odd_getLogs_Hidden" not in odd, "an anonymous event has no topic to look for"
    assert {"svc_vault_ethereum_vault_call_total", "svc_vault_base_vault_call_total"} <= set(odd_catalogue.methods)


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_a_broken_app_is_refused_with_file_entry_and_fix(case: Path, evm_chains: list[str]) -> None:
    with pytest.raises(FilesRefused) as caught:
        load_catalogue(evm_chains, case)
    (mistake,) = caught.value.mistakes
    assert str(mistake).startswith((case / "expected.txt").read_text().strip())


def test_every_mistake_is_reported_at_once(evm_chains: list[str], tmp_path: Path) -> None:
    for name in ("abi_is_empty", "no_name"):
        (tmp_path / name.replace("_", "")).symlink_to(APPS / "broken" / name / "mine")
    with pytest.raises(FilesRefused) as caught:
        load_catalogue(evm_chains, tmp_path)
    assert [mistake.file for mistake in caught.value.mistakes] == ["abiisempty/vault.json", "noname/app.toml"]


@pytest.mark.parametrize(
    "content",
    [b"[" * 200_000, b'["' + b"x" * (1 << 20) + b'"]', b"\xff\xfe", b'[{"type": "receive"}]' * 2, b"[" + b"{}," * 1001],
    ids=["deep", "large", "not UTF-8", "two values", "unfinished"],
)
def test_hostile_abi_files_are_refused(content: bytes, evm_chains: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "app.toml").write_text('name = "x"\ntemplate = true\ndeployments = [{ name = "x", abi = "x.json" }]\n')
    (folder / "x.json").write_bytes(content)
    with pytest.raises(FilesRefused, match=r"mine/x\.json: write a JSON array"):
        load_catalogue(evm_chains, tmp_path)


def test_a_wrong_directory_is_a_mistake_of_the_configuration(evm_chains: list[str], tmp_path: Path) -> None:
    settings = Settings.model_validate({"marketplace": {"apps": str(tmp_path / "none")}})
    with pytest.raises(ConfigError) as caught:
        open_catalogue(settings, evm_chains)
    assert caught.value.key == "marketplace.apps"
    assert "there is no such directory" in caught.value.fix


def test_apps_check_says_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apps", "check", str(APPS / "good")]) == 0
    printed = capsys.readouterr().out
    assert "svc_1odd_odd_call_get is overloaded" in printed
    assert "erc20" not in printed
    assert main(["apps", "check", "--json", str(APPS / "good")]) == 0
    rows = json.loads(capsys.readouterr().out)["apps"]
    assert [(row["appId"], row["methods"], row["deployments"]) for row in rows] == [("1odd", 16, 1), ("vault", 2, 2)]


def test_apps_check_of_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apps", "check", str(tmp_path)]) == 0
    assert "holds no apps" in capsys.readouterr().out


def test_apps_check_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    case = APPS / "broken" / "address_without_checksum"
    assert main(["apps", "check", str(case)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith((case / "expected.txt").read_text().strip())
    assert main(["apps", "check", "--json", str(case)]) == 1
    (row,) = json.loads(capsys.readouterr().out)["mistakes"]
    assert (row["file"], row["entry"]) == ("mine/app.toml", "deployments[0].address")


def test_apps_list_shows_the_configured_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["apps", "list", "--json"]) == 0
    assert [row["appId"] for row in json.loads(capsys.readouterr().out)["apps"]] == sorted(COUNTS)
    monkeypatch.setenv("WAYPOST_MARKETPLACE__APPS", str(APPS / "good"))
    assert main(["apps", "list"]) == 0
    assert "1odd" in capsys.readouterr().out
    monkeypatch.setenv("WAYPOST_MARKETPLACE__APPS", str(APPS / "broken" / "no_name"))
    assert main(["apps", "list"]) == 1
    assert "mine/app.toml: name" in capsys.readouterr().err
