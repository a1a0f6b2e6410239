"""Files hold one concept: 400 lines at most, no drawer names, no machine paths, no unfinished work."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 400
STUBS = [ROOT / "clients" / "python" / "waypost" / part for part in ("v1", "options")]
DRAWERS = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplemented" + "Error")


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def hand_written() -> list[Path]:
    written = [path for path in tracked("*.py", "*.proto", "*.vy") if "generated" not in path.relative_to(ROOT).parts]
    return [path for path in written if not any(path.is_relative_to(stubs) for stubs in STUBS)]


@each(hand_written())
def test_a_file_is_short_named_for_its_concept_and_finished(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= LIMIT, f"{path.name} has {text.count(chr(10))} lines"
    assert path.suffix == ".proto" or path.stem not in DRAWERS
    assert not UNFINISHED.search(text) or path == Path(__file__), UNFINISHED.search(text)


def test_no_tracked_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    parent = str(ROOT.parent) + "/"
    if len(ROOT.parent.parts) < 3:
        return  # a clone in / or /tmp: too common a beginning to tell anything
    offenders = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix not in {".binpb", ".png"} and parent in path.read_text(errors="ignore")
    ]
    assert not offenders, offenders


def test_lock_files_record_hashes_and_no_download_addresses() -> None:
    for path in (*tracked("locks/*.txt"), *tracked("*requirements.txt")):
        text = path.read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text, path.name
    for path in tracked("*package-lock.json"):
        assert '"resolved"' not in path.read_text(), path.name
        assert '"integrity": "sha512-' in path.read_text(), path.name
