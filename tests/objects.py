"""Object stores for tests of packing: credentials in a file, contents looked at with a client of another maker."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

import penstock

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.testing import S3Server


def access(server: S3Server, folder: Path, *, secret: str | None = None) -> penstock.Access:
    """Access to a server, by a file in a folder; `secret` instead of the right one."""
    path = folder / ("access.json" if secret is None else "wrong.json")
    path.write_text(
        json.dumps(
            {
                "aws_access_key_id": server.access_key,
                "aws_secret_access_key": secret or server.secret,
                "endpoint_url": server.endpoint,
            }
        )
    )
    return penstock.Access(config=str(path))


def client(endpoint: str, key: str, secret: str) -> Any:
    """Another client."""
    config = Config(
        retries={"max_attempts": 0},
        connect_timeout=10,
        read_timeout=30,
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    keys = {"aws_access_key_id": key, "aws_secret_access_key": secret, "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=endpoint, config=config, **keys)


class Bucket:
    """What is in a bucket below a prefix."""

    def __init__(self, s3: Any, bucket: str, prefix: str) -> None:
        self.url = f"s3://{bucket}/{prefix}"
        self._s3, self._bucket, self._prefix = s3, bucket, prefix

    @classmethod
    def of(cls, server: S3Server, prefix: str) -> Bucket:
        """That of a server."""
        return cls(client(server.endpoint, server.access_key, server.secret), server.bucket, prefix)

    def names(self) -> list[str]:
        """Names of all objects."""
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=f"{self._prefix}/")
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        return [key.removeprefix(f"{self._prefix}/") for key in keys]

    def content(self) -> dict[str, bytes]:
        """All objects, by name."""
        return {name: self.read(name) for name in self.names()}

    def read(self, name: str) -> bytes:
        """One object."""
        found: bytes = self._s3.get_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}")["Body"].read()
        return found

    def write(self, name: str, data: bytes) -> None:
        """Put an object there."""
        self._s3.put_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}" if name else self._prefix, Body=data)

    def remove(self, name: str) -> None:
        """Remove an object."""
        self._s3.delete_object(Bucket=self._bucket, Key=f"{self._prefix}/{name}")
