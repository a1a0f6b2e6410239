"""The rows that ask one thing: each beside its bare echo, in turn, a few rounds.

"Of the echo" is the processor time of an answer of the echo over that of one of the row: 1 is as cheap as the echo.
Where nothing else runs it is the ratio of the rates, which stands beside it; where others run, processor time changes
far less than rates do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from google.protobuf.any_pb2 import Any as Packed
from waypost.v1 import account_pb2, batch_pb2

from bench.loads import ADDRESS, EXECUTE, ID, Pace, Question
from bench.questions import USDC
from bench.results import Goal, Result, spread
from bench.world import FAR, NEAR, ROUNDS, SECONDS

if TYPE_CHECKING:
    from bench.loads import Round
    from bench.world import World

GET_BALANCE = "/waypost.v1.AccountService/GetBalance"
BATCH = 50
OF_ECHO, MICROSECONDS, RATE = "of the echo", "processor us", "a second"
_BALANCE = '"balanceRaw":"10000000'
"""How every balance of the made-up node begins."""


@dataclass(frozen=True)
class Row:
    """One row: what `callers` ask, and what its figures are to be. `echo` is what stands beside it."""

    name: str
    title: str
    question: Question
    callers: int
    goals: tuple[Goal, ...]
    echo: str = "http"


def rows(old_block: int, *, is_native: bool) -> list[Row]:
    """Return the rows of one question each."""

    def question(body: Any, items: int = 1, contained: str = _BALANCE) -> Question:
        return Question(orjson.dumps(body), items, contained=contained if is_native else "")

    old = account_pb2.GetBalanceRequest(chain=NEAR, address=USDC, block_height=old_block)
    return [
        Row(
            "fresh",
            "fresh balance, 32 connections",
            question(balance()),
            32,
            (Goal(OF_ECHO, 0.38, True), Goal(MICROSECONDS, 120, False)),
        ),
        Row(
            "old",
            "same balance at an old block, 32 connections",
            question(balance(address=USDC, blockHeight=old_block)),
            32,
            (Goal(OF_ECHO, 1.0, True), Goal(MICROSECONDS, 47, False)),
        ),
        Row(
            "latest",
            "same latest balance, 32 connections",
            question(balance(address=USDC)),
            32,
            (Goal(OF_ECHO, 1.0, True), Goal(MICROSECONDS, 47, False)),
        ),
        Row(
            "block",
            "same final block, 32 connections",
            question(block(old_block), contained='"hash":"0x'),
            32,
            (Goal(OF_ECHO, 0.65, True),),
        ),
        Row(
            "raw",
            "raw chainRpc balance, 32 connections",
            question(raw(), contained=""),
            32,
            (Goal(OF_ECHO, 0.36, True),),
        ),
        Row(
            "batch",
            "batch of 50 fresh balances, an item, 4 connections",
            question([balance() for _ in range(BATCH)], BATCH),
            4,
            (Goal(OF_ECHO, 22_000 / 21_250, True),),
        ),
        Row(
            "mixed",
            "batch of 50 mixed reads, an item, 4 connections",
            question(mixed(old_block), BATCH, ""),
            4,
            (Goal(OF_ECHO, BATCH * 240 / 21_250, True),),
        ),
        Row(
            "grpc",
            "gRPC unary, same balance at an old block, 64 callers",
            Question(old.SerializeToString(), method=GET_BALANCE),
            64,
            (Goal(OF_ECHO, 0.85, True),),
            "grpc",
        ),
        Row(
            "execute",
            "gRPC Execute of 50 fresh balances, an item, 4 callers",
            execute(),
            4,
            (Goal(MICROSECONDS, 45, False),),
            "grpc",
        ),
    ]


def call(method: str, params: Any) -> dict[str, Any]:
    """Return a JSON-RPC request whose id counts up."""
    return {"jsonrpc": "2.0", "id": ID, "method": method, "params": params}


def balance(chain: str = NEAR, **params: Any) -> dict[str, Any]:
    """Return the request for the balance of a fresh address, unless another one is given."""
    return call("getBalance", {"chain": chain, "address": ADDRESS} | params)


def block(number: int) -> dict[str, Any]:
    """Return the request for a block."""
    return call("getBlockByNumber", [{"chain": NEAR, "block": number}])


def raw() -> dict[str, Any]:
    """Return the request for a balance that is passed on as it is."""
    return call("chainRpc", {"chain": NEAR, "method": "eth_getBalance", "params": [ADDRESS, "latest"]})


def mixed(old_block: int) -> list[dict[str, Any]]:
    """Return fifty requests: 20 balances, 10 at an old block, 10 of a token, 5 passed on, 5 final blocks."""
    token = call("getTokenBalance", {"chain": NEAR, "address": ADDRESS, "token": USDC})
    return [
        *(balance() for _ in range(20)),
        *(balance(blockHeight=old_block) for _ in range(10)),
        *(token for _ in range(10)),
        *(raw() for _ in range(5)),
        *(block(old_block - place) for place in range(5)),
    ]


def execute() -> Question:
    """Return the question for fifty fresh balances in one rpc."""
    request = batch_pb2.ExecuteRequest()
    for _ in range(BATCH):
        packed = Packed()
        packed.Pack(account_pb2.GetBalanceRequest(chain=NEAR, address=ADDRESS))
        request.requests.append(packed)
    return Question(request.SerializeToString(), BATCH, EXECUTE)


async def measure(world: World, row: Row) -> Result:
    """Measure one row beside its echo."""
    if row.question.method == EXECUTE and world.tree is not None and not has_execute(world):
        return Result(row.name, row.title, row.goals, remark="there is no such rpc in this version")
    plain = plain_question(row.echo)
    beside = Pace(max(row.callers, 32) if row.callers > 1 else 1, SECONDS)
    pace = Pace(row.callers, SECONDS)
    await world.ask(row.question, Pace(row.callers, 0.3))
    found = [
        (await world.ask_echo(row.echo, plain, beside), await world.ask(row.question, pace)) for _ in range(ROUNDS)
    ]
    items = row.question.items
    unit = "an item" if items > 1 else "a request"
    figures = {
        RATE: spread([asked.rate * items for _, asked in found]),
        MICROSECONDS: spread([asked.microseconds / items for _, asked in found]),
        OF_ECHO: spread([bare.microseconds / asked.microseconds * items for bare, asked in found]),
        "of the echo, by rates": spread([asked.rate * items / bare.rate for bare, asked in found]),
        "echo a second": spread([bare.rate for bare, _ in found]),
        "echo, processor us": spread([bare.microseconds for bare, _ in found]),
    }
    if row.name in ("batch", "mixed", "execute"):
        figures["node requests a batch"] = spread([asked.upstream / asked.requests for _, asked in found])
    elif row.name in ("fresh", "raw"):
        figures["node requests a request"] = spread([asked.upstream / asked.requests for _, asked in found])
    size = found[-1][1].size
    remark = f"{size:,} bytes an answer" if size and row.name in ("block", "batch", "mixed") else ""
    return Result(row.name, row.title, row.goals, figures, remark or f"figures are for {unit}")


def has_execute(world: World) -> bool:
    """Return whether the checkout that is measured has `BatchService.Execute`."""
    return world.tree is None or (world.tree / "proto" / "waypost" / "v1" / "batch.proto").exists()


def plain_question(echo: str) -> Question:
    """Return the question to an echo, a fresh balance: it is as long whatever the row asks."""
    if echo == "grpc":
        message = account_pb2.GetBalanceRequest(chain=NEAR, address=ADDRESS)
        return Question(message.SerializeToString(), method=GET_BALANCE)
    return Question(orjson.dumps(balance()))


async def measure_lone(world: World) -> Result:
    """Measure what the gateway adds to one caller's wait for a fresh balance, beside the echo and the bare node."""
    pace = Pace(1, SECONDS)
    asked, plain = Question(orjson.dumps(balance())), plain_question("http")
    direct = Question(orjson.dumps(call("eth_getBalance", [ADDRESS, "latest"])))
    await world.ask(asked, Pace(1, 0.3))
    found: list[tuple[Round, Round, Round]] = []
    for _ in range(ROUNDS):
        found.append(
            (
                await world.ask_node(direct, pace),
                await world.ask_echo("http", plain, pace),
                await world.ask(asked, pace),
            )
        )
    figures = {
        "added, ms": spread([(gateway.median - node.median) * 1e3 for node, _, gateway in found]),
        "added, of the echo's own wait": spread([(one[2].median - one[0].median) / one[1].median for one in found]),
        MICROSECONDS: spread([gateway.microseconds for _, _, gateway in found]),
        OF_ECHO: spread([echo.microseconds / gateway.microseconds for _, echo, gateway in found]),
        "gateway, ms": spread([gateway.median * 1e3 for _, _, gateway in found]),
        "node alone, ms": spread([node.median * 1e3 for node, _, _ in found]),
        "echo, ms": spread([echo.median * 1e3 for _, echo, _ in found]),
        "echo, processor us": spread([echo.microseconds for _, echo, _ in found]),
    }
    goals = (Goal("added, of the echo's own wait", 2.4, False), Goal(MICROSECONDS, 330, False))
    return Result("lone", "fresh balance, 1 connection: what is added to the node's median", goals, figures)


async def measure_poisson(world: World) -> Result:
    """Measure single fresh reads at independent times, of a node 30 ms away."""
    pace = Pace(64, 3.0, rate=500.0)
    asked = Question(orjson.dumps(balance(FAR)))
    direct = Question(orjson.dumps(call("eth_getBalance", [ADDRESS, "latest"])))
    await world.ask(asked, Pace(32, 1.0, rate=500.0))
    found = [(await world.ask_node(direct, pace, world.far), await world.ask(asked, pace)) for _ in range(ROUNDS)]
    figures = {
        "p50, ms": spread([gateway.median * 1e3 for _, gateway in found]),
        "node alone, p50, ms": spread([node.median * 1e3 for node, _ in found]),
        "of the node's own wait": spread([gateway.median / node.median for node, gateway in found]),
        "node requests a read": spread([gateway.upstream / gateway.requests for _, gateway in found]),
        MICROSECONDS: spread([gateway.microseconds for _, gateway in found]),
        RATE: spread([gateway.rate for _, gateway in found]),
    }
    goals = (Goal("of the node's own wait", 33 / 31.2, False), Goal("node requests a read", 0.6, False))
    return Result("poisson", "500 Poisson reads/s at a node 30 ms away", goals, figures)
