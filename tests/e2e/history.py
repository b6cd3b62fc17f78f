"""What has happened to the fences of the members (Lease kube-system/evenkeel-owner) and to the plan: every version as a watch sees it,
and, where the member's API writes an audit log, who wrote it and when."""
import contextlib
import dataclasses
import datetime
import json
import subprocess
import threading
import time

import harness

LEASE_SECONDS = 15
MARGIN_SECONDS = 3
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?watch=1&fieldSelector=metadata.name%3Devenkeel-owner"


def host_of(identity):
    """An identity is the host and a suffix of the process: HOST-xxxxx, in compatible mode HOST_UUID."""
    return identity.rpartition("_" if "_" in identity else "-")[0]


def seconds_of(timestamp):
    """"2026-01-02T15:04:05.123456Z" as time.time() has it; 0 for ""."""
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() if timestamp else 0.0


class Follower:
    """Sees each event of a watch, in a thread of its own, until closed. A watch that its server ends goes on behind what was seen last, as
    client-go's do. When nobody serves the API, or it does not know that version any more, it begins anew: what happened meanwhile is missed."""

    def __init__(self, kubectl, path):
        self.kubectl, self.path = kubectl, path
        self.closed, self.process, self.version = False, None, ""
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def see(self, event):
        raise NotImplementedError

    def begin(self):
        """Objects that are there come first, as if they had just been added."""

    def follow(self):
        while not self.closed:
            if not self.version:
                self.begin()
            complaint = self.follow_once(f"&resourceVersion={self.version}" if self.version else "")
            waits = harness.is_asked_to_wait(complaint)
            if "was refused" in complaint or ("Error from server" in complaint and not waits):
                self.version = ""
            if not self.closed:
                time.sleep(1 if waits else 0.2)

    def follow_once(self, place):
        """What kubectl complained of at the end."""
        with subprocess.Popen(self.kubectl.command("get", "--raw", self.path + place), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=self.kubectl.environment()) as self.process:
            if self.closed:
                self.process.kill()
            for line in self.process.stdout:
                # The last one may be broken off.
                with contextlib.suppress(json.JSONDecodeError):
                    self.take(json.loads(line))
            return self.process.stderr.read()

    def take(self, event):
        if event["type"] == "ERROR":
            self.version = ""
            return
        self.version = event["object"]["metadata"]["resourceVersion"]
        self.see(event)

    def close(self):
        self.closed = True
        if self.process is not None:
            self.process.kill()
        self.thread.join(10)


class Watch(Follower):
    """Of one object: keeps what it was."""

    def __init__(self, kubectl, path, decode):
        self.decode, self.last = decode, None
        self.versions, self.changed = [], threading.Condition()
        super().__init__(kubectl, path)

    def see(self, event):
        metadata = event["object"]["metadata"]
        version = metadata["uid"], metadata["resourceVersion"]
        if event["type"] in ("ADDED", "MODIFIED") and version != self.last:
            # Of what cannot be read there is no version.
            with contextlib.suppress(KeyError), self.changed:
                self.versions.append(self.decode(event["object"]))
                self.changed.notify_all()
            self.last = version

    def seen(self, since=0):
        """What was seen from `since` on (time.time())."""
        with self.changed:
            return [version for version in self.versions if version.seen >= since]

    def catch_up(self, uid, resource_version):
        """Until that version, or a later one, has been seen: kubectl may be slow to tell, and what is asked about the history then must not be
        what it has not told yet."""
        self.wait_for(lambda v: v.uid == uid and int(v.resource_version) >= int(resource_version), 30, f"version {resource_version} of {uid}")

    def wait_for(self, check, seconds, message):
        """The first version, of those seen by now and later, that `check` holds for."""
        with self.changed:
            looked, deadline = 0, time.monotonic() + seconds
            while True:
                for version in self.versions[looked:]:
                    if check(version):
                        return version
                looked = len(self.versions)
                if not self.changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"not within {seconds} s: {message}; last: {self.versions[-1:]}")


@dataclasses.dataclass(frozen=True)
class LeaseVersion:
    """One version of a member's Lease."""
    seen: float
    uid: str
    resource_version: str
    holder: str
    epoch: int
    transitions: int
    renewed: str
    seconds: int
    wanted_by: str
    wanted_epoch: int

    @staticmethod
    def decode(lease):
        spec, annotations = lease["spec"], lease["metadata"].get("annotations", {})
        return LeaseVersion(
            seen=time.time(), uid=lease["metadata"]["uid"], resource_version=lease["metadata"]["resourceVersion"],
            holder=spec.get("holderIdentity") or "", epoch=int(annotations.get("evenkeel.dev/epoch", 0)),
            transitions=spec.get("leaseTransitions") or 0, renewed=spec.get("renewTime") or "",
            seconds=spec.get("leaseDurationSeconds") or 0, wanted_by=annotations.get("evenkeel.dev/wanted-by", ""),
            wanted_epoch=int(annotations.get("evenkeel.dev/wanted-epoch", 0)))


def kind_of(before, after):
    """What a write has done to the Lease: "take", "free", "renew" or "request"."""
    if after.holder and (before is None or before.uid != after.uid or
                         (after.holder, after.epoch, after.transitions) != (before.holder, before.epoch, before.transitions)):
        return "take"
    if not after.holder and before is not None and before.holder:
        return "free"
    return "renew" if before is not None and after.renewed != before.renewed else "request"


@dataclasses.dataclass(frozen=True)
class Write:
    """A successful write of a member's Lease: `time` is when it was over, and `begun` before it took effect. On a busy machine they are
    seconds apart."""
    begun: float
    time: float
    kind: str
    author: str  # host
    before: LeaseVersion
    after: LeaseVersion


