"""Which connection carries which exchange: reuse, limit, order, and what is never used again."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
import time
from contextlib import suppress

import pytest

from server.upstream.failures import Failure, Kind
from server.upstream.http import Address, Client, HttpAnswer
from server.upstream.http import client as connections
from server.upstream.transport import Transport
from tests.server.upstream.http.scripted import (
    LONGEST_SECONDS,
    Server,
    Visit,
    answering,
    ask,
    echoing,
    on_both_loops,
    plain,
    serving,
)

DROPPED = Failure(Kind.DROPPED, "connection dropped")
HEAD_END = b"\r\n\r\n"


async def ask_body(client: Client, server: Server, body: bytes = b"{}") -> bytes:
    got = await ask(client, server, body)
    assert isinstance(got, HttpAnswer), got
    return got.body


class Gate:
    """A server whose every answer is let go by hand: the body of the request, once it is named."""

    def __init__(self) -> None:
        self._open: dict[bytes, asyncio.Event] = {}
        self.waiting: list[bytes] = []

    async def __call__(self, visit: Visit) -> None:
        while True:
            body = (await visit.request()).partition(HEAD_END)[2]
            self.waiting.append(body)
            await self._open.setdefault(body, asyncio.Event()).wait()
            await visit.send(plain(body))

    def let(self, *bodies: bytes) -> None:
        for body in bodies:
            self._open.setdefault(body, asyncio.Event()).set()


@on_both_loops
async def test_exchanges_after_each_other_share_a_connection() -> None:
    async with Client() as client, serving(echoing) as server:
        for number in range(20):
            assert await ask_body(client, server, b"%d" % number) == b"%d" % number
        assert server.connections == 1


@on_both_loops
async def test_the_connection_used_last_is_used_first() -> None:
    gate = Gate()
    async with Client() as client, serving(gate) as server:
        asking = [asyncio.create_task(ask_body(client, server, body)) for body in (b"a", b"b", b"c")]
        await server.until(lambda: len(gate.waiting) == 3)
        by_body = {request.partition(HEAD_END)[2]: number for number, request in server.requests}
        for body, task in zip((b"b", b"c", b"a"), asking, strict=True):
            gate.let(body)
            del task
            await server.until(lambda body=body: any(t.done() and t.result() == body for t in asking))  # type: ignore[misc]
        gate.let(b"d", b"e")
        await ask_body(client, server, b"d")
        await ask_body(client, server, b"e")
        assert server.used[3:] == [by_body[b"a"], by_body[b"a"]]


@on_both_loops
async def test_origins_do_not_share_connections_and_paths_of_one_do() -> None:
    async with Client() as client, serving(echoing) as one, serving(echoing) as two:
        for server in (one, two):
            for path in ("/a", "/b"):
                address = Address(f"http://127.0.0.1:{server.port}{path}", {})
                assert isinstance(await Transport(client).post(address, b"x", LONGEST_SECONDS), HttpAnswer)
        assert (one.connections, two.connections) == (1, 1)
        assert [request.split(b" ")[1] for _, request in one.requests] == [b"/a", b"/b"]


@on_both_loops
async def test_no_more_connections_than_allowed_and_who_waits_is_served_in_order() -> None:
    gate = Gate()
    bodies = [b"%d" % number for number in range(8)]
    async with Client(limit=2) as client, serving(gate) as server:
        asking = []
        for body in bodies:
            asking.append(asyncio.create_task(ask_body(client, server, body)))
            await asyncio.sleep(0)
        await server.until(lambda: len(gate.waiting) == 2)
        for number in range(8):
            await server.until(lambda number=number: len(gate.waiting) == min(2 + number, 8))  # type: ignore[misc]
            assert sorted(gate.waiting[:2]) == bodies[:2]
            assert gate.waiting[2:] == bodies[2 : len(gate.waiting)]
            gate.let(gate.waiting[number])
            await server.until(lambda number=number: sum(task.done() for task in asking) == number + 1)  # type: ignore[misc]
        assert await asyncio.gather(*asking) == bodies
        assert server.connections == 2


@on_both_loops
async def test_who_waits_for_a_connection_in_vain_is_reported_and_takes_none_from_the_others() -> None:
    gate = Gate()
    async with Client(limit=1) as client, serving(gate) as server:
        first = asyncio.create_task(ask_body(client, server, b"first"))
        await server.until(lambda: gate.waiting == [b"first"])
        late = asyncio.create_task(ask(client, server, b"late", seconds=0.1))
        given_up = asyncio.create_task(ask(client, server, b"given up"))
        third = asyncio.create_task(ask_body(client, server, b"third"))
        assert await late == Failure(Kind.TIMED_OUT, "no answer within 100 ms")
        given_up.cancel()
        gate.let(b"first", b"third")
        assert await first == b"first"
        assert await third == b"third"
        assert gate.waiting == [b"first", b"third"]
        assert server.connections == 1
        with pytest.raises(asyncio.CancelledError):
            await given_up


@on_both_loops
async def test_the_connection_of_a_cancelled_exchange_is_closed() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        if visit.number:
            await visit.send(plain(b"b"))
        await visit.gone()

    async with Client() as client, serving(script) as server:
        asking = asyncio.create_task(ask(client, server, b"a"))
        await server.until(lambda: server.used == [0])
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await server.until(lambda: server.ended == {0})
        assert await ask_body(client, server, b"b") == b"b"
        assert server.used == [0, 1]


@on_both_loops
async def test_callers_that_come_and_go_at_random_leave_every_connection_whole() -> None:
    """Whatever moment a cancellation hits, nobody gets another's answer and no place is lost."""
    chance = random.Random(7)

    async def script(visit: Visit) -> None:
        while True:
            body = (await visit.request()).partition(HEAD_END)[2]
            if chance.random() < 0.5:
                await asyncio.sleep(chance.random() * 0.004)
            await visit.send(plain(body))

    async with Client(limit=3) as client, serving(script) as server:
        for wave in range(12):
            asking = {
                body: asyncio.create_task(ask(client, server, body))
                for body in (b"%d-%d" % (wave, n) for n in range(25))
            }
            for task in asking.values():
                if chance.random() < 0.5:
                    await asyncio.sleep(0)
                    task.cancel()
            done = await asyncio.gather(*asking.values(), return_exceptions=True)
            for body, got in zip(asking, done, strict=True):
                assert isinstance(got, asyncio.CancelledError) or (isinstance(got, HttpAnswer) and got.body == body), (
                    got
                )
            assert server.connections - len(server.ended) <= 3 + 3  # the server hears of a close a little later
        bodies = [b"%d" % number for number in range(9)]
        assert await asyncio.gather(*(ask_body(client, server, body) for body in bodies)) == bodies


