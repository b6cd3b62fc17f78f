"""Reads objects as `kubectl get -o json` does, without starting one: tests look at a fleet many times a second, and a kubectl costs a fifth
of a second of a processor each time. That kubectl itself is served right is e2e.kubectl's business."""
import argparse
import base64
import collections
import http.client
import json
import pathlib
import ssl
import tempfile
import threading
import urllib.parse

import yaml

from api_client import Connection

Kind = collections.namedtuple("Kind", "kind version path plural is_namespaced")


class UnknownError(Exception):
    """A question that only kubectl understands."""


class StatusError(AssertionError):
    """What the server says instead, or that there is none."""
    status = 0


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UnknownError(message)


def parser():
    made = Parser(add_help=False, allow_abbrev=False)
    made.add_argument("-n", "--namespace")
    made.add_argument("-A", "--all-namespaces", action="store_true")
    made.add_argument("-l", "--selector")
    made.add_argument("--field-selector")
    made.add_argument("words", nargs="+")
    return made


PARSER = parser()


def path_of(entry, name, folder, scratch):
    """Of what a kubeconfig has as a file, or in itself, which is then in `scratch`; None: it has neither."""
    data = entry.get(f"{name}-data")
    if not data:
        return folder / entry[name] if entry.get(name) else None
    path = pathlib.Path(scratch, name)
    path.write_bytes(base64.b64decode(data))
    return path


class ThreadConnection(Connection):
    """Ends with the thread that it belongs to."""

    def __del__(self):
        self.connection.close()


