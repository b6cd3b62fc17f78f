"""What `make release` writes: each file is tried where nothing of the build is, in a bare Debian 12 or in nothing at all. That needs root;
the bare Debian needs mmdebstrap and a mirror besides. Where one is missing the test says which and skips itself."""
import contextlib
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import time
import unittest

import harness
from deploy_files import run

VERSION = re.search(r"^project\(evenkeel VERSION ([0-9.]+)", (harness.ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
BARE = harness.ROOT / "build/bare-bookworm.tar"
# Seconds from where it is installed, with what a mirror sends, to the first answer of a fleet: some 20 where nothing else runs. What is told
# apart is one that never answers.
FIRST_ANSWER = 300
# Of Debian 12.
GLIBC = (2, 36)
FLEET = """
set -eu
export HOME=/tmp EVENKEEL_HOME=/tmp/evenkeel
{program} up >/tmp/up.log 2>&1 &
for second in $(seq 1 55); do
  if grep -q 'Evenkeel is up' /tmp/up.log; then {program} get shards; kill $!; wait $! || true; exit; fi
  sleep 1
done
cat /tmp/up.log
exit 1
"""


@functools.cache
def released():
    """{how its name ends: path}. Written once for all tests."""
    names = [line.split()[-1] for line in run(harness.ROOT / "tools/release", cwd=harness.ROOT).splitlines()]
    return {".".join(pathlib.Path(name).name.split(".")[-2:]): harness.ROOT / name for name in names}


def needs_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("another root directory needs root")
    if shutil.which("ip") is None:
        raise unittest.SkipTest("no ip: a network of its own needs iproute2")
    # A container may have root, but no right to mount.
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "--net", "true"], capture_output=True).returncode != 0:
        raise unittest.SkipTest("unshare is refused here")


@functools.cache
def bare():
    """A tarball of a Debian 12 with apt and nothing else."""
    needs_root()
    if not BARE.exists():
        if shutil.which("mmdebstrap") is None:
            raise unittest.SkipTest("no mmdebstrap")
        part = BARE.with_suffix(".part.tar")
        result = subprocess.run(["mmdebstrap", "--variant=apt", "bookworm", part], capture_output=True, text=True)
        if result.returncode != 0:
            raise unittest.SkipTest(f"mmdebstrap: {result.stderr.strip().splitlines()[-1]}")
        part.rename(BARE)
    return BARE


@contextlib.contextmanager
def bare_machine():
    with harness.temporary_home() as home:
        root = home / "root"
        root.mkdir()
        run("tar", "-C", root, "-xf", bare())
        yield root


def inside(root, script, network=False, shell=("sh", "-c")):
    """The output of a shell's script in that root, with processes of its own and, but for `network`, nothing to reach but itself."""
    outer = 'mount -t proc proc "$0/proc"; [ "$1" = yes ] || ip link set lo up; root=$0; shift; exec chroot "$root" "$@"'
    (root / "proc").mkdir(exist_ok=True)
    result = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"]), "sh", "-ec", outer, root,
                             "yes" if network else "no", "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *shell, script],
                            capture_output=True, text=True, timeout=300)
    return result.returncode, result.stdout + result.stderr


