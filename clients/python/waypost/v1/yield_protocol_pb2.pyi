from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class YieldProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    YIELD_PROTOCOL_UNSPECIFIED: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_LEND_A: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_LEND_B: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_LEND_C: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_LEND_D: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_VAULT_A: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_VAULT_B: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_VAULT_D: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_YIELD_A: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_TOKENIZED_A: _ClassVar[YieldProtocol]
    YIELD_PROTOCOL_STAKE_A: _ClassVar[YieldProtocol]

class YieldBasis(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    YIELD_BASIS_UNSPECIFIED: _ClassVar[YieldBasis]
    YIELD_BASIS_SPOT: _ClassVar[YieldBasis]
    YIELD_BASIS_AVERAGE: _ClassVar[YieldBasis]
    YIELD_BASIS_IMPLIED: _ClassVar[YieldBasis]
    YIELD_BASIS_GROWTH: _ClassVar[YieldBasis]

class YieldType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    YIELD_TYPE_UNSPECIFIED: _ClassVar[YieldType]
    YIELD_TYPE_LENDING: _ClassVar[YieldType]
    YIELD_TYPE_VAULT: _ClassVar[YieldType]
    YIELD_TYPE_STAKING: _ClassVar[YieldType]
YIELD_PROTOCOL_UNSPECIFIED: YieldProtocol
YIELD_PROTOCOL_LEND_A: YieldProtocol
YIELD_PROTOCOL_LEND_B: YieldProtocol
YIELD_PROTOCOL_LEND_C: YieldProtocol
YIELD_PROTOCOL_LEND_D: YieldProtocol
YIELD_PROTOCOL_VAULT_A: YieldProtocol
YIELD_PROTOCOL_VAULT_B: YieldProtocol
YIELD_PROTOCOL_VAULT_D: YieldProtocol
YIELD_PROTOCOL_YIELD_A: YieldProtocol
YIELD_PROTOCOL_TOKENIZED_A: YieldProtocol
YIELD_PROTOCOL_STAKE_A: YieldProtocol
YIELD_BASIS_UNSPECIFIED: YieldBasis
YIELD_BASIS_SPOT: YieldBasis
YIELD_BASIS_AVERAGE: YieldBasis
YIELD_BASIS_IMPLIED: YieldBasis
YIELD_BASIS_GROWTH: YieldBasis
YIELD_TYPE_UNSPECIFIED: YieldType
YIELD_TYPE_LENDING: YieldType
YIELD_TYPE_VAULT: YieldType
YIELD_TYPE_STAKING: YieldType
