"""How the tests ask an API server: as client-go and Go's net/http do. A server that is not ready for a moment says so with 429, or with
5xx, and Retry-After: it is asked again. A connection that was kept and that the server has closed meanwhile is no answer either."""
import http.client
import select
import ssl
import time

TRIES = 10
# Of a connection that has ended; without what never began.
LOST = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def patiently(attempt):
    """The result of `attempt`, which returns it with the seconds after which the server wants to be asked again, None: never."""
    for left in reversed(range(TRIES)):
        result, seconds = attempt()
        if seconds is None or not left:
            return result
        time.sleep(seconds)


def seconds_to_wait(status, headers):
    """None: that is the server's answer."""
    after = headers.get("Retry-After", "")
    return int(after) if (status == 429 or status >= 500) and after.isdigit() else None


class Connection:
    """Belongs to one thread. What may have been carried out before the connection ended is asked for again only where that is `harmless`, as
    of each GET: twice is as once."""

    def __init__(self, host, port, context, timeout=60):
        """`context`: of TLS; None: plain HTTP."""
        self.connection = (http.client.HTTPSConnection(host, port, context=context, timeout=timeout) if context
                           else http.client.HTTPConnection(host, port, timeout=timeout))

    def begin(self, method, target, body=None, headers=None, harmless=False):
        """The answer, whose body has still to be read."""
        while True:
            if self.connection.sock is not None and self.has_ended():
                self.connection.close()
            kept, sent = self.connection.sock is not None, False
            try:
                self.connection.request(method, target, body, headers or {})
                sent = True
                return self.connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                # A server that closes what it takes for idle has not seen a request that could not be sent whole.
                if not kept or not isinstance(error, LOST) or (sent and not harmless and method != "GET"):
                    raise

    def ask(self, method, target, body=None, headers=None, harmless=False):
        """(status, body), once the server is ready for it."""
        def attempt():
            try:
                response = self.begin(method, target, body, headers, harmless)
                return (response.status, response.read()), seconds_to_wait(response.status, response.headers)
            except (OSError, http.client.HTTPException) as error:
                self.connection.close()
                return error, 1 if (harmless or method == "GET") and isinstance(error, LOST) else None
        answer = patiently(attempt)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def has_ended(self):
        """Whether the server has closed a connection on which nothing is expected."""
        sock = self.connection.sock
        if not select.select([sock], [], [], 0)[0]:
            return False
        timeout = sock.gettimeout()
        sock.settimeout(0)
        try:
            sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            # What TLS says for itself, as a ticket for the next session.
            sock.settimeout(timeout)
            return False
        except OSError:
            pass
        return True

    def close(self):
        self.connection.close()
