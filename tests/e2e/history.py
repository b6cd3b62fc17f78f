"""What has happened to the fences of the members (Lease kube-system/evenkeel-owner) and to the plan: every version as a watch sees it,
and, where the member's API writes an audit log, who wrote it and when."""
import contextlib
import dataclasses
import datetime
import json
import subprocess
import threading
import time

LEASE_SECONDS = 15
MARGIN_SECONDS = 3
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?watch=1&fieldSelector=metadata.name%3Devenkeel-owner"


def host_of(identity):
    """An identity is the host and a suffix of the process: HOST-xxxxx, in compatible mode HOST_UUID."""
    return identity.rpartition("_" if "_" in identity else "-")[0]


def seconds_of(timestamp):
    """"2026-01-02T15:04:05.123456Z" as time.time() has it; 0 for ""."""
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() if timestamp else 0.0


class Watch:
    """Follows one object and keeps what it was, until closed. Tries again when its API goes away; what happens meanwhile is missed."""

    def __init__(self, kubectl, path, decode):
        self.kubectl, self.path, self.decode = kubectl, path, decode
        self.versions, self.changed, self.closed, self.process = [], threading.Condition(), False, None
        self.thread = threading.Thread(target=self.follow, daemon=True)
        self.thread.start()

    def follow(self):
        last = None
        while not self.closed:
            with subprocess.Popen(self.kubectl.command("get", "--raw", self.path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, env=self.kubectl.environment()) as self.process:
                for line in self.process.stdout:
                    last = self.see(line, last)
            if not self.closed:
                time.sleep(0.2)

    def see(self, line, last):
        with contextlib.suppress(json.JSONDecodeError, KeyError):
            event = json.loads(line)
            metadata = event["object"]["metadata"]
            version = metadata["uid"], metadata["resourceVersion"]
            if event["type"] in ("ADDED", "MODIFIED") and version != last:
                with self.changed:
                    self.versions.append(self.decode(event["object"]))
                    self.changed.notify_all()
                return version
        return last

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

    def close(self):
        self.closed = True
        if self.process is not None:
            self.process.kill()
        self.thread.join(10)


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
    """What a write has done to the Lease: "take", "free", "renew" or "knock"."""
    if after.holder and (before is None or before.uid != after.uid or
                         (after.holder, after.epoch, after.transitions) != (before.holder, before.epoch, before.transitions)):
        return "take"
    if not after.holder and before is not None and before.holder:
        return "free"
    return "renew" if before is not None and after.renewed != before.renewed else "knock"


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
            named = {"take": after.holder, "renew": after.holder, "free": before.holder if before else "", "knock": after.wanted_by}[kind]
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
            if write.kind != "knock":
                last = write
        return found

    def check(self, test):
        """One holder after the other: every write by the one it names, greater epochs, and no Lease taken from one who renews."""
        writes, epoch, last_renewal = self.writes(), 0, {}
        for write in writes:
            before, after, where = write.before, write.after, f"{self.cluster}: {write}"
            if self.audit_path is not None and before is not None:
                named = {"take": after.holder, "renew": after.holder, "free": before.holder if before else "",
                         "knock": after.wanted_by}[write.kind]
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
