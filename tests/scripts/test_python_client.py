"""The typed surface of the Python client is current, and names what the descriptors do."""

from __future__ import annotations

import pytest

from scripts.python_client import attribute, main, snake


def test_the_committed_surface_is_current() -> None:
    assert main(check=True) == 0, "run make generate"


@pytest.mark.parametrize(
    ("service", "name"),
    [
        ("waypost.v1.AccountService", "accounts"),
        ("waypost.v1.NftService", "nfts"),
        ("waypost.v1.GasService", "gas"),
        ("waypost.v1.RawService", "raw"),
    ],
)
def test_services_are_attributes_by_the_plural_of_their_name(service: str, name: str) -> None:
    assert attribute(service) == name


@pytest.mark.parametrize(
    ("rpc", "name"),
    [
        ("GetBalance", "get_balance"),
        ("GetDexAV3Quote", "get_dex_a_v3_quote"),
        ("GetNftErc1155Balance", "get_nft_erc1155_balance"),
        ("GetYieldsYieldAImpliedApy", "get_yields_yield_a_implied_apy"),
        ("ResolveEns", "resolve_ens"),
    ],
)
def test_rpcs_are_methods_in_snake_case(rpc: str, name: str) -> None:
    assert snake(rpc) == name
