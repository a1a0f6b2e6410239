"""Migrations, applied by the program itself: no tool is run by hand."""

from server.storage.migrations.runner import NewerDatabase, WrongProfile, upgrade

__all__ = ["NewerDatabase", "WrongProfile", "upgrade"]
