"""Where the tree lies, and where processes keep what they make: a checkout within itself, an installation never.

A checkout is known by its `pyproject.toml`; an installed tree has none. Standard library alone: environments beside the
gateway's own import this too.
"""

import os
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
IS_CHECKOUT = (TREE / "pyproject.toml").is_file()
COMMAND = "./waypost" if IS_CHECKOUT else "waypost"
"""The command as a reader pastes it."""


def data_folder() -> Path:
    """Return the user's folder for what must not be lost: `$XDG_DATA_HOME/waypost`, else `~/.local/share/waypost`."""
    return _folder("XDG_DATA_HOME", ".local", "share")


def devnet_folder() -> Path:
    """Return the folder of what the local chains can make again: `.devnet` of a checkout, else `devnet` in the cache.

    The cache is `$XDG_CACHE_HOME/waypost`, else `~/.cache/waypost`.
    """
    return TREE / ".devnet" if IS_CHECKOUT else _folder("XDG_CACHE_HOME", ".cache") / "devnet"


def devnet_database() -> Path:
    """Return the devnet's database file: of a checkout with all else that it makes, else in the user's data folder."""
    return devnet_folder() / "storage" / "waypost.db" if IS_CHECKOUT else data_folder() / "devnet.db"


def _folder(variable: str, *below_home: str) -> Path:
    return Path(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), *below_home)) / "waypost"