class Server:
    """One context of one version of a kubeconfig. A thread has a connection of its own."""

    def __init__(self, kubeconfig, context):
        text = yaml.load(pathlib.Path(kubeconfig).read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        def named(list_name, field, name):
            return next(entry[field] for entry in text[list_name] if entry["name"] == name)
        chosen = named("contexts", "context", context or text["current-context"])
        cluster, user = named("clusters", "cluster", chosen["cluster"]), named("users", "user", chosen["user"]) or {}
        known = {"token", "client-certificate", "client-certificate-data", "client-key", "client-key-data"}
        if user.keys() - known or cluster.keys() - {"server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"}:
            raise UnknownError("credentials of another kind")
        self.namespace = chosen.get("namespace") or "default"
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {user['token']}"} if "token" in user else {})
        self.tls = self.context_of(cluster, user, pathlib.Path(kubeconfig).parent) if self.url.scheme == "https" else None
        self.of_thread, self.kinds = threading.local(), {}

    @staticmethod
    def context_of(cluster, user, folder):
        # Only its owner can read what is in there.
        with tempfile.TemporaryDirectory() as scratch:
            context = ssl.create_default_context(cafile=path_of(cluster, "certificate-authority", folder, scratch))
            if cluster.get("insecure-skip-tls-verify"):
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            if certificate := path_of(user, "client-certificate", folder, scratch):
                context.load_cert_chain(certificate, path_of(user, "client-key", folder, scratch))
        return context

    def get(self, path):
        if not hasattr(self.of_thread, "connection"):
            self.of_thread.connection = ThreadConnection(self.url.hostname, self.url.port or 443, self.tls)
        try:
            status, body = self.of_thread.connection.ask("GET", self.url.path.rstrip("/") + path, None, self.headers)
        except (OSError, http.client.HTTPException) as error:
            raise StatusError(f"The connection to the server {self.url.netloc} was refused or lost: {error}") from error
        if status >= 400:
            raise self.error(status, body)
        return json.loads(body)

    @staticmethod
    def error(status, body):
        try:
            answer = json.loads(body)
            error = StatusError(f"Error from server ({answer.get('reason', status)}): {answer.get('message', '')}")
        except (ValueError, AttributeError):
            error = StatusError(f"Error from server ({status}): {body[:300]!r}")
        error.status = status
        return error

    def kind(self, name):
        if name not in self.kinds:
            self.discover()
        if name not in self.kinds:
            raise StatusError(f'error: the server doesn\'t have a resource type "{name}"')
        return self.kinds[name]

    def discover(self):
        kinds = {}
        # As kubectl prefers them: the core first, then groups in the server's order, of each the version that it prefers, then the others.
        groups = [("", "v1", "/api/v1")]
        for group in self.get("/apis")["groups"]:
            versions = sorted(group["versions"], key=lambda version, group=group: version != group["preferredVersion"])
            groups += [(group["name"], version["version"], f"/apis/{version['groupVersion']}") for version in versions]
        for group, version, path in groups:
            for resource in self.resources(path):
                if "/" in resource["name"] or "get" not in resource["verbs"]:
                    continue
                kind = Kind(resource["kind"], path.removeprefix("/apis/").removeprefix("/api/"), path, resource["name"], resource["namespaced"])
                names = [resource["name"], resource.get("singularName") or kind.kind.lower(), *resource.get("shortNames", [])]
                for name in names + [f"{name}.{group}" for name in names] + [f"{name}.{version}.{group}" for name in names]:
                    kinds.setdefault(name, kind)
        self.kinds = kinds

    def resources(self, path):
        """Empty where the group has just gone, or nobody serves it now."""
        try:
            return self.get(path)["resources"]
        except StatusError as error:
            if error.status not in (404, 503):
                raise
            return []


class Reader:
    """Of one context of a kubeconfig, as it is now."""

    def __init__(self, kubeconfig, context):
        self.kubeconfig, self.context, self.server, self.read_at = pathlib.Path(kubeconfig), context, None, None
        self.lock = threading.Lock()

    def current(self):
        with self.lock:
            try:
                stat = self.kubeconfig.stat()
            except FileNotFoundError as error:
                raise StatusError(f"{self.kubeconfig} is missing") from error
            version = stat.st_mtime_ns, stat.st_ino
            if version != self.read_at:
                self.server, self.read_at = Server(self.kubeconfig, self.context), version
            return self.server

    def get(self, *arguments):
        """What `kubectl ARGUMENT... -o json` prints. Throws UnknownError, or StatusError, whose text begins as kubectl's."""
        asked = PARSER.parse_args([str(argument) for argument in arguments])
        if asked.words[0] != "get" or len(asked.words) < 2:
            raise UnknownError("not a get")
        server = self.current()
        kinds, *names = asked.words[1:]
        if "/" in kinds:
            kinds, name = kinds.split("/", 1)
            names.insert(0, name)
        if names and (len(names) > 1 or "," in kinds):
            raise UnknownError("several objects by name")
        if names:
            return self.read(server, asked, kinds, names[0])
        lists = [self.read(server, asked, kind, None) for kind in kinds.split(",")]
        return {"apiVersion": "v1", "kind": "List", "items": [item for items in lists for item in items["items"]], "metadata": {"resourceVersion": ""}}

    @staticmethod
    def read(server, asked, name_of_kind, name):
        kind = server.kind(name_of_kind.lower())
        path = kind.path
        if kind.is_namespaced and not asked.all_namespaces:
            path += f"/namespaces/{asked.namespace or server.namespace}"
        elif kind.is_namespaced and name:
            raise UnknownError("one of all namespaces")
        path += f"/{kind.plural}" + (f"/{urllib.parse.quote(name)}" if name else "")
        query = {key: value for key, value in (("labelSelector", asked.selector), ("fieldSelector", asked.field_selector)) if value}
        if name and query:
            raise UnknownError("a selector and a name")
        try:
            answer = server.get(path + ("?" + urllib.parse.urlencode(query) if query else ""))
        except StatusError as error:
            # A kind that has gone is discovered anew the next time.
            if error.status == 404 and not name:
                server.kinds = {}
            raise
        for item in answer["items"] if not name else []:
            # Lists leave out what their items have in common.
            item.setdefault("apiVersion", kind.version)
            item.setdefault("kind", kind.kind)
        return answer
