"""A proxy that makes an API server of ours as rough as others are, each roughness by a switch of its own. What a client makes of it is the
client's business: a server may do all of this and be right."""
import collections
import json
import time

from proxying import Proxy, kept_headers

NOT_READY = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "storage is (re)initializing",
                        "reason": "TooManyRequests", "details": {"retryAfterSeconds": 1}, "code": 429}).encode()
BUSY = b"Too many requests, please try again later.\n"
EVERYTHING = None  # in the place of a group


class RoughProxy(Proxy):
    """`not_ready_after_definition`: seconds for which kinds of a group are not ready once a CRD of it was made, counted from when somebody asks
    for one, so that nobody comes too late to see it. `idle`: seconds after which a connection that waits for the next request is closed.
    `watch_ends`: seconds after which a watch ends in good order. `watch_breaks`: the number of the event, counted from 1, in whose middle a
    watch breaks; once for each time that it is set. `struck` counts what was done."""

    def __init__(self, server, authority, tls=None):
        self.not_ready_after_definition, self.idle, self.watch_ends, self.watch_breaks = 0, None, None, None
        self.not_ready, self.busy, self.drops, self.struck = {}, 0, [], collections.Counter()
        super().__init__(server, authority, tls)

    def reinitialize(self, seconds):
        """Nothing that is stored is ready for so long, counted likewise."""
        self.not_ready[EVERYTHING] = [seconds, None]

    def refuse(self, requests):
        """So many come while too many others are under way."""
        self.busy = requests

    def drop(self, method, resource, carried_out=False):
        """The connection of the next such request ends before an answer; `carried_out`: after the server has done what it asks for."""
        self.drops.append((method, resource, carried_out))

    def meet(self, handler, asked, body):
        handler.connection.settimeout(None)
        refusal = self.refusal(asked) if asked else None
        if refusal:
            handler.answer(429, {"Content-Type": refusal[0], "Retry-After": "1"}, refusal[1])
        elif asked and (drop := self.take_drop(handler.command, asked.resource)):
            if drop[2]:
                handler.ask(handler.path, body).read()
            handler.close_connection = True
        else:
            self.pass_on(handler, asked, body)
        # From here on it is idle.
        handler.connection.settimeout(self.idle)

    def refusal(self, asked):
        """(content type, text) of what comes in the place of an answer, or None."""
        with self.lock:
            if self.busy:
                self.busy -= 1
                self.struck["busy"] += 1
                return "text/plain; charset=utf-8", BUSY
            for group in (asked.group, EVERYTHING):
                if group in self.not_ready and not self.gets_ready(group):
                    self.struck["not ready"] += 1
                    return "application/json", NOT_READY
        return None

    def gets_ready(self, group):
        seconds, asked = self.not_ready[group]
        if asked is None:
            self.not_ready[group][1] = time.monotonic()
            return False
        return time.monotonic() > asked + seconds

    def take_drop(self, method, resource):
        with self.lock:
            for drop in self.drops:
                if drop[:2] == (method, resource):
                    self.drops.remove(drop)
                    self.struck["dropped"] += 1
                    return drop
        return None

    def pass_on(self, handler, asked, body):
        response = handler.ask(handler.path, body)
        headers = kept_headers(response.headers)
        if asked and asked.verb == "watch" and response.status == 200:
            return handler.stream(headers, self.events(handler, response))
        text = response.read()
        if asked and asked.resource == "customresourcedefinitions" and response.status == 201 and self.not_ready_after_definition:
            self.not_ready[json.loads(text)["spec"]["group"]] = [self.not_ready_after_definition, None]
        return handler.answer(response.status, headers, text)

    def events(self, handler, response):
        ends = time.monotonic() + self.watch_ends if self.watch_ends else None
        seen = 0
        try:
            while True:
                handler.upstream.connection.sock.settimeout(None if ends is None else max(ends - time.monotonic(), 0.001))
                line = response.readline()
                if not line:
                    return
                seen += 1
                if seen == self.watch_breaks:
                    self.watch_breaks = None
                    self.strike("watch broken")
                    yield line[:len(line) // 2]
                    raise ConnectionAbortedError
                yield line
        except TimeoutError:
            self.strike("watch ended")

    def strike(self, what):
        with self.lock:
            self.struck[what] += 1
