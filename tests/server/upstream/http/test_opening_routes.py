"""How endpoints are reached: through a proxy, trusting authorities of one's own, showing a client certificate."""

from __future__ import annotations

import ssl
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from devnet.ports import free_port
from runtime.settings import EndpointSettings, RouteSettings
from server.chains.evm.node_errors import EvmErrors
from server.errors import UpstreamUnavailable
from server.upstream import Pool, open_session
from server.upstream.failures import Failure, Kind
from server.upstream.http import DIRECT, Address, Client, HttpAnswer, Proxy, opening
from server.upstream.transport import Transport
from tests.server.upstream.http.routes import Authority, proxying, strict
from tests.server.upstream.http.scripted import LONGEST_SECONDS, Server, Visit, answering, on_both_loops, plain, serving
from tests.server.upstream.http.test_opening import Directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OK = plain(b"ok")
UNTRUSTED = "TLS failure: its certificate is not trusted"
UNIDENTIFIED = "TLS failure: our client certificate is missing or not accepted"
NOT_IN_TIME = "no connection through the proxy in time"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("stranger"))


def route(trusted: Authority, identity: Authority | None = None) -> RouteSettings:
    certificate, key = (None, None) if identity is None else identity.issue("gateway")
    return RouteSettings(ca=trusted.certificate, client_certificate=certificate, client_key_file=key)


async def fetch(client: Client, url: str, **route: Any) -> HttpAnswer | Failure:
    return await Transport(client).post(Address(url, {"X-Key": "key"}, **route), b"{}", LONGEST_SECONDS)


def assert_ok(got: HttpAnswer | Failure) -> None:
    assert isinstance(got, HttpAnswer), got
    assert got.body == b"ok"


def unreachable(words: str) -> Failure:
    return Failure(Kind.UNREACHABLE, words)


@pytest.mark.parametrize("scheme", ["http", "https"])
@on_both_loops
async def test_a_request_goes_through_the_proxy_unchanged(authority: Authority, scheme: str) -> None:
    tls = authority.server() if scheme == "https" else None
    directory = Directory()
    shown = route(authority, authority).tls
    async with serving(answering(OK), tls=tls) as server, proxying() as proxy, Client(look_up=directory) as client:
        url = f"{scheme}://node.test:{server.port}/path"
        for _ in range(3):
            assert_ok(await fetch(client, url, proxy=proxy.proxy, tls=shown))
        target = f"node.test:{server.port}"
        # One connection carries all; the name is the proxy's to find.
        assert proxy.opened == [target]
        assert directory.asked == []
        assert proxy.heads == [
            f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n".encode()
            + b"Proxy-Authorization: Basic dXNlcjpwYXNzIQ==\r\n\r\n"
        ]
        assert server.used == [0, 0, 0]
        assert server.requests[0][1] == (
            f"POST /path HTTP/1.1\r\nHost: {target}\r\nX-Key: key\r\nContent-Length: 2\r\n\r\n{{}}".encode()
        )


@on_both_loops
async def test_connections_are_shared_by_route_and_an_endpoint_may_leave_the_proxy_out() -> None:
    async with serving(answering(OK)) as server, proxying() as proxy, proxying() as other:
        url = f"http://127.0.0.1:{server.port}/"
        async with Client(proxy=other.proxy) as client:
            for _ in range(2):
                assert_ok(await fetch(client, url))
                assert_ok(await fetch(client, url, proxy=proxy.proxy))
                assert_ok(await fetch(client, url, proxy=DIRECT))
        assert (len(proxy.opened), len(other.opened), server.connections) == (1, 1, 3)
        assert server.used == [0, 1, 2, 0, 1, 2]


