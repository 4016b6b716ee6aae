"""A headless browser for the pages on which animals live."""

import shutil

import pytest

OPTIONS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --force-device-scale-factor=1"
)


def open_browser(folder):
    """A browser with an empty profile in a folder; where there is none the test is skipped."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no Chromium, or no chromedriver (apt-get install chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (*OPTIONS.split(), f"--user-data-dir={folder}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(300)
    return browser


def visit(browser, page, fragment=""):
    """Open a page of a file, and wait for its animals."""
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}{fragment}")
    ready = """
const done = arguments[0];
(function wait() { "gymnosomaReady" in document.documentElement.dataset ? done() : setTimeout(wait, 20); })();
"""
    browser.execute_async_script(ready)


def resize(browser, width, height, dark=False, still=False):
    """Let the page have that size, light or dark, and with or without motion."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def errors(browser):
    """What the browser complained of."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
