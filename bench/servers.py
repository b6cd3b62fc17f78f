"""API servers under test: each a context manager with title, url, kubeconfig, token_file and memory()."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

START_SECONDS = 120


class BenchError(Exception):
    """What makes the figures worthless; the text is for the reader."""


def check_disk(directory):
    """A file system in memory would make durable writes free."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", str(directory)], capture_output=True, text=True, check=True).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        raise BenchError(f"{directory} is in memory ({kind}): check the project out on a disk")


def is_running(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


def resident_bytes(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) * 1024


def free_ports(count):
    """The first of so many neighbours that are free now."""
    for first in range(21_000, 32_000, 10):
        sockets = []
        try:
            for port in range(first, first + count):
                one = socket.socket()
                sockets.append(one)
                one.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise BenchError("no free ports")


def private_file(path, text):
    path.touch(mode=0o600)
    path.write_text(text)
    return path


class Server:
    def __init__(self, title, directory):
        self.title = title
        self.directory = directory
        self.url = ""

    def __enter__(self):
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def memory(self):
        """Resident bytes by process."""
        return {name: resident_bytes(pid) for name, pid in self.pids().items()}


class Evenkeel(Server):
    def __init__(self, program, directory):
        super().__init__("evenkeel", directory)
        self.program = program
        self.kubeconfig = directory / "data/kubeconfig"
        self.token_file = directory / "token"
        self.process = None

    def start(self):
        private_file(self.token_file, "bench-token\n")
        tokens = private_file(self.directory / "tokens.csv", 'bench-token,bench,bench,"system:masters"\n')
        with open(self.directory / "log", "w") as log:
            self.process = subprocess.Popen(
                [str(self.program), "apiserver", "--store", f"sqlite:{self.directory}/store.db", "--port", "0",
                 "--data-dir", str(self.directory / "data"), "--token-auth-file", str(tokens)], stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while True:
            text = (self.directory / "log").read_text()
            found = re.search(r"serving (https://\S+)", text)
            if found:
                self.url = found.group(1)
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise BenchError(f"evenkeel apiserver did not start: {text}")
            time.sleep(0.05)

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def pids(self):
        return {"evenkeel": self.process.pid}


class Peer(Server):
    def __init__(self, program, directory):
        super().__init__("kube-apiserver + etcd", directory)
        self.program = program
        self.kubeconfig = directory / "kubeconfig"
        self.token_file = directory / "bench-token"

    def start(self):
        port = free_ports(3)
        # Without pipes: what it leaves running would hold them open.
        with open(self.directory / "start.log", "w") as log:
            done = subprocess.run([self.program, "start", str(self.directory), str(port)], stdout=log, stderr=log, timeout=900)
        if done.returncode != 0:
            raise BenchError(f"{self.program} start: {(self.directory / 'start.log').read_text()[-2000:]}")
        text = self.kubeconfig.read_text()
        self.url = re.search(r"server:\s*\"?(https://[^\s\",}]+)", text).group(1)
        token = re.search(r"token:\s*\"?([^\s\",}]+)", text)
        if token is None:
            raise BenchError(f"{self.kubeconfig} has no token")
        private_file(self.token_file, token.group(1) + "\n")
        # The namespace "default" comes a moment after the server says that it is ready.
        time.sleep(5)

    def stop(self):
        pids = self.pids()
        subprocess.run([self.program, "stop", str(self.directory)], capture_output=True, timeout=60)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and any(is_running(pid) for pid in pids.values()):
            time.sleep(0.1)
        for pid in pids.values():
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)

    def pids(self):
        return {path.stem: int(path.read_text()) for path in sorted(self.directory.glob("*.pid"))}
