"""A suite that is killed, as ctest kills what takes too long, leaves no fleet behind that would starve all others: a process of its own
outlives it and ends whatever the suite has started."""
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time

# In the environment of all that a suite starts, and of what that starts. Containers have an environment of their own, and end with the
# process that runs them.
MARK = "EVENKEEL_E2E_SUITE"


def environment_to_survive():
    """For what is to outlive the suite that starts it."""
    return {name: value for name, value in os.environ.items() if name != MARK}


@functools.cache
def end_with_this_suite():
    """From now on. Processes that a marked one starts belong to the same suite."""
    if MARK in os.environ:
        return None
    os.environ[MARK] = f"{os.getpid()}-{time.monotonic_ns()}"
    # It reads from a pipe that only this process can write to, so it sees every way to end.
    return subprocess.Popen([sys.executable, __file__, os.environ[MARK]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            env=environment_to_survive(), start_new_session=True)


def marked(mark):
    """Process ids. Others' environments cannot be read."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={mark}".encode() in path.read_bytes().split(b"\0"):
                yield int(path.parent.name)
        except OSError:
            pass


def main():
    sys.stdin.read()
    # What is being started meanwhile is seen the next time.
    while found := list(marked(sys.argv[1])):
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


if __name__ == "__main__":
    main()
