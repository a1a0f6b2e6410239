"""Every listener over TLS: certificates change under open connections, and bounds hold before any handshake."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import runtime.handshakes
import runtime.renewal
import transcoder.connections
from cli.control import Control
from cli.faces import open_channel
from cli.gateway import run_gateway
from cli.process import Stop
from devnet.ports import free_port
from runtime.listening import sockets_at
from runtime.settings import HttpSettings, TlsClientSettings, load_settings
from tests.server.upstream.http.routes import Authority
from tests.serving import serve_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from cli.faces import Ports

CREDENTIAL = "0123456789abcdef-private"


class Secured:
    """A gateway whose listeners all have TLS, and clients that trust its authority."""

    def __init__(self, authority: Authority, folder: Path, ports: Ports, metrics: int, private: int) -> None:
        self.authority = authority
        self.folder = folder
        assert ports.http is not None
        assert ports.grpc is not None
        self.http, self.grpc, self.metrics, self.private = ports.http, ports.grpc, metrics, private
        self.trust = ssl.create_default_context(cafile=str(authority.certificate))

    async def serial(self, port: int, *alpn: str) -> str:
        """The serial number of the certificate that a new connection is served with."""
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
        found = writer.get_extra_info("peercert")["serialNumber"]
        writer.transport.abort()
        return str(found)

    async def serials(self) -> list[str]:
        return [await self.serial(self.http), await self.serial(self.metrics), await self.serial(self.grpc, "h2")]

    def channel(self) -> grpc.aio.Channel:
        credentials = grpc.ssl_channel_credentials(self.authority.certificate.read_bytes())
        return grpc.aio.secure_channel(f"localhost:{self.grpc}", credentials)

    async def gauge(self, name: str, listener: str) -> float:
        async with aiohttp.ClientSession() as session:
            url = f"https://localhost:{self.metrics}/metrics"
            async with session.get(url, ssl=self.trust) as answer:
                lines = (await answer.text()).splitlines()
        return float(next(one for one in lines if one.startswith(f'{name}{{listener="{listener}"}}')).split()[1])


def install(pair: tuple[Path, Path], folder: Path) -> None:
    """Put a certificate in the place of the one that is served, as renewing tools do: by renaming."""
    for source, name in zip(pair, ("cert.pem", "key.pem"), strict=True):
        temporary = folder / f"{name}.new"
        temporary.write_bytes(source.read_bytes())
        temporary.rename(folder / name)


@asynccontextmanager
async def secured(tmp_path: Path, **further: dict[str, Any]) -> AsyncIterator[Secured]:
    authority, folder = Authority(tmp_path), tmp_path / "served"
    folder.mkdir()
    install(authority.issue("gateway.test"), folder)
    tls = {"cert_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem")}
    metrics, private = free_port(), free_port()
    overrides: dict[str, Any] = {
        "profile": "devnet",
        "storage": {"url": f"sqlite:///{tmp_path / 'waypost.db'}"},
        "control": {"socket": str(tmp_path / "control.sock")},
        "server_limits": {"notice": 0},
        "http": {"port": 0, "tls": tls, **further.get("http", {})},
        "grpc": {
            "port": 0,
            "tls": tls,
            "private_listen": f"127.0.0.1:{private}",
            "private_tls": {**tls, "client_ca_file": str(authority.certificate)},
            "credential": CREDENTIAL,
            **further.get("grpc", {}),
        },
        "metrics": {"listen": f"127.0.0.1:{metrics}", "tls": tls},
    }
    settings = load_settings(environ={}, overrides=overrides)
    stop, ready = Stop(), asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(run_gateway(settings, stop, ready.set_result, Control(lambda _: settings)))
    try:
        await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
        yield Secured(authority, folder, ready.result(), metrics, private)
    finally:
        stop.ask()
        await serving


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():  # noqa: ASYNC110  # files are looked at by the clock
            await asyncio.sleep(0.02)


async def test_certificates_change_under_open_connections_and_bad_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.renewal, "LOOK_SECONDS", 0.05)
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(secured(tmp_path))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        url = f"https://localhost:{gateway.http}"

        async def is_alive() -> bool:
            async with session.get(f"{url}/livez", ssl=gateway.trust) as answer:
                return answer.status == 200

        channel = await stack.enter_async_context(gateway.channel())
        health: Any = health_pb2_grpc.HealthStub(channel)
        assert await is_alive()
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING
        async with session.get(f"{url}/openrpc.json", ssl=gateway.trust) as answer:
            assert (await answer.json())["servers"][0]["url"].startswith(f"{url}/")
        with pytest.raises(aiohttp.ClientError):
            await session.get(url.replace("https", "http") + "/livez")
        before = await gateway.serials()
        assert len(set(before)) == 1
        assert 0 < await gateway.gauge("waypost_certificate_expiry_seconds", "http") < 3 * 86400

        install(gateway.authority.issue("renewed.test"), gateway.folder)

        async def is_renewed() -> bool:
            return all(now != then for now, then in zip(await gateway.serials(), before, strict=True))

        await until(is_renewed)
        renewed = await gateway.serials()
        # The connections of before go on.
        assert await is_alive()
        assert (await health.Check(health_pb2.HealthCheckRequest())).status == health_pb2.HealthCheckResponse.SERVING

        # A key of another certificate, and no certificate at all.
        for content in (gateway.authority.issue("other.test")[1].read_bytes(), b"nothing"):
            (gateway.folder / "key.pem").write_bytes(content)

            async def has_failed() -> bool:
                listeners = ("http", "grpc", "private", "metrics")
                name = "waypost_certificate_reload_failed"
                return all([await gateway.gauge(name, one) == 1 for one in listeners])

            await until(has_failed)
            assert await gateway.serials() == renewed
        install(gateway.authority.issue("again.test"), gateway.folder)

        async def is_well() -> bool:
            return not set(await gateway.serials()) & set(renewed)

        await until(is_well)
        assert await gateway.gauge("waypost_certificate_reload_failed", "grpc") == 0


async def test_private_listener_takes_clients_of_its_authority_alone(tmp_path: Path) -> None:
    async with secured(tmp_path) as gateway:
        own = gateway.authority.issue("transcoder.test")
        known = TlsClientSettings(ca_file=gateway.authority.certificate, cert_file=own[0], key_file=own[1])
        stranger = TlsClientSettings(ca_file=gateway.authority.certificate)
        for tls, status in ((known, 200), (stranger, 503)):
            async with AsyncExitStack() as stack:
                channel = await stack.enter_async_context(open_channel(f"localhost:{gateway.private}", tls))
                face = await stack.enter_async_context(serve_face(channel, HttpSettings(), CREDENTIAL))
                session = await stack.enter_async_context(aiohttp.ClientSession())
                async with session.get(f"{face}/readyz") as answer:
                    assert answer.status == status, await answer.text()


async def test_public_faces_take_clients_of_their_authority_alone(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "served", tmp_path / "elsewhere"
    elsewhere.mkdir()
    stranger = Authority(elsewhere)
    files = {"cert_file": str(folder / "cert.pem"), "key_file": str(folder / "key.pem")}
    tls = {"tls": {**files, "client_ca_file": str(tmp_path / "authority.pem")}}
    async with secured(tmp_path, http=tls, grpc=tls) as gateway:

        async def is_served_over_http(pair: tuple[Path, Path] | None) -> bool:
            context = ssl.create_default_context(cafile=str(gateway.authority.certificate))
            if pair is not None:
                context.load_cert_chain(*pair)
            url = f"https://localhost:{gateway.http}/livez"
            try:
                async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as answer:
                    return answer.status == 200
            except aiohttp.ClientError:
                return False

        async def is_served_over_grpc(pair: tuple[Path, Path] | None) -> bool:
            chain, key = (None, None) if pair is None else (one.read_bytes() for one in pair)
            credentials = grpc.ssl_channel_credentials(gateway.authority.certificate.read_bytes(), key, chain)
            async with grpc.aio.secure_channel(f"localhost:{gateway.grpc}", credentials) as channel:
                health: Any = health_pb2_grpc.HealthStub(channel)
                try:
                    return bool((await health.Check(health_pb2.HealthCheckRequest(), timeout=10)).status)
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                    return False

        known, unknown = gateway.authority.issue("client.test"), stranger.issue("client.test")
        for pair, is_served in ((known, True), (None, False), (unknown, False), (known, True)):
            assert await is_served_over_http(pair) is is_served
            assert await is_served_over_grpc(pair) is is_served


async def test_bounds_hold_before_the_handshake_and_for_answers_that_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.handshakes, "HANDSHAKE_SECONDS", 1.0)
    monkeypatch.setattr(transcoder.connections, "GRACE", 0.3)
    bounds = {"http": {"max_connections": 12, "min_transfer_rate": 1 << 20}, "grpc": {"max_connections": 12}}
    async with secured(tmp_path, **bounds) as gateway:
        silent = [await asyncio.open_connection("127.0.0.1", gateway.http) for _ in range(40)]
        await asyncio.sleep(0.1)
        # The newest make room among those without a handshake, and a client with one is served.
        assert sum(reader.at_eof() or _is_reset(reader) for reader, _ in silent) >= 28
        url = f"https://localhost:{gateway.http}/livez"
        async with aiohttp.ClientSession() as session, session.get(url, ssl=gateway.trust) as answer:
            assert answer.status == 200
        # And none without a handshake stays.
        began = time.monotonic()
        for reader, _ in silent:
            with suppress(ConnectionError):
                async with asyncio.timeout(5):
                    assert await reader.read() == b""
        assert time.monotonic() - began < 4

        raw = [await asyncio.open_connection("127.0.0.1", gateway.grpc) for _ in range(40)]
        await asyncio.sleep(0.2)
        assert sum(reader.at_eof() or _is_reset(reader) for reader, _ in raw) >= 28
        for _, writer in (*silent, *raw):
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

        unread = socket.create_connection(("127.0.0.1", gateway.http))
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        tls = await asyncio.to_thread(gateway.trust.wrap_socket, unread, server_hostname="localhost")
        request = b"GET /openrpc.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with suppress(OSError):
            tls.sendall(request * 20)
        async with asyncio.timeout(10):
            # The gateway's end of it is closed though not a byte was read.
            while any(not listens for _, listens in sockets_at(gateway.http)):  # noqa: ASYNC110  # as its clock has it
                await asyncio.sleep(0.05)
        tls.close()


def _is_reset(reader: asyncio.StreamReader) -> bool:
    return reader.exception() is not None
