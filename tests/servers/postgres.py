"""A PostgreSQL server of one's own: from the system's packages, on a loopback port, in a temporary folder.

``initdb`` and ``postgres`` refuse the superuser, who runs them as ``postgres`` or ``nobody`` instead.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from pathlib import Path


def missing() -> str | None:
    """Why there can be no server here; None if there can."""
    if _program("initdb") is None:
        return "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return "the superuser cannot run PostgreSQL, and there is neither a user postgres nor nobody"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: pip install 'sfumato[postgres]'"
    return None


def _program(name: str) -> str | None:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=lambda p: int(p.split("/")[4]))
    return found[-1] if found else shutil.which(name)


def _user() -> str | None:
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    return None


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A cluster in a folder; databases in it are as many as one likes."""

    def __init__(self, folder: Path | None = None, settings: dict[str, str] | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="sfumato-pg-", dir=folder or "/var/tmp"))
        self.data, self.port, self.settings = self.home / "data", free_port(), settings or {}
        self._hand_over()
        self._run("initdb", "-D", str(self.data), "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync")

    def _hand_over(self) -> None:
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", _user(), str(self.home)], check=True)

    def _run(self, name: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [_program(name), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _user(), "--", *command]
        done = subprocess.run(
            command, cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120
        )
        if check and done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
        return done

    def start(self) -> Server:
        chosen = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.home),
            "max_connections": "60",
            "shared_buffers": "16MB",
        } | self.settings
        words = " ".join(f"-c {key}={value}" for key, value in chosen.items())
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.home / "log"), "-o", words, "start")
        return self

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", mode, "stop", check=False)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def database(self, like: str | None = None) -> str:
        """A new database's name; a copy of another's if ``like`` is given."""
        name = f"ledger_{uuid.uuid4().hex[:12]}"
        self.sql(f"CREATE DATABASE {name}" + (f" TEMPLATE {like}" if like else ""))
        return name

    def url(self, database: str, user: str = "owner", password: str = "hush-hush") -> str:
        return f"postgresql+psycopg://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def sql(self, text: str, database: str = "postgres", user: str = "owner"):
        import psycopg

        address = f"host=127.0.0.1 port={self.port} dbname={database} user={user}"
        with psycopg.connect(address, autocommit=True) as connection:
            done = connection.execute(text)
            return done.fetchall() if done.description else None
