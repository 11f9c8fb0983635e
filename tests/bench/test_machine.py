"""The description of the machine."""

from __future__ import annotations

import getpass
import json
import platform

from penstock.bench import machine


def test_it_is_plain_and_names_neither_machine_nor_owner():
    text = json.dumps(machine.describe())
    for secret in (platform.node(), getpass.getuser()):
        assert len(secret) < 4 or secret not in text


def test_versions_of_what_is_absent_say_so():
    assert machine.versions(("numpy", "no-such-thing")).keys() == {"numpy", "no-such-thing"}
    assert machine.versions(("no-such-thing",)) == {"no-such-thing": "absent"}
