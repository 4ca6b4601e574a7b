"""A mailbox is selected without a login, and searched before it is selected."""

import socketserver
import threading
from contextlib import suppress
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
    with suppress(IMAP4.error):
        imap.select()  # violation
    imap.login("user", "password")
    with suppress(IMAP4.error):
        imap.search(None, "ALL")  # violation

server.shutdown()
thread.join()
server.server_close()
