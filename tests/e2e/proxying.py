"""What proxies in front of an API server have in common: they pass requests on, answers back, and watches event by event."""
import collections
import http.client
import http.server
import socketserver
import ssl
import threading
import urllib.parse

from api_client import Connection

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


def kept_headers(headers):
    return {key: value for key, value in headers.items() if key.lower() not in HOP_BY_HOP}


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a client, and one to the server behind. Where that gives no answer the client gets none either."""
    protocol_version = "HTTP/1.1"
    upstream = None

    def log_message(self, *arguments):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (OSError, http.client.HTTPException):
            self.close_connection = True

    def finish(self):
        if self.upstream:
            self.upstream.close()
        try:
            super().finish()
        except OSError:
            pass

    def pass_on(self):
        self.server.proxy.meet(self, request_of(self.command, self.path, self.headers.get("User-Agent", "")), self.read_body())

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # kubectl sends what it reads from a pipe so.
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def ask(self, target, body):
        """The server's answer, whose body has still to be read."""
        proxy = self.server.proxy
        if self.upstream is None:
            self.upstream = Connection(proxy.host, proxy.port, proxy.context, None)
        return self.upstream.begin(self.command, target, body or None, kept_headers(self.headers))

    def answer(self, status, headers, text):
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def begin_stream(self, headers):
        self.close_connection = True
        self.send_response_only(200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def stream(self, headers, lines):
        """A watch: an event a line."""
        self.begin_stream(headers)
        for line in lines:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256
    tls = None

    def get_request(self):
        connection, address = super().get_request()
        if self.tls is not None:
            # The handshake is the business of the connection's own thread.
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request, client_address):
        pass  # the other side has gone


class Proxy:
    """Listens until closed. `meet(handler, asked, body)` answers a request; `asked` is None for paths that are no resources."""

    def __init__(self, server, authority, tls=None):
        """`authority`: PEM of the server's. `tls`: a server's context; without one the proxy speaks HTTP."""
        url = urllib.parse.urlsplit(server)
        self.host, self.port, self.lock = url.hostname, url.port or 443, threading.Lock()
        self.context = ssl.create_default_context(cadata=authority)
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.proxy, self.server.tls = self, tls
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def meet(self, handler, asked, body):
        raise NotImplementedError

    def close(self):
        self.server.shutdown()
        self.server.server_close()
