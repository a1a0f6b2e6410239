"""From a URL's host to a connection: names, addresses, TLS, and what is said where there is none."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devnet.ports import free_port
from server.upstream.failures import Failure, Kind
from server.upstream.http import Address, Client, HttpAnswer, opening
from server.upstream.transport import Transport
from tests.faults.fetch.hosts import make_certificate
from tests.server.upstream.http.scripted import (
    LONGEST_SECONDS,
    Visit,
    answering,
    echoing,
    on_both_loops,
    plain,
    serving,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

OK = plain(b"ok")
UNTRUSTED = "TLS failure: its certificate is not trusted"


def unreachable(words: str) -> Failure:
    return Failure(Kind.UNREACHABLE, words)


class Directory:
    """A name server: what it was asked, and what it tells; `stalls` lets it wait for ever."""

    def __init__(self, *addresses: str, stalls: bool = False) -> None:
        self.addresses = addresses
        self.stalls = stalls
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[Any]:
        self.asked.append(host)
        await asyncio.sleep(3600 if self.stalls else 0.01)
        if not self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, f"{host} is not known")
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
            for address in self.addresses
        ]


async def fetch(client: Client, url: str) -> HttpAnswer | Failure:
    return await Transport(client).post(Address(url, {}), b"{}", LONGEST_SECONDS)


def assert_ok(got: HttpAnswer | Failure) -> None:
    assert isinstance(got, HttpAnswer), got
    assert got.body == b"ok"


@on_both_loops
async def test_nobody_listens() -> None:
    async with Client() as client:
        assert await fetch(client, f"http://127.0.0.1:{free_port()}/secret") == unreachable("connection refused")


@on_both_loops
async def test_a_name_that_nobody_has() -> None:
    directory = Directory()
    async with Client(look_up=directory) as client:
        for _ in range(2):
            assert await fetch(client, "http://node.test/secret") == unreachable("host name not found")
        assert directory.asked == ["node.test", "node.test"], "a failure is not remembered"


@on_both_loops
async def test_a_name_that_nobody_can_have() -> None:
    async with Client() as client:
        assert await fetch(client, f"http://{'x' * 64}.test/secret") == unreachable("host name not found")


@on_both_loops
async def test_the_systems_own_names() -> None:
    async with Client() as client, serving(answering(OK)) as server:
        assert_ok(await fetch(client, f"http://localhost:{server.port}/"))
        assert server.requests[0][1].startswith(b"POST / HTTP/1.1\r\nHost: localhost:%d\r\n" % server.port)


@on_both_loops
async def test_a_name_is_asked_for_once_by_all_and_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = Directory("127.0.0.1")
    async with Client(look_up=directory) as client, serving(echoing) as server:
        url = f"http://node.test:{server.port}/"
        await asyncio.gather(*(fetch(client, url) for _ in range(5)))
        assert directory.asked == ["node.test"]
        await server.until(lambda: server.connections == 5)
        await asyncio.gather(*(fetch(client, url) for _ in range(7)))
        await server.until(lambda: server.connections > 5)
        assert directory.asked == ["node.test"]
    monkeypatch.setattr(opening, "NAME_SECONDS", 0.0)
    async with (
        Client(look_up=directory, limit=1) as client,
        serving(answering(plain(b"", b"Connection: close"))) as server,
    ):
        for _ in range(3):
            await fetch(client, f"http://node.test:{server.port}/")
    assert directory.asked == ["node.test"] * 4


@on_both_loops
async def test_an_address_where_nobody_listens_is_followed_by_the_next() -> None:
    port = free_port("127.0.0.1", "127.0.0.2")
    async with (
        Client(look_up=Directory("::1", "127.0.0.2", "127.0.0.1")) as client,
        serving(answering(plain(b"ok", b"Connection: close")), port=port) as server,
    ):
        for _ in range(6):
            assert_ok(await fetch(client, f"http://node.test:{server.port}/"))


@on_both_loops
async def test_addresses_take_turns() -> None:
    port = free_port("127.0.0.1", "127.0.0.2")
    script = answering(plain(b"ok", b"Connection: close"))
    async with (
        Client(look_up=Directory("127.0.0.1", "127.0.0.2")) as client,
        serving(script, port=port) as one,
        serving(script, address="127.0.0.2", port=port) as two,
    ):
        for _ in range(6):
            assert_ok(await fetch(client, f"http://node.test:{port}/"))
        # Three each, unless the machine stands still for so long that the next address is tried as well.
        assert min(len(one.requests), len(two.requests)) > 0


@on_both_loops
async def test_an_address_of_the_sixth_version() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    async with Client() as client, serving(answering(OK), address="::1") as server:
        assert_ok(await fetch(client, f"http://[::1]:{server.port}/"))
        assert b"\r\nHost: [::1]:%d\r\n" % server.port in server.requests[0][1]


@on_both_loops
async def test_a_look_up_without_end_is_given_up_with_its_caller_and_at_the_close() -> None:
    client = Client(look_up=Directory(stalls=True))
    got = await Transport(client).post(Address("http://node.test/", {}), b"{}", 0.05)
    assert got == Failure(Kind.TIMED_OUT, "no answer within 50 ms")
    waiting = asyncio.create_task(fetch(client, "http://node.test/"))
    await asyncio.sleep(0.02)
    await client.close()
    assert await waiting == Failure(Kind.DROPPED, "connection dropped")


class Certified:
    """A certificate for `node.test`: what a server shows, and what a client that trusts it alone needs."""

    def __init__(self, folder: Path, *names: str) -> None:
        certificate, key = make_certificate(folder, *names)
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.server.load_cert_chain(certificate, key)
        self.server.set_alpn_protocols(["h2", "http/1.1"])
        self.client = ssl.create_default_context(cafile=str(certificate))
        self.client.set_alpn_protocols(["http/1.1"])


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return Certified(tmp_path_factory.mktemp("certificates"), "node.test")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    return Certified(tmp_path_factory.mktemp("certificates"), "node.test")


@on_both_loops
async def test_over_tls_the_host_is_named_and_the_connection_kept(certified: Certified) -> None:
    asked: list[str | None] = []
    certified.server.sni_callback = lambda connection, name, context: asked.append(name)
    spoken: list[str | None] = []

    async def script(visit: Visit) -> None:
        spoken.append(visit.tls.selected_alpn_protocol())
        await echoing(visit)

    try:
        async with (
            Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client,
            serving(script, tls=certified.server) as server,
        ):
            for size in (1, 100_000, 3):
                got = await Transport(client).post(
                    Address(f"https://node.test:{server.port}/", {}), b"x" * size, LONGEST_SECONDS
                )
                assert isinstance(got, HttpAnswer)
                assert got.body == b"x" * size
            assert server.used == [0, 0, 0]
    finally:
        certified.server.sni_callback = None
    assert asked == ["node.test"]
    assert spoken == ["http/1.1"]


@on_both_loops
async def test_a_dot_behind_the_name_is_no_part_of_the_certificates(certified: Certified) -> None:
    async with (
        Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client,
        serving(answering(OK), tls=certified.server) as server,
    ):
        assert_ok(await fetch(client, f"https://node.test.:{server.port}/"))


@on_both_loops
async def test_a_certificate_of_somebody_else_or_for_another_name(certified: Certified, stranger: Certified) -> None:
    async with (
        Client(look_up=Directory("127.0.0.1"), tls=stranger.client) as client,
        serving(echoing, tls=certified.server) as server,
    ):
        assert await fetch(client, f"https://node.test:{server.port}/secret") == unreachable(UNTRUSTED)
    async with (
        Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client,
        serving(echoing, tls=certified.server) as server,
    ):
        assert await fetch(client, f"https://other.test:{server.port}/secret") == unreachable(UNTRUSTED)
        assert await fetch(client, f"https://127.0.0.1:{server.port}/secret") == unreachable(UNTRUSTED)
    async with (
        # What the system trusts.
        Client(look_up=Directory("127.0.0.1")) as client,
        serving(echoing, tls=certified.server) as server,
    ):
        assert await fetch(client, f"https://node.test:{server.port}/secret") == unreachable(UNTRUSTED)
        assert server.requests == []


@on_both_loops
async def test_one_machine_of_several_with_a_bad_certificate(certified: Certified, stranger: Certified) -> None:
    port = free_port("127.0.0.1", "127.0.0.2")
    script = answering(plain(b"ok", b"Connection: close"))
    async with (
        Client(look_up=Directory("127.0.0.1", "127.0.0.2"), tls=certified.client) as client,
        serving(script, port=port, tls=stranger.server) as bad,
        serving(script, address="127.0.0.2", port=port, tls=certified.server) as good,
    ):
        for _ in range(4):
            assert_ok(await fetch(client, f"https://node.test:{port}/"))
        assert bad.requests == []
        assert len(good.requests) == 4


@on_both_loops
async def test_plain_http_where_tls_was_meant(certified: Certified) -> None:
    async def script(visit: Visit) -> None:
        await visit.begun()
        await visit.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await visit.gone()

    async with Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client, serving(script) as server:
        assert await fetch(client, f"https://node.test:{server.port}/") == unreachable("TLS failure")


@on_both_loops
async def test_a_server_that_hangs_up_in_the_handshake(certified: Certified) -> None:
    async def script(visit: Visit) -> None:
        await visit.begun()

    async with Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client, serving(script) as server:
        got = await fetch(client, f"https://node.test:{server.port}/")
        assert got in (unreachable("no connection"), unreachable("TLS failure"))


@on_both_loops
async def test_a_handshake_without_end(certified: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(visit: Visit) -> None:
        await visit.gone()

    monkeypatch.setattr(opening, "CONNECT_SECONDS", 0.5)
    async with Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client, serving(script) as server:
        assert await fetch(client, f"https://node.test:{server.port}/") == unreachable("no connection in time")
        await server.until(lambda: server.ended == {0})


@on_both_loops
async def test_closing_does_not_wait_for_a_handshake(certified: Certified, monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(visit: Visit) -> None:
        await visit.begun()
        await visit.gone()

    monkeypatch.setattr(opening, "CONNECT_SECONDS", 3600.0)
    client = Client(look_up=Directory("127.0.0.1"), tls=certified.client)
    async with serving(script) as server:
        asking = asyncio.create_task(fetch(client, f"https://node.test:{server.port}/"))
        await server.until(lambda: server.connections == 1)
        await asyncio.wait_for(client.close(), LONGEST_SECONDS)
        assert await asking == Failure(Kind.DROPPED, "connection dropped")
        await server.until(lambda: server.ended == {0})


@on_both_loops
async def test_an_answer_over_tls_that_breaks_off(certified: Certified) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        if visit.number == 0:
            await visit.send(OK[:-1])
        elif visit.number == 1:
            await visit.send(OK)

    async with (
        Client(look_up=Directory("127.0.0.1"), tls=certified.client) as client,
        serving(script, tls=certified.server) as server,
    ):
        url = f"https://node.test:{server.port}/"
        assert await fetch(client, url) == Failure(Kind.NOT_JSON_RPC, "the answer was cut off")
        assert_ok(await fetch(client, url))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted here")
@pytest.mark.parametrize("scheme", ["http", "https"])
@on_both_loops
async def test_whoever_gives_up_while_a_connection_opens_leaves_no_descriptor(
    certified: Certified, scheme: str
) -> None:
    """Callers give up, and clients are closed, at every moment of an opening."""
    chance = random.Random(3)

    async with serving(echoing, tls=certified.server if scheme == "https" else None) as server:
        url = f"{scheme}://node.test:{server.port}/"
        before = len(os.listdir("/proc/self/fd"))
        for turn in range(40):
            client = Client(look_up=Directory("127.0.0.1"), tls=certified.client, limit=4)
            asking = [asyncio.create_task(fetch(client, url)) for _ in range(6)]
            for _ in range(turn // 2):
                await asyncio.sleep(0)
            if turn % 4 == 3:
                await asyncio.sleep(chance.random() * 0.03)
            for task in asking[: turn % 7]:
                task.cancel()
            await client.close()
            await asyncio.gather(*asking, return_exceptions=True)
        await server.until(lambda: len(server.ended) == server.connections)
        await server.until(lambda: len(os.listdir("/proc/self/fd")) <= before)
