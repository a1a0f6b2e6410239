"""Settings change in a running gateway: what callers see of that is nothing, and what is wrong changes nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from cli.reloader import Reloader
from runtime.settings import load_settings
from tests.e2e.gateway import RunningGateway, run_gateway
from tests.faults.simulator import FaultyNode, Request, honest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from devnet.launcher import Devnet

pytestmark = pytest.mark.devnet

RATE = 500
CHANGES = 20
FRESH = itertools.count(1 << 120)


def endpoint(label: str, node: FaultyNode, **more: Any) -> str:
    rest = "".join(f", {name} = {value!r}".replace("'", '"') for name, value in more.items())
    return f'{{ label = "{label}", url = "{node.url}"{rest} }}'


class Rig:
    """A gateway over one configuration file, and its reloader."""

    def __init__(self, path: Path, gateway: RunningGateway, reloader: Reloader) -> None:
        self.path = path
        self.gateway = gateway
        self.reloader = reloader

    async def reload(self, *endpoints: str, further: str = "") -> dict[str, Any]:
        self.path.write_text(configuration(self.path, *endpoints, further=further))
        return await self.reloader.reload()


def configuration(path: Path, *endpoints: str, further: str = "") -> str:
    listed = ",\n".join(endpoints)
    head = f'profile = "devnet"\nhttp.port = 0\ngrpc.port = 0\nstorage.url = "sqlite:///{path.parent / "waypost.db"}"\n'
    return f"{head}{further}\n[chains.ethereum]\nendpoints = [\n{listed}\n]\n"


@asynccontextmanager
async def rig_on(folder: Path, *endpoints: str) -> AsyncIterator[Rig]:
    path = folder / "waypost.toml"
    path.write_text(configuration(path, *endpoints))

    def read(content: bytes | None) -> Any:
        return load_settings(path, environ={}, content=content)

    settings = read(None)
    async with run_gateway(settings) as gateway:
        assert gateway.server is not None
        yield Rig(path, gateway, Reloader(settings, read, gateway.server))


class Recorder:
    """Which addresses each node was asked about, and when."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, float, bytes]] = []

    def watch(self, node: FaultyNode) -> None:
        async def record(request: Request) -> None:
            self.asked.append((node.port, time.monotonic(), request.body))
            await honest(request)

        node.fault = record


