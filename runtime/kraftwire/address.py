"""Where something listens."""

from __future__ import annotations

from ipaddress import ip_address
from typing import NamedTuple


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine is there; a name other than localhost may be anywhere."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"
