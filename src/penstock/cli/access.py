"""Options that say how to get at an object store, for every verb that takes a URL."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["access_options"]

OPTIONS = (
    click.option("--endpoint", help="URL of a server that speaks S3, where that is not Amazon's."),
    click.option("--region", help="Of the bucket (default: from the environment)."),
    click.option("--profile", help="A profile of ~/.aws (default: $AWS_PROFILE)."),
    click.option("--anonymous", is_flag=True, help="Make unsigned requests: for public buckets."),
    click.option("--config", type=click.Path(), help="A JSON file with endpoint_url, keys, bucket_name, …."),
)


def access_options(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb these options, which reach it as `access`: None where none was given."""

    @wraps(verb)
    def with_access(**options: Any) -> Any:
        from penstock.storage.location import Access

        given = {name: options.pop(name) for name in ("endpoint", "region", "profile", "anonymous", "config")}
        return verb(**options, access=Access(**given) if any(given.values()) else None)

    for option in reversed(OPTIONS):
        with_access = option(with_access)
    return with_access
