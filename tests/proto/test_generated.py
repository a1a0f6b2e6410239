"""The committed stubs are those of proto/, the files are clean, and nothing released was broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).with_name("buf")
CLIENT = ROOT / "clients" / "python" / "waypost"
BASELINE = Path("proto/baseline/waypost.binpb")


def run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def committed(tree: Path) -> dict[Path, Path]:
    """Return the generated files of a tree by their names below it."""
    return {
        path.relative_to(tree): path
        for path in tree.rglob("*")
        if path.is_file() and path.suffix in {".py", ".pyi", ".binpb"} and path.name != "__init__.py"
    }


def test_committed_stubs_are_current(tmp_path: Path) -> None:
    protos = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("proto*/**/*.proto"))
    outputs = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    roots = [part for root in ("proto", "proto_internal", "third_party/googleapis") for part in ("-I", root)]
    run(sys.executable, "-m", "grpc_tools.protoc", *roots, *outputs, *protos)
    run(BUF, "build", "--as-file-descriptor-set", "-o", tmp_path / "descriptors.binpb")
    kept = committed(ROOT / "generated")
    for part in ("v1", "options"):
        kept |= {Path("waypost", part, name): path for name, path in committed(CLIENT / part).items()}
    fresh = committed(tmp_path)
    assert set(fresh) == set(kept), "run `make generate`"
    stale = [name for name, path in fresh.items() if path.read_bytes() != kept[name].read_bytes()]
    assert not stale, "run `make generate`"


@pytest.mark.parametrize(
    "command",
    [("lint",), ("format", "--diff", "--exit-code"), ("breaking", "proto", "--against", str(BASELINE))],
    ids=lambda command: command[0],
)
def test_buf_finds_nothing(command: tuple[str, ...]) -> None:
    run(BUF, *command)


def test_buf_sees_a_field_that_changes_its_type(tmp_path: Path) -> None:
    for path in (*ROOT.glob("proto*/**/*.proto"), *ROOT.glob("third_party/**/*.proto")):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text().replace("string balance_raw = 6", "int64 balance_raw = 6"))
    (tmp_path / "buf.yaml").write_text((ROOT / "buf.yaml").read_text())
    command = [str(BUF), "breaking", "proto", "--against", str(ROOT / BASELINE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert 'Field "6" with name "balance_raw"' in done.stdout + done.stderr


def test_files_are_short_enough_to_read() -> None:
    long = {path.name: len(path.read_text().splitlines()) for path in ROOT.glob("proto/**/*.proto")}
    assert not {name: lines for name, lines in long.items() if lines > 400}
