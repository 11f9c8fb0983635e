"""A real browser without a window, steered by its DevTools protocol: pages are tested in what people read them with.

One Chromium serves a whole test run, with a fresh profile; every test gets a tab of its own, which notes errors of the
console and everything that is asked of the network. The browser is ended by its own process id, also after a failure.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-port=0",
    "--remote-debugging-address=127.0.0.1",
)
DEADLINE_SECONDS = 60
KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Home": 36,
    "End": 35,
    "Tab": 9,
    "Escape": 27,
}
KEYS |= {"Enter": 13, " ": 32}


class Tab:
    """One page of the browser."""

    def __init__(self, socket):
        self._socket = socket
        self._number = 0
        self.errors, self.requests = [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.errors.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def _receive(self):
        message = json.loads(self._socket.recv(timeout=DEADLINE_SECONDS))
        self._note(message)
        return message

    def call(self, method, **params):
        """Ask something of the browser; its answer."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            message = self._receive()
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]

    def open(self, path):
        """Open a file, and wait until it is loaded."""
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", url=Path(path).absolute().as_uri())
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        """Evaluate JavaScript on the page; its value."""
        said = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said["exceptionDetails"].get("exception", {}).get("description")
        return said["result"].get("value")

    def resize(self, width, height=800, *, is_phone=False):
        """Make the page as wide as this."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )

    def prefer(self, scheme):
        """Be a reader who prefers "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, times=1):
        """Press a key."""
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                text = {"text": key} if kind == "keyDown" and key == " " else {}
                text |= {"text": "\r"} if kind == "keyDown" and key == "Enter" else {}
                self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=KEYS[key], **text)

    def picture(self, *, whole=True):
        """Take a picture of the page, as PNG."""
        said = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(said["data"])


class Browser:
    """Chromium, running."""

    def __init__(self, port):
        self._port = port

    @contextmanager
    def tab(self):
        """Open a tab, and close it again."""
        made = self._ask("new?about:blank", method="PUT")
        try:
            with connect(made["webSocketDebuggerUrl"], max_size=None, open_timeout=DEADLINE_SECONDS) as socket:
                yield Tab(socket)
        finally:
            self._ask(f"close/{made['id']}")

    def _ask(self, what, method="GET"):
        with urlopen(Request(f"http://127.0.0.1:{self._port}/json/{what}", method=method), timeout=30) as answer:
            text = answer.read().decode()
            return json.loads(text) if text.startswith("{") else text


def chromium():
    """Find the browser."""
    found = next((path for path in map(shutil.which, NAMES) if path), None)
    assert found, "no Chromium here: `make test` installs it on Debian as root; elsewhere, install it"
    return found


@contextmanager
def started(profile):
    """Start a browser with this folder as its profile, and end it."""
    environment = {**os.environ, "HOME": str(profile), "XDG_CONFIG_HOME": str(profile), "XDG_CACHE_HOME": str(profile)}
    command = [chromium(), *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        port = None
        for line in process.stderr:
            if line.startswith("DevTools listening on "):
                port = int(line.split("127.0.0.1:")[1].split("/")[0])
                break
        assert port, "the browser ended before it listened"
        # What it says from then on is nobody's concern, but a full pipe would stop it.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Browser(port)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """The browser of a test session, started when the first test asks for it."""
    with started(tmp_path_factory.mktemp("browser")) as running:
        yield running
