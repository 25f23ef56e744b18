"""A proxy for Kafka brokers that records every frame, for clients on this machine.

One proxy listens for any number of brokers, each on its own port on 127.0.0.1, and passes frames
on both ways. It records what the client and the broker really sent. The client receives something
else in four cases:

- Addresses of brokers become those of the proxy, so that clients stay on it.
- Answers to ApiVersions name no versions above a level, counted from the oldest version
  that both broker and codecs know; so one broker shows its many versions.
- The mock broker of librdkafka never asks for metrics; the proxy does instead, so that
  clients push them.
- The mock broker answers an ApiVersions request of an unknown version in a malformed way
  (see `librdkafka_quirks`); the client gets a valid response.

Everything runs in one event loop in one thread; `close` (or leaving the `with` block) ends
it together with all connections.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from kraftwire.capture.addresses import rewrite_addresses
from kraftwire.capture.frame import Direction, Frame
from kraftwire.capture.proxy.pending import PendingBytes, ProxyLimits
from kraftwire.capture.proxy.relay import ConnectionBroken, ConnectionEnd, NotFrames, relay
from kraftwire.capture.servers import ClientTasks
from kraftwire_messages.kafka import ApiVersionsResponse, registry
from kraftwire_wire.errors import KraftwireError

from codec_tests.interop.librdkafka_quirks import API_VERSIONS, is_malformed_api_versions

HOST = "127.0.0.1"
NEWEST = 1000
"""A level above all versions."""

GET_TELEMETRY_SUBSCRIPTIONS = 71

_STEP_TIMEOUT_SECONDS = 10


@dataclass
class Route:
    """What the connections of one set of listeners share.

    Fields:
        addresses: the proxy's address for each broker address.
        level: how far above the oldest version a client may go, for each API.
        exceptions: levels of single APIs, by API key.
        seen: how often clients sent each API in each version.
        rewrites: whether clients see anything other than what the broker sent.
    """

    addresses: dict[tuple[str, int], tuple[str, int]]
    level: int
    exceptions: Mapping[int, int]
    seen: Counter[tuple[int, int]]
    rewrites: bool = True

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers for clients."""
        return ",".join(f"{host}:{port}" for host, port in self.addresses.values())

    def has_seen(self, api_key: int) -> bool:
        """Whether a client has sent a request of an API."""
        return any(key == api_key for key, _ in list(self.seen))


class RecordingProxy:
    """Records the frames between clients and brokers.

    `frames` has the frames so far; `failures` has the errors that ended connections.
    """

    def __init__(self, brokers: Sequence[tuple[str, int]]) -> None:
        self.frames: list[Frame] = []
        self.failures: list[BaseException] = []
        self._brokers = brokers
        self._started = time.monotonic()
        self._connections = 0
        self._clients = ClientTasks()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="recording-proxy")
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def listen(self, level: int = NEWEST, exceptions: Mapping[int, int] | None = None) -> Route:
        """Open listeners for all brokers; their clients see versions up to a level."""
        route = Route({}, level, exceptions or {}, Counter())
        for broker in self._brokers:
            self._run(self._open_listener(route, broker))
        return route

    def tap(self, broker: tuple[str, int]) -> int:
        """Open a listener that rewrites nothing and return its port.

        For brokers that advertise this port as their own.
        """
        route = Route({}, NEWEST, {}, Counter(), rewrites=False)
        self._run(self._open_listener(route, broker))
        return route.addresses[broker][1]

    def close(self) -> None:
        """Close listeners and connections, and end the thread."""
        self._run(self._shut_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STEP_TIMEOUT_SECONDS)
        self._loop.close()

    def _run(self, step: Coroutine[Any, Any, None]) -> None:
        future = asyncio.run_coroutine_threadsafe(step, self._loop)
        future.result(_STEP_TIMEOUT_SECONDS)

    async def _open_listener(self, route: Route, broker: tuple[str, int]) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with self._clients.serving():
                try:
                    await self._serve(route, broker, reader, writer)
                except (OSError, ConnectionBroken, asyncio.CancelledError):
                    pass  # a connection or the proxy closes
                finally:
                    writer.close()

        server = await asyncio.start_server(serve, HOST, 0)
        self._servers.append(server)
        route.addresses[broker] = server.sockets[0].getsockname()[:2]

    async def _shut_down(self) -> None:
        for server in self._servers:
            server.close()
        await self._clients.end()

    async def _serve(
        self,
        route: Route,
        broker: tuple[str, int],
        client_reader: asyncio.StreamReader,
        client_writer: asyncio.StreamWriter,
    ) -> None:
        """Pass frames on until either side closes its connection."""
        broker_reader, broker_writer = await asyncio.open_connection(*broker)
        self._connections += 1
        connection = self._connections
        headers: dict[int, Any] = {}

        async def pass_request(data: bytes) -> bytes:
            self._record(connection, "request", data)
            if route.rewrites:
                header, _ = registry.decode_request_header(data)
                headers[header.correlation_id] = header
                route.seen[header.request_api_key, header.request_api_version] += 1
            return data

        async def pass_response(data: bytes) -> bytes:
            self._record(connection, "response", data)
            if route.rewrites:
                header = headers.pop(int.from_bytes(data[:4], signed=True))
                data = rewrite_response(data, header, route)
            return data

        client = ConnectionEnd(client_reader, client_writer, "the client")
        upstream = ConnectionEnd(broker_reader, broker_writer, "the broker")
        pending = PendingBytes(ProxyLimits().pending_bytes).share(broker_writer.transport.abort)
        try:
            await relay(client, upstream, pass_request, pass_response, pending)
        except (NotFrames, KraftwireError, LookupError) as error:
            self.failures.append(error)
        finally:
            broker_writer.close()

    def _record(self, connection: int, direction: Direction, data: bytes) -> None:
        self.frames.append(Frame(connection, direction, time.monotonic() - self._started, data))


def rewrite_response(data: bytes, request_header: Any, route: Route) -> bytes:
    """Return a response as the client sees it; unchanged if our codecs cannot read it."""
    if is_malformed_api_versions(data, request_header):
        return _valid_api_versions(request_header, route)
    try:
        header, message = registry.decode_response(data, request_header, lenient=True)
    except KraftwireError:
        return data
    if request_header.request_api_key == API_VERSIONS:
        _lower_versions(message, route)
    elif request_header.request_api_key == GET_TELEMETRY_SUBSCRIPTIONS:
        _request_metrics(message)
    rewrite_addresses(message, lambda host, port: route.addresses.get((host, port)))
    return registry.encode_response(request_header, message, header)


def _valid_api_versions(request_header: Any, route: Route) -> bytes:
    """Return the response in the version that librdkafka asked for, so that it understands it."""
    response: Any = ApiVersionsResponse(error_code=35)
    response.api_keys = [
        ApiVersionsResponse.ApiVersion(api_key=API_VERSIONS, min_version=0, max_version=2)
    ]
    _lower_versions(response, route)
    correlation_id: bytes = request_header.correlation_id.to_bytes(4, signed=True)
    return correlation_id + bytes(response.encode(request_header.request_api_version))


def _lower_versions(response: Any, route: Route) -> None:
    for api in response.api_keys:
        known = registry.request(api.api_key).VALID_VERSIONS
        lowest = max(api.min_version, known[0])
        highest = min(api.max_version, known[-1])
        level = route.exceptions.get(api.api_key, route.level)
        api.min_version, api.max_version = lowest, min(highest, lowest + level)


def _request_metrics(response: Any) -> None:
    response.requested_metrics = [""]  # the prefix of every metric's name
    response.push_interval_ms = 100
