"""Addresses that people copy out of documents and comments are whole and checksummed."""

from __future__ import annotations

import re
from pathlib import Path

from eth_utils.address import to_checksum_address

ROOT = Path(__file__).parents[2]
# As long as an address, or a digit or three off; neither hashes nor selectors.
_NEARLY = re.compile(r"(?<![0-9a-zA-Z])0x[0-9a-fA-F]{37,43}(?![0-9a-zA-Z])")


def test_evm_addresses_in_documents() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "proto").rglob("*.proto")]
    found = [(page, text) for page in pages for text in _NEARLY.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 5
    for page, text in found:
        assert len(text) == 42, (page.name, text)
        assert text == to_checksum_address(text), (page.name, text)
