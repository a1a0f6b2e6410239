"""Morpho's listings: what is asked, how the recorded shape is read; any other shape is refused by its member."""

from __future__ import annotations

import copy
import json
import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import UpstreamUnavailable
from server.upstream.connector import Reply
from server.yields.morpho import NAME, ListedVault, MorphoApi, _Errors
from tests.recordings.replay import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDED: dict[str, Any] = json.loads(recorded("yields/morpho_vaults.json"))
Path = tuple[str | int, ...]
# What the API may leave null without being another API.
NULLABLE = {
    "state", "totalAssetsUsd", "netApy", "avgApy", "avgNetApy", "hourApy", "hourNetApy", "supplyApr", "totalAssets",
}  # fmt: skip
SEED, MUTATIONS = 20_261_122, 100


class Server:
    """Stands where the pool does: answers with what a test says, and keeps what it was asked."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    async def post(self, path: str, body: bytes, headers: Any, *, name: str) -> Reply:
        assert (path, name) == ("/graphql", "/graphql")
        self.asked.append(json.loads(body))
        found = self.answer(self.asked[-1])
        if isinstance(found, Exception):
            raise found
        return Reply(found if isinstance(found, bytes) else json.dumps(found).encode(), "server", 0.0)


async def read(answer: Any) -> tuple[ListedVault, ...]:
    """The vaults of a document that the server always answers with."""
    return await vaults_of(Server(lambda asked: answer))


async def vaults_of(server: Server) -> tuple[ListedVault, ...]:
    fetched = await MorphoApi(server).fetch(("ethereum",), None)  # type: ignore[arg-type]
    assert fetched.value.chain_id == 1
    found: tuple[ListedVault, ...] = fetched.value.vaults
    return found


async def attempt(answer: Any) -> tuple[tuple[ListedVault, ...], str]:
    """The vaults of a document, or the words by which it is refused."""
    try:
        return await read(answer), ""
    except UpstreamUnavailable as error:
        return (), error.message


def changed(path: Path, value: Any) -> dict[str, Any]:
    """The recorded document with another value at one place; `...` leaves the member out."""
    document = copy.deepcopy(RECORDED)
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return document


def members(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all members of objects."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield (*path, key)
            yield from members(below, (*path, key))
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from members(below, (*path, place))


MEMBERS = list(members(RECORDED))


def expected(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The figures of a document, read plainly; raises where one is none."""
    found = {}
    for item in document["data"]["vaults"]["items"]:
        state = item["state"] or dict.fromkeys(RECORDED["data"]["vaults"]["items"][0]["state"])
        found[item["address"]] = {
            **described(item, "V1"),
            "total_assets": whole(state["totalAssets"]),
            "total_assets_usd": number(state["totalAssetsUsd"]),
            "total_supply": whole(state["totalSupply"]),
            "fee": percent(state["fee"]),
            "apy": percent(state["apy"]),
            "net_apy": percent(state["netApy"]),
            "earned_apy": percent(state["netApyWithoutRewards"]),
            "avg_apy": percent(state["avgApy"]),
            "avg_net_apy": percent(state["avgNetApy"]),
            "updated_at": item["state"] and datetime.fromtimestamp(int(str(state["timestamp"])), UTC),
        }
    for item in document["data"]["vaultV2s"]["items"]:
        apy = item["avgApy"] if item["hourApy"] is None else item["hourApy"]
        net = item["avgNetApy"] if item["hourNetApy"] is None else item["hourNetApy"]
        rewards = sum(Decimal(str(one["supplyApr"] or 0)) for one in item["rewards"])
        found[item["address"]] = {
            **described(item, "V2"),
            "total_assets": whole(item["totalAssets"]),
            "total_assets_usd": number(item["totalAssetsUsd"]),
            "total_supply": whole(item["totalSupply"]),
            "fee": percent(item["performanceFee"]),
            "apy": percent(apy),
            "net_apy": percent(net),
            "earned_apy": None if net is None else float((Decimal(str(net)) - rewards) * 100),
            "avg_apy": percent(item["avgApy"]),
            "avg_net_apy": percent(item["avgNetApy"]),
            "updated_at": None,
        }
    return found


def described(item: dict[str, Any], version: str) -> dict[str, Any]:
    return {
        **{name: item[name] for name in ("address", "name", "symbol")},
        "version": version,
        "network": item["chain"]["network"],
        **{f"asset{name}": item["asset"][key] for name, key in (("", "address"), ("_symbol", "symbol"))},
        "asset_decimals": item["asset"]["decimals"],
    }


def whole(value: Any) -> int | None:
    return None if value is None else int(value)


def number(value: Any) -> float | None:
    return None if value is None else float(value)


def percent(value: Any) -> float | None:
    return None if value is None else float(Decimal(str(value)) * 100)


