"""The option `--messages`, and finding a message by what people call it.

A message is found by its name in any spelling (`VoteRequest`, `voterequest`,
`vote_request`); an API by its name or its key (`Vote`, `52`), which is its request and
its response.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import click

from kraftwire.console.failures import CouldNotDoIt
from kraftwire_wire.message import Message
from kraftwire_wire.registry import Registry

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_MESSAGES = "kraftwire_messages.kafka"

_MAX_KEY_DIGITS = 5
_SUFFIXES = ("Request", "Response")


def messages_option(command: F) -> F:
    """The option `--messages MODULE`; the parameter is called `messages`."""
    return click.option(
        "--messages",
        default=DEFAULT_MESSAGES,
        show_default=True,
        metavar="MODULE",
        help="The generated package that holds the messages.",
    )(command)


def load_registry(module: str) -> Registry:
    """The registry of a generated package, looked for in the current directory too."""
    here = str(Path.cwd())
    if module != DEFAULT_MESSAGES and here not in sys.path:
        sys.path.append(here)
    try:
        registry = getattr(import_module(module), "registry", None)
    except (ImportError, SyntaxError, ValueError, TypeError) as error:
        raise CouldNotDoIt(f"--messages {module}: {error}") from None
    if not isinstance(registry, Registry):
        raise CouldNotDoIt(f"--messages {module}: not a package that kraftwire generated")
    return registry


def find_messages(registry: Registry, text: str) -> list[type[Message]]:
    """The message with a name, or the request and response of an API."""
    if text.isdecimal() and len(text) <= _MAX_KEY_DIGITS:
        return _by_api_key(registry, int(text))
    names = {_spelling(name): name for name in registry}
    wanted = _spelling(text)
    if wanted in names:
        return [registry.message(names[wanted])]
    both = [names[key] for suffix in _SUFFIXES if (key := wanted + suffix.lower()) in names]
    if not both:
        raise CouldNotDoIt(f"{registry.package} has no message {text!r}{_hint(names, wanted)}")
    return [registry.message(name) for name in both]


def find_message(registry: Registry, text: str) -> type[Message]:
    """The one message that is meant."""
    found = find_messages(registry, text)
    if len(found) > 1:
        names = " or ".join(message.__name__ for message in found)
        raise CouldNotDoIt(f"{text!r} can be {names}; say which")
    return found[0]


def find_response(registry: Registry, text: str) -> type[Message]:
    """The response of an API that is named by its name, its response's, or its key."""
    for message in find_messages(registry, text):
        if message.LAYOUT.type == "response":
            return message
    raise CouldNotDoIt(f"{text!r} is not a response or an API")


def check_version(message: type[Message], version: int) -> None:
    """Refuse a version that a message does not have."""
    message.codec(version)


def _by_api_key(registry: Registry, api_key: int) -> list[type[Message]]:
    if api_key not in registry.api_keys:
        raise CouldNotDoIt(f"{registry.package} has no API key {api_key}")
    return [registry.request(api_key), registry.response(api_key)]


def _spelling(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _hint(names: dict[str, str], wanted: str) -> str:
    """The names near to one that does not exist, as the end of a message."""
    apis = {
        key.removesuffix("request"): name.removesuffix("Request")
        for key, name in names.items()
        if key.endswith("request")
    }
    called = apis | names
    near = [called[key] for key in get_close_matches(wanted, called)]
    return f"; did you mean {', '.join(near)}?" if near else ""
