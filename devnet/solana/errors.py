"""Errors of the interface, with the codes and words of a node."""

from typing import Any


class RpcError(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


BAD_ENCODING = "Invalid params: unknown variant for `encoding`."


def unsupported_version(version: int) -> RpcError:
    """Return the refusal of a transaction newer than the caller takes."""
    return RpcError(
        -32015,
        f"Transaction version ({version}) is not supported by the requesting client. Please try the request again "
        f'with the following configuration parameter: "maxSupportedTransactionVersion": {version}',
    )


def skipped(slot: int) -> RpcError:
    """Return the answer for a slot without a block."""
    return RpcError(-32007, f"Slot {slot} was skipped, or missing due to ledger jump to recent snapshot")


def cleaned_up(slot: int, first: int) -> RpcError:
    """Return the answer for a slot that is no longer kept."""
    return RpcError(-32001, f"Block {slot} cleaned up, does not exist on node. First available block: {first}")


def not_yet(slot: int) -> RpcError:
    """Return the answer for a slot of the future."""
    return RpcError(-32004, f"Block not available for slot {slot}")


def not_reached(slot: int) -> RpcError:
    """Return the answer to a read that must not be older than a slot of the future."""
    return RpcError(-32016, "Minimum context slot has not been reached", {"contextSlot": slot})
