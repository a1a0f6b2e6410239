"""Which paths of a Cosmos chain's REST gateway are passed on, and with which query."""

from __future__ import annotations

import pytest

from server.chains.cosmos.rest_paths import parse_path, routes
from server.errors import InvalidArgument, NotSupported
from tests.each import each

BANK = "/cosmos/bank/v1beta1"


@pytest.mark.parametrize(
    ("text", "route", "path", "query", "block"),
    [
        (f"{BANK}/supply", f"{BANK}/supply", f"{BANK}/supply", (), None),
        (f"{BANK}/supply?", f"{BANK}/supply", f"{BANK}/supply", (), None),
        (
            f"{BANK}/supply/by_denom?denom=ibc%2FAB",
            f"{BANK}/supply/by_denom",
            f"{BANK}/supply/by_denom",
            (("denom", "ibc/AB"),),
            None,
        ),
        (f"{BANK}/supply/ibc%2FAB", f"{BANK}/supply/{{denom=**}}", f"{BANK}/supply/ibc/AB", (), None),
        (
            "/cosmos/base/tendermint/v1beta1/blocks/latest",
            "/cosmos/base/tendermint/v1beta1/blocks/latest",
            "/cosmos/base/tendermint/v1beta1/blocks/latest",
            (),
            None,
        ),
        (
            "/cosmos/base/tendermint/v1beta1/blocks/17",
            "/cosmos/base/tendermint/v1beta1/blocks/{height}",
            "/cosmos/base/tendermint/v1beta1/blocks/17",
            (),
            17,
        ),
        (
            f"{BANK}/balances/cosmos1abc?pagination.limit=100&pagination.countTotal=True&pagination.key=AA%3D%3D",
            f"{BANK}/balances/{{address}}",
            f"{BANK}/balances/cosmos1abc",
            (("pagination.limit", "100"), ("pagination.countTotal", "True"), ("pagination.key", "AA==")),
            None,
        ),
    ],
)
def test_what_is_passed_on(
    text: str, route: str, path: str, query: tuple[tuple[str, str], ...], block: int | None
) -> None:
    asked = parse_path(text)
    assert (asked.route.name, asked.path, asked.query, asked.block) == (route, path, query, block)


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/cosmos/tx/v1beta1/txs",
        "/cosmos/tx/v1beta1/simulate",
        "/cosmwasm/wasm/v1/contract/x/smart/e30",
        f"{BANK}/balances/a/b",
        f"{BANK}/balances/",
        f"{BANK}/balances/a%2Fby_denom%2Fx",
        f"{BANK}/balances/a%00",
        f"{BANK}/balances/a%3Fpagination.limit=999",
        f"{BANK}/balances/..%2Fsupply ",
        f"{BANK}/supply/",
        f"{BANK}/supply/../params",
        f"{BANK}/supply/ibc/%2e%2e/%2E%2E/params",
        f"{BANK}/supply/ibc//A",
        f"{BANK}/balances/..",
        f"{BANK}/balances/.",
        f"{BANK}//supply",
    ],
)
def test_what_is_not_passed_on(text: str) -> None:
    with pytest.raises(NotSupported) as caught:
        parse_path(text)
    assert caught.value.field == "path"


@pytest.mark.parametrize(
    "query",
    [
        "pagination.limit=101",
        "pagination.limit=-1",
        "pagination.limit=",
        "pagination.limit=1e1",
        "pagination.offset=10001",
        "pagination.limit=1&pagination.limit=2",
        "events=x",
        "x",
        "a=%ff",
        "&".join(["pagination.reverse=1"] * 21),
        "pagination.key=" + "a" * 513,
    ],
)
def test_a_query_beyond_its_bounds_is_refused(query: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_path(f"{BANK}/supply?{query}")
    assert caught.value.field == "path"


@each(routes(), name=lambda route: route.name)
def test_every_route_finds_itself_with_arguments(route: object) -> None:
    name: str = route.name  # type: ignore[attr-defined]  # each takes any case
    path = name.replace("{denom=**}", "ibc/A").replace("{height}", "5")
    while "{" in path:
        path = path[: path.index("{")] + "x1" + path[path.index("}") + 1 :]
    assert parse_path(path).route is route
