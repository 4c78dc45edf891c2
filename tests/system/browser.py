"""browser.py - a headless Chromium, spoken to over a pipe: for tests of what a person sees."""
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One page. What it complained about is in `errors`, what it asked for in `requests`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="browser.", dir=os.environ.get("TMPDIR"))
        to_browser, self.to = os.pipe()
        self.come, from_browser = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        wrap = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", wrap, "bash", find(), "--headless", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", f"--user-data-dir={self.profile}", "--remote-debugging-pipe",
             "about:blank"],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.left, self.number, self.session = b"", 0, None
        self.errors, self.requests = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def message(self, deadline):
        while b"\0" not in self.left:
            wait = deadline - time.monotonic()
            if wait <= 0 or not select.select([self.come], [], [], wait)[0]:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.come, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.left += got
        text, self.left = self.left.split(b"\0", 1)
        return json.loads(text)

    def event(self, message):
        method, what = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(what["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            self.errors.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])

    def call(self, method, **words):
        self.number += 1
        message = {"id": self.number, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 120
        while True:
            answer = self.message(deadline)
            if answer.get("id") != self.number:
                self.event(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return result["result"].get("value")

    def holds(self, expression):
        """False, too, while the page it was asked of gives way to the next."""
        try:
            return self.evaluate(expression)
        except RuntimeError as error:
            if "navigated" in str(error):
                return False
            raise

    def wait(self, expression, what, seconds=30):
        deadline = time.monotonic() + seconds
        while not self.holds(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds} s; the page says: "
                                     + str(self.evaluate("document.body.innerText"))[:600])
            time.sleep(0.05)

    def open(self, url, width=1100, height=1400, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError, RuntimeError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.profile, ignore_errors=True)
