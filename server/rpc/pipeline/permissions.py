"""What a key may do: its operations are checked in admission, its chains when the request is read.

Both come after the quota and before any answer that is kept or shared. Chains that the gateway reads by itself (names,
price feeds, off-chain sources) need no permission: what counts is what a request names, or reads over all chains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.errors import KeyNotAllowed
from server.rpc.pipeline.availability import slug_readers
from server.rpc.pipeline.call import Stage, current
from server.rpc.pipeline.formats import item_root

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from google.protobuf.message import Message

    from server.access.keys import Rights
    from server.rpc.pipeline.call import Check, Method, RequestState


def check_operation(method: Method, rights: Rights) -> None:
    """Raise KeyNotAllowed, naming the operations that the key may call, where the method is none of them."""
    if rights.operations is not None and method.name not in rights.operations:
        allowed = ", ".join(sorted(rights.operations))
        raise KeyNotAllowed(f"this key may not call {method.name}; it may call: {allowed}")


def check_chain(rights: Rights | None, slug: str, path: str) -> None:
    """Raise KeyNotAllowed, naming parameter and chains that the key may read, where the chain is none of them."""
    if rights is not None and rights.chains is not None and slug not in rights.chains:
        allowed = ", ".join(sorted(rights.chains))
        raise KeyNotAllowed(f"{path}: this key may not read {slug}; it may read: {allowed}", field=path)


def split_allowed(slugs: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return which of the chains the key of the call being served may read, and which it may not.

    Raises KeyNotAllowed where it may read none of them.
    """
    principal = current().principal
    rights = None if principal is None else principal.rights
    chosen = list(slugs)
    if rights is None or rights.chains is None:
        return chosen, []
    allowed = [slug for slug in chosen if slug in rights.chains]
    if not allowed:
        raise KeyNotAllowed(f"this key may read none of these chains; it may read: {', '.join(sorted(rights.chains))}")
    return allowed, [slug for slug in chosen if slug not in rights.chains]


class Permissions(Stage):
    """Refuses requests that name a chain which their key may not read; of several items the whole request."""

    def check(self, method: Method) -> Check | None:
        """Return what checks the chains that a request of the method names."""
        if method.operation is None:
            return None
        readers = slug_readers(method.operation.method.input_type)
        if not readers:
            return None
        root = item_root(method.operation)

        def permit(request: Message | Any, state: RequestState) -> None:
            principal = state.principal
            if principal is None or principal.rights is None or principal.rights.chains is None:
                return
            for read in readers:
                for path, slug in read(request, root):
                    check_chain(principal.rights, slug, path)

        return permit
