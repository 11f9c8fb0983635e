"""Where data is, and how to get at it: a path of this machine, or a URL of an object store.

    photos.pen, /data/photos        a folder here
    s3://bucket/photos.pen          S3, and whatever speaks its language
    gs://bucket/…   az://container/…
    http(s)://host/photos.pen       a plain web server that answers requests for ranges

`Access` says what a URL does not: which endpoint, which region, as whom. It holds no secrets. They come from where the
tools of each store have them: environment variables, the instance's own identity, a profile of ~/.aws, or a JSON file
that `Access.config` names. They are read when a connection is made, and kept nowhere else.
"""

from __future__ import annotations

import configparser
import json
import os
from dataclasses import dataclass, field
from typing import Any, final
from urllib.parse import urlsplit

from penstock.errors import UsageError

__all__ = ["Access", "Location", "Requests", "is_url"]

SCHEMES = ("s3", "gs", "az", "http", "https")
CONFIG_KEYS = ("aws_access_key_id", "aws_secret_access_key", "bucket_name", "endpoint_url", "index_file_download_url")


@final
@dataclass(frozen=True, slots=True)
class Requests:
    """How requests to a store are made."""

    in_flight: int = 128
    """So many at a time at the most. Small objects far away want many."""

    in_flight_bytes: int = 48 * 2**20
    """So many bytes are asked for at a time at the most; one request may be larger."""

    attempt_seconds: float = 30.0
    """After so long without an answer a request is made anew."""

    deadline_seconds: float = 120.0
    """After so long, all attempts together, bytes are an error."""


@final
@dataclass(frozen=True, slots=True)
class Access:
    """How to get at an object store. What is not said here is taken from the environment, as the stores' tools do."""

    endpoint: str | None = None
    """URL of a server that speaks S3, where that is not Amazon's."""

    region: str | None = None

    anonymous: bool = False
    """Whether requests go unsigned: for public buckets."""

    profile: str | None = None
    """A profile of ~/.aws/credentials and ~/.aws/config (default: $AWS_PROFILE)."""

    config: str | None = None
    """A JSON file with some of aws_access_key_id, aws_secret_access_key, bucket_name, endpoint_url,
    index_file_download_url."""

    requests: Requests = field(default_factory=Requests)

    def s3_options(self) -> dict[str, Any]:
        """Give obstore's options for S3, secrets among them. Not to be kept, shown or stored."""
        file, profile = self.read_config(), self._profile()
        found: dict[str, Any] = {}
        endpoint = self.endpoint or file.get("endpoint_url") or profile.get("endpoint_url")
        endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
        if endpoint:
            found |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
        region = self.region or profile.get("region") or os.environ.get("AWS_REGION")
        found["region"] = region or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        if self.anonymous:
            return {**found, "skip_signature": True}
        keys = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
        held = file if "aws_access_key_id" in file else profile
        return found | {key.removeprefix("aws_"): held[key] for key in keys if key in held}

    def read_config(self) -> dict[str, str]:
        """Read the JSON file."""
        if self.config is None:
            return {}
        hint = f"a JSON object with some of {', '.join(CONFIG_KEYS)}"
        try:
            with open(self.config, encoding="utf-8") as file:
                found = json.load(file)
        except OSError as error:
            raise UsageError(f"the configuration cannot be read: {error.strerror}", file=self.config) from error
        except ValueError:  # its text would show what is in the file
            raise UsageError("the configuration is not JSON", file=self.config, expected=hint) from None
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise UsageError("the configuration is not an object of texts", file=self.config, expected=hint)
        unknown = sorted(set(found) - set(CONFIG_KEYS))
        if unknown:
            raise UsageError("the configuration has an unknown key", file=self.config, got=unknown[0], expected=hint)
        return found

    def _profile(self) -> dict[str, str]:
        """Read a profile of the AWS command line's files."""
        name = self.profile or os.environ.get("AWS_PROFILE")
        if name is None or (self.profile is None and "AWS_ACCESS_KEY_ID" in os.environ):
            return {}
        home = os.path.join(os.path.expanduser("~"), ".aws")
        files = (
            (os.environ.get("AWS_CONFIG_FILE") or os.path.join(home, "config"), f"profile {name}"),
            (os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or os.path.join(home, "credentials"), name),
        )
        found: dict[str, str] = {}
        for path, section in files:
            parser = configparser.RawConfigParser()
            parser.read(path, encoding="utf-8")
            for title in (name, section) if name == "default" else (section,):
                found |= dict(parser.items(title)) if parser.has_section(title) else {}
        if not found:
            raise UsageError("there is no such profile", got=name, expected=f"one in {files[0][0]} or {files[1][0]}")
        if not self.anonymous and "aws_access_key_id" not in found:
            hint = "export the credentials into the environment, for example with `aws configure export-credentials`"
            raise UsageError("the profile has no keys of its own", got=name, hint=hint)
        return found


@final
@dataclass(frozen=True, slots=True)
class Location:
    """A place in an object store: which store, and what its names there begin with."""

    scheme: str
    host: str  # bucket, container, or the server of a plain HTTP URL
    path: str  # without slashes around it

    @classmethod
    def of(cls, url: str) -> Location:
        """Take a URL apart."""
        parts = urlsplit(url)
        if parts.username or parts.password:
            hint = "leave them out of the URL: they come from the environment, a profile or Access(config=…)"
            raise UsageError("a URL has no user and password", got=f"{parts.scheme}://…@{parts.hostname}/…", hint=hint)
        if parts.query or parts.fragment:
            bare = f"{parts.scheme}://{parts.netloc}{parts.path}"
            raise UsageError("a URL has no query here", got=f"{bare}?…", hint="signed URLs cannot be opened")
        if parts.scheme not in SCHEMES or not parts.netloc:
            expected = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise UsageError("this is no URL of an object store", got=url, expected=f"one that begins {expected}")
        return cls(parts.scheme, parts.netloc, parts.path.strip("/"))

    @property
    def root(self) -> str:
        """The URL of the whole store."""
        return f"{self.scheme}://{self.host}"

    def __str__(self) -> str:
        return f"{self.root}/{self.path}" if self.path else self.root

    def name(self, name: str) -> str:
        """Say what something below this place is called in the store."""
        return f"{self.path}/{name}" if self.path else name


def is_url(path: str) -> bool:
    """Whether this names a place in an object store."""
    return "://" in path
