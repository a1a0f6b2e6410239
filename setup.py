"""Lays the tree into the wheel's one package, as `waypost_gateway/tree`; pyproject.toml has all else."""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# Folders of the tree, and what they are called in the wheel.
PARTS = {
    "runtime": "runtime",
    "server": "server",
    "transcoder": "transcoder",
    "cli": "cli",
    "devnet": "devnet",
    "clients/python/waypost": "waypost",
    "generated/waypost_internal": "waypost_internal",
}
FILES = {"generated/descriptors.binpb": "descriptors.binpb"}
UNWANTED = ("__pycache__", "*.pyc", "*.md", "node_modules")


class BuildTree(build_py):
    """Also copies the tree; an editable installation runs that of the checkout."""

    def run(self) -> None:
        """Build the package."""
        super().run()
        if self.editable_mode:
            return
        root, tree = Path(__file__).resolve().parent, Path(self.build_lib, "waypost_gateway", "tree")
        shutil.rmtree(tree, ignore_errors=True)  # what an earlier build left and the sources no longer have
        tree.mkdir(parents=True)
        for part, name in PARTS.items():
            shutil.copytree(root / part, tree / name, ignore=shutil.ignore_patterns(*UNWANTED))
        for file, name in FILES.items():
            shutil.copy(root / file, tree / name)
        for path in Path(self.build_lib).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)


if __name__ == "__main__":
    # Of two builds from the same sources each byte is the same.
    os.environ.setdefault("SOURCE_DATE_EPOCH", "315532800")
    os.umask(0o022)
    setup(cmdclass={"build_py": BuildTree})
