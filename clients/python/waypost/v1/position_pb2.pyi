from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import position_lending_pb2 as _position_lending_pb2
from waypost.v1 import position_pool_pb2 as _position_pool_pb2
from waypost.v1 import position_summary_pb2 as _position_summary_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetLendAV3UserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetLendAV3UserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_lending_pb2.LendAV3Positions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_lending_pb2.LendAV3Positions, _Mapping]] = ...) -> None: ...

class GetLendAV2UserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetLendAV2UserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_lending_pb2.LendAV2Positions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_lending_pb2.LendAV2Positions, _Mapping]] = ...) -> None: ...

class GetLendBV3UserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetLendBV3UserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_lending_pb2.LendBV3Positions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_lending_pb2.LendBV3Positions, _Mapping]] = ...) -> None: ...

class GetLendBV2UserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetLendBV2UserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_lending_pb2.LendBV2Positions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_lending_pb2.LendBV2Positions, _Mapping]] = ...) -> None: ...

class GetLendCUserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetLendCUserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_lending_pb2.LendCPositions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_lending_pb2.LendCPositions, _Mapping]] = ...) -> None: ...

class GetStakeAUserPositionsRequest(_message.Message):
    __slots__ = ("chain", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetStakeAUserPositionsResponse(_message.Message):
    __slots__ = ("chain", "address", "block_height", "positions")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    POSITIONS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    address: str
    block_height: int
    positions: _position_pool_pb2.StakeAPositions
    def __init__(self, chain: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., positions: _Optional[_Union[_position_pool_pb2.StakeAPositions, _Mapping]] = ...) -> None: ...
