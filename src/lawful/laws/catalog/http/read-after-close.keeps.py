"""Responses are read to the end, and once more, before they are closed; headers can be read afterwards."""

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
    assert response.read() == b"hello"
    assert response.read() == b""
assert response.headers["Content-Length"] == "5"
response.close()
connection = HTTPConnection(*server.server_address[:2])
connection.request("GET", "/")
answer = connection.getresponse()
text = answer.read()
connection.close()
assert text == b"hello"

server.shutdown()
thread.join()
server.server_close()
