"""The guide in a real browser: no scrolling sideways, versions to choose from, the search.

Needs Chromium and its driver: apt-get install -y chromium chromium-driver.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from selenium.webdriver.common.keys import Keys

from kraftwire_generator.commands.docs import docs

from codec_tests.guide.browser import Browser, chromium
from codec_tests.guide.deep_spec import deepest_spec
from codec_tests.spec_files import write_set

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("browser")]

PAGES = [
    "index.html",
    "types.html",
    "kafka/error-codes.html",
    "kafka/Fetch.html",
    "kafka/NoOpRecord.html",
    "kafka/OffsetCommit-record.html",
    "kip_853/Fetch.html",
]
WIDTH = "document.scrollingElement.scrollWidth <= innerWidth"
SHOWN = (
    '[...document.querySelectorAll(".form")].filter(form => form.offsetHeight).map(form => form.id)'
)
CHOSEN = '[...document.querySelectorAll("nav.versions a[aria-current]")].map(a => a.textContent)'
RESULTS = '[...document.querySelectorAll("#results li")].map(row => row.firstChild.textContent)'
ACTIVE = 'document.querySelector("#results [aria-selected=true]")?.firstChild.textContent'
INDEX_IS_THERE = """new Promise(done => {
  const look = () => globalThis.kraftwireGuide ? done(true) : requestAnimationFrame(look);
  look();
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_complaints(browser: Browser) -> Iterator[None]:
    """Whatever a test does, no script fails and no policy is broken."""
    browser.window(1280)
    yield
    assert browser.complaints() == []


def wait_for_address(browser: Browser, ending: str) -> None:
    """Until the browser has followed a link; the test's own timeout ends what never comes."""
    while not str(browser.ask("location.href")).endswith(ending):
        assert browser.ask("document.readyState") in ("loading", "interactive", "complete")


def press_slash(browser: Browser) -> None:
    browser.press("/")
    assert browser.ask('document.activeElement.id === "search"')
    assert browser.ask(INDEX_IS_THERE)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no-scripts"])
@pytest.mark.parametrize("width", [1280, 360, 320])
def test_no_page_scrolls_sideways(browser: Browser, guide: Path, width: int, scripts: bool) -> None:
    browser.window(width, scripts=scripts)
    for page in PAGES:
        browser.open(guide / page)
        assert browser.ask("innerWidth") == width
        assert browser.ask(WIDTH), f"{page} at {width}"


def test_the_deepest_nesting_scrolls_within_itself(browser: Browser, tmp_path: Path) -> None:
    write_set(tmp_path / "specs", deepest_spec())
    arguments = ["--specs", str(tmp_path / "specs"), "--out", str(tmp_path / "guide")]
    assert CliRunner().invoke(docs, arguments).exit_code == 0
    browser.window(320)
    browser.open(tmp_path / "guide" / "specs" / "Deep.html")
    assert browser.ask(WIDTH)


def test_a_dark_screen_gets_dark_pages(browser: Browser, guide: Path) -> None:
    grounds = []
    for dark in (False, True):
        browser.window(1280, dark=dark)
        browser.open(guide / "index.html")
        grounds.append(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


def test_one_version_is_shown_and_another_can_be_chosen(browser: Browser, guide: Path) -> None:
    browser.open(guide / "kafka" / "Fetch.html")
    assert browser.ask(SHOWN) == ["request-v18", "response-v16"]
    browser.ask('document.querySelector("nav.versions a[href=\\"#v13\\"]").click()')
    assert browser.ask(SHOWN) == ["request-v13", "response-v13"]
    assert browser.ask(CHOSEN) == ["13-14"]
    assert browser.ask("location.hash") == "#v13"
    browser.ask('document.querySelector(".show-all").click()')
    assert len(browser.ask(SHOWN)) == browser.ask('document.querySelectorAll(".form").length')


@pytest.mark.parametrize(
    ("anchor", "shown"),
    [
        ("#v12", ["request-v12", "response-v12"]),
        ("#v14", ["request-v13", "response-v13"]),
        ("#v99", ["request-v18", "response-v16"]),
        ("#request-v12.Topics.Topic", ["request-v12", "response-v12"]),
        ("#%3Cscript%3E", ["request-v18", "response-v16"]),
        ("#%", ["request-v18", "response-v16"]),
    ],
)
def test_an_address_can_name_a_version_or_a_field(
    browser: Browser, guide: Path, anchor: str, shown: list[str]
) -> None:
    browser.open(guide / "kafka" / "Fetch.html", anchor)
    assert browser.ask(SHOWN) == shown


def test_keys_and_values_of_records_are_chosen_apart(browser: Browser, guide: Path) -> None:
    browser.open(guide / "kafka" / "OffsetCommit-record.html", "#value-v1")
    assert browser.ask(SHOWN) == ["key-v0", "value-v1"]


def test_without_scripts_everything_is_there_and_nothing_is_dead(
    browser: Browser, guide: Path
) -> None:
    browser.window(1280, scripts=False)
    browser.open(guide / "kafka" / "Fetch.html")
    assert len(browser.ask(SHOWN)) == browser.ask('document.querySelectorAll(".form").length')
    for dead in ("#search", ".show-all"):
        assert browser.ask(f'document.querySelector("{dead}").offsetHeight') == 0


def test_the_search_finds_by_name_number_and_field(browser: Browser, guide: Path) -> None:
    browser.open(guide / "kafka" / "Vote.html")
    press_slash(browser)
    first: dict[str, Any] = {}
    for text in (
        "fetchr",
        "52",
        "offset_commit_key",
        "replicadirectoryid",
        "-1",
        "not con",
        "zzzz",
    ):
        browser.ask('document.getElementById("search").value = ""')
        browser.press(text)
        first[text] = browser.ask(RESULTS)[0]
    assert first == {
        "fetchr": "FetchRequest",
        "52": "VoteRequest",
        "offset_commit_key": "OffsetCommitKey",
        "replicadirectoryid": "Topics.Partitions.ReplicaDirectoryId",
        "-1": "UNKNOWN_SERVER_ERROR, error -1",
        "not con": "NOT_CONTROLLER, error 41",
        "zzzz": "No results.",
    }


def test_the_search_is_worked_with_keys_alone(browser: Browser, guide: Path) -> None:
    browser.open(guide / "index.html")
    press_slash(browser)
    browser.press("voters")
    results = browser.ask(RESULTS)
    assert browser.ask(ACTIVE) == results[0]
    browser.press(Keys.DOWN, Keys.DOWN, Keys.UP)
    assert browser.ask(ACTIVE) == results[1]
    browser.press(Keys.ESCAPE)
    assert browser.ask('document.getElementById("results").hidden')
    browser.press(Keys.UP, Keys.UP)
    assert browser.ask(ACTIVE) == results[-1]


def test_enter_opens_an_error_code_at_its_row(browser: Browser, guide: Path) -> None:
    browser.open(guide / "kafka" / "Vote.html")
    press_slash(browser)
    browser.press("not_controller", Keys.ENTER)
    wait_for_address(browser, "/kafka/error-codes.html#NOT_CONTROLLER")
    assert browser.ask('document.querySelector("tr:target").textContent') == "41NOT_CONTROLLER00 29"


def test_enter_opens_the_field_in_the_newest_version_that_has_it(
    browser: Browser, guide: Path
) -> None:
    browser.open(guide / "kip_853" / "Vote.html")
    press_slash(browser)
    browser.press("forgottentopicsdata.topic", Keys.ENTER)
    wait_for_address(browser, "/kafka/Fetch.html#request-v12.ForgottenTopicsData.Topic")
    assert browser.ask("new Promise(done => setTimeout(() => done(true)))")
    assert browser.ask(SHOWN) == ["request-v12", "response-v12"]
    place = browser.ask('document.querySelector("tr:target").getBoundingClientRect().top')
    assert 0 <= place < 900
