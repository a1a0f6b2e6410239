"""Tests stand where what they test stands: `tests/<folder>/test_<module>.py`, more as `test_<module>_<what>.py`.

Tests of one module that need fixtures of their own may have a folder of its name.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.conftest import LONG
from tests.distribution import TOGETHER
from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
# What goes over the whole tree, or is none of its folders: whole gateways, their faults, rules, data of tests.
APART = ("e2e", "faults", "house", "proto", "apps", "configs", "golden", "recordings", "vendors")
# What spans several modules of a folder, or what none of them is: by the noun that it is about.
NOUNS = {
    "cached": "what a family of chains keeps of its reads",
    "commands": "every command of the command line",
    "deployment": "all of `deploy/`, which holds no Python of ours",
    "observability": "the dashboard and the alerts, which are of two folders",
    "core": "the reads that every EVM chain answers, over all servicers",
    "endpoints": "several endpoints of one chain, some of which fail",
    "errors": "the error rules of a family, which stand in its `factory.py`",
    "every_operation": "all operations, generated from the descriptors",
    "families": "chains of all families in one call",
    "funds": "vault-d and tokenized-a, which share their feeds",
    "hostile_answers": "answers that are made to cost more than they are long, of every family",
    "judge": "a client that is not ours, on the local chain of a family",
    "lending_b": "both generations of lend-b",
    "parts": "the small parts of the transcoder",
    "reads": "all reads of a family, against its node",
    "vaults_and_staking": "pool-a's lending vaults and stake-a, which answer alike",
    "venues": "the stand-ins of all venues",
    "wrong_answers": "answers in good form to something else, over all reads of EVM chains",
}


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "tests"], cwd=ROOT, check=True, capture_output=True, text=True)
    paths = [Path(line).relative_to("tests") for line in listed.stdout.splitlines() if (ROOT / line).exists()]
    return [path for path in paths if path.name.startswith("test_") and path.parts[0] not in APART]


def is_about(stem: str, noun: str) -> bool:
    return stem == f"test_{noun}" or stem.startswith(f"test_{noun}_")


@each(files())
def test_a_file_is_called_by_what_stands_in_the_folder_of_the_same_name(path: Path) -> None:
    folder = ROOT / path.parent
    if folder.with_suffix(".py").exists():
        modules = {folder.name}
    else:
        assert folder.is_dir(), f"there is no folder {path.parent}"
        modules = {one.stem for one in folder.iterdir() if one.is_dir() or one.suffix == ".py"}
    assert any(is_about(path.stem, noun) for noun in modules | NOUNS.keys()), f"{path.parent} has no such module"


def test_every_noun_is_needed() -> None:
    idle = [noun for noun in NOUNS if not any(is_about(path.stem, noun) for path in files())]
    assert not idle


def test_files_that_the_order_of_tests_names_exist() -> None:
    missing = [path for path in (*TOGETHER, *LONG) if not (ROOT / path).exists()]
    assert not missing
