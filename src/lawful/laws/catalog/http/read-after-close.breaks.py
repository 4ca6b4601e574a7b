"""A response is read after its `with` block, and after its connection was closed."""

import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.request import urlopen


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

with urlopen("http://{}:{}/".format(*server.server_address)) as response:
    assert response.status == 200
assert response.read() == b""  # violation
connection = HTTPConnection(*server.server_address[:2])
connection.request("GET", "/")
answer = connection.getresponse()
connection.close()
assert answer.read() == b""  # violation

server.shutdown()
thread.join()
server.server_close()