async def test_the_recorded_listing_is_read_largest_first() -> None:
    vaults = await read(RECORDED)
    assert [vault.name for vault in vaults] == ["Steakhouse USDC", "Gauntlet USDC Balanced", "Gauntlet USDC Prime"]
    first, second, _ = vaults
    assert (first.version, first.is_average, second.version, second.is_average) == ("V1", False, "V2", True)
    assert (first.apy, first.net_apy, first.earned_apy) == (4.31, 4.62, 4.09)
    assert (first.fee, first.total_assets, first.asset_decimals) == (5.0, 4001655642000, 6)
    # Of V2 the averages of an hour, and without rewards of which the rate is known.
    assert (second.apy, second.net_apy, second.avg_apy, second.avg_net_apy) == (5.12, 4.908, 5.05, 4.845)
    assert second.earned_apy == pytest.approx(4.608)
    assert {vault.address: vault._asdict() for vault in vaults} == expected(RECORDED)


@pytest.mark.parametrize("path", [path for path in MEMBERS if path[-1] != "whitelisted"], ids=str)
async def test_a_member_that_is_missing_is_named(path: Path) -> None:
    with pytest.raises(UpstreamUnavailable, match=str(path[-1])):
        await read(changed(path, ...))


@pytest.mark.parametrize("path", MEMBERS, ids=str)
async def test_a_null_is_unknown_where_it_may_be_and_refused_elsewhere(path: Path) -> None:
    is_first = "vaults" in path
    document = changed(path, None)
    if path[-1] in NULLABLE and not (is_first and path[-1] == "totalAssets"):
        assert {vault.address: vault._asdict() for vault in await read(document)} == expected(document)
        return
    with pytest.raises(UpstreamUnavailable, match=str(path[-1])):
        await read(document)


@pytest.mark.parametrize("path", MEMBERS, ids=str)
async def test_a_value_of_another_type_is_refused_by_its_member(path: Path) -> None:
    for wrong in (True, [], {}, "x", [1], {"a": 1}, 1.5, -7):
        document = changed(path, wrong)
        before: Any = RECORDED
        for key in path:
            before = before[key]
        if type(before) is type(wrong) or (path[-1] == "supplyApr" and wrong == 1.5):
            continue  # another figure, not another shape
        vaults, refused = await attempt(document)
        if refused:
            assert str(path[-1]) in refused, wrong
        else:
            assert {vault.address: vault._asdict() for vault in vaults} == expected(document)


