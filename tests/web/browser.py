"""Chromium, driven by chromedriver over its HTTP protocol (WebDriver)."""
import base64
import json
import os
import re
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.profile = tempfile.TemporaryDirectory(prefix="tempo-chromium-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True,
                                       env=dict(os.environ, TMPDIR=self.profile.name))
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                break
        self.base, self.session = f"http://127.0.0.1:{found[1]}", ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", f"--window-size={width},{height}", "--hide-scrollbars",
                     f"--user-data-dir={self.profile.name}/profile"]
        if dark:
            arguments.append("--force-dark-mode")
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
            "goog:chromeOptions": {"binary": "/usr/bin/chromium", "args": arguments}}}})
        self.session = f"/session/{answer['sessionId']}"

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            return json.loads(urllib.request.urlopen(request, timeout=120).read())["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:600]) from None

    def open(self, address):
        self.call("POST", self.session + "/url", {"url": address})

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector="body"):
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height, dark=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        time.sleep(0.5)

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def console(self):
        """Errors and warnings since the last call."""
        return [entry["message"] for entry in self.call("POST", self.session + "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses that the page has requested since the last call."""
        found = []
        for entry in self.call("POST", self.session + "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def close(self):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            time.sleep(0.3)
            self.profile.cleanup()
