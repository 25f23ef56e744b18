"""The option `--messages`, and the lookup of messages by the names that people give them.

A message is found by its name in any spelling (`VoteRequest`, `voterequest`, `vote_request`).
An API is found by its name or its key (`Vote`, `52`), and stands for its request and response.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

DEFAULT_MESSAGES = "kraftwire_messages.kafka"

_MAX_KEY_DIGITS = 5


messages_option = click.option(
    "--messages",
    default=DEFAULT_MESSAGES,
    show_default=True,
    metavar="MODULE",
    help="The generated package of the messages.",
)


def load_registry(module: str) -> Registry:
    """Return the registry of a generated package; look in the current directory too."""
    here = str(Path.cwd())
    if module != DEFAULT_MESSAGES and here not in sys.path:
        sys.path.append(here)
    try:
        registry = getattr(import_module(module), "registry", None)
    except (ImportError, SyntaxError, ValueError, TypeError) as error:
        raise CouldNotDoIt(f"--messages {module}: {error}") from None
    if not isinstance(registry, Registry):
        raise CouldNotDoIt(f"--messages {module}: this is not a package that kraftwire generated")
    return registry


def find_messages(registry: Registry, text: str) -> list[type[Message]]:
    """Return the message of a name, or the request and response of an API."""
    if text.isdecimal() and len(text) <= _MAX_KEY_DIGITS:
        return _by_api_key(registry, int(text))
    names = {_spelling(name): name for name in registry}
    key = _spelling(text)
    if key in names:
        return [registry.message(names[key])]
    both = [names[api] for suffix in ("request", "response") if (api := key + suffix) in names]
    if not both:
        raise CouldNotDoIt(f"{registry.package} has no message {text!r}{_hint(names, key)}")
    return [registry.message(name) for name in both]


def find_message(registry: Registry, text: str) -> type[Message]:
    """Return the only message of a name; raise `CouldNotDoIt` if it can be two."""
    found = find_messages(registry, text)
    if len(found) > 1:
        names = " or ".join(message.__name__ for message in found)
        raise CouldNotDoIt(f"{text!r} is {names}; name one of them")
    return found[0]


def find_response(registry: Registry, text: str) -> type[Message]:
    """Return the response of an API, given its name, its response's name, or its key."""
    for message in find_messages(registry, text):
        if message.LAYOUT.type == "response":
            return message
    raise CouldNotDoIt(f"{text!r} is not a response or an API")


def check_version(message: type[Message], version: int) -> None:
    """Raise `UnsupportedVersion` if a message does not have a version."""
    message.codec(version)


def _by_api_key(registry: Registry, api_key: int) -> list[type[Message]]:
    if api_key not in registry.api_keys:
        raise CouldNotDoIt(f"{registry.package} has no API key {api_key}")
    return [registry.request(api_key), registry.response(api_key)]


def _spelling(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _hint(names: dict[str, str], wrong: str) -> str:
    """Return similar names as the end of an error message."""
    apis = {
        key.removesuffix("request"): name.removesuffix("Request")
        for key, name in names.items()
        if key.endswith("request")
    }
    known = apis | names
    near = [known[key] for key in get_close_matches(wrong, known)]
    return f"; did you mean {', '.join(near)}?" if near else ""
