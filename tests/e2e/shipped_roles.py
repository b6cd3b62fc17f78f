"""The roles of deploy/ on an API server: rule by rule, so that each can be left out until somebody asks for it."""
import collections
import threading

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


def allows(atom, request):
    return (atom.verb == request.verb and atom.group == request.group and atom.resource in (request.resource, "*")
            and atom.name in ("", request.name) and atom.namespace in ("", request.namespace))


class ShippedRoles:
    """Of one account. Roles are read where they have been applied."""

    def __init__(self, kubectl, api, account):
        """`api` speaks as somebody who may write roles."""
        self.api, self.lock = api, threading.Lock()
        self.roles, self.granted, self.asked, self.unknown = {}, collections.defaultdict(set), {}, []
        for kind in ("role", "clusterrole"):
            everywhere = ["--all-namespaces"] if kind == "role" else []
            for binding in kubectl.json("get", f"{kind}bindings", *everywhere)["items"]:
                if any(subject["name"] == account for subject in binding.get("subjects") or []):
                    namespace = binding["metadata"].get("namespace", "")
                    role = kubectl.json("get", kind, binding["roleRef"]["name"], *(["-n", namespace] if namespace else []))
                    self.roles[kind, namespace, binding["roleRef"]["name"]] = atoms_of(role)

    def atoms(self):
        return set().union(*self.roles.values())

    def take_away(self, names):
        """Everything that the roles of these names allow; they then get it back one by one as it is asked for."""
        for role in self.roles:
            self.granted[role] = set() if role[2] in names else set(self.roles[role])
            self.write(role)

    def write(self, role):
        kind, namespace, name = role
        where = f"namespaces/{namespace}/" if namespace else ""
        self.api.merge(f"/apis/rbac.authorization.k8s.io/v1/{where}{kind}s/{name}", {"rules": rules_of(self.granted[role])})

    def grant(self, request, message):
        """What this request needs; a request that no role allows is remembered as unknown."""
        with self.lock:
            found = [(role, atom) for role, atoms in self.roles.items() for atom in atoms if allows(atom, request)]
            missing = [(role, atom) for role, atom in found if atom not in self.granted[role]]
            if not found:
                self.unknown.append((request, message))
            if not missing or len(missing) < len(found):
                return  # granted a moment ago
            # The one that says least.
            role, atom = max(missing, key=lambda item: (bool(item[1].name), bool(item[1].namespace)))
            self.granted[role].add(atom)
            self.asked[atom] = message
            self.write(role)

    def not_granted(self):
        return sorted(self.atoms() - set().union(*self.granted.values()))