@dataclasses.dataclass(frozen=True)
class AuditEntry:
    received: float
    time: float  # of the answer
    host: str  # "" for whoever is no replica
    verb: str
    resource: str
    name: str
    code: int
    uid: str
    resource_version: str
    epoch: int

    @property
    def succeeded(self):
        return self.code < 400


def read_audit(path):
    """The writes that an audit log tells of, in its order, files that were moved aside first."""
    entries = []
    for file in [*sorted(path.parent.glob(f"{path.stem}-*{path.suffix}")), path]:
        for line in file.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # the last line may be half written
                event = json.loads(line)
                reference = event["objectRef"]
                agent = event.get("userAgent", "")
                entries.append(AuditEntry(
                    received=seconds_of(event["requestReceivedTimestamp"]), time=seconds_of(event["stageTimestamp"]),
                    host=agent.removeprefix("evenkeel/") if agent.startswith("evenkeel/") else "", verb=event["verb"],
                    resource=reference["resource"], name=reference.get("name", ""), code=event["responseStatus"]["code"],
                    uid=reference.get("uid", ""), resource_version=reference.get("resourceVersion", ""),
                    epoch=int(event.get("annotations", {}).get("evenkeel.dev/epoch", 0))))
    return entries


class Fence:
    """The history of one member's Lease."""

    def __init__(self, cluster, kubectl, audit_path=None):
        self.cluster, self.kubectl, self.audit_path = cluster, kubectl, audit_path
        self.watch = Watch(kubectl, LEASES, LeaseVersion.decode)

    def read(self):
        """The Lease now, from its API."""
        return LeaseVersion.decode(self.kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner"))

    def audit(self):
        return read_audit(self.audit_path) if self.audit_path else []

    def writes(self, since=0):
        """All writes seen. Times and author are the audit log's; without one, when it was seen, the time that a renewal says, and whom the
        Lease names."""
        audited = {(entry.uid, entry.resource_version): entry for entry in self.audit()
                   if entry.succeeded and entry.resource == "leases" and entry.name == "evenkeel-owner"}
        writes, before = [], None
        for after in self.watch.seen():
            kind = kind_of(before, after)
            named = {"take": after.holder, "renew": after.holder, "free": before.holder if before else "", "request": after.wanted_by}[kind]
            entry = audited.get((after.uid, after.resource_version))
            said = min(seconds_of(after.renewed) or after.seen, after.seen) if kind in ("take", "renew") else after.seen
            writes.append(Write(entry.received if entry else said, entry.time if entry else after.seen, kind,
                                entry.host if entry else host_of(named), before, after))
            before = after
        return [write for write in writes if write.time >= since]

    def handovers(self, since):
        """(old host, new host, seconds between the last write of the old holder and the taking by the new one, whether the old one gave it
        away) of each change."""
        found, last = [], None
        for write in self.writes():
            if write.kind == "take" and last is not None and write.author != last.author and write.time >= since:
                found.append((last.author, write.author, write.time - last.time, last.kind == "free"))
            if write.kind != "request":
                last = write
        return found

    def check(self, test):
        """One holder after the other: every write by the one it names, greater epochs, and no Lease taken from one who renews."""
        writes, epoch, last_renewal = self.writes(), 0, {}
        for write in writes:
            before, after, where = write.before, write.after, f"{self.cluster}: {write}"
            if self.audit_path is not None and before is not None:
                named = {"take": after.holder, "renew": after.holder, "free": before.holder if before else "",
                         "request": after.wanted_by}[write.kind]
                test.assertEqual(write.author, host_of(named), f"written by somebody else than it names: {where}")
            if write.kind == "take":
                test.assertGreater(after.epoch, epoch, f"an epoch that is not greater: {where}")
                if before is not None and before.holder not in ("", after.holder) and before.uid == after.uid:
                    silent = write.time - last_renewal.get(before.holder, 0)
                    test.assertGreaterEqual(silent, LEASE_SECONDS + MARGIN_SECONDS - 0.5, f"taken from one who renews: {where}")
            else:
                test.assertEqual(after.epoch, epoch, f"an epoch changed without a new tenure: {where}")
            if write.kind in ("take", "renew"):
                last_renewal[after.holder] = write.begun
            epoch = after.epoch
        return len(writes)

    def close(self):
        self.watch.close()


@dataclasses.dataclass(frozen=True)
class PlanVersion:
    """One version of the ShardPlan. `written` is its leader's time, before anybody can have read it; it may be seen much later."""
    seen: float
    uid: str
    resource_version: str
    written: float
    epoch: int
    leader: str
    shards: dict  # {replica: shard}
    assignments: dict  # {cluster: (replica, epoch)}

    @staticmethod
    def decode(plan):
        spec, metadata = plan["spec"], plan["metadata"]
        replicas = {shard["shard"]: shard["replica"] for shard in spec["shards"]}
        return PlanVersion(
            seen=time.time(), uid=metadata["uid"], resource_version=metadata["resourceVersion"],
            written=seconds_of(plan.get("status", {}).get("written", "")), epoch=spec["epoch"], leader=spec["leader"],
            shards={replica: shard for shard, replica in replicas.items()},
            assignments={item["cluster"]: (replicas.get(item["shard"], ""), item["epoch"]) for item in spec["assignments"]})


def watch_plan(kubectl, namespace):
    path = f"/apis/evenkeel.dev/v1alpha1/namespaces/{namespace}/shardplans?watch=1&fieldSelector=metadata.name%3Devenkeel"
    return Watch(kubectl, path, PlanVersion.decode)
