"""The page of published clients states what is locked, and its programs are those that `make faces` runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.faces import FACES, FOLDER, PAGE, examples

ROOT = Path(__file__).resolve().parents[2]
LOCKED = {
    **{
        name.removeprefix("node_modules/"): package["version"]
        for name, package in json.loads((FOLDER / "package-lock.json").read_text())["packages"].items()
    },
    **dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / "locks" / "dev.txt").read_text(), re.MULTILINE)),
}


def rows() -> dict[str, str]:
    """Return the version of each client by its package, as the page states it."""
    found = re.findall(r"^\| ([^|]+?) \| (\d[\d.]*) \|", PAGE.read_text(), re.MULTILINE)
    return {(re.findall(r"`([^`]+)`", name) or [name])[0]: version for name, version in found}


def test_every_client_that_is_driven_stands_on_the_page_in_the_version_that_is_locked() -> None:
    assert rows() == {face.package: LOCKED[face.package] for face in FACES}


def test_every_file_that_drives_a_client_is_run() -> None:
    written = {path.name for path in FOLDER.glob("*_*.*") if path.suffix in {".mjs", ".py"} and path.name[0] != "_"}
    assert written == {file for face in FACES for file in face.files}


def test_every_client_has_an_example() -> None:
    programs = "\n".join(program for _, program in examples(PAGE.read_text()))
    for face in FACES:
        assert re.search(rf"from [\"']?{re.escape(face.package)}[\"']?[ .;]", programs), face.package


def test_an_example_is_a_block_of_a_language_with_the_address() -> None:
    page = (
        "```js\nawait fetch('http://127.0.0.1:8080/local');\n```\n"
        "```python\nprint(1)\n```\n```\nhttp://127.0.0.1:8080\n```\n"
    )
    assert examples(page) == [("js", "await fetch('http://127.0.0.1:8080/local');\n")]