@on_both_loops
async def test_an_address_in_brackets_is_asked_for_in_brackets() -> None:
    async with proxying(b"HTTP/1.1 502 Bad Gateway\r\n\r\n") as proxy, Client() as client:
        assert await fetch(client, "http://[::1]:8545/", proxy=proxy.proxy) == unreachable(
            "the proxy refused: HTTP 502"
        )
        assert proxy.heads[0].startswith(b"CONNECT [::1]:8545 HTTP/1.1\r\nHost: [::1]:8545\r\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy wants another name and password (HTTP 407)"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!", "the proxy refused: HTTP 403"),
        (b"HTTP/1.0 503 Later\r\n\r\n", "the proxy refused: HTTP 503"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://portal.test/\r\n\r\n", "the proxy refused: HTTP 302"),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "the proxy did not answer as an HTTP proxy"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "the proxy did not answer as an HTTP proxy"),
        (b"SSH-2.0-server\r\n\r\n", "the proxy did not answer as an HTTP proxy"),
        (b"HTTP/1.1 200", "the proxy did not answer as an HTTP proxy"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 20_000, "the proxy did not answer as an HTTP proxy"),
    ],
)
@on_both_loops
async def test_a_proxy_that_opens_nothing(answer: bytes, words: str) -> None:
    async with serving(answering(OK)) as server, proxying(answer) as proxy, Client() as client:
        assert await fetch(client, f"http://127.0.0.1:{server.port}/secret", proxy=proxy.proxy) == unreachable(words)
        assert server.connections == 0


@on_both_loops
async def test_a_proxy_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CONNECT_SECONDS", 0.5)
    async with proxying(b"") as proxy, Client() as client:
        got = await fetch(client, "http://node.test/secret", proxy=proxy.proxy)
        assert got == unreachable(NOT_IN_TIME)
        assert isinstance(got, Failure)
        assert got.is_silence


@on_both_loops
async def test_a_proxy_that_is_not_there() -> None:
    async with Client(look_up=Directory()) as client:
        nobody = Proxy("127.0.0.1", free_port())
        assert await fetch(client, "http://node.test/", proxy=nobody) == unreachable("no connection through the proxy")
        nowhere = Proxy("proxy.test", 3128)
        words = "the proxy's host name is not found"
        assert await fetch(client, "http://node.test/", proxy=nowhere) == unreachable(words)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@on_both_loops
async def test_certificates_on_both_sides(authority: Authority, stranger: Authority, version: ssl.TLSVersion) -> None:
    async with serving(answering(OK), tls=authority.server(version=version)) as server:
        for shown, is_trusted in (
            (route(authority, authority), True),
            (route(stranger, authority), False),
            (RouteSettings(), False),
        ):
            async with Client(look_up=Directory("127.0.0.1")) as client:
                got = await fetch(client, f"https://node.test:{server.port}/", tls=shown.tls)
            if is_trusted:
                assert_ok(got)
            else:
                assert got == unreachable(UNTRUSTED)
        assert len(server.requests) == 1


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@on_both_loops
async def test_a_certificate_that_is_missing_or_not_accepted(
    authority: Authority, stranger: Authority, version: ssl.TLSVersion
) -> None:
    async with strict(authority.server(version=version)) as port:
        for identity in (None, stranger):
            async with Client(look_up=Directory("127.0.0.1")) as client:
                got = await fetch(client, f"https://node.test:{port}/", tls=route(authority, identity).tls)
                if identity is None and version is ssl.TLSVersion.TLSv1_2:
                    # There the alert is the one of any handshake that fails.
                    assert got == unreachable("TLS failure")
                else:
                    assert got == unreachable(UNIDENTIFIED), identity
        async with Client(look_up=Directory("127.0.0.1")) as client:
            got = await fetch(client, f"https://node.test:{port}/", tls=route(authority, authority).tls)
            assert isinstance(got, HttpAnswer)


def test_nothing_of_a_route_shows(authority: Authority) -> None:
    certificate, key = authority.issue("hidden")
    settings = EndpointSettings(
        label="alpha",
        url="http://node.test/",
        proxy="http://user:password@proxy.test:3128",
        client_certificate=certificate,
        client_key_file=key,
    )
    proxy = Proxy.parse("http://user:password@proxy.test:3128")
    address = Address("https://node.test/", {}, proxy=proxy, tls=settings.tls)
    for shown in (
        repr(settings.proxy),
        repr(proxy),
        str(proxy),
        repr(address),
        repr(address.origin),
        f"{address.origin}",
    ):
        assert "proxy.test" not in shown
        assert "password" not in shown


