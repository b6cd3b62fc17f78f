"""`bench/run soak`: an embedded fleet that is used all the time, for as long as it takes a leak to show, and a quiet one beside whose idle
controllers must cost next to nothing. Bars: memory and open files stay flat, no error in any log, little processor time."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import time

from servers import BenchError, resident_bytes

MEMBERS, REPLICAS = 20, 3
# The fleet has as many Deployments and pods at the end as at the beginning: more of them take more memory, which is no leak.
APPS, PODS_MAX = 3, 12
EXTRA_PODS_MAX = 4
# By when caches are full and every path has been taken once.
WARM_MINUTES = 5
WINDOW_SECONDS = 60
SAMPLE_SECONDS = 10
GROWTH_MAX = 0.05
# A connection or two more may be open at one moment than at another.
FILES_MORE_MAX = 4
IDLE_MEMBERS, IDLE_WARM_SECONDS, IDLE_SECONDS, IDLE_MAX = 10, 60, 120, 0.02
AUTOSCALER = "--scan-interval 5s --scale-down-unneeded-time 30s --scale-down-delay-after-add 20s --unremovable-node-recheck-timeout 10s"
JARS = ("/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar")
START_SECONDS = 120
ERROR = re.compile(r"^\S+ error ")


class Fleet:
    """`evenkeel up` in a directory of its own."""

    def __init__(self, program, home, *arguments):
        self.program, self.home, self.arguments = program, home, arguments
        self.kubeconfig, self.log = home / "kubeconfig", home / "up.log"
        self.process = None

    def __enter__(self):
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(self.program), "up", *self.arguments], stdout=log, stderr=log,
                                            env={**os.environ, "EVENKEEL_HOME": str(self.home)})
        deadline = time.monotonic() + START_SECONDS
        while "is up" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise BenchError(f"evenkeel up did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kubectl(self, context, *arguments, stdin=None):
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), "--context", context, *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise BenchError(f"kubectl {context} {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def processes(self):
        """{pid: name} of all that run this program: the fleet, what looks after its processes, the controllers."""
        found = {self.process.pid: "evenkeel up"}
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if not entry.name.isdigit() or int(entry.name) in found:
                    continue
                program = (entry / "comm").read_text().strip()
                command = (entry / "cmdline").read_bytes().decode().split("\0")
                if program.startswith("evenkeel") and str(self.home) in (entry / "environ").read_bytes().decode() + " ".join(command):
                    found[int(entry.name)] = f"{program} {command[1]} (pid {entry.name})"
        return found

    def controllers(self):
        return [pid for pid, name in self.processes().items() if name.startswith("evenkeel run")]

    def errors(self):
        """Lines of all logs."""
        logs = [self.log, *self.home.glob("*/pods/*/logs/*/*.log")]
        return [f"{log.relative_to(self.home)}: {line}" for log in logs for line in log.read_text(errors="replace").splitlines()
                if ERROR.match(line)]


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def measure_idle(program, directory, say):
    """The share of a core that one replica with quiet members takes."""
    with Fleet(program, directory, "--members", str(IDLE_MEMBERS), "--replicas", "1") as fleet:
        time.sleep(IDLE_WARM_SECONDS)
        [pid] = fleet.controllers()
        before, began = processor_seconds(pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        share = (processor_seconds(pid) - before) / (time.monotonic() - began)
    say(f"idle: {share:.2%} of a core for {IDLE_MEMBERS} quiet members")
    return share


def deployment(name, replicas):
    labels = {"app": name}
    container = {"name": "main", "image": "simulated", "resources": {"requests": {"cpu": "500m", "memory": "256Mi"}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "revisionHistoryLimit": 1, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels},
                                  "spec": {"containers": [container], "terminationGracePeriodSeconds": 1}}}}


def policy():
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "even"},
            "spec": {"metrics": [{"name": "cpu", "balancingThreshold": 1.3}], "intervals": {"balancing": "30s", "constraintCheck": "30s"}}}


def ensemble(tag):
    """Real servers, small ones; `tag`: a change of it replaces each."""
    command = f"java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp {':'.join(JARS)} org.apache.zookeeper.server.quorum.QuorumPeerMain"
    container = {"name": "zookeeper", "env": [{"name": "ZOOKEEPER_COMMAND", "value": command}, {"name": "TAG", "value": tag}]}
    pods = {"metadata": {"annotations": {"evenkeel.dev/runtime": "process"}},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}
    clusters = [{"name": f"member-{number}", "replicas": 1} for number in (1, 2, 3)]
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": "soak", "namespace": "default"},
            "spec": {"placement": {"clusters": clusters}, "naming": {"mode": "external", "template": "127.9.2.<id>"},
                     "template": {"config": {"tickTime": 500, "initLimit": 20, "syncLimit": 10}, "storage": {"size": "1Gi"},
                                  "ports": {"clientAddress": "Host"}, "podTemplate": pods}}}


def runs_zookeeper():
    return shutil.which("java") is not None and all(map(os.path.exists, JARS))


class Churn:
    """What the fleet's users do: every few seconds something, at some member."""

    def __init__(self, fleet):
        self.fleet, self.random = fleet, random.Random(1)
        self.steps = {name: 0 for name in ("resized", "restarted", "replaced", "pods deleted", "groups resized", "rollouts")}
        members = range(1, MEMBERS + 1)
        self.pods = {(number, app): (number * APPS + app) % (PODS_MAX + 1) for number in members for app in range(APPS)}
        self.extra = {number: (f"extra-{number}-0", 1 + number % EXTRA_PODS_MAX) for number in members}
        self.tag = 0
        self.due = {self.resize: 0, self.restart: 10, self.replace: 20, self.delete_pod: 15, self.resize_group: 25, self.roll_out: 30}
        self.every = {self.resize: 8, self.restart: 45, self.replace: 20, self.delete_pod: 15, self.resize_group: 30, self.roll_out: 180}

    def begin(self):
        for number in range(1, MEMBERS + 1):
            apps = [deployment(f"app-{app}", self.pods[number, app]) for app in range(APPS)]
            self.apply(f"member-{number}", policy(), *apps, deployment(*self.extra[number]))

    def apply(self, context, *items):
        self.fleet.kubectl(context, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def member(self):
        return f"member-{self.random.randint(1, MEMBERS)}"

    def step(self, elapsed):
        for action, at in self.due.items():
            if elapsed >= at:
                self.due[action] = elapsed + self.every[action]
                action()

    def resize(self):
        """Two Deployments exchange their sizes."""
        one, other = self.random.sample(sorted(self.pods), 2)
        self.pods[one], self.pods[other] = self.pods[other], self.pods[one]
        for number, app in (one, other):
            self.fleet.kubectl(f"member-{number}", "scale", "deployment", f"app-{app}", f"--replicas={self.pods[number, app]}")
            self.steps["resized"] += 1

    def restart(self):
        self.fleet.kubectl(self.member(), "rollout", "restart", f"deployment/app-{self.random.randrange(APPS)}")
        self.steps["restarted"] += 1

    def replace(self):
        """A Deployment of the same size comes where one has gone."""
        number = self.random.randint(1, MEMBERS)
        gone, pods = self.extra[number]
        self.fleet.kubectl(f"member-{number}", "delete", "deployment", gone, "--wait=false")
        self.steps["replaced"] += 1
        self.extra[number] = (f"extra-{number}-{self.steps['replaced']}", pods)
        self.apply(f"member-{number}", deployment(*self.extra[number]))

    def delete_pod(self):
        member = self.member()
        names = self.fleet.kubectl(member, "get", "pods", "-o", "name").split()
        apps = [name for name in names if "/app-" in name]
        if apps:
            self.fleet.kubectl(member, "delete", "--wait=false", "--ignore-not-found", self.random.choice(apps))
            self.steps["pods deleted"] += 1

    def resize_group(self):
        self.fleet.kubectl(self.member(), "scale", "nodegroup", "general", f"--replicas={self.random.randint(0, 3)}")
        self.steps["groups resized"] += 1

    def roll_out(self):
        if runs_zookeeper():
            self.tag += 1
            self.apply("hub", ensemble(f"soak-{self.tag}"))
            self.steps["rollouts"] += 1


def flatness(samples, warm, end):
    """{"begin", "end"} of what a process had: medians of the window after `warm`, and of the last one, by (seconds, value)."""
    def within(begin):
        return statistics.median([value for at, value in samples if begin <= at <= begin + WINDOW_SECONDS])
    return {"begin": within(warm), "end": within(end - WINDOW_SECONDS)}


def measure_churn(program, directory, minutes, say):
    warm, end = min(WARM_MINUTES, minutes / 2) * 60, minutes * 60
    memory, files, failures = {}, {}, []
    arguments = ("--members", str(MEMBERS), "--replicas", str(REPLICAS), "--autoscaler-args", AUTOSCALER)
    with Fleet(program, directory, *arguments) as fleet:
        churn = Churn(fleet)
        churn.begin()
        began, told = time.monotonic(), 0
        names = fleet.processes()
        before = {pid: processor_seconds(pid) for pid in names}
        sampled = -SAMPLE_SECONDS
        while (elapsed := time.monotonic() - began) < end + 1:
            try:
                churn.step(elapsed)
            except BenchError as error:
                failures.append(str(error))
            if elapsed - sampled >= SAMPLE_SECONDS:
                sampled = elapsed
                for pid in names:
                    memory.setdefault(pid, []).append((elapsed, resident_bytes(pid)))
                    files.setdefault(pid, []).append((elapsed, open_files(pid)))
            if elapsed // 60 > told:
                told = elapsed // 60
                say(f"soak: minute {told:.0f} of {minutes:g}: {sum(rows[-1][1] for rows in memory.values()) >> 20} MiB")
            time.sleep(0.5)
        processor = {pid: processor_seconds(pid) - seconds for pid, seconds in before.items()}
        results = [{"name": name, "memory": flatness(memory[pid], warm, end), "files": flatness(files[pid], warm, end),
                    "cores": processor[pid] / elapsed} for pid, name in names.items()]
        errors = fleet.errors()
    return {"minutes": minutes, "steps": churn.steps, "processes": results, "errors": errors, "failures": failures}


def by_group(processes, what):
    """{name: {"begin", "end"}}. The replicas count together: a hand-over takes a member's caches and connections from one to another."""
    groups = {}
    for process in processes:
        name = "all replicas" if process["name"].startswith("evenkeel run") else process["name"]
        group = groups.setdefault(name, {"begin": 0, "end": 0})
        for moment in group:
            group[moment] += process[what][moment]
    return groups


def missed(results):
    found = []
    for name, memory in by_group(results["processes"], "memory").items():
        if memory["end"] > memory["begin"] * (1 + GROWTH_MAX):
            found.append(f"{name}: {memory['begin'] / 2**20:.1f} MiB grew to {memory['end'] / 2**20:.1f}")
    for name, files in by_group(results["processes"], "files").items():
        if files["end"] > files["begin"] + FILES_MORE_MAX:
            found.append(f"{name}: {files['begin']:.0f} open files grew to {files['end']:.0f}")
    found += [f"error in a log: {line}" for line in results["errors"][:5]] + [f"refused: {line}" for line in results["failures"][:5]]
    if results["idle"] >= IDLE_MAX:
        found.append(f"an idle replica takes {results['idle']:.1%} of a core, not less than {IDLE_MAX:.0%}")
    return found


def table(results):
    rows = [("", "MiB", "then", "open files", "then", "cores")]
    for process in results["processes"]:
        memory, files = process["memory"], process["files"]
        rows.append((process["name"], f"{memory['begin'] / 2**20:.1f}", f"{memory['end'] / 2**20:.1f}", f"{files['begin']:.0f}",
                     f"{files['end']:.0f}", f"{process['cores']:.3f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]) for row in rows]
    steps = ", ".join(f"{count} {name}" for name, count in results["steps"].items())
    return "\n".join([*lines, f"after minute {min(WARM_MINUTES, results['minutes'] / 2):g} and at minute {results['minutes']:g}: {steps}",
                      f"{len(results['errors'])} errors in logs, {len(results['failures'])} commands refused; "
                      f"idle: {results['idle']:.2%} of a core for {IDLE_MEMBERS} members"])


def run(program, directory, minutes, say):
    """Prints the table; whether every bar was met."""
    idle = measure_idle(program, directory / "quiet", say)
    results = {**measure_churn(program, directory / "busy", minutes, say), "idle": idle}
    (directory / "results.json").write_text(json.dumps(results, indent=2) + "\n")
    print(table(results))
    bars = missed(results)
    for bar in bars:
        say(f"missed: {bar}")
    return not bars
