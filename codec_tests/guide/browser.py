"""A headless Chromium that tests drive, by the WebDriver protocol of its own driver.

Only what these tests need: open a page in a window of some width, press keys, ask the page,
take a picture. The network is off limits to it, except for the driver's own port.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

MISSING = "there is no {}; install both: apt-get install -y chromium chromium-driver"
_STARTED = re.compile(r"started successfully on port ([0-9]+)")
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Nothing is reached by name: a page that asked for something from outside would fail.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
KEYS = {"Enter": "\ue007", "Down": "\ue015", "Up": "\ue013", "Escape": "\ue00c"}


class Browser:
    """One window."""

    def __init__(self, port: int, profile: Path, binary: str) -> None:
        # Straight to the driver, whatever proxy the environment names.
        self._open = build_opener(ProxyHandler({})).open
        self._base = f"http://127.0.0.1:{port}/session"
        options = {
            "binary": binary,
            "args": [*_SWITCHES, f"--user-data-dir={profile}"],
        }
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        session = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._base += f"/{session['sessionId']}"

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._base + path, data, {"Content-Type": "application/json"})
        request.method = method
        try:
            with self._open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def command(self, name: str, **parameters: Any) -> Any:
        """A command of the DevTools protocol."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def window(self, width: int, *, dark: bool = False, scripts: bool = True) -> None:
        """How wide the window is, which colours are preferred, and whether scripts run."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.command("Emulation.setDeviceMetricsOverride", **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])
        self.command("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, page: Path, anchor: str = "") -> None:
        """Open a page from the disk, anew even where only the anchor differs."""
        self._call("POST", "/url", {"url": "about:blank"})
        self._call("POST", "/url", {"url": page.as_uri() + anchor})

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page, as JSON would have it; also without scripts."""
        return self._evaluate(expression)

    def wait_for(self, promise: str) -> Any:
        """What a promise of the page comes to."""
        return self._evaluate(promise, awaitPromise=True)

    def _evaluate(self, expression: str, **options: Any) -> Any:
        answer = self.command(
            "Runtime.evaluate", expression=expression, returnByValue=True, **options
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Type texts, or press the keys of `KEYS`, wherever the focus is."""
        text = "".join(KEYS.get(key, key) for key in keys)
        strokes = [{"type": kind, "value": char} for char in text for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keyboard", "actions": strokes}
        self._call("POST", "/actions", {"actions": [keyboard]})

    def complaints(self) -> list[str]:
        """What the browser wrote to its console: errors, and breaches of the policy."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def picture(self, file: Path) -> None:
        """A picture of the window."""
        file.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def close(self) -> None:
        """End the browser."""
        self._call("DELETE", "")


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, for as long as the block runs."""
    binary, driver = (_found(name) for name in ("chromium", "chromedriver"))
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            browser = Browser(_port(process.stdout), profile, binary)
            try:
                yield browser
            finally:
                browser.close()
        finally:
            process.terminate()


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path is not None, MISSING.format(name)
    return path


def _port(output: IO[str]) -> int:
    for line in output:
        if match := _STARTED.search(line):
            return int(match[1])
    raise AssertionError("chromedriver ended before it had a port")