@on_both_loops
async def test_answers_of_many_at_once_reach_who_asked() -> None:
    chance = random.Random(11)

    async def script(visit: Visit) -> None:
        while True:
            body = (await visit.request()).partition(HEAD_END)[2]
            answer = plain(body)
            cut = chance.randrange(len(answer))
            await visit.send(answer[:cut], answer[cut:])

    async with Client(limit=8) as client, serving(script) as server:
        bodies = [b"%d" % number * chance.randrange(1, 400) for number in range(300)]
        assert await asyncio.gather(*(ask_body(client, server, body) for body in bodies)) == bodies
        assert server.connections == 8


@on_both_loops
async def test_a_slow_answer_holds_up_nobody_else() -> None:
    over = asyncio.Event()

    async def script(visit: Visit) -> None:
        while True:
            body = (await visit.request()).partition(HEAD_END)[2]
            answer = plain(body)
            await visit.send(answer[:-1])
            if body == b"slow":
                await over.wait()
            await visit.send(answer[-1:])

    async with Client() as client, serving(script) as server:
        slow = asyncio.create_task(ask_body(client, server, b"slow"))
        await server.until(lambda: bool(server.requests))
        for _ in range(5):
            assert await ask_body(client, server, b"quick") == b"quick"
        assert not slow.done()
        over.set()
        assert await slow == b"slow"


@on_both_loops
async def test_a_connection_that_the_server_closed_is_not_tried() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.send(plain(b"a"))

    async with Client() as client, serving(script) as server:
        for _ in range(3):
            await ask_body(client, server)
            await server.until(lambda: len(server.ended) == server.connections)
        assert server.used == [0, 1, 2]


class Blocking:
    """A server in a thread: it acts while the loop of the test stands still."""

    def __init__(self, behind: bytes) -> None:
        self._behind = behind
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.go, self.gone = threading.Event(), threading.Event()
        self.requests: list[int] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self.go.set()
        self._thread.join(LONGEST_SECONDS)

    def _serve(self) -> None:
        with self._listening:
            for number in range(2):
                connection, _ = self._listening.accept()
                with connection:
                    while HEAD_END not in connection.recv(65536):
                        pass
                    self.requests.append(number)
                    connection.sendall(plain(b"%d" % number))
                    if number == 0:
                        self.go.wait(LONGEST_SECONDS)
                        if self._behind:
                            connection.sendall(self._behind)
                        else:
                            connection.shutdown(socket.SHUT_WR)
                        self.gone.set()
                    # A reset is the client closing with something unread.
                    with suppress(ConnectionResetError):
                        while connection.recv(65536):
                            self.requests.append(number)


