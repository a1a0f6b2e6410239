"""What callers without a key learn of the services: their names, files and comments, under both names of reflection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc import StatusCode
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from waypost.options.v1 import options_pb2

from runtime.operations import load_operations, load_watches, read_file_set
from server.rpc.reflection import REFLECTION
from tests.server.accounts import stub_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from server.app import Gateway

pytestmark = pytest.mark.slow


@pytest.fixture
async def channel(gateway: Gateway) -> AsyncIterator[grpc.aio.Channel]:
    port = await gateway.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel


async def reflected(channel: Any, **query: Any) -> Any:
    stub = stub_of(reflection_pb2_grpc.ServerReflectionStub, channel)
    call = stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**query)]))
    return await call.read()


async def test_reflection_lists_what_works_and_hides_what_is_internal(channel: Any) -> None:
    listed = {service.name for service in (await reflected(channel, list_services="")).list_services_response.service}
    working = {operation.service for operation in (*load_operations(), *load_watches()) if operation.available}
    apps = {name for name in listed if name.startswith("waypost_apps.")}
    assert len(apps) == 9
    beside = {"waypost.v1.BatchService", "grpc.health.v1.Health", *REFLECTION}
    assert listed - apps == working | beside
    batch = await reflected(channel, file_containing_symbol="waypost.v1.BatchService.Execute")
    files = {
        descriptor_pb2.FileDescriptorProto.FromString(proto).name
        for proto in batch.file_descriptor_response.file_descriptor_proto
    }
    assert files == {"waypost/v1/batch.proto", "google/rpc/status.proto", "google/protobuf/any.proto"}
    found = await reflected(channel, file_containing_symbol="waypost.v1.AccountService.GetBalance")
    names = {
        descriptor_pb2.FileDescriptorProto.FromString(proto).name
        for proto in found.file_descriptor_response.file_descriptor_proto
    }
    assert {"waypost/v1/account.proto", "waypost/options/v1/options.proto"} <= names
    typed = await reflected(channel, file_containing_symbol="waypost_apps.erc20.v1.Erc20Service.Erc20apiCallBalanceOf")
    (proto,) = typed.file_descriptor_response.file_descriptor_proto
    assert descriptor_pb2.FileDescriptorProto.FromString(proto).name == "waypost_apps/erc20/v1/erc20.proto"
    for symbol in ("waypost_internal.v1.AccessService", "waypost.v1.AccountService.NoRpc", "waypost.v1", ""):
        hidden = await reflected(channel, file_containing_symbol=symbol)
        assert hidden.error_response.error_code == StatusCode.NOT_FOUND.value[0], symbol


@pytest.mark.parametrize("service", REFLECTION)
async def test_reflection_serves_comments_under_both_names(channel: Any, service: str) -> None:
    pool = DescriptorPool()
    for file in read_file_set().file:
        pool.Add(file)  # type: ignore[no-untyped-call]
    package = service.rpartition(".")[0]
    if package.endswith("v1"):
        kinds = [pool.FindMessageTypeByName(f"{package}.ServerReflection{one}") for one in ("Request", "Response")]  # type: ignore[no-untyped-call]
        request, response = (GetMessageClass(kind) for kind in kinds)
    else:
        request, response = reflection_pb2.ServerReflectionRequest, reflection_pb2.ServerReflectionResponse
    call = channel.stream_stream(f"/{service}/ServerReflectionInfo", request.SerializeToString, response.FromString)(
        timeout=10
    )

    async def files(**query: Any) -> dict[str, Any]:
        await call.write(request(**query))
        found = (await call.read()).file_descriptor_response.file_descriptor_proto
        return {file.name: file for file in map(descriptor_pb2.FileDescriptorProto.FromString, found)}

    first = await files(file_containing_symbol="waypost.v1.AccountService")
    assert list(first) == [
        "waypost/v1/account.proto",
        "waypost/options/v1/options.proto",
        "google/protobuf/descriptor.proto",
    ]
    comments = {
        tuple(one.path): one.leading_comments for one in first["waypost/v1/account.proto"].source_code_info.location
    }
    assert comments[6, 0] == " Reads of accounts.\n"
    assert comments[6, 0, 2, 0].startswith(" Returns the native balance of an account.")
    # What was sent on the stream is not sent again, unless it is asked for.
    second = await files(file_containing_symbol="waypost.v1.BlockService.GetBlockHeight")
    assert next(iter(second)) == "waypost/v1/block.proto"
    assert not second.keys() & first.keys()
    assert second.keys() | first.keys() >= set(second["waypost/v1/block.proto"].dependency)
    assert list(await files(file_by_filename="waypost/v1/account.proto")) == ["waypost/v1/account.proto"]
    assert list(
        await files(
            file_containing_extension={
                "containing_type": "google.protobuf.MethodOptions",
                "extension_number": options_pb2.OPERATION_FIELD_NUMBER,
            }
        )
    ) == ["waypost/options/v1/options.proto"]
    assert list(await files(file_containing_symbol="grpc.reflection.v1.ServerReflection")) == [
        "grpc/reflection/v1/reflection.proto"
    ]
    apps = await files(file_containing_symbol="waypost_apps.erc20.v1.Erc20Service")
    (app,) = apps.values()
    assert any(
        "ERC-20" in one.leading_comments or "ERC20" in one.leading_comments for one in app.source_code_info.location
    )
    await call.write(request(all_extension_numbers_of_type="google.protobuf.FieldOptions"))
    numbers = (await call.read()).all_extension_numbers_response
    assert list(numbers.extension_number) == [options_pb2.MEMBER_FIELD_NUMBER]
    await call.write(request(host="h"))
    nothing = await call.read()
    assert (nothing.valid_host, nothing.error_response.error_code) == ("h", StatusCode.INVALID_ARGUMENT.value[0])
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


def test_both_names_of_reflection_have_the_same_messages() -> None:
    released = next(file for file in read_file_set().file if file.name == "grpc/reflection/v1/reflection.proto")
    served = descriptor_pb2.FileDescriptorProto.FromString(reflection_pb2.DESCRIPTOR.serialized_pb)

    def fields(file: Any) -> dict[tuple[str, str], tuple[int, int, int, str]]:
        return {
            (message.name, field.name): (field.number, field.type, field.label, field.type_name.rpartition(".")[2])
            for message in file.message_type
            for field in message.field
        }

    assert fields(released) == fields(served)
