"""The data files in protocols' folders: what the address book does not hold, each entry with its source."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def load_deployments(package: str) -> dict[str, Any]:
    """Return the tables of `deployments.toml` of a protocol's package, as a rule by chain slug."""
    return tomllib.loads(files(package).joinpath("deployments.toml").read_text(encoding="utf-8"))
