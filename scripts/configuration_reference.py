"""Writes docs/configuration.md from the descriptions of the settings.

`python -m scripts.configuration_reference` rewrites the page; with `--check` it changes nothing and exits with 1 when
the page is not current.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic_core import PydanticUndefined

from runtime.settings import ChainSettings, EndpointSettings, RouteSettings, Settings, SourceSettings
from runtime.settings.loading import SHORT, variable_of
from runtime.settings.values import parse_duration, parse_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import FieldInfo

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

HEAD = """\
# Configuration

Waypost starts with no configuration at all: it then reads every chain from its public endpoints. What differs is
written in a TOML file, in environment variables, or both. `./waypost check --config waypost.toml` validates it and says
what each chain will use; a mistake is refused at the start with the key, the value and the fix. All commands:
[cli.md](cli.md).

1. Command-line options (`--network`, `--http-port`, `--grpc-port`, `--workers`, `--grpc-target`) win over
2. environment variables: `WAYPOST_<SECTION>__<KEY>`, for example `WAYPOST_LOG__LEVEL=debug`; they win over
3. the file that `--config` or `WAYPOST_CONFIG` names; it wins over the defaults below.

Lists may be written in a variable as comma-separated text or as JSON, tables as JSON
(`WAYPOST_CHAINS__BASE__ENDPOINTS='[{"label": "own", "url": "http://10.0.0.5:8545"}]'`). An empty variable counts as
unset. Durations are text such as `"250ms"`, `"30s"`, `"5m"`, or a number of seconds.

Secrets (endpoint URLs, credentials) are better kept out of the file: every one of them has a `_env` member, which names
an environment variable, and a `_file` member, which names a file. None is ever logged or shown; endpoints are known by
their labels.

```toml
[http]
host = "0.0.0.0"
trusted_proxies = ["10.0.0.0/8"]

[quotas]
default_rate = 20

[chains.ethereum]
endpoints = [
    { label = "own", url = "http://10.0.0.5:8545", weight = 3 },
    { label = "provider", url_env = "PROVIDER_URL", rate = 25 },
]
```

Where the way out is an HTTP proxy, or nodes stand behind certificates of a private authority, `[outbound]` says so for
all endpoints and an endpoint for itself:

```toml
[outbound]
proxy_env = "PROXY_URL"

[[chains.base.endpoints]]
label = "own"
url = "https://node.internal.example.org"
proxy = "direct"
ca = "/etc/waypost/authority.pem"
client_certificate = "/etc/waypost/gateway.pem"
client_key_file = "/etc/waypost/gateway.key"
```
"""

_SPECIAL = {"storage.url": "a file of the profile's own"}


def render() -> str:
    """Return the whole page."""
    lines = [HEAD, "## Top level", "", *_table(Settings, "", skip_tables=True)]
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, BaseModel):
            lines += ["", f"## `[{name}]`", "", field.description or "", "", *_table(section, f"{name}.")]
            for inner, part in section.model_fields.items():
                if isinstance(part.annotation, type) and issubclass(part.annotation, BaseModel):
                    table = _table(part.annotation, f"{name}.{inner}.")
                    lines += ["", f"### `[{name}.{inner}]`", "", part.description or "", "", *table]
    sources = Settings.model_fields["sources"].description or ""
    lines += ["", "## `[sources.<name>]`", "", sources, "", *_table(SourceSettings, "sources.<name>.")]
    chains = Settings.model_fields["chains"].description or ""
    lines += ["", "## `[chains.<slug>]`", "", chains, "", *_table(ChainSettings, "chains.<slug>.")]
    lines += ["", "### An endpoint", "", *_table(EndpointSettings, "", variables=False)]
    return "\n".join(lines) + "\n"


def _table(model: type[BaseModel], prefix: str, *, skip_tables: bool = False, variables: bool = True) -> Iterator[str]:
    yield f"| key | type | default |{' variable |' if variables else ''} meaning |"
    yield f"|---|---|---|{'---|' if variables else ''}---|"
    # Of an endpoint first what it is, then how it is reached.
    route = {} if model is RouteSettings else RouteSettings.model_fields
    for name, field in sorted(model.model_fields.items(), key=lambda item: item[0] in route):
        # Sections have tables of their own, as have chains and sources.
        if _is_section(field.annotation) or (skip_tables and get_origin(field.annotation) is dict):
            continue
        key = f"{prefix}{name}"
        short = [variable for variable, meant in SHORT.items() if meant == key]
        variable = f" {', '.join(f'`{text}`' for text in [*short, variable_of(key)])} |" if variables else ""
        yield (f"| `{name}` | {_type(field)} | {_default(key, field)} |{variable} {_cell(field.description or '')} |")


def _is_section(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _type(field: FieldInfo) -> str:
    text = _type_of(field.annotation)
    if any(getattr(rule, "func", None) is parse_duration for rule in field.metadata):
        return "duration"
    low = next((bound.ge for bound in field.metadata if hasattr(bound, "ge")), None)
    high = next((bound.le for bound in field.metadata if hasattr(bound, "le")), None)
    if low is not None and high is not None:
        bounds = f"{text}, {low:g} to {high:,}"
        takes_auto = any(getattr(rule, "func", None) is parse_workers for rule in field.metadata)
        return f"{bounds}, or `auto`" if takes_auto else bounds
    return text


def _type_of(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of(inner[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inner)
    if origin in (Union, UnionType):
        return _type_of(next(option for option in inner if option is not type(None)))
    if origin is tuple:
        return f"list of {_PLURALS[_type_of(inner[0])]}"
    if origin is dict:
        return "table"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    return _TYPES[annotation]


_TYPES = {str: "text", Path: "path", int: "integer", float: "number", bool: "true or false", SecretStr: "secret text"}
_PLURALS = {"text": "texts", "table": "tables", "integer": "integers"}


def _default(key: str, field: FieldInfo) -> str:
    if key in _SPECIAL:
        return _SPECIAL[key]
    if field.is_required() or (key == "url" and field.default == SecretStr("")):
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.get_default(call_default_factory=True)
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple) and value:
        return f"`[{', '.join(json.dumps(element) for element in value)}]`"
    if isinstance(value, tuple | dict):
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main(check: bool) -> int:
    """Write or check the page; return the exit code."""
    page = render()
    if check:
        return 0 if PAGE.is_file() and PAGE.read_text() == page else 1
    PAGE.write_text(page)
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
