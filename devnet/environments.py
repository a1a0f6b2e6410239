"""Python environments beside the gateway's own, for packages that do not resolve together with it."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

from devnet.install import STATE

_WITHIN = 600

Progress = Callable[[str], None]


class SetUpError(Exception):
    """An environment cannot be set up; the text states what failed and what to do."""


def installed_environment(name: str, what: str, lock: Path, progress: Progress = lambda line: None) -> Path:
    """Return the Python executable that has the packages of a lock file, installing them first if needed.

    `name` is its folder below `.devnet/`, `what` how people know it. Safe to call from several processes at once.
    Raises SetUpError.
    """
    digest = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    folder = STATE / name / digest
    python = folder / "bin" / "python"
    if (folder / "complete").is_file():
        return python
    if sys.version_info[:2] != (3, 11):
        raise SetUpError(f"{what} runs on Python 3.11 alone: set up .venv with that one")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "install.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not (folder / "complete").is_file():
            progress(f"devnet: installing {what}, once ...")
            shutil.rmtree(folder, ignore_errors=True)
            venv.create(folder, with_pip=True)
            _install(python, lock, what)
            (folder / "complete").touch()
    return python


def _install(python: Path, lock: Path, what: str) -> None:
    # Not compiled: a fraction of their modules is ever imported, each of which is compiled then.
    flags = ("--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-compile")
    command = [str(python), "-m", "pip", "install", *flags, "--requirement", str(lock)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=_WITHIN)
    except subprocess.CalledProcessError as error:
        last = next((line for line in reversed(error.stderr.splitlines()) if line.strip()), "no words")
        raise SetUpError(f"pip could not install {what} ({last.split('://')[0][:200]})") from None
    except subprocess.TimeoutExpired:
        raise SetUpError(f"pip did not install {what} within {_WITHIN} seconds") from None