@pytest.mark.alone("500 requests a second")
async def test_twenty_changes_under_load_cost_no_caller_an_error_and_ask_no_removed_endpoint(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    nodes = [await faulty(devnet.endpoints["ethereum"]) for _ in range(4)]
    recorder = Recorder()
    for node in nodes:
        recorder.watch(node)
    began: dict[str, float] = {}
    failures: list[Any] = []

    async with rig_on(tmp_path, endpoint("a", nodes[0]), endpoint("b", nodes[1])) as rig:

        async def ask() -> None:
            address = f"{next(FRESH):040x}"
            began[address] = time.monotonic()
            try:
                answer = await rig.gateway.ask("getBalance", {"chain": "ethereum", "address": f"0x{address}"})
                if answer.get("result", {}).get("data", {}).get("balanceRaw") != "0":
                    failures.append(answer)
            except Exception as error:
                failures.append(error)

        async def load() -> None:
            started, asking = time.monotonic(), []
            for number in itertools.count():
                if done.is_set():
                    break
                await asyncio.sleep(max(0.0, started + number / RATE - time.monotonic()))
                asking.append(asyncio.create_task(ask()))
            await asyncio.gather(*asking)

        done = asyncio.Event()
        loading = asyncio.create_task(load())
        # Each step adds one, removes one, puts another address behind a label, or changes terms.
        a, b, c, d = nodes
        steps = [
            {"a": a, "b": b, "c": c},
            {"b": b, "c": c},
            {"b": d, "c": c},
            {"c": c, "a": a},
            {"a": a, "b": b},
        ]
        removed: list[tuple[int, float, float]] = []
        used = {a.port, b.port}
        for number in range(CHANGES):
            wanted = steps[number % len(steps)]
            outcome = await rig.reload(
                *(endpoint(label, node, weight=1 + number % 3) for label, node in wanted.items())
            )
            assert outcome["ok"], outcome
            now = {node.port for node in wanted.values()}
            removed = [(port, at, time.monotonic() if port in now and end == 0 else end) for port, at, end in removed]
            removed += [(port, time.monotonic(), 0.0) for port in used - now]
            used = now
            await asyncio.sleep(0.1)
        done.set()
        await loading
        ended = time.monotonic()

        assert rig.reloader.generation == CHANGES + 1
        assert not failures, (len(failures), len(began), failures[:3])
        # Five hundred a second where the machine carries that beside the nodes; a busy one sends fewer.
        assert len(began) > 20 * CHANGES, (len(began), ended - min(began.values()))
        assert len(removed) >= CHANGES / 2
        for port, left_at, back_at in removed:
            until = back_at or ended
            late = [body for of, at, body in recorder.asked if of == port and left_at < at < until]
            for address, begun in began.items():
                if begun > left_at and begun < until:
                    assert not any(address.encode() in body for body in late), (port, address)


async def test_what_is_wrong_changes_nothing_and_says_key_value_and_fix(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    good, other, wrong, silent = [
        await faulty(devnet.endpoints[slug]) for slug in ("ethereum", "ethereum", "polygon", "ethereum")
    ]
    await silent.stop()
    async with rig_on(tmp_path, endpoint("good", good)) as rig:
        height = await rig.gateway.ask("getBlockHeight", {"chain": "ethereum"})
        assert "result" in height

        async def refused(*endpoints: str, further: str = "") -> list[dict[str, str]]:
            outcome = await rig.reload(*endpoints, further=further)
            assert not outcome["ok"]
            assert rig.reloader.generation == 1
            shown = str(outcome)
            assert "secret-key-in-path" not in shown
            mistakes: list[dict[str, str]] = outcome["mistakes"]
            return mistakes

        [mistake] = await refused(endpoint("good", good), endpoint("wrong", wrong), further="[quotas]\ndemo_rate = 9")
        assert mistake["key"] == "chains.ethereum.endpoints[1].url"
        assert "wrong" in mistake["value"]
        assert "chain" in mistake["fix"]
        [mistake] = await refused(endpoint("good", good), endpoint("silent", silent))
        assert mistake["key"] == "chains.ethereum.endpoints[1].url"
        mistakes = await refused(endpoint("good", good), further="grpc.reflection = false\n[cache]\nnear_head = 5")
        assert {one["key"] for one in mistakes} == {"grpc.reflection", "cache.near_head"}
        assert all("restart" in one["fix"] for one in mistakes)
        [mistake] = await refused(endpoint("good", good), further='[log]\nlevel = "loud"')
        assert (mistake["key"], mistake["value"]) == ("log.level", '"loud"')
        [mistake] = await refused(endpoint("good", good), further='marketplace.apps = "/nowhere"')
        assert mistake["key"].startswith("marketplace.apps")
        # Nothing of all that was kept: the one endpoint answers, the others are not asked.
        asked = len(wrong.asked)
        assert "result" in await rig.gateway.ask(
            "getBalance", {"chain": "ethereum", "address": f"0x{next(FRESH):040x}"}
        )
        assert len(wrong.asked) == asked
        # And a right one is accepted after them.
        outcome = await rig.reload(endpoint("good", other))
        assert outcome == {
            "ok": True,
            "changed": ["chains.ethereum.endpoints"],
            "digest": outcome["digest"],
            "generation": 2,
        }
        before = len(good.asked)
        assert "result" in await rig.gateway.ask(
            "getBalance", {"chain": "ethereum", "address": f"0x{next(FRESH):040x}"}
        )
        assert len(good.asked) == before
        # Its connections end once it owes nothing.
        async with asyncio.timeout(5):
            while good._connections:  # noqa: ASYNC110  # the gateway closes them
                await asyncio.sleep(0.01)


async def test_secrets_quotas_sizes_and_files_are_read_again(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    first, second = [await faulty(devnet.endpoints["ethereum"]) for _ in range(2)]
    secret = tmp_path / "url"
    secret.write_text(first.url)
    row = f'{{ label = "a", url_file = "{secret}" }}'
    entries = tmp_path / "entries"
    entries.mkdir()
    calendar = entries / "ethereum.toml"
    announcement = (
        '[[entries]]\nkind = "release"\nname = "{0}"\ndescription = "d"\nurl = "https://example.org/"\nat = 2030-01-01'
    )
    calendar.write_text("reviewed = 2026-11-20\n" + announcement.format("one"))
    async with rig_on(tmp_path, row) as rig:
        ask = rig.gateway.ask

        async def names() -> set[str]:
            answer = await ask("getNetworkCalendar", {"chain": "ethereum", "from": "2030-01-01"})
            return {one["name"] for one in answer["result"]["data"]["entries"]}

        assert "result" in await ask("getBlockHeight", {"chain": "ethereum"})
        assert first.asked
        assert not second.asked
        secret.write_text(second.url)
        further = f'calendar.entries = "{entries}"\n[cache]\nmax_bytes = 65536\n[quotas]\ndemo_burst = 7\n'
        outcome = await rig.reload(row, further=further)
        assert outcome["ok"], outcome
        assert set(outcome["changed"]) == {
            "chains.ethereum.endpoints",
            "calendar.entries",
            "cache.max_bytes",
            "quotas.demo_burst",
        }
        assert "result" in await ask("getBalance", {"chain": "ethereum", "address": f"0x{next(FRESH):040x}"})
        assert second.asked
        assert "one" in await names()
        # The same path, with another announcement in it.
        calendar.write_text("reviewed = 2026-11-20\n" + announcement.format("two"))
        assert (await rig.reload(row, further=further))["changed"] == ["calendar.entries"]
        assert await names() == {"two"}
        demo = await rig.gateway.post(
            [{"jsonrpc": "2.0", "id": n, "method": "getHealth", "params": {}} for n in range(9)], path="/demo/v1"
        )
        assert sum("result" in one for one in await demo.json()) == 7


async def test_apps_change_on_both_faces_with_reflection_and_documents(
    devnet: Devnet, faulty: Callable[..., Any], tmp_path: Path
) -> None:
    node = await faulty(devnet.endpoints["ethereum"])
    apps = tmp_path / "apps"
    method = "svc_widgets_ethereum_box_call_decimals"

    async def methods() -> set[str]:
        document = await (await rig.gateway.session.get(f"{rig.gateway.http}/openrpc.json?apps=all")).json()
        return {one["name"] for one in document["methods"]}

    async def services() -> set[str]:
        stub: Any = reflection_pb2_grpc.ServerReflectionStub(rig.gateway.channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        async for answer in stub.ServerReflectionInfo(iter([request])):
            return {one.name for one in answer.list_services_response.service}
        return set()

    async def typed(path: str) -> grpc.StatusCode:
        try:
            await rig.gateway.channel.unary_unary(path)(b"", metadata=(("x-api-key", "local"),), timeout=10)
        except grpc.aio.AioRpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    async with rig_on(tmp_path, endpoint("a", node)) as rig:
        before_methods, before = await methods(), await services()
        write_app(apps, "decimals")
        outcome = await rig.reload(endpoint("a", node), further=f'marketplace.apps = "{apps}"')
        assert outcome["ok"], outcome
        [service] = await services() - before
        assert await methods() - before_methods == {method}
        path = f"/{service}/EthereumBoxCallDecimals"
        answer = await rig.gateway.ask(method, {"args": []})
        assert answer["result"]["data"]["outputs"] == ["6"], answer
        assert await typed(path) is grpc.StatusCode.OK
        health: Any = health_pb2_grpc.HealthStub(rig.gateway.channel)
        assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == 1

        # Broken files leave what is published; others replace it.
        (apps / "widgets" / "box.json").write_text("[]")
        assert not (await rig.reload(endpoint("a", node), further=f'marketplace.apps = "{apps}"'))["ok"]
        assert method in await methods()
        assert "result" in await rig.gateway.ask(method, {"args": []})
        write_app(apps, "symbol")
        assert (await rig.reload(endpoint("a", node), further=f'marketplace.apps = "{apps}"'))["changed"] == [
            "marketplace.apps"
        ]
        assert (await rig.gateway.ask(method, {"args": []}))["error"]["code"] == 404
        assert (await rig.gateway.ask(method.replace("decimals", "symbol"), {"args": []}))["result"]["data"][
            "outputs"
        ] == ["USDC"]
        assert await typed(path) is grpc.StatusCode.UNIMPLEMENTED
        assert (await rig.reload(endpoint("a", node)))["ok"]
        assert await services() == before
        assert await methods() == before_methods


def write_app(apps: Path, function: str) -> None:
    folder = apps / "widgets"
    folder.mkdir(parents=True, exist_ok=True)
    address = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    rows = f'[[deployments]]\nname = "box"\nchain = "ethereum"\naddress = "{address}"\nabi = "box.json"\n'
    (folder / "app.toml").write_text(f'name = "Widgets"\n{rows}')
    kind = {"decimals": "uint8", "symbol": "string"}[function]
    item = {
        "type": "function",
        "name": function,
        "stateMutability": "view",
        "inputs": [],
        "outputs": [{"name": "", "type": kind}],
    }
    (folder / "box.json").write_text(json.dumps([item]))
