"""What a third party's URL cannot reach: private addresses, however they are written, named, or come to be named."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from devnet.ports import free_port
from server.fetch import FetchFailed, FetchRefused
from tests.faults.fetch.conftest import Certified, Names, only, run_fetcher
from tests.faults.fetch.hosts import redirect, run_host, whole

LOOPBACK = [
    "127.0.0.1",
    "localhost",
    "LOCALHOST.",
    "127.1",
    "127.000.000.001",
    "0177.0.0.1",
    "0x7f.0.0.1",
    "0x7f000001",
    "2130706433",
    "0.0.0.0",
    "0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "[fe80::1%25lo]",
    "\uff11\uff12\uff17.0.0.1",
    "127。0。0。1",
    "①②⑦.0.0.1",
]


@pytest.mark.parametrize("host", LOOPBACK)
async def test_loopback_is_not_connected_to_however_it_is_written(host: str) -> None:
    async with run_host({"/": whole(b"secret")}) as inner, run_fetcher(ports=[inner.port]) as fetcher:
        with pytest.raises((FetchRefused, FetchFailed)):
            await fetcher.fetch(f"https://{host}:{inner.port}/")
        assert inner.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.5"],
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["64:ff9b::a9fe:a9fe"],
        ["::ffff:169.254.169.254"],
        ["100.64.1.1"],
        ["fe80::1%2"],
        ["93.184.215.14", "127.0.0.1"],
        ["93.184.215.14", "2606:2800::1", "8.8.8.8", "10.0.0.1"],
    ],
)
async def test_a_name_with_any_closed_address_is_refused(addresses: list[str]) -> None:
    names = Names(addresses)
    async with run_host({"/": whole(b"secret")}) as inner, run_fetcher(names, ports=[inner.port]) as fetcher:
        with pytest.raises(FetchRefused, match="not on the public internet"):
            await fetcher.fetch(f"https://innocent.test:{inner.port}/")
        assert inner.connections == 0
    assert names.asked == ["innocent.test"]


async def test_a_name_that_changes_its_mind_after_the_check_is_asked_where_it_was_checked(certified: Certified) -> None:
    """DNS rebinding: the first look-up gives a good address, every later one a closed address at the same port."""
    names = Names(["127.0.0.2"], ["127.0.0.1"])
    port = free_port("127.0.0.1", "127.0.0.2")
    async with (
        run_host({"/": whole(b"good")}, address="127.0.0.2", port=port, tls=certified.server) as good,
        run_host({"/": whole(b"secret")}, port=port, tls=certified.server) as inner,
        run_fetcher(names, tls=certified.client, admits=only("127.0.0.2"), ports=[good.port]) as fetcher,
    ):
        answer = await fetcher.fetch(f"https://meta.test:{good.port}/")
        assert answer.body == b"good"
        assert (good.connections, inner.connections) == (1, 0)
        assert names.asked == ["meta.test"]
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"https://meta.test:{good.port}/")
        assert (good.connections, inner.connections) == (1, 0)


async def test_a_name_that_changes_its_mind_between_two_hops_is_refused(certified: Certified) -> None:
    names = Names(["127.0.0.2"], ["127.0.0.1"])
    port = free_port("127.0.0.1", "127.0.0.2")
    async with (
        run_host({"/": redirect("/next")}, address="127.0.0.2", port=port, tls=certified.server) as good,
        run_host({"/next": whole(b"secret")}, port=port, tls=certified.server) as inner,
        run_fetcher(names, tls=certified.client, admits=only("127.0.0.2"), ports=[good.port]) as fetcher,
    ):
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"https://meta.test:{good.port}/")
        assert (good.connections, inner.connections) == (1, 0)


@pytest.mark.parametrize(
    "location",
    [
        "https://127.0.0.1:{port}/",
        "https://localhost:{port}/",
        "//127.0.0.1:{port}/",
        "https://[::ffff:127.0.0.1]:{port}/",
        "https://2130706433:{port}/",
        "http://127.0.0.1:{port}/",
        "http://meta.test:{port}/",
        "https://user:password@meta.test:{port}/",
        "https://meta.test:22/",
        "file:///etc/passwd",
        "ftp://meta.test/",
        "https://meta.test\\@127.0.0.1:{port}/",
    ],
)
async def test_a_redirect_leads_nowhere_that_the_first_address_may_not(certified: Certified, location: str) -> None:
    async def resolve(host: str) -> list[str]:
        return ["127.0.0.2"] if host == "meta.test" else ["127.0.0.1"]

    names = Names([])
    names.resolve = resolve  # type: ignore[method-assign,assignment]
    port = free_port("127.0.0.1", "127.0.0.2")
    async with (
        run_host({}, address="127.0.0.2", port=port, tls=certified.server) as good,
        run_host({"/": whole(b"secret")}, port=port, tls=certified.server) as inner,
        run_fetcher(names, tls=certified.client, admits=only("127.0.0.2"), ports=[good.port]) as fetcher,
    ):
        good.answers["/"] = redirect(location.format(port=good.port))
        with pytest.raises(FetchRefused):
            await fetcher.fetch(f"https://meta.test:{good.port}/")
        assert (good.connections, inner.connections) == (1, 0)


async def test_what_the_configuration_allows_is_reached_and_its_neighbours_are_not() -> None:
    async with run_host({"/": whole(b"{}")}) as allowed, run_host({"/": whole(b"secret")}) as other:
        async with run_fetcher(allow=[f"127.0.0.1:{allowed.port}"]) as fetcher:
            assert (await fetcher.fetch(f"http://127.0.0.1:{allowed.port}/")).body == b"{}"
            for url in (
                f"http://127.0.0.1:{other.port}/",
                f"http://localhost:{allowed.port}/",
                f"http://[::ffff:127.0.0.1]:{allowed.port}/",
                f"http://2130706433:{allowed.port}/",
            ):
                with pytest.raises(FetchRefused):
                    await fetcher.fetch(url)
            allowed.answers["/"] = redirect(f"http://127.0.0.1:{other.port}/")
            with pytest.raises(FetchRefused):
                await fetcher.fetch(f"http://127.0.0.1:{allowed.port}/")
        assert other.connections == 0
        assert allowed.connections == 2


async def test_no_proxy_out_of_the_environment_is_used(certified: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        run_host({"/": whole(b"good")}, tls=certified.server) as good,
        run_host({}) as proxy,
        run_fetcher(Names(["127.0.0.1"]), tls=certified.client, admits=only("127.0.0.1"), ports=[good.port]) as fetcher,
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await fetcher.fetch(f"https://meta.test:{good.port}/")).body == b"good"
        assert proxy.connections == 0


async def test_nothing_of_ours_goes_along(
    certified: Certified, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    netrc = os.path.join(str(tmp_path), "netrc")
    with open(netrc, "w") as file:  # noqa: ASYNC230 - a test's own file
        file.write("default login operator password hunter2\n")
    os.chmod(netrc, 0o600)
    monkeypatch.setenv("NETRC", netrc)
    async with (
        run_host({}, tls=certified.server) as host,
        run_fetcher(Names(["127.0.0.1"]), tls=certified.client, admits=only("127.0.0.1"), ports=[host.port]) as fetcher,
    ):
        host.answers["/"] = redirect("/next", "302 Found", "Set-Cookie: session=1; Path=/")
        host.answers["/next"] = whole(b"", "Set-Cookie: session=2; Path=/")
        for _ in range(2):
            await fetcher.fetch(f"https://meta.test:{host.port}/?q=1".replace("/?q=1", "/"))
        assert len(host.requests) == 4
        for request in host.requests:
            lines = request.lower().split(b"\r\n")
            names = {line.partition(b":")[0] for line in lines[1:] if line}
            assert names == {b"host", b"user-agent", b"accept", b"accept-encoding", b"connection"}
            assert f"host: meta.test:{host.port}".encode() in lines


async def test_a_certificate_must_be_of_the_name_and_trusted(certified: Certified) -> None:
    async with run_host({"/": whole(b"good")}, tls=certified.server) as host:
        options = {"admits": only("127.0.0.1"), "ports": [host.port]}
        async with run_fetcher(Names(["127.0.0.1"]), tls=certified.client, **options) as fetcher:
            assert (await fetcher.fetch(f"https://meta.test:{host.port}/")).body == b"good"
            assert (await fetcher.fetch(f"https://OTHER.test:{host.port}/")).body == b"good"
            with pytest.raises(FetchFailed, match="TLS"):
                await fetcher.fetch(f"https://third.test:{host.port}/")
        async with run_fetcher(Names(["127.0.0.1"]), **options) as fetcher:
            with pytest.raises(FetchFailed, match="TLS"):
                await fetcher.fetch(f"https://meta.test:{host.port}/")
        assert len(host.requests) == 2


async def test_the_next_address_is_asked_where_one_takes_no_connection(certified: Certified) -> None:
    async with (
        run_host({"/": whole(b"good")}, address="127.0.0.3", tls=certified.server) as host,
        run_fetcher(
            Names(["127.0.0.2", "127.0.0.3"]),
            tls=certified.client,
            admits=only("127.0.0.2", "127.0.0.3"),
            ports=[host.port],
        ) as fetcher,
    ):
        assert (await fetcher.fetch(f"https://meta.test:{host.port}/")).body == b"good"


async def test_a_slow_name_server_holds_nobody_else_up() -> None:
    async def resolve(host: str) -> list[str]:
        if host == "slow.test":
            await asyncio.Event().wait()
        return []

    names = Names([])
    names.resolve = resolve  # type: ignore[method-assign,assignment]
    async with run_fetcher(names, timeout=60.0) as fetcher:
        soon = time.monotonic() + 0.4
        slow = [asyncio.create_task(fetcher.fetch("https://slow.test/", deadline=soon)) for _ in range(50)]
        with pytest.raises(FetchFailed, match="not found"):
            await fetcher.fetch("https://unknown.test/")
        for error in await asyncio.gather(*slow, return_exceptions=True):
            assert isinstance(error, FetchFailed)
            assert "too long" in error.message
