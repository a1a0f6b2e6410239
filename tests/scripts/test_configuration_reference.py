"""docs/configuration.md says what the settings say."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import BaseModel

from runtime.settings import ChainSettings, EndpointSettings, Settings, load_settings
from scripts.configuration_reference import PAGE, main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_is_current() -> None:
    assert main(check=True) == 0, "run `python -m scripts.configuration_reference`"


def test_every_setting_has_a_description() -> None:
    models: list[type[BaseModel]] = [Settings, ChainSettings, EndpointSettings]
    for field in Settings.model_fields.values():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            models.append(field.annotation)
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"


def test_the_example_is_a_valid_configuration(tmp_path: Path) -> None:
    example = PAGE.read_text().partition("```toml\n")[2].partition("```")[0]
    assert tomllib.loads(example)
    path = tmp_path / "waypost.toml"
    path.write_text(example)
    settings = load_settings(path, environ={"PROVIDER_URL": "https://node.example.org"})
    assert [endpoint.label for endpoint in settings.chains["ethereum"].endpoints] == ["own", "provider"]
