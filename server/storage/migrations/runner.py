"""Brings a database to the newest revision."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, insert, select
from sqlalchemy.exc import OperationalError

from server.storage.tables import metadata, properties

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

# Of the database's lock for migrations: any number that nothing else uses there.
_LOCK = 0x77617970

# Databases from before this revision do not name their profile; mainnet's processes used them by default.
_FIRST_MARKED = "0003"
_UNMARKED_PROFILE = "mainnet"


class WrongProfile(Exception):
    """The database belongs to another profile than the process. `owner` and `profile` name the two."""

    def __init__(self, owner: str, profile: str) -> None:
        super().__init__(f"the database belongs to {owner}, this process to {profile}")
        self.owner = owner
        self.profile = profile


async def upgrade(engine: AsyncEngine, profile: str | None, *, lock_seconds: float) -> None:
    """Apply the migrations that the database lacks, in one transaction; processes that start together take turns.

    A new database becomes the profile's, one from before profiles were recorded becomes mainnet's. With profile None
    neither is looked at. Raises WrongProfile, and then nothing of the database is changed.
    """
    async with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            # Takes the write lock first, so that a second process waits here and then finds the work done.
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                await connection.run_sync(_apply, profile)
            except BaseException:
                # SQLite may have done so itself, where the disk is full.
                with suppress(OperationalError):
                    await connection.exec_driver_sql("ROLLBACK")
                raise
            await connection.exec_driver_sql("COMMIT")
        else:
            await connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(lock_seconds * 1000)}")
            # Held until the commit: a second process waits here and then finds the work done.
            await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            await connection.run_sync(_apply, profile)
            await connection.commit()


def _apply(connection: Connection, profile: str | None) -> None:
    before = MigrationContext.configure(connection).get_current_revision()
    apply_revisions(connection, "head")
    _claim(connection, before, profile)


def apply_revisions(connection: Connection, target: str) -> None:
    """Bring the schema up to a revision (`head`: the newest), in the connection's transaction."""
    config, script = _scripts()
    with EnvironmentContext(
        config, script, fn=lambda revision, _: script._upgrade_revs(target, revision)
    ) as environment:
        environment.configure(connection=connection, target_metadata=metadata)
        environment.run_migrations()


@cache
def _scripts() -> tuple[Config, ScriptDirectory]:
    """Return the revisions, which are files of this folder: read once."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)


def _claim(connection: Connection, before: str | None, profile: str | None) -> None:
    """Record the database's profile, where none is recorded yet. Raises WrongProfile when it is another profile's."""
    of_profile = properties.c.name == "profile"
    owner = connection.execute(select(properties.c.value).where(of_profile)).scalar_one_or_none()
    if owner is None:
        owner = _UNMARKED_PROFILE if before is not None and before < _FIRST_MARKED else profile
        if owner is not None:
            connection.execute(insert(properties).values(name="profile", value=owner))
    if profile is not None and owner != profile:
        raise WrongProfile(str(owner), profile)
