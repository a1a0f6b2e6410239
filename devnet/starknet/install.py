"""Sets up the engine's own Python environment: cairo-lang pins many packages, and 350 MB are not for everybody."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from devnet.install import STATE

_LOCK = Path(__file__).with_name("requirements.txt")
_WITHIN = 600

Progress = Callable[[str], None]


class EngineError(Exception):
    """The engine cannot be installed; the text says what failed and what to do."""


def installed_engine(progress: Progress = lambda line: None) -> Path:
    """Return the Python executable that has cairo-lang, installing it first if needed (some 30 seconds).

    Safe to call from several processes at once. Raises EngineError.
    """
    digest = hashlib.sha256(_LOCK.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = STATE / "starknet" / digest
    python = folder / "bin" / "python"
    if (folder / "complete").is_file():
        return python
    if sys.version_info[:2] != (3, 11):
        raise EngineError("the Starknet engine (cairo-lang) runs on Python 3.11 alone: set up .venv with that one")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").is_file():
            progress("devnet: installing the Starknet engine (cairo-lang), once ...")
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            _pip(python, "install", "--require-hashes", "--no-deps", "--requirement", str(_LOCK))
            (folder / "complete").touch()
    return python


def _pip(python: Path, *arguments: str) -> None:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_WITHIN)
    except subprocess.CalledProcessError as error:
        last = next((line for line in reversed(error.stderr.splitlines()) if line.strip()), "no words")
        raise EngineError(f"pip could not install the Starknet engine ({last.split('://')[0][:200]})") from None
    except subprocess.TimeoutExpired:
        raise EngineError(f"pip did not install the Starknet engine within {_WITHIN} seconds") from None
