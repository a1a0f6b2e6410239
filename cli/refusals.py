"""Configuration mistakes as the operator sees them: key, value, where it came from, and the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.config_errors import ConfigError

if TYPE_CHECKING:
    from typing import TextIO

    from runtime.settings import Settings


def print_config_error(error: ConfigError, stream: TextIO) -> None:
    """Print every mistake of the configuration, two lines each."""
    for mistake in error.every():
        stated = f"{mistake.key} = {mistake.value}" if mistake.value else mistake.key
        origin = f"  (from {mistake.origin})" if mistake.origin else ""
        print(f"config error: {stated}{origin}\n         fix: {mistake.fix}", file=stream)


def storage_refusal(error: BaseException, settings: Settings) -> ConfigError:
    """Return the mistake behind a database that cannot be opened; the URL may hold a password and stays hidden."""
    # Imported here: most commands open no database, and SQLAlchemy is half of what they would import.
    from server.storage.failures import describe_database, explain_failure

    url = settings.storage.url.get_secret_value()
    cause, fix = explain_failure(error, url)
    stated = f"the {settings.profile} database ({describe_database(url)}) cannot be used: {cause}; {fix}"
    return ConfigError("storage.url", "(hidden)", stated)


def listen_refusal(error: OSError) -> ConfigError:
    """Return the mistake behind a gRPC address that cannot be bound; the error's text is `setting: what is wrong`."""
    setting, _, wrong = str(error).partition(": ")
    return ConfigError(setting, "", f"{wrong} Choose another (--grpc-port).")


def http_refusal(host: str, port: int, error: OSError) -> ConfigError:
    """Return the mistake behind an address that the JSON-RPC face cannot bind."""
    fix = f"the JSON-RPC face cannot listen there ({error.strerror}): choose another (--http-port)"
    return ConfigError("http.port", f"{host}:{port}", fix)


def metrics_refusal(listen: str, error: OSError) -> ConfigError:
    """Return the mistake behind an address that metrics cannot be served on."""
    return ConfigError("metrics.listen", listen, f"metrics cannot be served there ({error.strerror}): choose another")
