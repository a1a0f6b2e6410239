"""Sets up the Python environments that tests of Starknet need beside the gateway's own: `python -m tests.environments`.

`make test` does so while the first tests run, as processes that need them would wait for minutes. What cannot be had is
left to those tests to report.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from devnet.environments import SetUpError, installed_environment
from devnet.starknet.install import installed_engine

JUDGE = Path(__file__).parent / "server/chains/starknet/judge"


def installed_judge() -> Path:
    """Return the Python executable that has starknet-py, installing it first if needed; raises SetUpError."""
    return installed_environment("starknet-judge", "the client starknet-py", JUDGE / "requirements.txt")


if __name__ == "__main__":
    for install in (installed_engine, installed_judge):
        with suppress(SetUpError):
            install()
