"""One connection by itself, with a clock that stands still: its timers, and what comes before it is asked."""

from __future__ import annotations

import asyncio

from server.upstream.failures import Failure, Kind
from server.upstream.http import HttpAnswer
from server.upstream.http.connection import Connection
from tests.server.upstream.http.scripted import plain


class Clockwork:
    """A loop whose time stands still until it is put forward, for the timers of one connection."""

    def __init__(self) -> None:
        self.now = 100.0
        self.started = 0
        self._timers: dict[asyncio.TimerHandle, float] = {}

    def create_future(self) -> asyncio.Future[object]:
        return asyncio.get_running_loop().create_future()

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: object) -> asyncio.TimerHandle:
        self.started += 1
        handle = asyncio.TimerHandle(when, callback, (), asyncio.get_running_loop())  # type: ignore[arg-type]
        self._timers[handle] = when
        return handle

    def forward(self, seconds: float) -> None:
        self.now += seconds
        while due := [handle for handle, when in self._timers.items() if when <= self.now and not handle.cancelled()]:
            for handle in due:
                del self._timers[handle]
                handle._run()


class Line(asyncio.Transport):
    """A transport that keeps what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_aborted = False

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.written.append(data)

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    def get_write_buffer_size(self) -> int:
        return 0


class Shelf:
    def __init__(self) -> None:
        self.released = 0

    def release(self, connection: Connection) -> None:
        self.released += 1

    def forget(self, connection: Connection) -> None:
        pass


async def test_every_exchange_of_a_connection_has_its_own_deadline() -> None:
    clockwork, line, kept = Clockwork(), Line(), Shelf()
    connection = Connection(clockwork, kept)  # type: ignore[arg-type]
    connection.connection_made(line)

    async def begin(seconds: float) -> asyncio.Task[HttpAnswer | Failure]:
        task = asyncio.create_task(connection.exchange(b"x", clockwork.now + seconds, 100))
        await asyncio.sleep(0)
        return task

    for _ in range(100):
        asking = await begin(5.0)
        clockwork.forward(1.0)
        connection.data_received(plain(b"a"))
        assert isinstance(await asking, HttpAnswer)
    assert kept.released == 100
    assert clockwork.started < 30, "a timer for each exchange"

    # Sooner than the timer that is running; the timer of the one before must not end the one after.
    asking = await begin(0.5)
    clockwork.forward(0.4)
    connection.data_received(plain(b"a"))
    assert isinstance(await asking, HttpAnswer)
    asking = await begin(3.0)
    clockwork.forward(2.9)
    await asyncio.sleep(0)
    assert not asking.done()
    clockwork.forward(0.2)
    assert await asking == Failure(Kind.TIMED_OUT, "no answer in time")
    assert line.is_aborted
    assert kept.released == 101


async def test_a_timer_of_the_exchange_before_does_not_end_the_next_a_moment_early() -> None:
    clockwork, line, kept = Clockwork(), Line(), Shelf()
    connection = Connection(clockwork, kept)  # type: ignore[arg-type]
    connection.connection_made(line)
    first = asyncio.create_task(connection.exchange(b"x", clockwork.now + 1.0, 100))
    await asyncio.sleep(0)
    connection.data_received(plain(b"a"))
    assert isinstance(await first, HttpAnswer)
    clockwork.forward(0.0015)
    second = asyncio.create_task(connection.exchange(b"x", clockwork.now + 1.0, 100))
    await asyncio.sleep(0)
    clockwork.forward(0.9986)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not second.done()
    clockwork.forward(0.01)
    assert await second == Failure(Kind.TIMED_OUT, "no answer in time")


async def test_a_server_that_speaks_first_is_not_listened_to() -> None:
    """What came before the request was written is no answer to it."""
    clockwork, line, kept = Clockwork(), Line(), Shelf()
    connection = Connection(clockwork, kept)  # type: ignore[arg-type]
    connection.connection_made(line)
    connection.data_received(plain(b"stray", status=b"503 Service Unavailable"))
    assert line.is_aborted
    assert await connection.exchange(b"x", clockwork.now + 5, 100) == Failure(Kind.DROPPED, "connection dropped")
    assert line.written == []
