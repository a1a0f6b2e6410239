from waypost.options.v1 import options_pb2 as _options_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class GetNftBalanceRequest(_message.Message):
    __slots__ = ("chain", "contract", "address", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetNftBalanceResponse(_message.Message):
    __slots__ = ("chain", "contract", "address", "block_height", "balance")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    block_height: int
    balance: str
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ..., block_height: _Optional[int] = ..., balance: _Optional[str] = ...) -> None: ...

class GetNftTokensRequest(_message.Message):
    __slots__ = ("chain", "contract", "address")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ...) -> None: ...

class GetNftTokensResponse(_message.Message):
    __slots__ = ("chain", "contract", "address", "token_ids", "total", "capped", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    CAPPED_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    token_ids: _containers.RepeatedScalarFieldContainer[str]
    total: str
    capped: bool
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ..., token_ids: _Optional[_Iterable[str]] = ..., total: _Optional[str] = ..., capped: bool = ..., block_height: _Optional[int] = ...) -> None: ...

class GetNftErc1155BalanceRequest(_message.Message):
    __slots__ = ("chain", "contract", "address", "token_id")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    token_id: str
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ..., token_id: _Optional[str] = ...) -> None: ...

class GetNftErc1155BalanceResponse(_message.Message):
    __slots__ = ("chain", "contract", "address", "token_id", "balance", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    address: str
    token_id: str
    balance: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., address: _Optional[str] = ..., token_id: _Optional[str] = ..., balance: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetNftBatchBalanceRequest(_message.Message):
    __slots__ = ("chain", "contract", "addresses", "token_ids")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    TOKEN_IDS_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    addresses: _containers.RepeatedScalarFieldContainer[str]
    token_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., addresses: _Optional[_Iterable[str]] = ..., token_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GetNftBatchBalanceResponse(_message.Message):
    __slots__ = ("chain", "contract", "results", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    results: _containers.RepeatedCompositeFieldContainer[NftPairBalance]
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., results: _Optional[_Iterable[_Union[NftPairBalance, _Mapping]]] = ..., block_height: _Optional[int] = ...) -> None: ...

class NftPairBalance(_message.Message):
    __slots__ = ("address", "token_id", "balance")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    BALANCE_FIELD_NUMBER: _ClassVar[int]
    address: str
    token_id: str
    balance: str
    def __init__(self, address: _Optional[str] = ..., token_id: _Optional[str] = ..., balance: _Optional[str] = ...) -> None: ...
