"""What a caller never notices, and what it gets when no endpoint can answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from server.errors import ArchiveRequired, DeadlineExceeded, ResponseTooLarge, Reverted, UpstreamUnavailable
from server.upstream import CallPolicy, Pool
from server.upstream.breaker import FAILURES_TO_OPEN
from tests.faults import simulator as faults

if TYPE_CHECKING:
    from tests.faults.conftest import Clock, Tally

FUNDED = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
BALANCE = b'"0x21e19e0c9bab2400000"'
SHORT = 5.0

MakeFaulty = Callable[..., Any]
MakePool = Callable[..., Pool]


def soon(seconds: float = SHORT) -> float:
    return time.monotonic() + seconds


async def balance(pool: Pool, address: str = FUNDED, **policy: Any) -> bytes:
    return (await pool.call("eth_getBalance", [address, "latest"], CallPolicy(**policy), deadline=soon())).result


BAD = {
    "refuses batches with a status": faults.status("413 Payload Too Large", b"no"),
    "answers 429": faults.too_many,
    "answers 500": faults.broken,
    "answers 403": faults.status("403 Forbidden", b"no key"),
    "redirects": faults.redirect,
    "answers a web page": faults.web_page,
    "answers nothing": faults.status("200 OK", b""),
    "answers bytes that are no text": faults.binary,
    "drops connections": faults.drop,
    "cuts the body": faults.cut,
    "cuts the document": faults.cut_json,
    "answers other requests": faults.wrong_id,
    "promises a huge body": faults.huge(40 << 20),
    "streams a huge body": faults.huge(40 << 20, declared=False),
    "answers a gzip bomb": faults.bomb(40 << 20),
    "answers an internal error": faults.error(-32603, "internal error", line="500 Internal Server Error"),
    "answers a limit as an error": faults.error(-32005, "rate limit exceeded"),
    "answers a number": faults.status("200 OK", b"17"),
    "answers an empty list": faults.status("200 OK", b"[]"),
    "nests without end": faults.status("200 OK", b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000),
}


@pytest.mark.parametrize("fault", BAD.values(), ids=BAD.keys())
async def test_one_bad_endpoint_of_three_costs_no_caller_an_error(
    fault: faults.Fault, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[0].fault = fault
    pool = make_pool(*(node.url for node in nodes))
    assert await balance(pool) == BALANCE
    many = await asyncio.gather(*(balance(pool, f"0x{number:040x}") for number in range(20)))
    assert many == [b'"0x0"'] * 20


async def test_one_dead_endpoint_of_three_costs_no_caller_an_error(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    await nodes[0].stop()
    pool = make_pool(*(node.url for node in nodes))
    assert [await balance(pool) for _ in range(20)] == [BALANCE] * 20


@pytest.mark.parametrize("fault", [faults.silence, faults.stall], ids=["says nothing", "stops in mid-answer"])
async def test_one_silent_endpoint_costs_time_but_no_error(
    fault: faults.Fault, faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = {"alpha": await faulty(), "beta": await faulty()}
    pool = make_pool(*(node.url for node in nodes.values()))
    for number in range(20):
        favourite = (await pool.call("eth_getBalance", [f"0x{number:040x}", "latest"], deadline=soon())).endpoint
    nodes[favourite].fault = fault
    started = time.monotonic()
    assert await balance(pool) == BALANCE
    assert 0.9 < time.monotonic() - started < 4  # the time of one attempt
    started = time.monotonic()
    assert await balance(pool) == BALANCE
    assert time.monotonic() - started < 0.5  # and only the first caller pays it


async def test_half_a_batch_costs_no_caller_an_error(faulty: MakeFaulty, make_pool: MakePool) -> None:
    half, good = await faulty(), await faulty()
    half.fault = faults.half_batch
    pool = make_pool(half.url, good.url)
    results = await asyncio.gather(*(balance(pool, f"0x{number:040x}") for number in range(30)), balance(pool))
    assert results == [b'"0x0"'] * 30 + [BALANCE]
    assert half.asked[0].is_batch
    assert len(good.asked[0].methods) == 15


async def test_a_batch_in_another_order_is_put_right(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.shuffled
    pool = make_pool(node.url)
    wanted = [pool.call("eth_getBlockByNumber", [hex(number), False], deadline=soon()) for number in range(10)]
    answers = [json.loads(reply.result) for reply in await asyncio.gather(*wanted)]
    assert [int(answer["number"], 16) for answer in answers] == list(range(10))
    assert len(node.asked) == 1


async def test_an_item_that_is_answered_twice_is_not_believed(faulty: MakeFaulty, make_pool: MakePool) -> None:
    liar, good = await faulty(), await faulty()
    liar.fault = faults.twice
    pool = make_pool(liar.url, good.url)
    assert list(await asyncio.gather(balance(pool), balance(pool, "0x" + "0" * 40))) == [BALANCE, b'"0x0"']
    assert len(good.asked) == 1


async def test_one_bad_item_fails_alone(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    # Creation code that reverts: the node's own refusal of one item among good ones.
    revert = pool.call("eth_call", [{"data": "0x60006000fd"}, "latest"], deadline=soon())
    results = await asyncio.gather(balance(pool), revert, balance(pool, "0x" + "0" * 40), return_exceptions=True)
    assert results[0] == BALANCE
    assert isinstance(results[1], Reverted)
    assert results[2] == b'"0x0"'
    assert len(node.asked) == 1


async def test_a_revert_counts_against_nobody_and_is_asked_once(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    pool = make_pool(*(node.url for node in nodes))
    for _ in range(12):
        with pytest.raises(Reverted):
            await pool.call("eth_call", [{"data": "0x60006000fd"}, "latest"], deadline=soon())
    assert sum(len(node.asked) for node in nodes) == 12
    assert tally.states == []


async def test_a_dead_chain_says_what_happened_by_label_and_never_by_address(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[0].fault = faults.broken
    nodes[1].fault = faults.web_page
    await nodes[2].stop()
    pool = make_pool(*(node.url for node in nodes))
    with pytest.raises(UpstreamUnavailable) as caught:
        await balance(pool)
    reported = caught.value.message
    assert reported == (
        "no endpoint of ethereum answered: alpha: HTTP 500; beta: a web page instead of an answer; "
        "gamma: connection refused"
    )
    error: BaseException | None = caught.value
    while error is not None:
        assert "127.0.0.1" not in f"{error!r} {error}"
        assert "secret" not in f"{error!r} {error}"
        error = error.__context__


async def test_node_texts_with_addresses_are_not_passed_on(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.error(3, "execution reverted: see https://node.example/key-123/rpc")
    pool = make_pool(node.url)
    with pytest.raises(Reverted) as caught:
        await balance(pool)
    assert "node.example" not in caught.value.message


async def test_the_cause_is_not_hidden_by_the_endpoints_that_are_merely_dead(
    faulty: MakeFaulty, make_pool: MakePool
) -> None:
    pruned, dead = await faulty(), await faulty()
    pruned.fault = faults.error(-32000, "missing trie node 0xabc (path )")
    await dead.stop()
    pool = make_pool(pruned.url, dead.url)
    with pytest.raises(ArchiveRequired):
        await balance(pool)
    assert len(pruned.asked) == 1  # asking the pruned node again is pointless


async def test_a_vague_error_does_not_hide_a_clear_one(faulty: MakeFaulty, make_pool: MakePool) -> None:
    vague, pruned = await faulty(), await faulty()
    vague.fault = faults.error(-32099, "something odd")
    pruned.fault = faults.error(-32000, "missing trie node 0xabc (path )")
    pool = make_pool(vague.url, pruned.url)
    with pytest.raises(ArchiveRequired):
        await balance(pool)


async def test_vague_errors_are_reported_by_label(faulty: MakeFaulty, make_pool: MakePool) -> None:
    vague, broken = await faulty(), await faulty()
    vague.fault = faults.error(-32099, "something odd at https://node.example/key")
    broken.fault = faults.broken
    pool = make_pool(vague.url, broken.url)
    with pytest.raises(UpstreamUnavailable) as caught:
        await balance(pool)
    assert caught.value.message.startswith("no endpoint of ethereum answered: alpha: the nodes refused")
    assert caught.value.message.endswith("beta: HTTP 500")


async def test_an_archive_node_is_found_behind_a_pruned_one(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    pruned, archive = await faulty(), await faulty()
    pruned.fault = faults.error(-32000, "missing trie node 0xabc (path )")
    pool = make_pool(pruned.url, archive.url)
    assert [await balance(pool) for _ in range(12)] == [BALANCE] * 12
    assert tally.states == []


async def test_the_deadline_is_kept_and_named(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.silence
    pool = make_pool(node.url)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="alpha: no answer within"):
        # Joined with others, a caller leaves at its own deadline, whatever the call has come to.
        await pool.call("eth_blockNumber", [], CallPolicy(joinable=False), deadline=soon(0.5))
    assert 0.45 < time.monotonic() - started < 4


async def test_a_passed_deadline_sends_nothing(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    with pytest.raises(DeadlineExceeded):
        await pool.call("eth_blockNumber", [], deadline=soon(-1))
    assert node.asked == []


async def test_an_answer_that_is_too_long_everywhere_is_called_so_and_counts_against_nobody(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    nodes = [await faulty(), await faulty()]
    for node in nodes:
        node.fault = faults.huge(33 << 20)
    pool = make_pool(*(node.url for node in nodes))
    for _ in range(FAILURES_TO_OPEN + 1):
        with pytest.raises(ResponseTooLarge):
            await balance(pool)
    assert tally.states == []
    assert pool.is_sound


async def test_an_answer_that_is_too_long_at_one_endpoint_alone_counts_against_it(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally, clock: Clock
) -> None:
    babbling, good = await faulty(), await faulty()
    babbling.fault = faults.huge(33 << 20)
    pool = make_pool(babbling.url, good.url, clock=clock, weights=(1000, 1, 1))
    for _ in range(FAILURES_TO_OPEN):
        assert (await pool.call("eth_getBalance", ["0x" + "0" * 40, "latest"])).endpoint == "beta"
        clock.ahead += 10
    assert tally.states == [("alpha", "open")]


async def test_results_are_the_nodes_own_bytes(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    exact = b'{ "big": 123456789012345678901234567890, "a" : 1.10, "a": "\\u00e9" }'

    async def answer(request: faults.Request) -> None:
        number = json.loads(request.body)["id"]
        faults.write_answer(request, b'{"id":%d, "result" : %b ,"jsonrpc":"2.0","extra":[]}' % (number, exact))

    node.fault = answer
    pool = make_pool(node.url)
    assert await balance(pool) == exact


async def test_a_connection_that_died_while_idle_costs_nobody_an_error(
    faulty: MakeFaulty, make_pool: MakePool, tally: Tally
) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await balance(pool)
    node.fault = faults.first(1, faults.drop)
    assert await balance(pool) == BALANCE
    assert tally.failures == {}


async def test_a_hiccup_of_the_only_endpoint_is_tried_again(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.first(1, faults.broken)
    pool = make_pool(node.url)
    assert await balance(pool) == BALANCE


async def test_a_null_is_checked_at_one_more_endpoint_if_asked_for(faulty: MakeFaulty, make_pool: MakePool) -> None:
    behind, good = await faulty(), await faulty()
    behind.fault = faults.spoil("eth_getBlockByNumber", lambda one: one.update(result=None))
    pool = make_pool(behind.url, good.url)
    doubting = CallPolicy(null_elsewhere=True)
    reply = await pool.call("eth_getBlockByNumber", ["0x5", False], doubting, deadline=soon())
    assert reply.endpoint == "beta"
    assert json.loads(reply.result)["number"] == "0x5"
    unknown = await pool.call("eth_getBlockByNumber", ["0xffffff", False], doubting, deadline=soon())
    assert unknown.result == b"null"
    assert len(behind.asked) + len(good.asked) == 4


async def test_the_preferred_endpoint_is_asked_first(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    pool = make_pool(*(node.url for node in nodes))
    for _ in range(5):
        reply = await pool.call("eth_blockNumber", [], CallPolicy(prefer="gamma"), deadline=soon())
        assert reply.endpoint == "gamma"
    await nodes[2].stop()
    reply = await pool.call("eth_blockNumber", [], CallPolicy(prefer="gamma"), deadline=soon())
    assert reply.endpoint in ("alpha", "beta")


async def test_a_probe_asks_every_endpoint_and_tells_each_ones_story(faulty: MakeFaulty, make_pool: MakePool) -> None:
    nodes = [await faulty() for _ in range(3)]
    nodes[1].fault = faults.broken
    await nodes[2].stop()
    pool = make_pool(*(node.url for node in nodes))
    rows = await pool.probe("eth_blockNumber", [])
    assert [row.endpoint for row in rows] == ["alpha", "beta", "gamma"]
    assert rows[0].result == b'"0xa"'
    assert isinstance(rows[1].error, UpstreamUnavailable)
    assert rows[1].error.message == "beta of ethereum did not answer: HTTP 500"
    assert rows[2].error is not None
    assert rows[2].error.message == "gamma of ethereum did not answer: connection refused"


async def test_no_endpoint_learns_more_of_us_than_the_request(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    pool = make_pool(node.url)
    await balance(pool)
    headers = dict(node.asked[0].headers)
    assert headers.pop("host").startswith("127.0.0.1:")
    assert int(headers.pop("content-length")) > 0
    assert headers == {"content-type": "application/json", "accept": "application/json", "accept-encoding": "gzip"}


async def test_compressed_answers_are_read(faulty: MakeFaulty, make_pool: MakePool) -> None:
    node = await faulty()
    node.fault = faults.zipped
    pool = make_pool(node.url)
    assert await balance(pool) == BALANCE
