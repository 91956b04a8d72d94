"""A real IRC server, ngircd, on loopback, and a person with a client of the plainest kind."""

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.flow.gateway_scene import free_port

SETTINGS = """\
[Global]
Name = irc.example.net
Info = A server for tests
Listen = 127.0.0.1
Ports = {port}
{password}
[Limits]
MaxNickLength = 20
MaxConnectionsIP = 0
[Options]
DNS = no
Ident = no
PAM = no
[Channel]
Name = #clew
Topic = Plans for the week
Modes = tn
"""


class IrcServer:
    """ngircd in the foreground; ended by its own process."""

    def __init__(self, place: Path, password: str = "", *, tls: bool = False) -> None:
        program = shutil.which("ngircd") or shutil.which("ngircd", path="/usr/sbin:/usr/local/sbin")
        if program is None:
            pytest.skip("no IRC server here: apt-get install ngircd")
        self._program, self.port, self._process = program, free_port(), None
        place.mkdir(parents=True, exist_ok=True)
        self._file = place / "ngircd.conf"
        line = f"Password = {password}" if password else ""
        self.certificate = place / "certificate.pem"
        self.tls_port = free_port()
        secure = self._secured(place) if tls else ""
        self._file.write_text(SETTINGS.format(port=self.port, password=line) + secure)
        for one in (place, *place.iterdir()):
            one.chmod(0o755)

    def _secured(self, place: Path) -> str:
        """The settings of a port with TLS, whose certificate is made here."""
        if (program := shutil.which("openssl")) is None:
            pytest.skip("no openssl here to make a certificate with")
        key = place / "key.pem"
        subprocess.run(
            [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(self.certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
        return f"[SSL]\nCertFile = {self.certificate}\nKeyFile = {key}\nPorts = {self.tls_port}\n"

    def start(self) -> Self:
        self._process = subprocess.Popen(
            [self._program, "-n", "-f", str(self._file)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                if self._process.poll() is not None:
                    pytest.skip(f"the IRC server ended at once with code {self._process.returncode}")
                time.sleep(0.05)
            else:
                return self
        pytest.fail("the IRC server does not listen")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)
            self._process = None


class Person:
    """Somebody on the network."""

    def __init__(self, nick: str) -> None:
        self.nick = nick
        self.lines: list[str] = []

    async def connect(self, port: int, *rooms: str, password: str = "") -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._reading = asyncio.create_task(self._read())
        if password:
            self.send(f"PASS :{password}")
        self.send(f"NICK {self.nick}")
        self.send(f"USER {self.nick} 0 * :{self.nick}")
        await self.until(" 001 ")
        for room in rooms:
            self.send(f"JOIN {room}")
            await self.until(" 366 ")
        return self

    def send(self, line: str) -> None:
        self._writer.write(line.encode() + b"\r\n")

    def say(self, target: str, text: str) -> None:
        self.send(f"PRIVMSG {target} :{text}")

    async def until(self, *pieces: str, seconds: float = 15) -> str:
        """The first line yet unread that holds all the pieces."""
        deadline = time.monotonic() + seconds
        at = 0
        while time.monotonic() < deadline:
            while at < len(self.lines):
                if all(piece in self.lines[at] for piece in pieces):
                    found = self.lines[at]
                    del self.lines[: at + 1]
                    return found
                at += 1
            await asyncio.sleep(0.02)
        raise AssertionError(f"{self.nick} never heard {pieces}: {self.lines}")

    async def there(self, room: str, nick: str) -> None:
        """Wait until somebody is in a room, so that what is said there reaches them."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            self.send(f"NAMES {room}")
            if nick in (await self.until(" 353 ")).rpartition(":")[2].replace("@", "").split():
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"{nick} never came into {room}")

    async def close(self) -> None:
        self._reading.cancel()
        self._writer.close()
        await asyncio.wait([self._reading])

    async def _read(self) -> None:
        while line := await self._reader.readline():
            text = line.decode(errors="replace").rstrip("\r\n")
            if text.startswith("PING"):
                self.send(text.replace("PING", "PONG", 1))
            self.lines.append(text)


@pytest.fixture
def irc(tmp_path: Path) -> Iterator[IrcServer]:
    server = IrcServer(tmp_path / "irc")
    server.start()
    yield server
    server.stop()
