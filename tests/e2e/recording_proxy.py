"""A proxy in front of an API server that tells who asked for what, and what the answer was. The server decides; the proxy passes everything
on, but for what the server lacks: policy/v1 is policy/v1beta1 before Kubernetes 1.21, and of kinds that it does not serve there are none. It
asks its authorizer before it looks whether it serves them, so rights to those are put to the test, too."""
import json

from proxying import Proxy, kept_headers


def have_none(handler, verb):
    if verb == "list":
        nothing = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}
        return handler.answer(200, {"Content-Type": "application/json"}, json.dumps(nothing).encode())
    handler.begin_stream({})
    return handler.rfile.read(1)  # until the watcher goes


class RecordingProxy(Proxy):
    def __init__(self, server, authority, has_policy_v1, lacking, forbidden):
        """`authority`: PEM of the server's. `lacking`: {(group, resource)} of which there are none where the server does not know them.
        `forbidden(request, message)` is called for each 403, before it is passed on."""
        self.has_policy_v1, self.lacking, self.forbidden = has_policy_v1, lacking, forbidden
        self.requests, self.refused, self.faults = set(), [], []
        super().__init__(server, authority)

    def meet(self, handler, asked, body):
        answer = self.interfere(asked) if asked else None
        if answer:
            status, text = answer
            self.record(asked._replace(status=status), b"")
            return handler.answer(status, {"Content-Type": "application/json"}, json.dumps(text).encode())
        response = handler.ask(self.upwards(handler.path), self.upwards_body(body))
        headers = kept_headers(response.headers)
        if asked and asked.verb == "watch" and response.status == 200:
            self.record(asked._replace(status=200), b"")
            return handler.stream(headers, map(self.downwards, iter(response.readline, b"")))
        text = self.downwards(response.read())
        if asked and response.status == 404 and (asked.group, asked.resource) in self.lacking and asked.verb in ("list", "watch"):
            self.record(asked._replace(status=200), b"")
            return have_none(handler, asked.verb)
        if asked:
            self.record(asked._replace(status=response.status), text)
        return handler.answer(response.status, headers, text)

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
        """Whether such a request has been allowed, whatever became of it. A server that is not ready (429) has not looked at it."""
        with self.lock:
            return any((request.verb, request.resource) == (verb, resource) and name in ("", request.name) and request.agent.startswith(agent)
                       and request.status not in (403, 429) for request in self.requests)

    def interfere(self, asked):
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
