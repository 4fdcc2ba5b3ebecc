"""Pages in a real browser: Chromium, driven by Playwright. `make browser-test` installs both."""
