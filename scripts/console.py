"""`make console`: builds the page at `GET /` from `console/` into `transcoder/console/`, always the same bytes.

Node.js is the packaged one. `--check` builds beside, and fails where the committed files differ. docs/console.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from devnet.install import InstallError, node_binary, npm

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "console"
BUILT = ROOT / "transcoder" / "console"
LICENCES = "licences.txt"
# What the built files hold of others.
BUNDLED = ("preact", "uplot")
MOST_BYTES = 120_000
"""Of all built files, compressed."""
_WITHIN = 300


def install() -> None:
    """Install the locked npm packages where they are not there yet. Raises InstallError."""
    digest = hashlib.sha256((FOLDER / "package-lock.json").read_bytes()).hexdigest()[:16]
    complete = FOLDER / "node_modules" / f".complete-{digest}"
    if not complete.exists():
        print("installing the console's packages ...", flush=True)
        npm(FOLDER, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        shutil.rmtree(FOLDER / "npm-cache", ignore_errors=True)
        complete.touch()


def run(*arguments: str) -> None:
    """Run Node.js in the folder. Raises CalledProcessError."""
    environ = {**os.environ, "TZ": "UTC", "LC_ALL": "C", "NODE_ENV": "production"}
    subprocess.run((str(node_binary()), *arguments), cwd=FOLDER, env=environ, check=True, timeout=_WITHIN)


def build(into: Path) -> None:
    """Check the types and build all files into the folder, replacing what is there. Raises CalledProcessError."""
    run("node_modules/typescript/bin/tsc", "--noEmit")
    run("node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--outDir", str(into))
    (into / LICENCES).write_text("\n\n".join(map(licence, BUNDLED)))


def licence(package: str) -> str:
    """Return the licence of an installed package, under its name and version."""
    folder = FOLDER / "node_modules" / package
    version = json.loads((folder / "package.json").read_text())["version"]
    return f"{package} {version}\n\n{(folder / 'LICENSE').read_text().strip()}\n"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def compressed(files: dict[str, bytes]) -> int:
    """Return how many bytes the files have compressed, each for itself."""
    return sum(len(gzip.compress(content, 9)) for content in files.values())


def difference(built: dict[str, bytes], committed: dict[str, bytes]) -> list[str]:
    """Return the paths of files that are not the same in both."""
    return sorted(path for path in built.keys() | committed.keys() if built.get(path) != committed.get(path))


def main() -> int:
    """Build, or check what is committed; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the committed files are not what is built")
    check = parser.parse_args().check
    try:
        install()
        with tempfile.TemporaryDirectory() as name:
            into = Path(name) / "console" if check else BUILT
            build(into)
            run("--test", "test/*.test.ts")
            built = contents(into)
            if check and (others := difference(built, contents(BUILT))):
                print(f"transcoder/console is not what console/ builds ({', '.join(others)}); run `make console`")
                return 1
    except (InstallError, subprocess.SubprocessError) as failure:
        print(f"console: {failure}")
        return 1
    size = compressed(built)
    print(f"console: {len(built)} files, {size:,} bytes compressed of {MOST_BYTES:,}")
    return 0 if size < MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
