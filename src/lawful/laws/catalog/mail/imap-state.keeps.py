"""A mailbox is searched when the user has logged in and selected it."""

import socketserver
import threading
from imaplib import IMAP4


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"* OK ready\r\n")
        for line in self.rfile:
            tag, word = line.split()[:2]
            more = {b"CAPABILITY": b"CAPABILITY IMAP4REV1", b"SELECT": b"0 EXISTS", b"LOGOUT": b"BYE"}
            if word in more:
                self.wfile.write(b"* " + more[word] + b"\r\n")
            self.wfile.write(tag + b" OK done\r\n")


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever, args=(0.01,))
thread.start()
host, port = server.server_address[:2]

with IMAP4(host, port) as imap:
    imap.noop()
    imap.login("user", "password")
    imap.select()
    imap.search(None, "ALL")
    imap.close()

server.shutdown()
thread.join()
server.server_close()
