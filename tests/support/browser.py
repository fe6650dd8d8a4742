"""A real browser for pages: Chromium, driven through ChromeDriver by the standard library."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
HOW_TO_GET_ONE = "there is no browser here: apt install chromium chromium-driver, or `make browser`"
_ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
_START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Browser:
    """One window."""

    session: str

    def open(self, page: Path) -> None:
        self._post("url", url=page.as_uri())

    def run(self, script: str, *arguments: object) -> Any:
        """Return what a script returns, in the page."""
        return self._post("execute/sync", script=script, args=list(arguments))

    def run_async(self, script: str) -> Any:
        """Return what a script passes to its last argument, a function."""
        return self._post("execute/async", script=script, args=[])

    def resize(self, width: int, height: int) -> None:
        self._post("window/rect", width=width, height=height)

    def emulate(self, *, dark: bool = False, scripts: bool = True) -> None:
        """Show pages that are opened from now on in these colours; without `scripts`, they run none."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        for command, parameters in (
            ("Emulation.setEmulatedMedia", {"features": [scheme]}),
            ("Emulation.setScriptExecutionDisabled", {"value": not scripts}),
        ):
            self._post("goog/cdp/execute", cmd=command, params=parameters)

    def complaints(self) -> list[str]:
        """Return what the browser's console says since the last call."""
        return [item["message"] for item in self._post("se/log", type="browser")]

    def picture(self, file: Path) -> None:
        with urllib.request.urlopen(f"{self.session}/screenshot") as answer:
            file.write_bytes(base64.b64decode(json.load(answer)["value"]))

    def _post(self, command: str, **content: object) -> Any:
        return _post(f"{self.session}/{command}", content)


@contextlib.contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser with its files in `folder`."""
    assert CHROMIUM
    assert DRIVER
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address)
        arguments = [*_ARGUMENTS, f"--user-data-dir={folder}"]
        options = {"binary": CHROMIUM, "args": arguments}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = _post(f"{address}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        browser = Browser(f"{address}/session/{session}")
        try:
            yield browser
        finally:
            request = urllib.request.Request(browser.session, method="DELETE")
            urllib.request.urlopen(request).close()
    finally:
        driver.terminate()
        driver.wait()


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/status") as answer:
            if json.load(answer)["value"]["ready"]:
                return
        assert time.monotonic() < deadline, "ChromeDriver does not start"
        time.sleep(0.02)


def _post(address: str, content: object) -> Any:
    request = urllib.request.Request(address, json.dumps(content).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests, which takes a second to start."""
    with open_browser(tmp_path_factory.mktemp("browser")) as found:
        yield found
