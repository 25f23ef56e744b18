"""Secrets in messages, by schema: which fields hold them, and JSON forms without them.

Works on the JSON form of a message, so that what is printed keeps its shape. A setting is
secret by its name, as Kafka's own settings of type PASSWORD are named.
"""

from __future__ import annotations

import re
from typing import Any

REDACTED = "(redacted)"

_SECRET_FIELDS: dict[str, frozenset[str]] = {
    "UserScramCredentialRecord": frozenset({"salt", "storedKey", "serverKey"}),
    "DelegationTokenRecord": frozenset({"tokenId"}),
    "RemoveDelegationTokenRecord": frozenset({"tokenId"}),
}
_SETTING = "ConfigRecord"
_SECRET_SETTING = re.compile(
    r"password|passphrase|secret|credential|jaas|token|private\.key|access\.key|api\.key|"
    r"\bkeystore\.(key|certificate)|truststore\.certificates",
    re.IGNORECASE,
)


def redact(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """The JSON form of a message, with its secrets replaced; `name` is the message's."""
    secret = _SECRET_FIELDS.get(name, frozenset())
    if name == _SETTING and is_secret_setting(message.get("name", "")):
        secret = frozenset({"value"})
    if not secret:
        return message
    return {
        key: REDACTED if key in secret and value is not None else value
        for key, value in message.items()
    }


def is_secret_setting(name: str) -> bool:
    """Whether the value of a setting is a secret, by the setting's name."""
    return _SECRET_SETTING.search(name) is not None
