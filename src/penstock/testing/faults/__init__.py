"""A bad line to a real server: an HTTP proxy that delays, throttles, breaks and corrupts, the same for the same seed.

Tests of a client against a server that works say nothing about the client's worst day. What goes wrong between a
client and an object store is known, and little of it can be had from a store on loopback; so this proxy stands before
one and does it to order. Requests and answers pass as they came, byte for byte, so that signatures hold; what is
altered is what the `Profile` says, by chances drawn from a seed and the number of the request.

    profile     which faults, how often; how slow the line (FAULTS: a profile for each fault)
    plan        what happens to request number n, as a value
    message     where messages end; no I/O
    line        so many bytes per second, exactly
    wire        a socket with a buffer
    connection  one client's requests and answers
    proxy       the listener; `FaultProxy`, in a thread
    process     `fault_proxy`, in a process

It speaks as much HTTP/1.1 as S3 and static files need: bodies by length, in chunks or until the end, connections that
stay, "100 Continue". Answers in chunks have no length, so no fault strikes their bodies. What is no HTTP ends its
connection, and is raised when the proxy ends, as is whatever else goes wrong in it.
"""

from penstock.testing.faults.process import ProxyProcess, fault_proxy
from penstock.testing.faults.profile import FAULTS, KINDS, Profile
from penstock.testing.faults.proxy import Counts, FaultProxy

__all__ = ["FAULTS", "KINDS", "Counts", "FaultProxy", "Profile", "ProxyProcess", "fault_proxy"]
