"""Every documented example answers on the local chains, over both faces; those of the real chains have the right form.

Examples stand in the options of `proto/`, in the OpenRPC document made from them, and as lines to paste in the pages.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import tomllib
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.json_format import ParseDict
from grpc_reflection.v1alpha import reflection_pb2_grpc
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest as ReflectionRequest

from cli.__main__ import main
from devnet.ports import free_port
from runtime.operations import Operation, load_operations, load_watches, member
from runtime.settings import Settings
from server.apis.endpoints import source_endpoints
from server.chains.facts import load_facts
from tests.e2e.gateway import KEY, RunningGateway, run_gateway_on
from tests.e2e.questions.question import Question
from tests.each import each
from tests.server.rpc.every import fields_of, params_of
from tests.server.upstream.http.routes import Authority
from transcoder.openrpc import SUBSCRIBE
from transcoder.params import parameters_reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from google.protobuf.descriptor import FieldDescriptor
    from google.protobuf.message import Message

pytestmark = pytest.mark.devnet

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    page
    for pattern in ("README.md", "docs/*.md", "docs/chains/*.md", "devnet/README.md", "proto/README.md")
    for page in ROOT.glob(pattern)
)
WORKING = [operation for operation in load_operations() if operation.available]
BY_NAME = {operation.name: operation for operation in WORKING}

# What makes sense only beside another parameter.
BESIDE = {"toBlock": ("fromBlock",), "cursor": ("fromBlock", "toBlock")}
# One operation stands for every published method: a read, and for the parameters of event queries a search.
READ, SEARCH = "svc_erc20_erc20api_call_balanceOf", "svc_erc20_erc20api_getLogs_Transfer"
TEMPLATE = ("chain", "address")


def example(field: FieldDescriptor, *, mainnet: bool = False) -> Any:
    options = member(field)
    return json.loads(options.mainnet_example if mainnet and options.mainnet_example else options.example)


def questions(operation: Operation, *, mainnet: bool = False) -> Iterator[Question]:
    """Yield an operation's examples: what it requires, each further parameter with that, and all of them at once."""
    fields = {field.json_name: field for field in fields_of(operation)}
    values = {name: example(field, mainnet=mainnet) for name, field in fields.items()}
    if operation.name == "svc_*":
        yield from _published(values)
        return
    required = {name for name, field in fields.items() if member(field).required}
    asked = [required, *({*required, name, *_beside(name, fields)} for name in fields.keys() - required), set(fields)]
    for names in sorted(map(sorted, asked)):
        params = params_of(operation, {name: values[name] for name in names})
        yield Question(operation.name, params, " ".join(names))
    if operation.takes_items:
        items = operation.method.input_type.fields_by_name["items"]
        yield Question(operation.name, example(items, mainnet=mainnet), "items")


def _beside(name: str, fields: Iterable[str]) -> set[str]:
    return set(BESIDE.get(name, ())) & set(fields)


def _published(values: dict[str, Any]) -> Iterator[Question]:
    values.pop("method", None)
    searched = {"fromBlock", "toBlock", "cursor"}
    base = {name: values[name] for name in TEMPLATE}
    call = base | {"args": values["args"]}
    yield Question(READ, call, "read")
    for name in values.keys() - call.keys() - searched:
        yield Question(READ, call | {name: values[name]}, name)
    for names in (("fromBlock",), ("fromBlock", "toBlock"), ("fromBlock", "toBlock", "cursor")):
        yield Question(SEARCH, base | {name: values[name] for name in names}, " ".join(names))


def message_of(question: Question) -> Message:
    """Return the question as the command line sends it over gRPC: examples are written as JSON."""
    request: Any = parameters_reader(question.operation)(json.dumps(question.params).encode())
    if question.operation.name == "svc_*":
        request.method = question.method
    return request


def failed_rows(answer: dict[str, Any]) -> list[Any]:
    data = answer["result"]["data"]
    rows = data.get("results", []) if isinstance(data, dict) else []
    return [row["error"] for row in rows if isinstance(row, dict) and "error" in row]


@each(WORKING, name=attrgetter("name"))
async def test_every_example_answers_on_both_faces(operation: Operation, faces: RunningGateway) -> None:
    for question in questions(operation):
        answer = await faces.ask(question.method, question.params)
        assert "result" in answer, (str(question), question.params, answer["error"])
        assert failed_rows(answer) == [], str(question)
        await faces.ask_grpc(question.operation, message_of(question))


