"""What can be said of the console without a browser: its built files are small, their own, and of what is locked."""

from __future__ import annotations

import json
import re

from scripts.console import BUILT, BUNDLED, FOLDER, LICENCES, MOST_BYTES, compressed, contents, difference

FILES = contents(BUILT)
INDEX = FILES["index.html"].decode()
# Names of vocabularies, which nothing loads.
_NAMES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xhtml"}
_MAKES_HTML = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\(|srcdoc|DOMParser"
)


def test_all_files_compressed_are_within_the_budget() -> None:
    assert 0 < compressed(FILES) < MOST_BYTES


def test_the_page_has_no_script_and_no_style_in_itself() -> None:
    assert re.findall(r"<script\b[^>]*>(.*?)</script>", INDEX, re.DOTALL) == [""]
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", INDEX, re.IGNORECASE)


def test_the_page_loads_its_own_files_alone() -> None:
    loaded = re.findall(r"\s(?:src|href)=\"([^\"]+)\"", INDEX)
    own = [address.removeprefix("./") for address in loaded if not address.startswith("data:")]
    assert own
    assert [name for name in own if name not in FILES] == []
    code = "\n".join(content.decode() for name, content in FILES.items() if name.endswith((".js", ".css")))
    assert set(re.findall(r"https?://[\w.-]+\.[a-z]{2,}[^\s\"'`<)]*", code)) <= _NAMES
    assert not re.search(r"@import|url\((?!['\"]?data:)", code)


def test_no_source_makes_html_or_code_of_text() -> None:
    sources = [path for path in (FOLDER / "src").rglob("*") if path.suffix in {".ts", ".tsx"}]
    assert sources
    assert [(path.name, found[0]) for path in sources if (found := _MAKES_HTML.search(path.read_text()))] == []


def test_licences_of_everything_that_is_built_in_are_listed() -> None:
    locked = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    assert set(json.loads((FOLDER / "package.json").read_text())["dependencies"]) == set(BUNDLED)
    listed = FILES[LICENCES].decode()
    for package in BUNDLED:
        assert f"{package} {locked[f'node_modules/{package}']['version']}\n" in listed
        assert "Permission is hereby granted" in listed


def test_a_file_that_is_not_what_is_built_is_named() -> None:
    assert difference({"a": b"1", "b": b"2"}, {"a": b"1", "b": b"3", "c": b""}) == ["b", "c"]
