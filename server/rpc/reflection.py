"""Server reflection, needing no key: grpcurl and the like learn what is here.

Listed are services with at least one working rpc, health and reflection itself (decisions 2.9). The library has
v1alpha; grpcurl, Postman and buf fall back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha._async import ReflectionServicer

from runtime.descriptors import read_file_set

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from google.protobuf.descriptor import FileDescriptor

    from runtime.operations import Operation
    from server.marketplace.typed import TypedServices

REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


class Reflection(ReflectionServicer):  # type: ignore[misc]  # grpc has no types
    """The library's servicer, which also finds rpcs by name (`waypost.v1.AccountService.GetBalance`)."""

    def _file_containing_symbol(self, request: Any, fully_qualified_name: str) -> Any:
        answer = super()._file_containing_symbol(request, fully_qualified_name)
        parent = fully_qualified_name.rpartition(".")[0]
        if parent and answer.HasField("error_response"):
            # Python's descriptor pool does not know rpcs as symbols, only the services that hold them.
            found = super()._file_containing_symbol(request, parent)
            name = fully_qualified_name.rpartition(".")[2]
            if found.HasField("file_descriptor_response") and self._has_rpc(parent, name):
                return found
        return answer

    def _has_rpc(self, service: str, name: str) -> bool:
        try:
            return name in self._pool.FindServiceByName(service).methods_by_name
        except KeyError:
            return False


def working_services(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the full names of the services of which this build answers at least one rpc, in order of first mention."""
    return tuple(dict.fromkeys(operation.service for operation in operations if operation.available))


def reflection_servicer(operations: Iterable[Operation], typed: TypedServices) -> Reflection:
    """Return the reflection of the working services and the apps' own; nothing internal can be looked up through it."""
    operations = tuple(operations)
    listed = working_services(operations)
    pool = DescriptorPool()
    # The generated modules carry no JSON names, the committed set does: clients print `blockHeight` and `@type`.
    committed = {file.name: file for file in read_file_set().file}
    added: set[str] = set()
    for operation in operations:
        if operation.service in listed:
            _add(operation.method.containing_service.file, pool, added, committed)
    _add(health_pb2.DESCRIPTOR, pool, added, committed)
    _add(reflection_pb2.DESCRIPTOR, pool, added, committed)
    _add(error_details_pb2.DESCRIPTOR, pool, added, committed)  # so that clients can print the details of an error
    for proto in typed.files:
        pool.Add(proto)  # type: ignore[no-untyped-call]
    return Reflection((*listed, *typed.names, HEALTH, REFLECTION), pool=pool)


def _add(
    file: FileDescriptor,
    pool: DescriptorPool,
    added: set[str],
    committed: Mapping[str, descriptor_pb2.FileDescriptorProto],
) -> None:
    if file.name in added:
        return
    added.add(file.name)
    for dependency in file.dependencies:
        _add(dependency, pool, added, committed)
    proto = descriptor_pb2.FileDescriptorProto()
    if file.name in committed:
        proto.CopyFrom(committed[file.name])
        proto.ClearField("source_code_info")
    else:
        file.CopyToProto(proto)  # type: ignore[no-untyped-call]
    pool.Add(proto)  # type: ignore[no-untyped-call]
