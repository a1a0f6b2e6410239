"""Which version of the Cosmos SDK a chain's nodes run: they tell it, and registries of chains are out of date."""

from __future__ import annotations

import re

import msgspec

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.|$|[-+])")


class _Application(msgspec.Struct):
    cosmos_sdk_version: str = ""


class _NodeInfo(msgspec.Struct):
    application_version: _Application | None = None


class SdkVersion:
    """The version that the nodes of one chain told last, in the answer that proves their chain id.

    The nodes of a chain run one version, because every release that matters here changes what they agree on.
    """

    def __init__(self) -> None:
        self.told: tuple[int, int] | None = None

    def learn(self, node_info: bytes) -> None:
        """Take note of what a node says about itself; one that does not tell its version changes nothing."""
        try:
            application = msgspec.json.decode(node_info, type=_NodeInfo).application_version
        except (msgspec.MsgspecError, RecursionError):
            return
        found = None if application is None else _VERSION.match(application.cosmos_sdk_version)
        if found is not None:
            self.told = int(found[1]), int(found[2])

    def is_before(self, major: int, minor: int) -> bool:
        """Return whether the nodes are known to be older than that; False where nothing is known."""
        return self.told is not None and self.told < (major, minor)
