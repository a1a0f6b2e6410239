"""All published apps and methods by name: the built-in ones, and an operator's own beside them."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.nearest import nearest
from server.catalog.apps.reading import TABLE, FolderReader
from server.catalog.mistakes import FileMistake, FilesRefused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from server.catalog.apps.published import App, PublishedMethod

_BUILT_IN = Path(__file__).parent
_MOST_COMPARED = 400


class Catalogue:
    """The published apps by appId, sorted, and their methods by published name, sorted.

    `chains` are the slugs of the EVM chains, where templates can be called.
    """

    def __init__(self, apps: Iterable[App], methods: Iterable[PublishedMethod], chains: Iterable[str]) -> None:
        self.chains = frozenset(chains)
        self.apps: Mapping[str, App] = {app.app_id: app for app in sorted(apps, key=lambda app: app.app_id)}
        self.methods: Mapping[str, PublishedMethod] = {
            method.name: method for method in sorted(methods, key=lambda method: method.name)
        }
        self._by_lower = {name.lower(): name for name in self.methods}
        self._lower = sorted(self._by_lower)

    def nearest(self, name: str) -> str | None:
        """Return the published name most like `name`, whatever its casing; None when none is near."""
        # Of many names, those that stand about where the wanted one would.
        middle = bisect_left(self._lower, name.lower())
        near = nearest(name, self._lower[max(0, middle - _MOST_COMPARED // 2) :][:_MOST_COMPARED])
        return self._by_lower[near] if near else None


def load_catalogue(chains: Collection[str], directory: Path | None = None) -> Catalogue:
    """Return the built-in apps together with those of an operator's directory.

    `chains` are the slugs of the EVM chains. Raises FilesRefused with every mistake; an operator's appId that is taken
    by a built-in app is one.
    """
    reader = FolderReader(chains)
    folders = sorted(path.parent for path in _BUILT_IN.glob(f"*/{TABLE}"))
    if directory is not None:
        folders += _operators_folders(directory, reader.mistakes)
    apps: dict[str, App] = {}
    methods: dict[str, PublishedMethod] = {}
    for folder in folders:
        read = reader.read(folder)
        if read is None:
            continue
        app, published = read
        if app.app_id in apps:
            fix = "an app of this appId is published already: rename the folder"
            reader.mistakes.append(FileMistake(f"{folder.name}/{TABLE}", "", fix))
            continue
        apps[app.app_id] = app
        for method in published:
            if method.name in methods:
                fix = f"the method {method.name} is published already by {methods[method.name].app.app_id}"
                reader.mistakes.append(FileMistake(f"{folder.name}/{TABLE}", "", fix))
            methods[method.name] = method
    if reader.mistakes:
        raise FilesRefused(reader.mistakes)
    return Catalogue(apps.values(), methods.values(), chains)


def _operators_folders(directory: Path, mistakes: list[FileMistake]) -> list[Path]:
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        mistakes.append(FileMistake(directory.name, "", "there is no such directory, or it cannot be read"))
        return []
    return [path for path in entries if path.is_dir() and not path.name.startswith((".", "_"))]
