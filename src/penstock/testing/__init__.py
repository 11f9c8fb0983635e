"""What tests and benchmarks need to be honest without a network: photographs, real servers, faults.

`photographs` draws images that cost what photographs cost. `servers` starts an S3 or a plain HTTP server on loopback
for as long as a `with` block lasts. Nothing here is needed to load data, and no room below knows of it.
"""

from penstock.testing.photographs import jpeg, photo, write_photos
from penstock.testing.servers import S3Server, WebServer, nginx, rclone, seaweedfs

__all__ = ["S3Server", "WebServer", "jpeg", "nginx", "photo", "rclone", "seaweedfs", "write_photos"]
