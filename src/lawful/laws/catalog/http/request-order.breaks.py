"""A response is asked for too early, a header comes too late, and a request before the last one was answered."""

import threading
from contextlib import suppress
from http.client import CannotSendHeader, CannotSendRequest, HTTPConnection, ResponseNotReady
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        pass


server = HTTPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever, args=(0.01,))
thread.start()

connection = HTTPConnection(*server.server_address[:2])
with suppress(ResponseNotReady):
    connection.getresponse()  # violation
connection.request("GET", "/")
with suppress(CannotSendHeader):
    connection.putheader("Accept", "text/plain")  # violation
with suppress(CannotSendRequest):
    connection.request("GET", "/")  # violation
assert connection.getresponse().read() == b"hello"
connection.close()

server.shutdown()
thread.join()
server.server_close()
