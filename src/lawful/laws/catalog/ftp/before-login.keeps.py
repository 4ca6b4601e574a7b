"""Who connects logs in, by hand or with the first call; commands that need no login may come before."""

import socketserver
import threading
from ftplib import FTP


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        for line in self.rfile:
            word = line[:4].strip()
            code = {b"USER": b"331", b"PASS": b"230", b"PWD": b"257", b"QUIT": b"221"}.get(word, b"250")
            self.wfile.write(code + b' "/"\r\n')


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever, args=(0.01,))
thread.start()
host, port = server.server_address[:2]

with FTP() as ftp:
    ftp.connect(host, port)
    ftp.voidcmd("NOOP")
    ftp.login()
    assert ftp.pwd() == "/"
    ftp.cwd("/")

server.shutdown()
thread.join()
server.server_close()
