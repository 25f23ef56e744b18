"""Serves the metrics of a node to Prometheus over HTTP; needs the extra `prometheus`.

A metric is named `kraft_` and Kafka's name, with underscores. The replica's state is a label.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kraftwire.address import Address
from kraftwire.net.descriptors import is_reserved
from kraftwire.node.node import Node

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

_MOST_S = 5
_LEFT = 500
"""File descriptors that are left to other nodes and clients, if the limit allows."""


class PrometheusServer:
    """Serves the metrics in a separate thread."""

    def __init__(self, node: Node, address: Address) -> None:
        """Listen. Call this in the node's loop; it raises `OSError` if it cannot listen."""
        from prometheus_client import CollectorRegistry, start_http_server

        self._node = node
        self._loop = asyncio.get_running_loop()
        registry = CollectorRegistry()
        registry.register(self)
        server: Any
        server, self._thread = start_http_server(address.port, address.host, registry)
        # Each client takes a thread and a file descriptor, which nodes need more.
        server.verify_request = lambda request, _: not is_reserved(request.fileno(), _LEFT)
        server.RequestHandlerClass = _impatient(server.RequestHandlerClass)
        self._server = server
        self.port: int = server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not query the node."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics; runs in the other thread."""
        from prometheus_client.metrics_core import GaugeMetricFamily

        metrics = asyncio.run_coroutine_threadsafe(self._ask(), self._loop).result(_MOST_S)
        for name, value in metrics.items():
            metric = f"kraft_{name.replace('-', '_')}"
            if isinstance(value, str):
                family = GaugeMetricFamily(metric, name, labels=["value"])
                family.add_metric([value], 1)
            else:
                family = GaugeMetricFamily(metric, name, value=value)
            yield family

    async def _ask(self) -> Mapping[str, int | str]:
        return self._node.metrics()


def _impatient(handler: Any) -> Any:
    """Return a request handler with a timeout for silent clients."""
    return type(handler.__name__, (handler,), {"timeout": _MOST_S})
