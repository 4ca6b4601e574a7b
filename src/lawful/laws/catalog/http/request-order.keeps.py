"""Responses are read before the next request, or the connection is closed in between."""

import threading
from http.client import HTTPConnection
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
for _ in range(2):
    connection.request("GET", "/")
    assert connection.getresponse().read() == b"hello"
connection.putrequest("GET", "/")
connection.putheader("Accept", "text/plain")
connection.endheaders()
connection.getresponse()
connection.close()
connection.request("GET", "/")
assert connection.getresponse().read() == b"hello"
connection.close()

server.shutdown()
thread.join()
server.server_close()
