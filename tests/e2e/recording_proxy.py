"""A proxy in front of an API server that tells who asked for what, and what the answer was. The server decides; the proxy passes everything
on, but for what the server lacks: policy/v1 is policy/v1beta1 before Kubernetes 1.21, and of kinds that it does not serve there are none. It
asks its authorizer before it looks whether it serves them, so rights to those are put to the test, too."""
import collections
import http.client
import http.server
import json
import socketserver
import ssl
import threading
import urllib.parse

Request = collections.namedtuple("Request", "verb group resource namespace name status agent")
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
HOP_BY_HOP = {"connection", "transfer-encoding", "keep-alive", "host", "content-length", "accept-encoding"}


def request_of(method, target, agent):
    """What a server's authorizer makes of a request; None for paths that are no resources."""
    url = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(url.query)
    parts = url.path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    resource, name, subresource = rest[0], (rest[1:2] or [""])[0], (rest[2:3] or [""])[0]
    for field in query.get("fieldSelector", []):
        if not name and field.startswith("metadata.name="):
            name = field.partition("=")[2]
    verb = VERBS.get(method) or ("watch" if query.get("watch", ["false"])[0] in ("true", "1") else "get" if len(rest) > 1 else "list")
    return Request(verb, group, resource + (f"/{subresource}" if subresource else ""), namespace, name, 0, agent)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = None

    def log_message(self, *arguments):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def finish(self):
        if self.upstream:
            self.upstream.close()
        try:
            super().finish()
        except OSError:
            pass

    def pass_on(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = request_of(self.command, self.path, self.headers.get("User-Agent", ""))
        answer = proxy.interfere(asked, body) if asked else None
        if answer:
            status, text = answer
            proxy.record(asked._replace(status=status), b"")
            return self.answer(status, {"Content-Type": "application/json"}, json.dumps(text).encode())
        headers = {key: value for key, value in self.headers.items() if key.lower() not in HOP_BY_HOP}
        if self.upstream is None:
            self.upstream = http.client.HTTPSConnection(proxy.host, proxy.port, context=proxy.context)
        self.upstream.request(self.command, proxy.upwards(self.path), proxy.upwards_body(body) or None, headers)
        response = self.upstream.getresponse()
        kept = {key: value for key, value in response.getheaders() if key.lower() not in HOP_BY_HOP}
        if asked and asked.verb == "watch" and response.status == 200:
            proxy.record(asked._replace(status=200), b"")
            return self.stream(response, kept)
        text = proxy.downwards(response.read())
        if asked and response.status == 404 and (asked.group, asked.resource) in proxy.lacking and asked.verb in ("list", "watch"):
            proxy.record(asked._replace(status=200), b"")
            return self.have_none(asked.verb)
        if asked:
            proxy.record(asked._replace(status=response.status), text)
        self.answer(response.status, kept, text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def answer(self, status, headers, text):
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def have_none(self, verb):
        if verb == "list":
            nothing = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}
            return self.answer(200, {"Content-Type": "application/json"}, json.dumps(nothing).encode())
        self.close_connection = True
        self.send_response_only(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.rfile.read(1)  # until the watcher goes

    def stream(self, response, headers):
        """A watch: an event a line."""
        self.close_connection = True
        self.send_response_only(200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            while line := response.readline():
                line = self.server.proxy.downwards(line)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # the other side has gone


class RecordingProxy:
    def __init__(self, server, authority, has_policy_v1, lacking, forbidden):
        """`authority`: PEM of the server's. `lacking`: {(group, resource)} of which there are none where the server does not know them.
        `forbidden(request, message)` is called for each 403, before it is passed on."""
        url = urllib.parse.urlsplit(server)
        self.host, self.port, self.has_policy_v1 = url.hostname, url.port or 443, has_policy_v1
        self.context = ssl.create_default_context(cadata=authority)
        self.lacking, self.forbidden, self.lock = lacking, forbidden, threading.Lock()
        self.requests, self.refused, self.faults = set(), [], []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.proxy = self
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def upwards(self, target):
        return target if self.has_policy_v1 else target.replace("/apis/policy/v1/", "/apis/policy/v1beta1/")

    def upwards_body(self, body):
        return body if self.has_policy_v1 else body.replace(b'"policy/v1"', b'"policy/v1beta1"')

    def downwards(self, text):
        return text if self.has_policy_v1 else text.replace(b'"policy/v1beta1"', b'"policy/v1"')

    def fail_once(self, verb, resource, status, reason):
        """The next such request is answered so, as a server may whose state has just changed."""
        with self.lock:
            self.faults.append((verb, resource, status, reason))

    def forget(self):
        with self.lock:
            self.requests.clear()
            self.refused.clear()

    def answered(self, verb, resource, name="", agent=""):
        """Whether such a request has been allowed, whatever became of it."""
        with self.lock:
            return any((request.verb, request.resource) == (verb, resource) and name in ("", request.name) and request.agent.startswith(agent)
                       and request.status != 403 for request in self.requests)

    def interfere(self, asked, body):
        with self.lock:
            for fault in self.faults:
                if (asked.verb, asked.resource) == fault[:2]:
                    self.faults.remove(fault)
                    return fault[2], {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": fault[3], "code": fault[2],
                                      "message": "the object has been changed"}
        return None

    def record(self, request, text):
        with self.lock:
            self.requests.add(request)
        if request.status == 403:
            message = json.loads(text).get("message", "")
            with self.lock:
                self.refused.append((request, message))
            self.forbidden(request, message)
