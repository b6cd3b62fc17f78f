"""The roles of deploy/ on an API server: rule by rule, so that each can be left out until somebody asks for it."""
import collections
import threading

import harness

DASHBOARD = "evenkeel-dashboard/"  # how its user agent begins

# One verb on one resource (of one name, if the rule has names).
Atom = collections.namedtuple("Atom", "role namespace group resource name verb")


def atoms_of(role):
    metadata = role["metadata"]
    return {Atom(metadata["name"], metadata.get("namespace", ""), group, resource, name, verb)
            for rule in role["rules"] or [] for group in rule["apiGroups"] for resource in rule["resources"]
            for name in rule.get("resourceNames", [""]) for verb in rule["verbs"]}


def rules_of(atoms):
    """The shortest list that keeps a role small: one rule for each resource and name."""
    verbs = collections.defaultdict(list)
    for atom in sorted(atoms):
        verbs[atom.group, atom.resource, atom.name].append(atom.verb)
    return [{"apiGroups": [group], "resources": [resource], "verbs": allowed, **({"resourceNames": [name]} if name else {})}
            for (group, resource, name), allowed in verbs.items()]


def allows(atom, other):
    """Whether an atom allows a request, or all that another atom allows."""
    return (atom.verb == other.verb and atom.group == other.group and atom.resource in (other.resource, "*")
            and atom.name in ("", other.name) and atom.namespace in ("", other.namespace))


def is_dashboards(role):
    return role.endswith("-dashboard")


class ShippedRoles:
    """Of one account. Roles are read where they have been applied; each is bound (it says what is shipped), learned (it says what has been
    asked for), or off."""

    def __init__(self, kubectl, api, account, namespace):
        """`api` speaks as somebody who may write roles."""
        self.api, self.user, self.lock = api, f"system:serviceaccount:{namespace}:{account}", threading.Lock()
        self.roles, self.granted, self.used = {}, {}, set()
        # What was asked for that only this allows, and the refusal; what was asked for that nothing allows.
        self.missed, self.unknown = {}, []
        for kind in ("role", "clusterrole"):
            everywhere = ["--all-namespaces"] if kind == "role" else []
            for binding in kubectl.json("get", f"{kind}bindings", *everywhere)["items"]:
                if any(subject["name"] == account for subject in binding.get("subjects") or []):
                    namespace = binding["metadata"].get("namespace", "")
                    role = kubectl.json("get", kind, binding["roleRef"]["name"], *(["-n", namespace] if namespace else []))
                    self.roles[kind, namespace, binding["roleRef"]["name"]] = atoms_of(role)

    def use(self, bound, learned):
        """Roles by name; the others are off. Returns when the server's authorizer has heard of it."""
        with self.lock:
            self.used = {role for role in self.roles if role[2] in bound + learned}
            for role, atoms in self.roles.items():
                self.granted[role] = set(atoms) if role[2] in bound else set()
                self.write(role)
            allowed = set().union(*self.granted.values())
        for atom in self.atoms():
            wanted = any(allows(other, atom) for other in allowed)
            harness.eventually(lambda atom=atom, wanted=wanted: self.is_allowed(atom) == wanted, 120, f"{atom} is {'' if wanted else 'not '}allowed")

    def is_allowed(self, atom):
        resource, _, subresource = atom.resource.replace("*", "anything").partition("/")
        attributes = {"verb": atom.verb, "group": atom.group, "resource": resource, "subresource": subresource, "name": atom.name,
                      "namespace": atom.namespace}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                  "spec": {"user": self.user, "resourceAttributes": attributes}}
        return self.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, harmless=True)["status"]["allowed"]

    def atoms(self):
        return set().union(*self.roles.values())

    def write(self, role):
        kind, namespace, name = role
        where = f"namespaces/{namespace}/" if namespace else ""
        self.api.merge(f"/apis/rbac.authorization.k8s.io/v1/{where}{kind}s/{name}", {"rules": rules_of(self.granted[role])})

    def grant(self, request, message):
        """What this request needs, if a role of those who ask allows it; what else may allow it has to be asked for by others."""
        with self.lock:
            found = [(role, atom) for role in self.used for atom in self.roles[role] if allows(atom, request)]
            if not found:
                return self.unknown.append((request, message))
            looking = request.agent.startswith(DASHBOARD)
            asking = [(role, atom) for role, atom in found if is_dashboards(role[2]) == looking]
            if not asking and not looking:
                self.unknown.append((request, message))
            if not asking or any(atom in self.granted[role] for role, atom in found):
                return None
            # The one that says least.
            role, atom = max(asking, key=lambda item: (bool(item[1].name), bool(item[1].namespace)))
            self.granted[role].add(atom)
            if len(found) == 1:
                self.missed[atom] = message
            return self.write(role)

    def not_missed(self):
        return sorted(self.atoms() - set(self.missed))
