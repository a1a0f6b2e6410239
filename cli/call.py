"""`waypost call`: calls a running gateway over gRPC and prints the answer as the JSON face would."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import grpc
import msgspec
import orjson

from cli.options import DEVNET_KEY
from cli.terminal import paint_json
from runtime.config_errors import nearest
from runtime.operations import load_operations
from transcoder.calls import KEY
from transcoder.errors import DOMAIN, Failure, from_status, printed_node
from transcoder.fields import fields_of
from transcoder.params import parameters_reader
from transcoder.render import Unprintable, result_renderer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.message import Message

    from runtime.operations import Operation
    from transcoder.fields import Field

LARGEST_MESSAGE = 64 << 20
LONGEST_SECONDS = 3600.0
LOOPBACK = ("127.", "localhost:", "[::1]:", "unix:")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost call`."""
    port = os.environ.get("WAYPOST_GRPC_PORT") or "50051"
    parser.set_defaults(late="parameters")
    parser.add_argument("method", metavar="METHOD", help="name of the operation, for example getBalance")
    parser.add_argument(
        "parameters", metavar="KEY=VALUE", nargs="*", help="parameters; lists and objects are written as JSON"
    )
    parser.add_argument(
        "--target",
        type=_address,
        default=f"127.0.0.1:{port}",
        metavar="HOST:PORT",
        help="gRPC address of the gateway (%(default)s)",
    )
    parser.add_argument("--key", help="API key (default: $WAYPOST_KEY; for a gateway on this machine the devnet's)")
    parser.add_argument("--tls", action="store_true", help="connect with TLS")
    parser.add_argument("--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="give up after (%(default)s)")
    parser.add_argument("--compact", action="store_true", help="print the JSON on one line")


def run(arguments: argparse.Namespace) -> int:
    """Call and print; the exit code is 1 when the gateway answered with an error, which goes to standard error."""
    operation = find_operation(arguments.method)
    if operation is None:
        names = [name for known in load_operations() for name in (known.name, *known.aliases)]
        guess = nearest(arguments.method, names)
        hint = f"; did you mean {guess}?" if guess else "; `waypost methods` lists them"
        return _fail(Failure(404, "METHOD_UNKNOWN", f"there is no operation {arguments.method}{hint}"))
    try:
        request: Any = parameters_reader(operation)(parameters_json(operation, arguments.parameters))
    except Failure as failure:
        return _fail(failure)
    if operation.stands_for_many:
        request.method = arguments.method
    given = arguments.key or os.environ.get("WAYPOST_KEY")
    if given and KEY.fullmatch(given) is None:
        return _fail(Failure(401, "KEY_INVALID", "the API key is malformed; check that it was copied whole"))
    # A gateway on this machine may be a devnet, whose key is public.
    key = given or (DEVNET_KEY if arguments.target.startswith(LOOPBACK) else None)
    with open_channel(arguments.target, tls=arguments.tls) as channel:
        try:
            response = ask(channel, operation, request, key=key, timeout=arguments.timeout)
            result = result_renderer(operation.response.DESCRIPTOR, operation.options.result)(response)
        except grpc.RpcError as error:
            return _fail(explain(error, arguments.target, given))
        except Unprintable as error:
            return _fail(Failure(500, "INTERNAL", str(error)))
    print(paint_json((result if arguments.compact else msgspec.json.format(result, indent=2)).decode()))
    return 0


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r}: give seconds above 0, at most {LONGEST_SECONDS:g}")
    return seconds


def _address(text: str) -> str:
    if not text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r}: give HOST:PORT")
    return text


def find_operation(name: str) -> Operation | None:
    """Return the operation of that name or alias, or the one that stands for every name with its prefix."""
    for known in load_operations():
        if name == known.name or name in known.aliases:
            return known
        if known.stands_for_many and name.startswith(known.name.removesuffix("*")):
            return known
    return None


def parameters_json(operation: Operation, parameters: Iterable[str]) -> bytes:
    """Return `params` as JSON from `key=value` texts.

    A value is taken as text where the parameter is text, and as JSON where it is a number, a list or an object, if it
    is JSON at all; the codec checks the rest. Raises Failure (400) for text without `=`, for a name given twice, and
    for bytes that are no UTF-8 (which the system hands over as lone surrogates).
    """
    fields = {field.json: field for field in fields_of(operation.request.DESCRIPTOR)}
    members: dict[str, Any] = {}
    for parameter in parameters:
        name, separator, value = parameter.partition("=")
        if not separator or not name:
            raise Failure(400, "INVALID_ARGUMENT", f'write parameters as key=value, not "{parameter}"')
        if name in members:
            raise Failure(400, "INVALID_ARGUMENT", f'parameter "{name}" is given twice', field=name)
        if not parameter.isprintable() and _has_surrogates(parameter):
            raise Failure(400, "INVALID_ARGUMENT", "write parameters in UTF-8")
        members[name] = _member(fields.get(name), value)
    return msgspec.json.encode(members)


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _member(field: Field | None, value: str) -> Any:
    if field is None or (field.kind == "string" and not field.repeated):
        return value
    try:
        msgspec.json.decode(value)
    except msgspec.DecodeError:
        return value
    return msgspec.Raw(value.encode())


def open_channel(target: str, *, tls: bool = False) -> grpc.Channel:
    """Return a synchronous channel to a gateway."""
    options = [("grpc.max_receive_message_length", LARGEST_MESSAGE), ("grpc.max_send_message_length", LARGEST_MESSAGE)]
    if tls:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(), options=options)
    return grpc.insecure_channel(target, options=options)


def ask(channel: grpc.Channel, operation: Operation, request: Message, *, key: str | None, timeout: float) -> Message:
    """Return the gateway's answer through the generated synchronous stub; raises grpc.RpcError."""
    service = operation.method.containing_service
    module = importlib.import_module(service.file.name.removesuffix(".proto").replace("/", ".") + "_pb2_grpc")
    stub = getattr(module, f"{service.name}Stub")(channel)
    metadata = (("x-api-key", key),) if key else ()
    response: Message = getattr(stub, operation.method.name)(request, timeout=timeout, metadata=metadata)
    return response


def explain(error: Any, target: str, given: str | None) -> Failure:
    """Return the failure of a gRPC status, stating what this command's user can change."""
    failure = from_status(error)
    if failure.code == 401 and not given:
        return Failure(401, "KEY_MISSING", "this gateway wants an API key: give it with --key or WAYPOST_KEY")
    if error.code() is grpc.StatusCode.UNAVAILABLE and not _is_ours(error):
        return Failure(
            503, "UPSTREAM_UNAVAILABLE", f"no gateway answers at {target}: start one, or name it with --target"
        )
    return failure


def _is_ours(error: Any) -> bool:
    return any(isinstance(value, bytes) and DOMAIN.encode() in value for _, value in error.trailing_metadata() or ())


def _fail(failure: Failure) -> int:
    shown: dict[str, Any] = {"code": failure.code, "message": failure.message, "reason": failure.reason}
    if failure.field is not None:
        shown["field"] = failure.field
    if failure.retry_after_ms is not None:
        shown["retryAfterMs"] = failure.retry_after_ms
    shown |= {name: fact for name, fact in failure.facts.items() if name not in shown}
    if failure.node is not None:
        shown["node"] = json.loads(orjson.dumps(printed_node(failure.node)))
    text = json.dumps({"error": shown}, indent=2, ensure_ascii=False)
    print(paint_json(text, sys.stderr), file=sys.stderr)
    return 1