async def documented(faces: RunningGateway, path: str = "/openrpc.json") -> dict[str, dict[str, Any]]:
    async with faces.session.get(faces.http + path) as got:
        return {method["name"]: method for method in (await got.json())["methods"]}


async def test_the_document_has_these_examples(faces: RunningGateway) -> None:
    methods = await documented(faces)
    for operation in WORKING:
        if operation.name == "svc_*":
            continue
        fields = {field.json_name: field for field in operation.method.input_type.fields}
        for param in methods[operation.name]["params"]:
            schema, field = param["schema"], fields[param["name"]]
            examples = schema.get("examples") or schema.get("anyOf", [{}])[0].get("examples")
            assert examples == [example(field)]


@pytest.mark.parametrize("path", ["/openrpc.json", "/openrpc.json?apps=all"])
async def test_every_pairing_of_the_documents_answers_by_name_and_by_position(faces: RunningGateway, path: str) -> None:
    methods = await documented(faces, path)
    pairings = [(name, pairing) for name, method in methods.items() for pairing in method.get("examples", ())]
    known = {name for operation in WORKING for name in (operation.name, *operation.aliases)} - {"svc_*"}
    assert {name for name, _ in pairings} == (known | {SUBSCRIBE} if path == "/openrpc.json" else {READ})
    for name, pairing in pairings:
        values = {one["name"]: one["value"] for one in pairing["params"]}
        by_position = [] if methods[name]["paramStructure"] == "by-name" else [list(values.values())]
        for params in (values, *by_position):
            answer = await (subscribed(faces, params) if name == SUBSCRIBE else faces.ask(name, params))
            assert "result" in answer, (name, params, answer["error"])
            assert name == SUBSCRIBE or failed_rows(answer) == [], (name, params)


async def subscribed(faces: RunningGateway, params: Any) -> Any:
    async with faces.session.ws_connect(f"{faces.http}/{KEY}/v1/ws") as socket:
        await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": SUBSCRIBE, "params": params})
        return await socket.receive_json(timeout=30)


async def test_every_watch_of_the_document_is_subscribed_to_by_its_example(faces: RunningGateway) -> None:
    watches = (await documented(faces))[SUBSCRIBE]["x-watches"]
    assert watches.keys() == {watch.name for watch in load_watches() if watch.available}
    for name, watch in watches.items():
        answer = await subscribed(faces, {"watch": name, "params": watch["example"]})
        assert "result" in answer, (name, answer)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mainnet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    """A gateway of the real chains whose nodes all refuse connections: what reaches them was of the right form."""
    closed = f"http://127.0.0.1:{free_port()}"
    kinds = {"cosmos": ("rest", "comet"), "bitcoin": ("core", "esplora")}
    chains = {
        slug: {
            "endpoints": [
                {"label": kind, "url": closed, "kind": kind} for kind in kinds.get(facts.family, ("jsonrpc",))
            ]
        }
        for slug, facts in load_facts().items()
    }
    async with run_gateway_on(chains, tmp_path_factory.mktemp("mainnet")) as running:
        yield running


OF_MAINNET = [
    operation for operation in WORKING if any(member(field).mainnet_example for field in fields_of(operation))
]


@each(OF_MAINNET, name=attrgetter("name"))
async def test_examples_of_the_real_chains_are_of_the_right_form(operation: Operation, mainnet: RunningGateway) -> None:
    for question in questions(operation, mainnet=True):
        error = (await mainnet.ask(question.method, question.params))["error"]
        assert (error["code"], error["data"]["reason"]) == (503, "UPSTREAM_UNAVAILABLE"), (str(question), error)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await mainnet.ask_grpc(question.operation, message_of(question))
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def test_there_are_examples_of_the_real_chains() -> None:
    assert {"getReceipt", "getTransactionByHash", "getNftMetadata", "getValidator"} <= {one.name for one in OF_MAINNET}


# Lines to paste


def shell_lines(page: Path) -> Iterator[str]:
    """Yield the commands of a page's blocks and of its sentences, each on one line."""
    text = page.read_text()
    for block in re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        # A line goes on after a backslash, and while a quote is open.
        line = ""
        for part in block.splitlines():
            line = f"{line.removesuffix(chr(92))} {part}".strip() if line else part.strip()
            if line.endswith("\\") or line.count("'") % 2:
                continue
            yield line
            line = ""
    yield from re.findall(r"`(\./waypost [^`]+)`", text)


LINES = [(page, line) for page in PAGES for line in shell_lines(page)]


def of_command(command: str) -> list[Any]:
    return [
        pytest.param(line, id=f"{page.relative_to(ROOT)} {number}")
        for number, (page, line) in enumerate(LINES)
        if line.startswith(command)
    ]