async def answer_chain_id(visit: Visit) -> None:
    """Answer every JSON-RPC request of one call."""
    while True:
        number = (await visit.request()).rpartition(b'"id":')[2].partition(b",")[0].rstrip(b"}")
        await visit.send(plain(b'{"jsonrpc":"2.0","id":%b,"result":"0x1"}' % number))


@asynccontextmanager
async def pooled(
    alpha: dict[str, Any], beta: Server | None, outbound: RouteSettings | None = None
) -> AsyncIterator[Pool]:
    endpoints = [{"label": "alpha", "weight": 1000} | alpha]
    if beta is not None:
        endpoints.append({"label": "beta", "url": f"http://127.0.0.1:{beta.port}/"})
    async with open_session(outbound) as http:
        settings = [EndpointSettings.model_validate(one) for one in endpoints]
        pool = Pool("ethereum", settings, EvmErrors(), http, block_time=12.0)
        try:
            yield pool
        finally:
            await pool.close()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("refuses", "the proxy wants another name and password (HTTP 407)"),
        ("forbids", "the proxy refused: HTTP 403"),
        ("hangs", NOT_IN_TIME),
        ("wrong authority", UNTRUSTED),
        ("no certificate", UNIDENTIFIED),
    ],
)
async def test_the_next_endpoint_answers_and_alone_the_error_says_why(
    fault: str, words: str, authority: Authority, stranger: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "CONNECT_SECONDS", 3.0 if "certificate" in fault else 1.0)
    answers = {"refuses": b"HTTP/1.1 407 No\r\n\r\n", "forbids": b"HTTP/1.1 403 No\r\n\r\n", "hangs": b""}
    trusted = stranger if fault == "wrong authority" else authority

    async with (
        proxying(answers.get(fault)) as proxy,
        strict(authority.server()) as node,
        serving(answer_chain_id) as beta,
    ):
        url = f"https://localhost:{node}/key-of-node"
        alpha = {"url": url, "proxy": proxy.url, "ca": str(trusted.certificate)}
        async with pooled(alpha, beta) as pool:
            reply = await pool.call("eth_chainId", [])
            assert (reply.endpoint, reply.result) == ("beta", b'"0x1"')
        async with pooled(alpha, None) as pool:
            with pytest.raises(UpstreamUnavailable) as caught:
                await pool.call("eth_chainId", [])
        assert caught.value.message == f"no endpoint of ethereum answered: alpha: {words}"
        certificate, key = authority.issue("gateway")
        alpha |= {"proxy": "direct", "ca": str(authority.certificate)}
        alpha |= {"client_certificate": str(certificate), "client_key_file": str(key)}
        async with pooled(alpha, None, RouteSettings(proxy=proxy.url)) as pool:
            assert (await pool.call("eth_chainId", [])).result == b'"0x1"'


async def test_what_is_set_for_all_holds_where_an_endpoint_says_nothing(authority: Authority) -> None:
    tls = authority.server()
    async with proxying() as proxy, serving(answer_chain_id, tls=tls) as node, serving(answer_chain_id) as beta:
        shown = authority.issue("gateway")
        outbound = RouteSettings(
            proxy=proxy.url, ca=authority.certificate, client_certificate=shown[0], client_key_file=shown[1]
        )
        async with pooled({"url": f"https://node.test:{node.port}/"}, beta, outbound) as pool:
            assert (await pool.call("eth_chainId", [])).endpoint == "alpha"
            assert proxy.opened == [f"node.test:{node.port}"]


def test_a_key_of_another_certificate_or_behind_a_passphrase_is_refused(authority: Authority) -> None:
    certificate, own = authority.issue("keyed")
    other = authority.issue("other")[1]
    locked = own.with_suffix(".locked")
    subprocess.run(
        ["openssl", "pkey", "-in", str(own), "-aes256", "-passout", "pass:word", "-out", str(locked)],
        check=True,
        capture_output=True,
    )
    assert RouteSettings(client_certificate=certificate, client_key_file=own).tls is not None
    for key in (other, locked, own.with_suffix(".missing"), None):
        with pytest.raises(ValidationError, match="of its own private key, in PEM and without passphrase") as caught:
            RouteSettings(client_certificate=certificate, client_key_file=key)
        assert key is None or key.name not in str(caught.value)
