"""The marketplace's apps: contracts whose ABI items are published as methods of their own (contract section 4.16).

One folder per app, named by its appId: `app.toml` says what it is and where it is deployed, JSON files beside it hold
the ABIs. Operators add a directory of such folders by configuration.
"""

from server.catalog.apps.abi_items import canonical_type, signature
from server.catalog.apps.catalogue import Catalogue, load_catalogue
from server.catalog.apps.configured import open_catalogue
from server.catalog.apps.published import AbiItem, App, Deployment, MethodOperation, PublishedMethod
from server.catalog.mistakes import FileMistake, FilesRefused

__all__ = [
    "AbiItem",
    "App",
    "FileMistake",
    "FilesRefused",
    "Catalogue",
    "Deployment",
    "MethodOperation",
    "PublishedMethod",
    "canonical_type",
    "load_catalogue",
    "open_catalogue",
    "signature",
]
