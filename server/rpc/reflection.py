"""Server reflection, needing no key: grpcurl and the like learn what is here.

Listed are services with at least one working rpc, health and reflection itself (decisions 2.9). The library has
v1alpha; grpcurl, Postman and buf fall back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha._async import ReflectionServicer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.descriptor import FileDescriptor

    from runtime.operations import Operation

REFLECTION = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"].full_name
HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name


def working_services(operations: Iterable[Operation]) -> tuple[str, ...]:
    """Return the full names of the services of which this build answers at least one rpc, in order of first mention."""
    return tuple(dict.fromkeys(operation.service for operation in operations if operation.available))


def reflection_servicer(operations: Iterable[Operation]) -> ReflectionServicer:
    """Return the reflection of the working services; nothing internal can be looked up through it."""
    operations = tuple(operations)
    listed = working_services(operations)
    pool = DescriptorPool()
    added: set[str] = set()
    for operation in operations:
        if operation.service in listed:
            _add(operation.method.containing_service.file, pool, added)
    _add(health_pb2.DESCRIPTOR, pool, added)
    _add(reflection_pb2.DESCRIPTOR, pool, added)
    return ReflectionServicer((*listed, HEALTH, REFLECTION), pool=pool)


def _add(file: FileDescriptor, pool: DescriptorPool, added: set[str]) -> None:
    if file.name in added:
        return
    added.add(file.name)
    for dependency in file.dependencies:
        _add(dependency, pool, added)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)  # type: ignore[no-untyped-call]
    pool.Add(proto)  # type: ignore[no-untyped-call]
