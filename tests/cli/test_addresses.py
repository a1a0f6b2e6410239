"""Addresses that cannot be listened on, found without anything that serves."""

from __future__ import annotations

import errno
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from cli.__main__ import main
from cli.addresses import Listener, ListenRefusal, all_listeners, explain, find_trouble, refuse_taken
from runtime.settings import GrpcSettings, HttpSettings, MetricsSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def taken(*, shared: bool = False) -> Iterator[int]:
    """A port on which another socket listens; with `shared` one that others may share."""
    with socket.socket() as other:
        if shared:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def at(port: int, host: str = "127.0.0.1") -> Listener:
    return Listener("http.port", "the JSON-RPC face", host, port, "--http-port")


def test_a_port_of_another_process_is_named_with_what_changes_it() -> None:
    with taken() as port:
        for shared in (False, True):
            with pytest.raises(ListenRefusal) as caught:
                refuse_taken([at(0), at(port)], shared=shared)
            assert str(caught.value) == (
                f"http.port = 127.0.0.1:{port}: the JSON-RPC face cannot listen there: another process uses that "
                "port; choose another (--http-port), or end that process"
            )
    refuse_taken([at(port)])


def test_every_address_that_cannot_be_had_is_named() -> None:
    with taken() as one, taken() as other, pytest.raises(ListenRefusal) as caught:
        refuse_taken([at(one), at(other)])
    assert [mistake.value for mistake in caught.value.every()] == [f"127.0.0.1:{one}", f"127.0.0.1:{other}"]


def test_workers_share_what_is_meant_to_be_shared() -> None:
    with taken(shared=True) as port:
        assert find_trouble(at(port), shared=True) is None
        assert "another process" in (find_trouble(at(port)) or "")


def test_a_host_of_another_machine_is_refused() -> None:
    assert "no address of this machine" in (find_trouble(at(1234, "192.0.2.1")) or "")
    assert "no address of this machine" in (find_trouble(at(1234, "host.invalid")) or "")


def test_a_port_that_takes_rights_is_refused() -> None:
    assert "choose one from 1024 on (--http-port)" in explain(PermissionError(errno.EACCES, "no"), "--http-port")


def test_every_listener_of_the_settings_is_looked_at() -> None:
    settings = Settings(
        http=HttpSettings(host="::1", port=1),
        grpc=GrpcSettings.model_validate(
            {"port": 2, "private_listen": "127.0.0.1:3", "credential": "0123456789abcdef"}
        ),
        metrics=MetricsSettings(listen="[::1]:4"),
    )
    found = [(one.setting, one.address) for one in all_listeners(settings)]
    assert found == [
        ("http.port", "[::1]:1"),
        ("grpc.port", "127.0.0.1:2"),
        ("grpc.private_listen", "127.0.0.1:3"),
        ("metrics.listen", "[::1]:4"),
    ]


@pytest.mark.parametrize(
    ("command", "option", "named"),
    [
        (["serve", "--network", "devnet"], "--grpc-port", "grpc.port"),
        (["serve", "--network", "devnet", "--workers", "2"], "--http-port", "http.port"),
        (["server"], "--grpc-port", "grpc.port"),
        (["transcoder"], "--http-port", "http.port"),
    ],
)
def test_nothing_is_started_where_a_port_is_taken(
    command: list[str], option: str, named: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("WAYPOST_CONFIG", raising=False)
    with taken() as port:
        assert main([*command, option, str(port)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"config error: {named} = 127.0.0.1:{port}: the ")
