"""A headless Chromium that is told what to do over a pipe: two file descriptors, JSON messages
ended by NUL (the protocol of its developer tools). Nothing but the standard library."""
import base64
import json
import os
import select
import subprocess
import time


class Browser:
    def __init__(self, program, profile, seconds=120):
        self.deadline = time.monotonic() + seconds
        commands, self.write = os.pipe()
        self.read, answers = os.pipe()
        # The child finds its ends as 3 and 4.
        def place():
            a, b = os.dup(commands), os.dup(answers)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.child = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--user-data-dir=" + profile, "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.n, self.rest, self.events = 0, b"", []
        target = self.send("Target.createTarget", session=None, url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", session=None, targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(domain + ".enable")

    def close(self):
        self.child.kill()
        self.child.wait()
        os.close(self.write)
        os.close(self.read)

    def message(self):
        while b"\0" not in self.rest:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read, 1 << 16)
            if not piece:
                raise EOFError("the browser has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, session="own", **params):
        self.n += 1
        ask = {"id": self.n, "method": method, "params": params}
        if session:
            ask["sessionId"] = self.session
        os.write(self.write, json.dumps(ask).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.n:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        for url in ("about:blank", "file://" + path):
            self.events.clear()
            self.send("Page.navigate", url=url)
            while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
                self.events.append(self.message())

    def run(self, script):
        """The value of a piece of JavaScript, which is waited for."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def complaints(self):
        """What the console says, and exceptions."""
        kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
        return [json.dumps(e["params"])[:300] for e in self.events if e.get("method") in kinds]

    def size(self, width, height, phone=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)

    def scheme(self, name):
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": name}])

    def scripts(self, allowed):
        self.send("Emulation.setScriptExecutionDisabled", value=not allowed)

    def picture(self, path):
        data = self.send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True,
                                          preferCSSPageSize=True)["data"])
