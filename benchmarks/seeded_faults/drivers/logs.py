"""Logs to files that turn over, to memory, over sockets and through a queue, as a server would."""

import logging
import logging.config
import logging.handlers
import os
import queue
import socketserver
import tempfile
import threading


class Sink(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.read(64):
            pass


class Quiet(socketserver.BaseRequestHandler):
    def handle(self):
        pass


def write(name, handler, number):
    log = logging.getLogger(name)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    for each in range(number):
        log.info("message %d", each)
        if each % 10 == 9:
            log.error("bad %s", each)
    try:
        raise ValueError(name)
    except ValueError:
        log.exception("it failed")
    log.removeHandler(handler)
    handler.flush()
    handler.close()


def files(folder, number):
    path = os.path.join(folder, f"log{number}")
    write("plain", logging.FileHandler(path), 10)
    write("late", logging.FileHandler(path + "l", delay=True), 10)
    write("size", logging.handlers.RotatingFileHandler(path + "r", maxBytes=400, backupCount=3), 30)
    write("time", logging.handlers.TimedRotatingFileHandler(path + "t", when="S", backupCount=2), 10)
    write("watched", logging.handlers.WatchedFileHandler(path + "w"), 10)
    watched = logging.handlers.WatchedFileHandler(path + "v")
    for _ in range(3):
        watched.emit(logging.makeLogRecord({"msg": "one"}))
        os.rename(path + "v", path + "u")
        watched.emit(logging.makeLogRecord({"msg": "two"}))
    watched.close()
    target = logging.FileHandler(path + "m")
    write("memory", logging.handlers.MemoryHandler(8, target=target), 30)
    target.close()
    with open(path + "s", "w") as stream:
        write("stream", logging.StreamHandler(stream), 10)
    items = queue.Queue()
    listener = logging.handlers.QueueListener(items, logging.FileHandler(path + "q"))
    listener.start()
    write("queue", logging.handlers.QueueHandler(items), 20)
    listener.stop()
    listener.handlers[0].close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        servers = [
            socketserver.ThreadingTCPServer(("127.0.0.1", 0), Sink),
            socketserver.ThreadingUDPServer(("127.0.0.1", 0), Quiet),
        ]
        for server in servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
        for number in range(6):
            files(folder, number)
            write("tcp", logging.handlers.SocketHandler(*servers[0].server_address), 10)
            write("udp", logging.handlers.DatagramHandler(*servers[1].server_address), 10)
            write("system", logging.handlers.SysLogHandler(servers[1].server_address), 10)
        logging.config.dictConfig(
            {
                "version": 1,
                "handlers": {"file": {"class": "logging.FileHandler", "filename": os.path.join(folder, "last")}},
                "root": {"handlers": ["file"], "level": "INFO"},
            }
        )
        logging.getLogger("root child").warning("configured")
        logging.shutdown()
        for server in servers:
            server.shutdown()
            server.server_close()


if __name__ == "__main__":
    main()