class ReleaseTest(unittest.TestCase):
    def check_fleet(self, root, program, began, what):
        """The first word of the program, and the first answer of a fleet. `began`: when its installation did."""
        code, answer = inside(root, f"{program} version")
        self.assertEqual((code, answer.split()[:2]), (0, ["evenkeel", VERSION]), answer)
        word = time.monotonic() - began
        code, answer = inside(root, FLEET.format(program=program))
        self.assertEqual(code, 0, answer)
        self.assertRegex(answer, r"(?m)^member-1 ")
        whole = time.monotonic() - began
        print(f"{what}: installed and its version said in {word:.1f} s, the first answer of a fleet in {whole:.1f} s")
        self.assertLess(whole, FIRST_ANSWER)

    def test_1_the_files_and_their_digests(self):
        for name, digest in ((line.split()[1], line.split()[0]) for line in released()["0.sha256"].read_text().splitlines()):
            self.assertEqual(hashlib.sha256((harness.ROOT / "build" / name).read_bytes()).hexdigest(), digest, name)
        first = released()["tar.gz"].read_bytes()
        epoch = run("git", "log", "-1", "--format=%ct", cwd=harness.ROOT).strip()
        run(harness.ROOT / "tools/tarball", env={**os.environ, "SOURCE_DATE_EPOCH": epoch})
        with harness.temporary_home() as home:
            (home / "first.tar.gz").write_bytes(first)
            lists = [run("tar", "-tvzf", path) for path in (home / "first.tar.gz", released()["tar.gz"])]
        self.assertEqual(*lists, "made again, it is the same")

    def test_2_the_tarball_says_what_it_contains(self):
        with harness.temporary_home() as home:
            run("tar", "-C", home, "--strip-components=1", "-xzf", released()["tar.gz"])
            contents = (home / "CONTENTS").read_text()
            libraries = {path.name for path in (home / "lib").iterdir()}
            self.assertEqual(set(re.findall(r"(?m)^lib/(\S+)", contents)), libraries)
            named = set(re.findall(r"licences/(\S+)", contents))
            self.assertGreater(len(named), len(re.findall(r"(?m)^(?:preact|uplot) ", contents)) + 20)
            for name in named:
                self.assertGreater((home / "licences" / name).stat().st_size, 200, name)
            for path in (home / "bin/evenkeel", *(home / "lib").iterdir()):
                dynamic = run("readelf", "-d", path)
                needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
                self.assertLessEqual({name for name in needed if not re.match(r"(libc|libm|ld-linux-.*)\.so\.", name)}, libraries, path.name)
                self.assertNotIn("(RUNPATH)", dynamic, f"{path.name}: what it needs would not be looked for beside it")
                versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", run("readelf", "-V", path))
                self.assertLessEqual(max((int(a), int(b)) for a, b in versions) if versions else GLIBC, GLIBC, path.name)

    def test_3_the_tarball_on_a_bare_machine(self):
        with bare_machine() as root:
            archive, began = released()["tar.gz"], time.monotonic()
            run("tar", "-C", root / "opt", "-xzf", archive)
            # As docs/INSTALL.md does.
            (root / "usr/local/bin/evenkeel").symlink_to(f"/opt/{archive.name.removesuffix('.tar.gz')}/bin/evenkeel")
            _, text = inside(root, "ldd $(readlink /usr/local/bin/evenkeel)")
            self.assertGreater(text.count(" => /opt/"), 20)
            others = [line.strip() for line in text.splitlines() if "=>" in line and not re.search(r"=> (/opt/\S+/bin/\.\./lib/|/lib/\S+/lib[cm]\.so\.6)", line)]
            self.assertEqual(others, [])
            self.check_fleet(root, "/usr/local/bin/evenkeel", began, "tarball")

    def test_4_the_debian_package_on_a_bare_machine(self):
        package = next(path for ending, path in released().items() if ending.endswith(".deb"))
        with bare_machine() as root:
            shutil.copy(package, root / "tmp")
            for name in ("resolv.conf", "hosts"):
                shutil.copyfile(f"/etc/{name}", root / "etc" / name)
            code, text = inside(root, "apt-get update", network=True)
            if code != 0 or re.search(r"(?m)^[EW]: ", text):
                self.skipTest(f"no mirror: {text.strip().splitlines()[-1]}")
            # With what apt brings of other packages.
            began = time.monotonic()
            code, text = inside(root, f"DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends /tmp/{package.name}", network=True)
            self.assertEqual(code, 0, text)
            self.check_fleet(root, "evenkeel", began, "package")

    @unittest.skipIf(shutil.which("lintian") is None, "no lintian")
    def test_5_debians_rules_for_packages(self):
        package = next(path for ending, path in released().items() if ending.endswith(".deb"))
        result = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", package], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_6_the_image(self):
        needs_root()
        with harness.temporary_home() as home:
            (home / "layout").mkdir()
            run("tar", "-C", home / "layout", "-xf", released()["oci.tar"])
            run("umoci", "unpack", "--image", f"{home}/layout:{VERSION}", home / "bundle")
            root = home / "bundle/rootfs"
            self.assertEqual(sorted(path.name for path in (root / "usr/bin").iterdir()), ["evenkeel"])
            began = time.monotonic()
            # Read-only but for /tmp, as nobody.
            user = ("--userspec=65532:65532",)
            self.assertEqual(inside_as(root, user, "/usr/bin/evenkeel", "--version"), f"evenkeel {VERSION}\n")
            with (home / "up.log").open("w") as log:
                self.check_image_fleet(root, user, log)
            self.assertLess(time.monotonic() - began, FIRST_ANSWER)

    def check_image_fleet(self, root, user, log):
        """It has no shell: that of this machine waits, beside it in the same namespaces."""
        script = """
        mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; ip link set lo up
        run() { env -i HOME=/tmp EVENKEEL_HOME=/tmp/evenkeel PATH=/usr/bin /usr/sbin/chroot "$1" "$root" "$2" "$3" ${4:-}; }
        root=$0; user=$1
        run "$user" /usr/bin/evenkeel up >"$root/tmp/up.log" 2>&1 &
        for second in $(seq 1 55); do
          if grep -q 'Evenkeel is up' "$root/tmp/up.log"; then run "$user" /usr/bin/evenkeel get shards; exit; fi
          sleep 1
        done
        cat "$root/tmp/up.log"; exit 1
        """
        for name in ("dev", "proc"):
            (root / name).mkdir(exist_ok=True)
        result = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--net", "sh", "-ec", script, root, *user],
                                stdout=subprocess.PIPE, stderr=log, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"(?m)^member-1 ")


def inside_as(root, user, *command):
    return run("unshare", "--mount", "--pid", "--fork", "--net", "chroot", *user, root, *command)


if __name__ == "__main__":
    harness.main()
