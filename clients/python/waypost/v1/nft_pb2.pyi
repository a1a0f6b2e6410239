from waypost.options.v1 import options_pb2 as _options_pb2
from waypost.v1 import common_pb2 as _common_pb2
from waypost.v1 import nft_balance_pb2 as _nft_balance_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class NftStandard(_message.Message):
    __slots__ = ("erc721", "erc721_enumerable", "erc1155")
    ERC721_FIELD_NUMBER: _ClassVar[int]
    ERC721_ENUMERABLE_FIELD_NUMBER: _ClassVar[int]
    ERC1155_FIELD_NUMBER: _ClassVar[int]
    erc721: bool
    erc721_enumerable: bool
    erc1155: bool
    def __init__(self, erc721: bool = ..., erc721_enumerable: bool = ..., erc1155: bool = ...) -> None: ...

class GetNftCollectionRequest(_message.Message):
    __slots__ = ("chain", "contract", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetNftCollectionResponse(_message.Message):
    __slots__ = ("chain", "contract", "block_height", "name", "symbol", "total_supply", "standard")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SYMBOL_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUPPLY_FIELD_NUMBER: _ClassVar[int]
    STANDARD_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    block_height: int
    name: str
    symbol: str
    total_supply: str
    standard: NftStandard
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., block_height: _Optional[int] = ..., name: _Optional[str] = ..., symbol: _Optional[str] = ..., total_supply: _Optional[str] = ..., standard: _Optional[_Union[NftStandard, _Mapping]] = ...) -> None: ...

class GetNftMetadataRequest(_message.Message):
    __slots__ = ("chain", "contract", "token_id", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    token_id: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., token_id: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...

class GetNftMetadataResponse(_message.Message):
    __slots__ = ("chain", "contract", "token_id", "block_height", "standard", "owner", "token_uri", "token_uri_raw", "metadata", "metadata_error")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    STANDARD_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_URI_FIELD_NUMBER: _ClassVar[int]
    TOKEN_URI_RAW_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    METADATA_ERROR_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    token_id: str
    block_height: int
    standard: NftStandard
    owner: str
    token_uri: str
    token_uri_raw: str
    metadata: NftDocument
    metadata_error: str
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., token_id: _Optional[str] = ..., block_height: _Optional[int] = ..., standard: _Optional[_Union[NftStandard, _Mapping]] = ..., owner: _Optional[str] = ..., token_uri: _Optional[str] = ..., token_uri_raw: _Optional[str] = ..., metadata: _Optional[_Union[NftDocument, _Mapping]] = ..., metadata_error: _Optional[str] = ...) -> None: ...

class NftDocument(_message.Message):
    __slots__ = ("name", "image", "native")
    NAME_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    NATIVE_FIELD_NUMBER: _ClassVar[int]
    name: str
    image: str
    native: _common_pb2.NativeJson
    def __init__(self, name: _Optional[str] = ..., image: _Optional[str] = ..., native: _Optional[_Union[_common_pb2.NativeJson, _Mapping]] = ...) -> None: ...

class GetNftTokenOwnerRequest(_message.Message):
    __slots__ = ("chain", "contract", "token_id")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    token_id: str
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., token_id: _Optional[str] = ...) -> None: ...

class GetNftTokenOwnerResponse(_message.Message):
    __slots__ = ("chain", "contract", "token_id", "owner", "block_height")
    CHAIN_FIELD_NUMBER: _ClassVar[int]
    CONTRACT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    BLOCK_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain: str
    contract: str
    token_id: str
    owner: str
    block_height: int
    def __init__(self, chain: _Optional[str] = ..., contract: _Optional[str] = ..., token_id: _Optional[str] = ..., owner: _Optional[str] = ..., block_height: _Optional[int] = ...) -> None: ...
