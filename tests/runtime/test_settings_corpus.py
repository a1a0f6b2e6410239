"""Every mistake of tests/configs/broken is refused with key, value and fix; every file of tests/configs/good loads."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

import pytest

from runtime.config_errors import ConfigError
from runtime.settings import load_settings
from tests.each import each

CONFIGS = Path(__file__).parents[1] / "configs"
BROKEN = sorted((CONFIGS / "broken").glob("*.toml"))
GOOD = sorted((CONFIGS / "good").glob("*.toml"))


@dataclass
class Expectation:
    key: str = ""
    value: str = ""
    fix: str = ""
    environ: dict[str, str] = field(default_factory=dict)


def expectation(path: Path) -> Expectation:
    """Read the `# key:`, `# value:`, `# fix:` and `# env: NAME=value` comments at the head of a corpus file."""
    expected = Expectation()
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            break
        name, _, text = line.removeprefix("# ").partition(":")
        if name == "env":
            variable, _, value = text.strip().partition("=")
            expected.environ[variable] = value
        elif name in ("key", "value", "fix"):
            setattr(expected, name, text.strip())
    return expected


@each(BROKEN, name=attrgetter("stem"))
def test_broken_config_is_refused(path: Path) -> None:
    expected = expectation(path)
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ=expected.environ)
    error = caught.value
    assert error.key == expected.key
    if error.key != "config":
        assert error.value == expected.value
    assert expected.fix
    assert expected.fix in error.fix
    assert not error.others


@each(BROKEN, name=attrgetter("stem"))
def test_refusal_shows_no_secret(path: Path) -> None:
    expected = expectation(path)
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ=expected.environ)
    chain: list[BaseException] = [caught.value]
    while chain[-1].__context__ is not None and not chain[-1].__suppress_context__:
        chain.append(chain[-1].__context__)
    for error in chain:
        assert "SECRET" not in str(error)
        assert "SECRET" not in repr(error)


@each(GOOD, name=attrgetter("stem"))
def test_good_config_loads(path: Path) -> None:
    settings = load_settings(path, environ=expectation(path).environ)
    assert "SECRET" not in repr(settings)


def test_the_corpus_has_a_file_for_every_kind_of_mistake() -> None:
    assert len(BROKEN) >= 70
    assert len({expectation(path).key for path in BROKEN}) >= 35