@pytest.mark.parametrize(
    "behind",
    [plain(b"stray"), b"\r\n", b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", b""],
    ids=["answer", "line end", "408", "end"],
)
@pytest.mark.parametrize("sees_it", [False, True], ids=["unseen", "seen"])
@on_both_loops
async def test_a_connection_that_holds_something_unasked_is_not_used(behind: bytes, sees_it: bool) -> None:
    """Neither where the loop has seen it, nor where only the system has it: the loop stood still meanwhile."""
    server = Blocking(behind)
    address = Address(f"http://127.0.0.1:{server.port}/", {})
    try:
        async with Client() as client:
            first = await Transport(client).post(address, b"", LONGEST_SECONDS)
            assert isinstance(first, HttpAnswer)
            assert first.body == b"0"
            server.go.set()
            assert server.gone.wait(LONGEST_SECONDS)
            # Loopback delivers at once, and has had its time; the loop must not.
            time.sleep(0.02)  # noqa: ASYNC251
            if sees_it:
                await asyncio.sleep(0.05)
            second = await Transport(client).post(address, b"", LONGEST_SECONDS)
            assert isinstance(second, HttpAnswer)
            assert second.body == b"1"
    finally:
        server.close()
    assert server.requests == [0, 1]


@on_both_loops
async def test_a_connection_that_nobody_uses_is_closed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.05)
    gate = Gate()
    async with Client() as client, serving(gate) as server:
        gate.let(b"a", b"b", b"c")
        await asyncio.gather(*(ask_body(client, server, body) for body in (b"a", b"b", b"c")))
        await server.until(lambda: len(server.ended) == server.connections)
        # One that is in use is not idle, however long it takes.
        busy = asyncio.create_task(ask_body(client, server, b"d"))
        await server.until(lambda: b"d" in gate.waiting)
        await asyncio.sleep(0.2)
        gate.let(b"d")
        assert await busy == b"d"


@on_both_loops
async def test_dead_connections_make_room_for_a_new_one() -> None:
    """All places are taken by idle connections, of which the one that is tried dies as it is used."""
    died = asyncio.Event()

    async def script(visit: Visit) -> None:
        body = (await visit.request()).partition(HEAD_END)[2]
        if body != b"last":
            both.add(visit.number)
            if len(both) == 2:
                together.set()
            await together.wait()
            await visit.send(plain(body))
            await visit.request()
            died.set()
            return
        await visit.send(plain(body))
        await visit.gone()

    both: set[int] = set()
    together = asyncio.Event()
    async with Client(limit=2) as client, serving(script) as server:
        await asyncio.gather(ask_body(client, server, b"a"), ask_body(client, server, b"b"))
        assert await ask_body(client, server, b"last") == b"last"
        assert died.is_set()
        assert server.connections == 3


@on_both_loops
async def test_closing_ends_what_is_under_way_and_what_waits() -> None:
    gate = Gate()
    client = Client(limit=1)
    async with serving(gate) as server:
        asking = [asyncio.create_task(ask(client, server, body)) for body in (b"a", b"b", b"c")]
        await server.until(lambda: len(gate.waiting) == 1)
        await client.close()
        assert await asyncio.gather(*asking) == [DROPPED] * 3
        assert await ask(client, server) == DROPPED
        gate.let(b"a")
        await server.until(lambda: server.ended == {0})
        assert server.connections == 1
        await client.close()


@on_both_loops
async def test_closing_leaves_no_idle_connection() -> None:
    async with serving(echoing) as server:
        async with Client() as client:
            await asyncio.gather(*(ask_body(client, server) for _ in range(5)))
        await server.until(lambda: len(server.ended) == server.connections)


@on_both_loops
async def test_a_deadline_that_has_passed_asks_nobody() -> None:
    async with Client() as client, serving(answering(plain(b"a"))) as server:
        got = await ask(client, server, seconds=-1.0)
        assert isinstance(got, Failure)
        assert got.kind is Kind.TIMED_OUT
        await ask_body(client, server)
        got = await ask(client, server, seconds=0.0)
        assert isinstance(got, Failure)
        assert got.kind is Kind.TIMED_OUT
        assert len(server.requests) == 1
