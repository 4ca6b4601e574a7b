"""Mail is sent before the end, and after connecting again; a connection is closed after `quit`."""

import socketserver
import threading
from smtplib import SMTP


class Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(b"220 ready\r\n")
        for line in self.rfile:
            word = line[:4].upper()
            self.wfile.write({b"DATA": b"354", b"QUIT": b"221"}.get(word, b"250") + b" ok\r\n")
            if word == b"DATA":
                while self.rfile.readline() != b".\r\n":
                    pass
                self.wfile.write(b"250 ok\r\n")


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
thread = threading.Thread(target=server.serve_forever, args=(0.01,))
thread.start()
host, port = server.server_address[:2]

with SMTP(host, port) as smtp:
    smtp.sendmail("a@localhost", "b@localhost", "hello")
smtp.connect(host, port)
smtp.noop()
smtp.quit()
smtp.close()

server.shutdown()
thread.join()
server.server_close()
