"""Settings of a controller, as a file and as what is read out of it."""

from __future__ import annotations

from pathlib import Path

from kraftwire.node.settings.properties import NodeProperties, parse_properties
from kraftwire.node.settings.property_reader import InvalidProperties
from kraftwire.node.settings.storage_properties import StorageProperties, read_storage_properties

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://127.0.0.1:9093",
    "log.dirs": "/data",
}


def content(settings: dict[str, str]) -> bytes:
    return "".join(f"{key}={value}\n" for key, value in settings.items()).encode()


def parsed(**changes: str) -> NodeProperties:
    """What a controller is told; in keys, an underscore stands for a dot."""
    return parse_properties(content(changed(**changes)), "server.properties")


def changed(**changes: str) -> dict[str, str]:
    settings = CONTROLLER | {key.replace("_", "."): value for key, value in changes.items()}
    return {key: value for key, value in settings.items() if value != "-"}


def findings(**changes: str) -> tuple[str, ...]:
    try:
        parsed(**changes)
    except InvalidProperties as error:
        return error.findings
    return ()


def write_settings(root: Path, **changes: str) -> Path:
    """A file with two directories for data, and one for the metadata log."""
    dirs = {"log_dirs": f"{root}/a,{root}/b", "metadata_log_dir": f"{root}/m"}
    file = root / "server.properties"
    file.write_bytes(content(changed(**(dirs | changes))))
    return file


def storage(root: Path, **changes: str) -> StorageProperties:
    return read_storage_properties(write_settings(root, **changes))
