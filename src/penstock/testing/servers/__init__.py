"""Real servers on loopback, each for as long as a `with` block lasts.

    seaweedfs()     an S3 that checks signatures and answers as S3 does
    rclone()        an S3 that answers ranged requests with 200
    nginx(folder)   plain HTTP with ranges: the fastest way over a socket to bytes that are in memory

Why real ones: what an object store does with a range, a wrong signature or a key with a blank in it is a fact about
that store, and a mock only repeats what its author believed. The programs come from packages of the `dev` extra.

Three promises. A server listens on 127.0.0.1 alone, on ports that were free, with all its files in a temporary folder:
any number run at once, and nothing of the machine's user is read or written. A server is yielded once it answers, which
is waited for with a deadline. After the block its processes are gone, which is checked; they are gone also when the
process that started them was killed (`bound` says how), though then the folder stays.

What a server costs is on the machine's clock, not on ours: `cpu_seconds(server.pid)` of `penstock.bench.cost`, before
and after, belongs beside every rate measured against it.
"""

from penstock.testing.servers.s3 import S3Server, rclone, seaweedfs
from penstock.testing.servers.web import WebServer, nginx

__all__ = ["S3Server", "WebServer", "nginx", "rclone", "seaweedfs"]
