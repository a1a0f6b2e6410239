"""Brings a database to the newest revision."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, inspect, select, text, update
from sqlalchemy.exc import OperationalError

from server.storage.tables import metadata, properties

if TYPE_CHECKING:
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

# Of the database's lock for migrations: any number that nothing else uses there.
_LOCK = 0x77617970

# Databases from before this revision do not name their profile; mainnet's processes used them by default.
_FIRST_MARKED = "0003"
_UNMARKED_PROFILE = "mainnet"

# Where Alembic records the revision of a database.
_VERSIONS = "alembic_version"
# The property that names the oldest revision whose processes may go on using the database as it is.
_COMPATIBLE = "compatible_with"


class NewerDatabase(Exception):
    """A newer Waypost has changed the database in a way that the process does not support.

    `found` is the database's revision, `known` the newest one of the process.
    """

    def __init__(self, found: str, known: str) -> None:
        super().__init__(f"the database is of revision {found}, this process knows revisions up to {known}")
        self.found = found
        self.known = known


class WrongProfile(Exception):
    """The database belongs to another profile than the process. `owner` and `profile` name the two."""

    def __init__(self, owner: str, profile: str) -> None:
        super().__init__(f"the database belongs to {owner}, this process to {profile}")
        self.owner = owner
        self.profile = profile


async def upgrade(engine: AsyncEngine, profile: str | None, *, lock_seconds: float) -> None:
    """Apply the migrations that the database lacks, in one transaction; processes that start together take turns.

    A new database becomes the profile's, one from before profiles were recorded becomes mainnet's. With profile None
    neither is looked at. A database of a newer revision stays as it is, where that one is marked compatible with a
    revision of this process. Raises NewerDatabase where it is not, and WrongProfile; then nothing is changed.
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
    before = _revision(connection)
    if before != _newest_revision() or _recorded(connection, _COMPATIBLE) is None:
        _, script = _scripts()
        known = {revision.revision for revision in script.walk_revisions()}
        if before is None or before in known:
            apply_revisions(connection, "head")
            _record(connection, _COMPATIBLE, compatible_with(script))
        elif _recorded(connection, _COMPATIBLE) not in known:
            raise NewerDatabase(before, str(script.get_current_head()))
    _claim(connection, before, profile)


def inspect_revision(connection: Connection, profile: str) -> str | None:
    """Return the database's revision, None of a new one; nothing is changed.

    Raises NewerDatabase and WrongProfile as `upgrade` does.
    """
    found = _revision(connection)
    if found is None:
        return None
    if found not in _known_revisions() and _recorded(connection, _COMPATIBLE) not in _known_revisions():
        raise NewerDatabase(found, _newest_revision())
    owner = _UNMARKED_PROFILE if found < _FIRST_MARKED else _recorded(connection, "profile")
    if owner not in (None, profile):
        raise WrongProfile(str(owner), profile)
    return found


def _revision(connection: Connection) -> str | None:
    """Return the revision of the database, None of a new one."""
    if not inspect(connection).has_table(_VERSIONS):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalar_one_or_none()
    return found


def _newest_revision() -> str:
    """Return the newest revision that this process knows, by the names of their files."""
    return max(_known_revisions())


def _known_revisions() -> set[str]:
    return {file.name[1:5] for file in Path(__file__).parent.glob("versions/v[0-9]*.py")}


def compatible_with(script: ScriptDirectory) -> str:
    """Return the oldest revision whose processes work on the newest schema.

    A revision that older processes cannot work with states `compatible_with`, the oldest one that still can; one that
    states nothing only adds, and serves all that its predecessor serves (tests/server/access/test_revisions.py).
    """
    for revision in script.walk_revisions():
        stated: str | None = getattr(revision.module, _COMPATIBLE, None)
        if stated is not None:
            return stated
    raise LookupError(f"no revision states {_COMPATIBLE}")


def apply_revisions(connection: Connection, target: str) -> None:
    """Bring the schema up to a revision (`head`: the newest), in the connection's transaction."""
    # Here, as below: a process that finds its database as it should be does without Alembic, which takes 3 to 11 MB.
    from alembic.runtime.environment import EnvironmentContext

    config, script = _scripts()
    with EnvironmentContext(
        config, script, fn=lambda revision, _: script._upgrade_revs(target, revision)
    ) as environment:
        environment.configure(connection=connection, target_metadata=metadata)
        environment.run_migrations()


@cache
def _scripts() -> tuple[Config, ScriptDirectory]:
    """Return the revisions, which are files of this folder: read once."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config, ScriptDirectory.from_config(config)


def _claim(connection: Connection, before: str | None, profile: str | None) -> None:
    """Record the database's profile, where none is recorded yet. Raises WrongProfile when it is another profile's."""
    owner = _recorded(connection, "profile")
    if owner is None:
        owner = _UNMARKED_PROFILE if before is not None and before < _FIRST_MARKED else profile
        if owner is not None:
            _record(connection, "profile", owner)
    if profile is not None and owner != profile:
        raise WrongProfile(str(owner), profile)


def _recorded(connection: Connection, name: str) -> str | None:
    """Return what `properties` holds under the name, None where it holds nothing."""
    wanted = select(properties.c.value).where(properties.c.name == name)
    value: str | None = connection.execute(wanted).scalar_one_or_none()
    return value


def _record(connection: Connection, name: str, value: str) -> None:
    """Have `properties` hold the value under the name; nothing is written where it does."""
    known = _recorded(connection, name)
    if known is None:
        connection.execute(insert(properties).values(name=name, value=value))
    elif known != value:
        connection.execute(update(properties).where(properties.c.name == name).values(value=value))
