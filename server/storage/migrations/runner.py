"""Brings a database to the newest revision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory
from sqlalchemy import func, select

from server.storage.tables import metadata

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

# Of the database's lock for migrations: any number that nobody else uses there.
_LOCK = 0x77617970


async def upgrade(engine: AsyncEngine) -> None:
    """Apply the migrations that the database lacks, in one transaction; processes that start together take turns."""
    async with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            # Takes the write lock first, so that a second process waits here and then finds the work done.
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                await connection.run_sync(_apply)
            except BaseException:
                await connection.exec_driver_sql("ROLLBACK")
                raise
            await connection.exec_driver_sql("COMMIT")
        else:
            # Held until the commit: a second process waits here and then finds the work done.
            await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            await connection.run_sync(_apply)
            await connection.commit()


def _apply(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    script = ScriptDirectory.from_config(config)
    with EnvironmentContext(
        config, script, fn=lambda revision, _: script._upgrade_revs("head", revision)
    ) as environment:
        environment.configure(connection=connection, target_metadata=metadata)
        environment.run_migrations()
