"""Prints configuration mistakes: key, value, where it came from, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from runtime.config_errors import ConfigError


def print_config_error(error: ConfigError, stream: TextIO) -> None:
    """Print every mistake of the configuration, two lines each."""
    for mistake in error.every():
        stated = f"{mistake.key} = {mistake.value}" if mistake.value else mistake.key
        origin = f"  (from {mistake.origin})" if mistake.origin else ""
        print(f"config error: {stated}{origin}\n         fix: {mistake.fix}", file=stream)
