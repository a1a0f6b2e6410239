"""What is used of cairo-lang, whose package is installed in the engine's own environment alone."""

# mypy: disable-error-code="import-not-found"

import dataclasses
from typing import Any

# Since Python 3.11 dataclasses refuse unhashable defaults; the package was written for 3.9, which took them.
_get_field = dataclasses._get_field  # type: ignore[attr-defined]


def _get_field_leniently(cls: type, name: str, annotation: Any, default_kw_only: Any) -> Any:
    default = getattr(cls, name, dataclasses.MISSING)
    value = default.default if isinstance(default, dataclasses.Field) else default
    if value is not dataclasses.MISSING and type(value).__hash__ is None and not isinstance(value, (list, dict, set)):
        type(value).__hash__ = object.__hash__  # type: ignore[assignment]
    return _get_field(cls, name, annotation, default_kw_only)


dataclasses._get_field = _get_field_leniently  # type: ignore[attr-defined]

from starkware.cairo.lang.vm.crypto import poseidon_hash_many  # noqa: E402
from starkware.cairo.lang.vm.utils import RunResources  # noqa: E402
from starkware.crypto.signature.signature import private_to_stark_key, sign  # noqa: E402
from starkware.starknet.business_logic.execution.deprecated_objects import ExecutionResourcesManager  # noqa: E402
from starkware.starknet.business_logic.execution.execute_entry_point import ExecuteEntryPoint  # noqa: E402
from starkware.starknet.business_logic.execution.objects import CallInfo, TransactionExecutionContext  # noqa: E402
from starkware.starknet.business_logic.state.state_api import SyncState  # noqa: E402
from starkware.starknet.business_logic.state.state_api_objects import BlockInfo  # noqa: E402
from starkware.starknet.core.os.contract_address.contract_address import (  # noqa: E402
    calculate_contract_address_from_hash,
)
from starkware.starknet.core.os.contract_class.class_hash import compute_class_hash  # noqa: E402
from starkware.starknet.core.os.transaction_hash.transaction_hash import (  # noqa: E402
    calculate_invoke_transaction_hash,
)
from starkware.starknet.definitions.chain_ids import StarknetChainId  # noqa: E402
from starkware.starknet.definitions.execution_mode import ExecutionMode  # noqa: E402
from starkware.starknet.definitions.fields import Resource, ResourceBounds  # noqa: E402
from starkware.starknet.definitions.general_config import StarknetGeneralConfig  # noqa: E402
from starkware.starknet.public.abi import get_selector_from_name  # noqa: E402
from starkware.starknet.services.api.contract_class.contract_class import (  # noqa: E402
    CompiledClass,
    ContractClass,
    EntryPointType,
)
from starkware.starkware_utils.error_handling import StarkException  # noqa: E402

__all__ = [
    "BlockInfo",
    "CallInfo",
    "CompiledClass",
    "ContractClass",
    "EntryPointType",
    "ExecuteEntryPoint",
    "ExecutionMode",
    "ExecutionResourcesManager",
    "Resource",
    "ResourceBounds",
    "RunResources",
    "StarkException",
    "StarknetChainId",
    "StarknetGeneralConfig",
    "SyncState",
    "TransactionExecutionContext",
    "calculate_contract_address_from_hash",
    "calculate_invoke_transaction_hash",
    "compute_class_hash",
    "get_selector_from_name",
    "poseidon_hash_many",
    "private_to_stark_key",
    "sign",
]