@pytest.mark.parametrize(
    ("member", "values"),
    [
        ("fee", ["NaN", -0.01, 1.01, "Infinity", "1e400"]),
        ("apy", ["NaN", -1.01, 1e7, "-Infinity", 1e300]),
        ("netApyWithoutRewards", ["NaN", 1e9]),
        ("totalAssetsUsd", ["NaN", -1, "1e400"]),
        ("totalAssets", ["0x10", "1.5", "-1", -1, "", "1" * 79, str(2**256), "٣"]),
        ("timestamp", ["99999999999999", -1, 1795341634000]),
    ],
)
async def test_a_figure_that_cannot_be_is_refused(member: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(UpstreamUnavailable, match=f"{member}|times") as refused:
            await read(changed(("data", "vaults", "items", 0, "state", member), value))
        assert str(value) not in refused.value.message or value == ""


@pytest.mark.parametrize(
    "address",
    [
        "0xBEEF01735c132Ada46AA9aA4c54623cAA92A64Cb",
        "0xBEEF",
        "",
        "0x" + "g" * 40,
        "BEEF01735c132Ada46AA9aA4c54623cAA92A64CB",
    ],
)
async def test_an_address_is_one_with_the_right_checksum(address: str) -> None:
    with pytest.raises(UpstreamUnavailable, match=r"items\[\.\.\.\]\.address"):
        await read(changed(("data", "vaults", "items", 0, "address"), address))


async def test_a_vault_of_another_chain_or_twice_is_refused() -> None:
    with pytest.raises(UpstreamUnavailable, match=r"chain\.id"):
        await read(changed(("data", "vaultV2s", "items", 0, "chain", "id"), 8453))
    again = RECORDED["data"]["vaults"]["items"][0]["address"]
    with pytest.raises(UpstreamUnavailable, match="twice"):
        await read(changed(("data", "vaults", "items", 1, "address"), again))


async def test_either_name_of_the_mark_is_read_and_one_of_them_has_to_be_there() -> None:
    for marks, is_listed in (({"listed": True}, True), ({"listed": False}, False), ({"whitelisted": False}, False)):
        document = copy.deepcopy(RECORDED)
        item = document["data"]["vaults"]["items"][0]
        del item["whitelisted"]
        item.update(marks)
        assert (item["address"] in {vault.address for vault in await read(document)}) is is_listed
    with pytest.raises(UpstreamUnavailable, match="neither `whitelisted` nor `listed`"):
        await read(changed(("data", "vaults", "items", 0, "whitelisted"), ...))


@pytest.mark.parametrize("is_plain", [True, False])
async def test_a_server_that_knows_the_other_name_alone_is_asked_by_it_from_then_on(is_plain: bool) -> None:
    document = json.loads(json.dumps(RECORDED).replace('"whitelisted"', '"listed"'))

    def answer(asked: dict[str, Any]) -> Any:
        if "whitelisted" not in asked["query"]:
            return document
        if is_plain:  # as with HTTP 400
            return _Errors().classify(400, None, "", None).error
        return {"errors": [{"message": 'Field "whitelisted" is not defined by type "VaultFilters".'}]}

    server = Server(answer)
    api = MorphoApi(server)  # type: ignore[arg-type]
    for requests in (2, 3):
        assert len((await api.fetch(("ethereum",), None)).value.vaults) == 3
        assert len(server.asked) == requests


async def test_a_query_that_no_server_takes_is_a_changed_shape() -> None:
    refusal = {"errors": [{"message": 'Cannot query field "whitelisted" on type "Vault".'}]}
    with pytest.raises(UpstreamUnavailable, match=r"shape that this build does not know.*`(whitelisted|listed)`"):
        await vaults_of(
            Server(
                lambda asked: {
                    "errors": [
                        {
                            "message": refusal["errors"][0]["message"].replace(
                                "whitelisted", "whitelisted" if "whitelisted" in asked["query"] else "listed"
                            )
                        }
                    ]
                }
            )
        )
    with pytest.raises(UpstreamUnavailable, match=r"shape that this build does not know.*`netApyWithoutRewards`"):
        await read({"errors": [{"message": 'Cannot query field "netApyWithoutRewards" on type "VaultState".'}]})


@pytest.mark.parametrize(
    "answer",
    [
        {"data": None, "errors": [{"message": "Internal server error", "extensions": {"code": "X"}}]},
        {
            "data": {"vaults": RECORDED["data"]["vaults"], "vaultV2s": None},
            "errors": [{"message": "secret of the server"}],
        },
        {"errors": [{"message": "secret of the server"}]},
    ],
)
async def test_an_error_that_cost_a_generation_is_a_failure_without_the_servers_words(answer: Any) -> None:
    with pytest.raises(UpstreamUnavailable, match="an error in place of its vaults") as refused:
        await read(answer)
    assert "secret" not in refused.value.message


async def test_an_error_that_cost_one_figure_leaves_the_others() -> None:
    document = changed(("data", "vaults", "items", 0, "state"), None)
    document["errors"] = [{"message": "timeout", "path": ["vaults", "items", 0, "state"]}]
    vaults = {vault.name: vault for vault in await read(document)}
    assert vaults["Steakhouse USDC"].apy is None
    assert vaults["Gauntlet USDC Prime"].apy == 4.31
    assert [vault.name for vault in await read(document)][-1] == "Steakhouse USDC"  # of unknown size


@pytest.mark.parametrize("status", [404, 429, 500, 403])
async def test_http_errors_are_failures_of_the_source_never_an_answer(status: int) -> None:
    error = _Errors().classify(status, None, "words of theirs", None).error
    assert isinstance(error, UpstreamUnavailable)
    assert "words" not in error.message


async def test_a_hundred_mutations_give_the_right_figures_or_a_refusal_that_names_the_member() -> None:
    chance = random.Random(SEED)
    accepted = 0
    for _ in range(MUTATIONS):
        path = chance.choice([path for path in MEMBERS if path[-1] not in ("whitelisted",)])
        kind = chance.choice(["extra", "range", "nan", "type", "gone", "null", "cut"])
        text = json.dumps(RECORDED)
        if kind == "cut":
            body, document = text[: chance.randrange(1, len(text))].encode(), None
        else:
            document = mutated(path, kind, chance)
            body = json.dumps(document).encode()
        vaults, refused = await attempt(body)
        if refused:
            named = "no JSON document" if kind == "cut" else str(path[-1])
            assert named in refused or (path[-1] == "timestamp" and "times" in refused), (kind, path)
        else:
            accepted += 1
            assert document is not None
            assert {vault.address: vault._asdict() for vault in vaults} == expected(document), (kind, path)
    assert 0 < accepted < MUTATIONS


def mutated(path: Path, kind: str, chance: random.Random) -> dict[str, Any]:
    if kind == "extra":
        return changed((*path[:-1], "somethingNew"), chance.choice([None, 1, "x", [], {"a": [1]}]))
    if kind == "range":
        return changed(path, chance.choice([-1, 10**40, 10**90, -(10**9), 1e300]))
    if kind == "nan":
        return changed(path, chance.choice(["NaN", "Infinity", "-Infinity", "nan"]))
    if kind == "type":
        return changed(path, chance.choice([True, [], {}, [[]], {"a": 1}]))
    return changed(path, ... if kind == "gone" else None)


def test_the_name_is_that_of_the_configuration() -> None:
    assert NAME == "morpho"
