"""A local S3, which counts what is asked of it."""

from __future__ import annotations

import logging
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3  # type: ignore[import-untyped]
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from pyarrow import fs
from werkzeug.serving import make_server

BUCKET = "bucket"
_POLICY = (
    '{"Version": "2012-10-17", '
    '"Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
)


class Request(NamedTuple):
    """A request as the server saw it; `range` is that of bytes."""

    method: str
    path: str
    range: str | None


class ObjectStore:
    """A server of moto's on a port of its own, with one bucket."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._app: Any = DomainDispatcherApplication(create_backend_app)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._counted, threaded=True)
        self.endpoint = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.files: Any = fs.S3FileSystem(
            access_key="me",
            secret_key="hush",
            endpoint_override=self.endpoint,
            scheme="http",
            region="us-east-1",
            allow_bucket_creation=True,
        )
        self.files.create_dir(BUCKET)

    def _counted(self, request: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        found = Request(request["REQUEST_METHOD"], request["PATH_INFO"], request.get("HTTP_RANGE"))
        self.requests.append(found)
        answer: Iterable[bytes] = self._app(request, start)
        return answer

    @property
    def options(self) -> dict[str, str]:
        """The options that reach it; asked once, since the requests are counted."""
        return {
            "fs.connect_timeout": "60",
            "fs.request_timeout": "60",
            "fs.access_key": "me",
            "fs.secret_key": "hush",
            "fs.endpoint_override": self.endpoint,
            "fs.scheme": "http",
            "fs.region": "us-east-1",
        }

    def put(self, path: str, data: bytes) -> None:
        """Store an object of the bucket."""
        with self.files.open_output_stream(f"{BUCKET}/{path}") as stream:
            stream.write(data)

    def put_directory(self, directory: Path, path: str) -> None:
        """Store all files of a directory."""
        for file in sorted(directory.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(directory).as_posix()}", file.read_bytes())

    @contextmanager
    def guarded(self) -> Iterator[dict[str, str]]:
        """Have credentials checked meanwhile; yields the options of one who may read."""
        client = boto3.client(
            "iam",
            endpoint_url=f"http://{self.endpoint}",
            aws_access_key_id="me",
            aws_secret_access_key="hush",
            region_name="us-east-1",
        )
        client.create_user(UserName="reader")
        client.put_user_policy(UserName="reader", PolicyName="all", PolicyDocument=_POLICY)
        key = client.create_access_key(UserName="reader")["AccessKey"]
        self._free_requests("0")
        try:
            yield {
                **self.options,
                "fs.access_key": key["AccessKeyId"],
                "fs.secret_key": key["SecretAccessKey"],
            }
        finally:
            self._free_requests("inf")

    def _free_requests(self, count: str) -> None:
        """How many requests need no credentials from now on."""
        request = urllib.request.Request(
            f"http://{self.endpoint}/moto-api/reset-auth",
            data=count.encode(),
            headers={"Content-Type": "text/plain"},
            method="POST",
        )
        with urllib.request.urlopen(request, timeout=30):
            pass

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
