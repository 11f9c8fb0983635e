"""boto3, as a second opinion about what an S3 server says."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config


def client(server: Any, **changes: str) -> Any:
    """A client of a server, which it asks once and never again."""
    settings = {"aws_access_key_id": server.access_key, "aws_secret_access_key": server.secret, **changes}
    # Checksums only where S3 demands them: rclone hands out the whole object's with a range of it.
    only = {"request_checksum_calculation": "when_required", "response_checksum_validation": "when_required"}
    config = Config(retries={"max_attempts": 0}, connect_timeout=10, read_timeout=10, **only)
    return boto3.client("s3", endpoint_url=server.endpoint, region_name=server.region, config=config, **settings)