@pytest.mark.parametrize("line", of_command("curl "))
async def test_a_curl_line_answers(faces: RunningGateway, line: str) -> None:
    words = shlex.split(line)
    url = next(word for word in words if re.match(r"(https?://)?(127\.0\.0\.1|localhost):8080/", word))
    # What curl says of a body where nobody says otherwise.
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    headers |= dict(words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H")
    path = "/" + url.split(":8080/", 1)[1]
    if "-N" in words:
        async with faces.session.get(faces.http + path, headers={}) as stream:
            assert (stream.status, stream.content_type) == (200, "text/event-stream")
            assert await stream.content.readuntil(b"\n\n") == b"retry: 1000\n\n"
            assert (await stream.content.readuntil(b"\n\n")).startswith(b"event: ")
        return
    body = words[words.index("-d") + 1]
    async with faces.session.post(faces.http + path, data=body.encode(), headers=headers) as got:
        answer = await got.json()
    assert "result" in answer, answer


@pytest.mark.parametrize("line", of_command("grpcurl "))
async def test_a_grpcurl_line_answers(faces: RunningGateway, line: str) -> None:
    words = shlex.split(line)
    assert "-plaintext" in words
    [place] = [place for place, word in enumerate(words) if word.endswith(":50051")]
    asked = words[place + 1 :]
    if asked[0] in ("list", "describe"):
        symbol = {"list_services": "*"} if asked == ["list"] else {"file_containing_symbol": asked[1]}
        reflection: Any = reflection_pb2_grpc.ServerReflectionStub(faces.channel)
        [got] = [one async for one in reflection.ServerReflectionInfo(iter([ReflectionRequest(**symbol)]), timeout=20)]
        assert got.WhichOneof("message_response") in ("list_services_response", "file_descriptor_response"), got
        return
    headers = tuple(tuple(words[place + 1].split(": ", 1)) for place, word in enumerate(words) if word == "-H")
    operation = next(one for one in WORKING if one.path == "/" + words[-1])
    request = ParseDict(json.loads(words[words.index("-d") + 1]), operation.request())
    call = faces.channel.unary_unary(
        operation.path,
        request_serializer=operation.request.SerializeToString,
        response_deserializer=operation.response.FromString,
    )
    await call(request, metadata=headers, timeout=20)


@pytest.mark.parametrize("line", of_command("./waypost call "))
async def test_a_call_of_the_command_answers(
    faces: RunningGateway, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line)[1:]
    assert await asyncio.to_thread(main, [*words, "--target", faces.grpc_target]) == 0
    assert "data" in json.loads(capsys.readouterr().out)


def test_the_pages_have_lines_of_every_kind() -> None:
    for command in ("curl ", "grpcurl ", "./waypost call "):
        assert of_command(command), command


# Settings


def toml_blocks() -> Iterator[Any]:
    for page in PAGES:
        text = page.read_text()
        blocks = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        blocks += [
            block.replace("\n    ", "\n")
            for block in re.findall(r"^    (\[chains\..*?)\n\n", text, re.MULTILINE | re.DOTALL)
        ]
        for number, block in enumerate(blocks):
            yield pytest.param(block, id=f"{page.relative_to(ROOT)} {number}")


@pytest.mark.parametrize("block", list(toml_blocks()))
def test_settings_that_are_shown_are_valid(block: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tomllib.loads(block)
    known = table.keys() & Settings.model_fields.keys()
    if not known:
        # A file of another kind: an app, or an entry of the calendar, which have tests of their own.
        assert table.keys() & {"deployments", "entries"}
        return
    for variable in re.findall(r'"([A-Z][A-Z0-9_]+)"', block):
        scheme = "http" if variable.startswith("PROXY") else "https"
        monkeypatch.setenv(variable, f"{scheme}://rpc.example" if variable.endswith("URL") else "secret")
    for folder in ("apps", "calendar"):
        block = block.replace(f"/etc/waypost/{folder}", str(tmp_path))
    if ".pem" in block:
        authority = Authority(tmp_path)
        certificate, key = authority.issue("gateway")
        files = {"authority.pem": authority.certificate, "clients.pem": authority.certificate}
        for name, path in (files | {"gateway.pem": certificate, "gateway.key": key}).items():
            block = block.replace(f"/etc/waypost/{name}", str(path))
    settings = Settings.model_validate(tomllib.loads(block))
    assert known
    for name in settings.sources:
        source_endpoints(settings, name)
