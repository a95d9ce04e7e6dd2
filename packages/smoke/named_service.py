"""Asks a service for the balance by its name, from a root file system without a C library.

    named_service.py ROOT COMMAND…

A name server and a service with a certificate run beside the program, on loopback. It shows that the program resolves
names, checks certificates, and refuses one that nobody vouches for, with what the container contains.
"""

import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading

NAME = "service.example"
PORT = 8443


def resolve(server):
    """Answers every question for an IPv4 address with loopback, and others with nothing."""
    while True:
        question, client = server.recvfrom(512)
        end = question.index(b"\0", 12) + 5
        kind = struct.unpack(">H", question[end - 4 : end - 2])[0]
        answers = 1 if kind == 1 else 0
        head = question[:2] + struct.pack(">5H", 0x8180, 1, answers, 0, 0)
        answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + b"\x7f\0\0\1" if answers else b""
        server.sendto(head + question[12:end] + answer, client)


def serve(listener, context):
    body = b'{"available_credits": 4711}'
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
    while True:
        stream, _ = listener.accept()
        try:
            with context.wrap_socket(stream, server_side=True) as secure:
                secure.recv(65536)
                secure.sendall(reply % (len(body), body))
        except OSError:
            pass  # the program does not trust the certificate


def main():
    root, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
            + ["-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=critical,CA:FALSE"]
            + ["-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        (root / "work/ca.pem").write_bytes(pathlib.Path(certificate).read_bytes())
    (root / "etc/resolv.conf").write_text("nameserver 127.0.0.1\n")
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 53))
    threading.Thread(target=resolve, args=(names,), daemon=True).start()
    listener = socket.create_server(("127.0.0.1", PORT))
    threading.Thread(target=serve, args=(listener, context), daemon=True).start()

    url = f"https://{NAME}:{PORT}"
    (root / "work/trusted.toml").write_text(f'[service]\nurl = "{url}"\nca_file = "ca.pem"\napi_key = {{ file = "key" }}\n')
    (root / "work/key").write_text("an-api-key-for-this-test\n")
    (root / "work/key").chmod(0o600)
    for name in ("ca.pem", "trusted.toml", "key"):
        os.chown(root / "work" / name, 1000, 1000)
    said = subprocess.run([*command, "credits", "-c", "trusted.toml"], capture_output=True, text=True, check=False)
    if said.returncode != 0 or "4,711" not in said.stdout.replace("4711", "4,711"):
        sys.exit(f"FAILED: the balance was not read: {said}")
    (root / "work/trusted.toml").write_text(f'[service]\nurl = "{url}"\napi_key = {{ file = "key" }}\n')
    said = subprocess.run([*command, "credits", "-c", "trusted.toml"], capture_output=True, text=True, check=False)
    if said.returncode == 0 or "is not trusted" not in said.stderr:
        sys.exit(f"FAILED: a certificate that nobody vouches for was not refused as such: {said}")


main()
