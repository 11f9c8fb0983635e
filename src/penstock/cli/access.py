"""How to get at an object store: the options that all verbs share."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["access_options"]

OPTIONS = (
    click.option("--endpoint", help="URL of a server that speaks S3, where that is not Amazon's."),
    click.option("--region", help="Of the object store."),
    click.option("--profile", help="Of ~/.aws/credentials and ~/.aws/config."),
    click.option("--anonymous", is_flag=True, help="Sign no request: for public buckets."),
    click.option("--config", type=click.Path(), help="A JSON file with keys and endpoint of an object store."),
)


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how to get at an object store, as one argument `access`."""

    @wraps(command)
    def with_access(**given: Any) -> Any:
        from penstock.storage.location import Access

        names = ("endpoint", "region", "profile", "anonymous", "config")
        said = {name: value for name in names if (value := given.pop(name))}
        return command(access=Access(**said) if said else None, **given)

    for option in reversed(OPTIONS):
        with_access = option(with_access)
    return with_access
