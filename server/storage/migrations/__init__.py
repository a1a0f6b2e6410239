"""Migrations, applied by the program itself: no tool is run by hand."""

from server.storage.migrations.runner import NewerDatabase, WrongProfile, inspect_revision, upgrade

__all__ = ["NewerDatabase", "WrongProfile", "inspect_revision", "upgrade"]
