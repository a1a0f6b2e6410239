"""The network calendar: what is known, its order and filters, and how mistakes in an operator's files are reported."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from runtime.config_errors import ConfigError
from runtime.settings import Settings
from server.catalog.calendar import DATA, Announcement, Calendar, open_calendar, read_calendar
from server.chains.facts import load_facts

CHAINS = tuple(load_facts())
BROKEN = sorted((Path(__file__).parent / "broken_calendar").glob("*.toml"))
KNOWN = read_calendar(CHAINS)


def reported(chain: str, name: str) -> Announcement:
    [found] = [one for one in KNOWN.select(chain) if one.name == name]
    return found


def test_what_is_known_is_known_with_its_block_and_time() -> None:
    london, fusaka = reported("ethereum", "London"), reported("ethereum", "Fusaka")
    assert (london.at, london.block_height) == (datetime(2021, 8, 5, 12, 33, 42, tzinfo=UTC), 12_965_000)
    assert (fusaka.at, fusaka.block_height) == (datetime.fromtimestamp(1764798551, UTC), None)
    segwit, glamsterdam = reported("bitcoin", "Segregated witness"), reported("ethereum", "Glamsterdam")
    assert (segwit.at, segwit.block_height) == (None, 481_824)
    assert (glamsterdam.at, glamsterdam.block_height) == (None, None)
    assert reported("avalanche", "Helicon").at == datetime(2026, 9, 22, 15, tzinfo=UTC)
    assert reported("starknet", "Starknet 0.14.1").at == datetime(2025, 12, 10, tzinfo=UTC)
    aquila, chicago = reported("plasma", "Aquila"), reported("polygon", "Chicago")
    assert (aquila.at, aquila.block_height) == (None, 33_300_000)
    assert (chicago.at, chicago.block_height) == (datetime(2026, 5, 21, 14, tzinfo=UTC), 87_218_600)
    assert reported("hyperliquid", "HyperEVM").at == datetime(2025, 2, 18, tzinfo=UTC)
    assert reported("optimism", "Karst").at == datetime(2026, 7, 8, 16, 0, 1, tzinfo=UTC)


def test_announcements_come_oldest_first_and_those_without_a_time_last() -> None:
    times = [one.at for one in KNOWN.announcements]
    dated = [at for at in times if at is not None]
    assert dated == sorted(dated) == times[: len(dated)]
    undated = KNOWN.announcements[len(dated) :]
    assert [one.at for one in undated] == [None] * len(undated)
    places = [(CHAINS.index(one.chain), one.block_height or float("inf")) for one in undated]
    assert places == sorted(places)


def test_every_entry_says_where_it_is_announced() -> None:
    assert len(KNOWN.announcements) > 250
    assert {one.chain for one in KNOWN.announcements} == set(CHAINS)
    for one in KNOWN.announcements:
        assert one.url.startswith("https://")
        assert one.description.endswith(".")


@pytest.mark.parametrize("path", sorted(DATA.glob("*.toml")), ids=lambda path: path.stem)
def test_every_file_names_its_sources(path: Path) -> None:
    head, _, _ = path.read_text().partition("\nreviewed = ")
    assert head.startswith("# ")
    assert "commit " in head or "version of " in head


def test_filters_combine() -> None:
    everything = list(KNOWN.announcements)
    assert KNOWN.select() == everything
    assert KNOWN.select("base") == [one for one in everything if one.chain == "base"]
    assert {one.kind for one in KNOWN.select(kind="release")} == {"release"}
    day = date(2024, 3, 13)
    [dencun] = KNOWN.select("ethereum", "upgrade", day, day)
    assert dencun.name == "Dencun"
    before, after = KNOWN.select(last=day), KNOWN.select(first=date(2024, 3, 14))
    dated = [one for one in everything if one.at is not None]
    assert before + after == dated
    assert KNOWN.select("osmosis", first=date(2000, 1, 1)) == []


def test_a_day_is_one_of_utc() -> None:
    late = Announcement("base", "upgrade", "Late", "A test.", datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC), None, "")
    calendar = Calendar([late], CHAINS)
    assert calendar.select(first=date(2026, 1, 1), last=date(2026, 1, 1)) == [late]
    assert calendar.select(first=date(2026, 1, 2)) == []


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_file_is_refused_with_file_entry_and_fix(path: Path, tmp_path: Path) -> None:
    """The head of each file says which entry is refused and with which words."""
    entry, _, words = path.read_text().splitlines()[0].removeprefix("# ").partition(": ")
    name = "nowhere.toml" if path.stem == "unknown_chain" else "base.toml"
    (tmp_path / name).write_bytes(path.read_bytes())
    with pytest.raises(ConfigError) as refused:
        open_calendar(settings(tmp_path), CHAINS)
    [mistake] = refused.value.every()
    assert mistake.key == "calendar.entries"
    assert mistake.fix.startswith(f"{name}: " if entry == "file" else f"{name}: {entry}: ")
    assert words in mistake.fix


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder of that name"):
        open_calendar(settings(tmp_path / "nothing"), CHAINS)


def test_an_operators_own_entries_are_reported_and_take_the_place_of_built_in_ones(tmp_path: Path) -> None:
    (tmp_path / "hyperliquid.toml").write_text(RIGHT)
    (tmp_path / "ethereum.toml").write_text(RIGHT.replace("Own upgrade", "Fusaka"))
    calendar = open_calendar(settings(tmp_path), CHAINS)
    assert len(calendar.announcements) == len(KNOWN.announcements) + 1
    [own] = [one for one in calendar.select("hyperliquid") if one.name == "Own upgrade"]
    assert own.at == datetime(2027, 1, 31, 15, 30, tzinfo=UTC)  # told in UTC
    [fusaka] = [one for one in calendar.select("ethereum") if one.name == "Fusaka"]
    assert fusaka.url == "https://own.example/plan"


def test_without_a_folder_the_built_in_calendar_is_reported() -> None:
    assert open_calendar(Settings(), CHAINS).announcements == KNOWN.announcements


def settings(folder: Path) -> Settings:
    return Settings.model_validate({"calendar": {"entries": str(folder)}})


RIGHT = """
reviewed = 2026-11-20
[[entries]]
kind = "upgrade"
name = "Own upgrade"
description = "What changes."
at = 2027-01-31T16:30:00+01:00
url = "https://own.example/plan"
"""
