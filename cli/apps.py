"""`waypost apps`: the marketplace's apps, built in and your own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.options import add_config, add_json, read_settings
from cli.terminal import fail, table
from runtime.config_errors import nearest
from server.catalog.data_file import FilesRefused
from server.chains.facts import load_facts
from server.marketplace.design import design_app
from server.marketplace.folders import load_catalogue, open_catalogue
from server.marketplace.proto_files import proto_text

if TYPE_CHECKING:
    import argparse

    from runtime.settings import Settings
    from server.marketplace.catalogue import App, Catalogue


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `waypost apps`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the published apps")
    check = actions.add_parser("check", help="validate a directory of apps")
    check.add_argument("directory", metavar="DIR", type=Path, help="directory with a folder for each app")
    proto = actions.add_parser("proto", help="print the .proto file of an app, for typed stubs")
    proto.add_argument("app_id", metavar="APPID", help="the app, for example erc20")
    for action in (listing, proto):
        add_config(action)
    for action in (listing, check):
        add_json(action)


def run(arguments: argparse.Namespace) -> int:
    """Run the action; the exit code is 1 when it was refused."""
    if arguments.action == "check":
        return _check(arguments.directory, as_json=arguments.json)
    catalogue = configured_catalogue(read_settings(arguments))
    if arguments.action == "proto":
        return _print_proto(catalogue, arguments.app_id)
    _print_apps(catalogue, list(catalogue.apps.values()), as_json=arguments.json)
    return 0


def configured_catalogue(settings: Settings) -> Catalogue:
    """Return the catalogue that the gateway publishes with these settings. Raises ConfigError."""
    return open_catalogue(settings, _evm_chains())


def _check(directory: Path, *, as_json: bool) -> int:
    built_in = load_catalogue(_evm_chains()).apps
    try:
        catalogue = load_catalogue(_evm_chains(), directory)
    except FilesRefused as refused:
        if as_json:
            rows = [{"file": one.file, "entry": one.entry, "fix": one.fix} for one in refused.mistakes]
            print(json.dumps({"mistakes": rows}, indent=2))
            return 1
        for mistake in refused.mistakes:
            fail(str(mistake), as_json=False)
        return 1
    apps = [app for app in catalogue.apps.values() if app.app_id not in built_in]
    if not apps and not as_json:
        print(f"{directory} holds no apps: each is a folder with an app.toml")
    _print_apps(catalogue, apps, as_json=as_json)
    return 0


def _print_proto(catalogue: Catalogue, app_id: str) -> int:
    app = catalogue.apps.get(app_id)
    if app is None:
        near = nearest(app_id, catalogue.apps)
        hint = f"did you mean {near}?" if near else f"apps are: {', '.join(catalogue.apps)}"
        return fail(f"no app with the appId {app_id} is published; {hint}", as_json=False)
    print(proto_text(design_app(app, catalogue)), end="")
    return 0


def _print_apps(catalogue: Catalogue, apps: list[App], *, as_json: bool) -> None:
    rows = [_describe(app, catalogue) for app in apps]
    if as_json:
        print(json.dumps({"apps": rows}, indent=2))
        return
    cells = [
        (
            row["appId"],
            str(row["methods"]),
            "template" if row["isTemplate"] else f"{row['deployments']} deployed",
            row["name"],
        )
        for row in rows
    ]
    overloaded = [
        [f"{name} is overloaded: calling it answers 400 OVERLOADED" for name in row["overloaded"]] for row in rows
    ]
    if rows:
        print(table(("app", "methods", "kind", "name"), cells, right={1}, details=overloaded, bare=True))


def _describe(app: App, catalogue: Catalogue) -> dict[str, Any]:
    """Return an app's row: appId, name, isTemplate, number of deployments and methods, overloaded methods' names."""
    methods = [catalogue.methods[name] for deployment in app.deployments for name in deployment.methods]
    return {
        "appId": app.app_id,
        "name": app.name,
        "isTemplate": app.is_template,
        "deployments": len(app.deployments),
        "methods": len(methods),
        "overloaded": [method.name for method in methods if method.is_overloaded],
    }


def _evm_chains() -> list[str]:
    return [slug for slug, facts in load_facts().items() if facts.family == "evm"]
