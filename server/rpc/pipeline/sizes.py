"""How long a request of an operation can be: what its fields need, each at its limit.

A longer one cannot be valid: a field that is too long is refused by its name, whatever else makes the request long with
the bound. The transport's own limit is the largest of these, that of a batch
(`server.inprocess.channel.MAX_REQUEST_BYTES`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from google.protobuf.descriptor import FieldDescriptor
from waypost.options.v1 import options_pb2

from runtime.operations import member
from server.rpc.pipeline.formats import is_repeated

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

    from runtime.operations import Operation

DEFAULT_MAX_CHARACTERS = 4096
"""Most characters of a text whose field states no other number."""
DEFAULT_MAX_ELEMENTS = 1000
"""Most elements of a list whose field states no other number."""
LEAST_BOUND = 16 * 1024
"""What every request may have, however little its fields need."""

# A character of a text without a format may take four bytes; formats are ASCII, and these alone may be long.
_CHARACTER_BYTES = 4
_LONG_FORMATS = frozenset({options_pb2.FORMAT_HEX_DATA, options_pb2.FORMAT_CURSOR, options_pb2.FORMAT_URL})
_FORMAT_BYTES = 256
_NUMBER_BYTES = 10
# Tag and length around a value.
_WRAPPING_BYTES = 7


@cache
def request_bound(operation: Operation) -> int:
    """Return the most bytes of a serialised request of the operation."""
    return operation.options.max_request_bytes or max(LEAST_BOUND, message_bytes(operation.method.input_type))


def message_bytes(message: Descriptor) -> int:
    """Return the most bytes of a valid message, by the limits of its fields."""
    return sum(_field_bytes(field) for field in message.fields)


def _field_bytes(field: FieldDescriptor) -> int:
    options, repeated = member(field), is_repeated(field)
    elements = (options.max_length or DEFAULT_MAX_ELEMENTS) if repeated else 1
    if field.message_type is not None:
        each = message_bytes(field.message_type)
    elif field.cpp_type != FieldDescriptor.CPPTYPE_STRING:
        each = _NUMBER_BYTES
    elif options.format and options.format not in _LONG_FORMATS:
        each = _FORMAT_BYTES
    else:
        # On a list, lengths count its elements.
        characters = DEFAULT_MAX_CHARACTERS if repeated else options.max_length or DEFAULT_MAX_CHARACTERS
        each = characters if options.format else characters * _CHARACTER_BYTES
    return elements * (each + _WRAPPING_BYTES)
