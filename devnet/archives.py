"""Package archives of single protocols, fetched one by one and kept in `.devnet/archives/` (protocol_archives.toml).

An archive that cannot be had costs its own protocol alone. Only the members that are listed are kept.
"""

import hashlib
import shutil
import tarfile
import tomllib
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from devnet.install import HERE, STATE, InstallError, exclusive, fetch_pinned

MANIFEST = HERE / "protocol_archives.toml"

_NPMRC = ".npmrc"
# By default npm waits for more than a minute before it gives up; here that would be at every start without a network.
_ONE_RETRY = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000")


@cache
def archive_table() -> dict[str, dict[str, Any]]:
    """Return the rows of protocol_archives.toml by name."""
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def archive_folder(name: str) -> Path:
    """Return the folder that holds the archive's members, or will. Raises KeyError for an unknown name."""
    row = archive_table()[name]
    digest = hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest()[:16]
    return STATE / "archives" / name / digest


def is_fetched(name: str) -> bool:
    """Return whether the archive's members are here."""
    return (archive_folder(name) / "complete").is_file()


def fetch_archive(name: str) -> Path:
    """Return the folder of the archive's members, fetching them first when needed. Raises InstallError.

    Safe to call from several processes at once: one fetches, the others wait for it.
    """
    folder = archive_folder(name)
    if is_fetched(name):
        return folder
    with exclusive(STATE / "archives" / f"{name}.lock"):
        if not is_fetched(name):
            shutil.rmtree(folder.parent, ignore_errors=True)  # other versions too
            folder.mkdir(parents=True)
            _fetch(folder, name, archive_table()[name])
            (folder / "complete").touch()
    return folder


def _fetch(folder: Path, name: str, row: dict[str, Any]) -> None:
    shutil.copy2(HERE / _NPMRC, folder / _NPMRC)
    path = fetch_pinned(folder, folder, name, row, *_ONE_RETRY)
    top = PurePosixPath(row["folder"])
    with tarfile.open(path) as tar:
        listed = [PurePosixPath(each.name) for each in tar.getmembers() if each.isfile()]
        wanted = [top / member for member in row.get("members", ())] or [each for each in listed if top in each.parents]
        for member in wanted:
            if member not in listed or ".." in member.parts:
                raise InstallError(f"{member} is missing in the npm archive of {name}")
            target = folder / member.relative_to(top)
            target.parent.mkdir(parents=True, exist_ok=True)
            source = tar.extractfile(str(member))
            assert source is not None  # it is a file
            target.write_bytes(source.read())
    path.unlink()
    shutil.rmtree(folder / "npm-cache", ignore_errors=True)
