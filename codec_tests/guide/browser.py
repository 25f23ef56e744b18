"""A headless Chromium that tests drive: selenium, and what it does not do where scripts are off.

The network is off limits to the browser, except for its driver's own port.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService

MISSING = "there is no {}; install both: apt-get install -y chromium chromium-driver"
_SWITCHES = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-component-update",
    # Nothing is reached by name: a page that asked for something from outside would fail.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


class Browser:
    """One window."""

    def __init__(self, driver: Chrome) -> None:
        self._driver = driver

    def window(self, width: int, *, dark: bool = False, scripts: bool = True) -> None:
        """How wide the window is, which colours are preferred, and whether scripts run."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        command = self._driver.execute_cdp_cmd
        command("Emulation.setDeviceMetricsOverride", metrics)
        command("Emulation.setEmulatedMedia", {"features": [scheme]})
        command("Emulation.setScriptExecutionDisabled", {"value": not scripts})

    def open(self, page: Path, anchor: str = "") -> None:
        """Open a page from the disk, anew even where only the anchor differs."""
        self._driver.get("about:blank")
        self._driver.get(page.as_uri() + anchor)

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for.

        `execute_script` would not do: it runs nothing in a page whose scripts are off.
        """
        wanted = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self._driver.execute_cdp_cmd("Runtime.evaluate", wanted)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Type texts, or press selenium's `Keys`, wherever the focus is."""
        ActionChains(self._driver, duration=0).send_keys(*keys).perform()

    def complaints(self) -> list[str]:
        """What the browser wrote to its console: errors, and breaches of the policy."""
        read_log: Any = self._driver.get_log  # which has no types
        return [entry["message"] for entry in read_log("browser")]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile, for as long as the block runs."""
    options = ChromeOptions()
    options.binary_location = _found("chromium")
    for switch in _SWITCHES:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with pytest.MonkeyPatch.context() as environment:
        # Straight to the driver, whatever proxy the environment names. With both paths given,
        # selenium asks nobody where a browser or a driver could be had.
        environment.setenv("no_proxy", "*")
        driver = Chrome(options, ChromeService(_found("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


def _found(name: str) -> str:
    path = shutil.which(name)
    assert path is not None, MISSING.format(name)
    return path
