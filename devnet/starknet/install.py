"""Sets up the engine's own Python environment: cairo-lang pins many packages, and 350 MB are not needed by all."""

from collections.abc import Callable
from pathlib import Path

from devnet.environments import installed_environment

_LOCK = Path(__file__).with_name("requirements.txt")

Progress = Callable[[str], None]


def installed_engine(progress: Progress = lambda line: None) -> Path:
    """Return the Python executable that has cairo-lang, installing it first if needed (some 30 seconds).

    Safe to call from several processes at once. Raises SetUpError.
    """
    return installed_environment("starknet", "the Starknet engine (cairo-lang)", _LOCK, progress)
