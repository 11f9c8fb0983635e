"""The options that say how to get at an object store, the same for every verb that takes a URL.

None of them is a secret: those come from the environment, from a profile, or from the file that --config names.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.storage.location import Access

__all__ = ["access_options"]

OPTIONS = ("endpoint", "region", "profile", "anonymous", "config")  # as `Access` calls them


def access_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it is called with `access`, which is None where none of them is given."""

    @wraps(command)
    def with_access(**options: Any) -> None:
        given = {name: options.pop(name) for name in OPTIONS}
        command(access=_access(given), **options)

    options = (
        click.option("--endpoint", help="URL of a server that speaks S3 (default: Amazon's)."),
        click.option("--region", help="Of the bucket."),
        click.option("--profile", help="A profile of ~/.aws (default: $AWS_PROFILE)."),
        click.option("--anonymous", is_flag=True, help="Do not sign requests: for public buckets."),
        click.option("--config", type=click.Path(), help="A JSON file with credentials and endpoint_url."),
    )
    wrapped: Callable[..., None] = with_access
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def _access(given: dict[str, Any]) -> Access | None:
    from penstock.storage.location import Access

    return Access(**given) if any(given.values()) else None
