"""What suites that run side by side share out among themselves: ports, and parts of 127/8. A reservation is a name that the kernel keeps for
the process, and takes back however it ends, as the program's own claims are (src/embedded/fleet/loopback_claim.h)."""
import errno
import pathlib
import random
import socket

# Ours, for servers that are to come back on the same port: above those of well-known servers, below those of benchmarks (bench/servers.py)
# and those that the system gives to whoever asks for any.
PORTS = range(12_000, 21_000)


def take(name):
    """A socket that holds the name until it is closed; None: it is held already."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0evenkeel-e2e-{name}")
        return held
    except OSError as error:
        held.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None


def port():
    """One that no other test uses while this process lives."""
    for number in random.sample(PORTS, len(PORTS)):
        if held := take(f"port-{number}"):
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", number))
                except OSError:
                    held.close()
                    continue
            held.detach()  # as long as the process lives
            return number
    raise AssertionError(f"no port of {PORTS} is free")


def loopback(network):
    """A socket that holds 127.NETWORK until it is closed; None: it is in use."""
    held = take(f"loopback-{network}")
    if held and is_in_use(network):
        held.close()
        return None
    return held


def is_in_use(network):
    """By a fleet that is no test's, or by what a fleet that was killed has left behind."""
    if any(line.endswith(f" @evenkeel-loopback-{network}") for line in pathlib.Path("/proc/net/unix").read_text().splitlines()):
        return True
    # The last four bytes of an address, the last byte first; servers in Java listen on IPv6, where they are the same.
    return any(line.split()[1].partition(":")[0].endswith(f"{network:02X}7F") for file in ("tcp", "tcp6")
               for line in pathlib.Path("/proc/net", file).read_text().splitlines()[1:])
