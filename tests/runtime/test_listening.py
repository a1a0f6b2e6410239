"""The end of a listening socket, on real ones of both families."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from runtime.listening import MOST_DESCRIPTORS, count_waiting, drop_new_connections, sockets_at

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux filters what reaches a socket")


@pytest.fixture(params=["127.0.0.1", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET6 if ":" in request.param else socket.AF_INET) as made:
        made.bind((request.param, 0))
        made.listen(16)
        yield made


def connect(listener: socket.socket, seconds: float = 10.0) -> socket.socket:
    return socket.create_connection(listener.getsockname()[:2], timeout=seconds)


def test_connections_stay_and_no_new_ones_come(listener: socket.socket) -> None:
    with connect(listener) as early:
        early.sendall(b"early")
        assert count_waiting(listener) == 1
        drop_new_connections(listener)
        with pytest.raises(TimeoutError):
            connect(listener, 0.2)
        assert count_waiting(listener) == 1
        taken, _ = listener.accept()
        with taken:
            early.sendall(b" and late")
            assert taken.recv(5) + taken.recv(9) == b"early and late"
            assert count_waiting(listener) == 0


def test_who_came_too_late_is_refused_once_it_is_closed(listener: socket.socket) -> None:
    drop_new_connections(listener)
    closing = threading.Timer(0.2, listener.close)
    closing.start()
    with pytest.raises(ConnectionRefusedError):
        connect(listener)
    closing.join()


def test_the_sockets_of_a_port_are_found(listener: socket.socket) -> None:
    with connect(listener), listener.accept()[0] as taken:
        port = listener.getsockname()[1]
        found = {(one.getpeername()[1] if not listens else None) for one, listens in sockets_at(port)}
        assert found == {None, taken.getpeername()[1]}
        for one, listens in sockets_at(port):
            if not listens:
                one.shutdown(socket.SHUT_RDWR)
        assert taken.recv(1) == b""
        # The duplicates are closed again, the sockets themselves are not.
        assert listener.fileno() > 0
    assert [listens for _, listens in sockets_at(port)] == [True]


@pytest.mark.parametrize(("hard", "granted"), [(0, 0), (500, 500)])
def test_as_many_descriptors_are_asked_for_as_may_be(hard: int, granted: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    hard = hard or most
    program = (
        "import resource; from runtime.listening import ask_for_descriptors\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard})); ask_for_descriptors()\n"
        "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    assert [int(word) for word in shown.split()] == [granted or wanted, hard]
