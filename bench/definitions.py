"""What CustomResourceDefinitions cost: their creation, the memory with them and with all documents about them, and after they are gone.

They are generated, each another one: some 60 kB of nested fields, most of it descriptions, as those of large projects are.
"""
import http.client
import json
import random
import ssl
import time

import servers

COUNT = 485
BYTES = 60_000
CREATED_PER_SECOND = 500 / 3.2
ADDED_BYTES = 130 << 20
# What the allocator and SQLite keep for the next time.
LEFT_BYTES = 40 << 20
# The store forgets what was within six minutes.
FORGOTTEN_SECONDS = 400
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DOCUMENTS = (("/openapi/v2", "application/json"), ("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"),
             ("/apis", "application/json"), ("/apis", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"))
SYLLABLES = ("ba", "con", "der", "es", "for", "gra", "il", "ker", "lum", "mo", "ner", "op", "pli", "ra", "ser", "ti", "un", "vol", "wor", "za")


class Words:
    """Texts and names that are drawn as a language does it: few words often, many seldom."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        made = random.Random(0)
        self.known = sorted({"".join(made.choices(SYLLABLES, k=made.randint(1, 4))) for _ in range(4_000)}, key=lambda word: (len(word), word))

    def word(self):
        return self.known[int(len(self.known) ** self.random.random()) - 1]

    def name(self):
        return self.word() + self.word().capitalize()

    def sentence(self):
        return " ".join(self.word() for _ in range(self.random.randint(6, 30))).capitalize() + "."


def scalar(words):
    kind = words.random.choice(("string", "string", "string", "integer", "boolean", "quantity", "enum"))
    if kind == "quantity":
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True,
                "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"}
    if kind == "enum":
        return {"type": "string", "enum": sorted({words.word() for _ in range(4)})}
    if kind == "integer":
        return {"type": "integer", "format": words.random.choice(("int32", "int64"))}
    return {"type": kind}


def field(words, depth):
    shape = words.random.choice(("scalar", "scalar", "scalar", "object", "list", "map")) if depth else "scalar"
    if shape == "scalar":
        made = scalar(words)
    elif shape == "object":
        made = fields(words, depth - 1)
    elif shape == "list":
        made = {"type": "array", "items": words.random.choice((scalar, lambda drawn: fields(drawn, depth - 1)))(words)}
    else:
        made = {"type": "object", "additionalProperties": {"type": "string"}}
    return {"description": words.sentence()} | made


def fields(words, depth):
    properties = {words.name(): field(words, depth) for _ in range(words.random.randint(3, 9))}
    return {"type": "object", "properties": properties, "required": sorted(properties)[:1]}


def definition(number):
    """Name and text of one, of BYTES or a field more."""
    words = Words(number)
    group, plural = f"group{number // 8}.example.com", f"things{number}"
    spec, status = {"type": "object", "properties": {}}, fields(words, 1)
    schema = {"type": "object", "description": words.sentence(),
              "properties": {"apiVersion": {"type": "string", "description": words.sentence()},
                             "kind": {"type": "string", "description": words.sentence()}, "metadata": {"type": "object"},
                             "spec": spec, "status": status}}
    made = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": f"Thing{number}"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
                                   "subresources": {"status": {}}}]}}
    size = len(json.dumps(made, separators=(",", ":")))
    while size < BYTES:
        name, one = words.name(), field(words, 3)
        if spec["properties"].setdefault(name, one) is not one:
            continue
        size += len(json.dumps(one, separators=(",", ":"))) + len(name) + 4
    return made["metadata"]["name"], json.dumps(made, separators=(",", ":")).encode()


class Connection:
    """One kept-alive connection, as who applies a file of manifests has."""

    def __init__(self, server):
        host, port = server.url.removeprefix("https://").split(":")
        certificate = server.directory / "data/ca.crt"
        self.connection = http.client.HTTPSConnection(host, int(port), timeout=120, context=ssl.create_default_context(cafile=certificate))
        self.token = server.token_file.read_text().strip()

    def ask(self, path, method="GET", body=None, accept="application/json"):
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept": accept})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise servers.BenchError(f"{method} {path}: {text[:300].decode()}")
        return text


def serve_documents(connection):
    """Asks for all of them once; how many bytes they have."""
    size = sum(len(connection.ask(path, accept=accept)) for path, accept in DOCUMENTS)
    index = json.loads(connection.ask("/openapi/v3"))
    return size + sum(len(connection.ask(one["serverRelativeURL"])) for one in index["paths"].values())


def measure(start, say):
    """Bytes are those beyond the same server's before: with the definitions, with all documents served, and after both are gone."""
    made = [definition(number) for number in range(COUNT)]
    with start() as server:
        say(f"{server.title}: {COUNT} definitions")
        connection = Connection(server)
        serve_documents(connection)
        time.sleep(1)
        before = sum(server.memory().values())
        result = {"count": COUNT, "text_bytes": sum(len(text) for _, text in made)}
        begun = time.monotonic()
        for _, text in made:
            connection.ask(DEFINITIONS, "POST", text)
        result["per_second"] = COUNT / (time.monotonic() - begun)
        time.sleep(1)
        result["created_bytes"] = sum(server.memory().values()) - before
        begun = time.monotonic()
        result["documents_bytes"] = serve_documents(connection)
        result["documents_seconds"] = time.monotonic() - begun
        time.sleep(1)
        result["served_bytes"] = sum(server.memory().values()) - before
        for name, _ in made:
            connection.ask(f"{DEFINITIONS}/{name}", "DELETE")
        say(f"{server.title}: waiting until its history is forgotten")
        time.sleep(FORGOTTEN_SECONDS)
        # A connection that was silent for so long may have been closed.
        serve_documents(Connection(server))
        time.sleep(1)
        result["left_bytes"] = sum(server.memory().values()) - before
        return result


def rows(side, table, form_bytes):
    found = side["definitions"]
    table.alone(f"{found['count']} definitions of {found['text_bytes'] // found['count']:,} bytes: created on one connection",
                f"{found['per_second']:.0f} /s", f">= {CREATED_PER_SECOND:.0f} /s")
    table.alone("    memory with them, beyond the empty server's", form_bytes(found["created_bytes"]))
    table.alone("    after all OpenAPI and discovery documents were served", form_bytes(found["served_bytes"]), f"<= {form_bytes(ADDED_BYTES)}")
    table.alone("    their size, time", f"{form_bytes(found['documents_bytes'])}, {found['documents_seconds']:.2f} s")
    table.alone("    after all were deleted and forgotten", form_bytes(found["left_bytes"]), f"<= {form_bytes(LEFT_BYTES)}")


def missed(side):
    found = side.get("definitions")
    if found is None:
        return []
    lines = [f"definitions: {name} {found[name] >> 20} MiB, the bar is {bar >> 20} MiB"
             for name, bar in (("served_bytes", ADDED_BYTES), ("left_bytes", LEFT_BYTES)) if found[name] > bar]
    if found["per_second"] < CREATED_PER_SECOND:
        lines.append(f"definitions: {found['per_second']:.0f} created per second, the bar is {CREATED_PER_SECOND:.0f}")
    return lines
