"""`weft serve` as somebody starts it, in a process of its own."""

import http.client
import json
import os
import signal
import subprocess
import sys
from urllib.parse import urlsplit


class Served:
    """`weft serve` as somebody starts it."""

    def __init__(self, grove: str, *more: str) -> None:
        command = [sys.executable, "-m", "weft.cli", "serve", "--create", "--port", "0", "--json", *more]
        environment = os.environ | {"WEFT_GROVE": grove, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.address = json.loads(line)
        self.parts = urlsplit(self.address["url"])
        self.connections: list[http.client.HTTPConnection] = []

    def connect(self) -> http.client.HTTPConnection:
        made = http.client.HTTPConnection(self.parts.hostname, self.parts.port, timeout=30)
        self.connections.append(made)
        return made

    def ask(self, method: str, path: str, body: object = None):
        connection = self.connect()
        headers = {"Authorization": f"Bearer {self.address['token']}"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def follow(self, after: str):
        connection = self.connect()
        headers = {"Authorization": f"Bearer {self.address['token']}"}
        connection.request("GET", f"/api/events?after={after}", headers=headers)
        # It stays open as long as the stream is read.
        return connection.getresponse()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said
