"""A real timestamp authority: `openssl ts` behind a real HTTP server on loopback."""

import contextlib
import http.server
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Generator
from pathlib import Path

_CONFIGURATION = """
[ca_name]
CN = Weft test authority
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[tsa]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[ts]
default_tsa = one
[one]
serial = {folder}/serial
crypto_device = builtin
signer_cert = {folder}/tsa.pem
certs = {folder}/tsa.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
ess_cert_id_alg = sha256
"""


def _openssl(folder: Path, *words: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise RuntimeError(
            "these tests start a timestamp authority: install openssl (Debian: apt install openssl)"
        )
    ended = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def make_authority(folder: Path, name: str = "Weft test TSA") -> str:
    """Keys and certificates of an authority; returns the certificate to trust."""
    (folder / "openssl.cnf").write_text(_CONFIGURATION.format(folder=folder))
    (folder / "serial").write_text("01")
    curve = "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"
    _openssl(
        folder,
        *("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "3650"),
        *("-subj", f"/CN={name} root", "-config", "openssl.cnf", "-extensions", "ca"),
    )
    _openssl(
        folder,
        *("req", "-new", *curve, "-keyout", "tsa.key", "-out", "tsa.csr"),
        *("-subj", f"/CN={name}", "-config", "openssl.cnf"),
    )
    _openssl(
        folder,
        *("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
        *("-out", "tsa.pem", "-days", "3650", "-extfile", "openssl.cnf", "-extensions", "tsa"),
    )
    return (folder / "ca.pem").read_text()


class Authority:
    """A running authority, and how it behaves."""

    def __init__(self, folder: Path, certificate: str) -> None:
        self.folder = folder
        self.certificate = certificate
        self.url = ""
        self.asked = 0
        self.answers: list[tuple[int, bytes]] = []
        """What to say instead of the truth, one for each request."""

    def reply(self, query: bytes) -> tuple[int, bytes]:
        self.asked += 1
        if self.answers:
            return self.answers.pop(0)
        (self.folder / "query").write_bytes(query)
        _openssl(
            self.folder,
            *("ts", "-reply", "-config", "openssl.cnf", "-section", "one"),
            *("-queryfile", "query", "-out", "reply"),
        )
        return 200, (self.folder / "reply").read_bytes()


@contextlib.contextmanager
def authority() -> Generator[Authority]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = Authority(folder, make_authority(folder))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = self.rfile.read(int(self.headers["Content-Length"]))
                status, body = running.reply(query)
                self.send_response(status)
                if status in {301, 302, 307}:
                    self.send_header("Location", body.decode())
                    body = b""
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        running.url = f"http://127.0.0.1:{server.server_port}/tsa"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
