"""The catalogue that the settings ask for, its mistakes told as mistakes of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from server.catalog.apps.catalogue import load_catalogue
from server.catalog.mistakes import FilesRefused

if TYPE_CHECKING:
    from collections.abc import Collection

    from runtime.settings import Settings
    from server.catalog.apps.catalogue import Catalogue


def open_catalogue(settings: Settings, chains: Collection[str]) -> Catalogue:
    """Return the built-in apps with those of `marketplace.apps`; `chains` are the slugs of the EVM chains.

    Raises ConfigError with every mistake in the operator's apps.
    """
    directory = settings.marketplace.apps
    try:
        return load_catalogue(chains, directory)
    except FilesRefused as refused:
        raise refused.of_setting("marketplace.apps", directory) from None
