"""The committed descriptor set: what the generated modules leave out (comments, explicit JSON names)."""

from __future__ import annotations

from pathlib import Path

import waypost
from google.protobuf.descriptor_pb2 import FileDescriptorSet


def read_file_set() -> FileDescriptorSet:
    """Return every .proto file with source comments and JSON names, imports included, dependencies first.

    Raises FileNotFoundError without generated/descriptors.binpb.
    """
    package = next(iter(waypost.__path__))
    return FileDescriptorSet.FromString((Path(package).parent / "descriptors.binpb").read_bytes())
