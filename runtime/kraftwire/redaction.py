"""Replaces secrets in messages by a placeholder.

`SECRETS` is the one table of secret fields. A field is secret always, or if it is the value of a
sensitive setting: one that the broker marks as sensitive, or whose name is like those of Kafka's
settings of type PASSWORD.

`redact` replaces secrets in the JSON form of a message, `redact_fields` in the message itself,
which can still be encoded. Null and empty values stay. Secrets in records of topics, and in data
that group members write, have no schema, so they are not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from kraftwire.printing import camel_case
from kraftwire_wire.message import Message

REDACTED = "(redacted)"
REDACTED_BYTES = REDACTED.encode()


class Secret(NamedTuple):
    """A secret field: its path without indexes, and when it is secret."""

    path: str
    when: Literal["always", "sensitive setting"] = "always"


def _setting(path: str) -> tuple[Secret, ...]:
    return (Secret(path, "sensitive setting"),)


_TOPIC_CONFIGS = tuple(
    Secret(f"topology.subtopologies.{topics}.topic_configs.value", "sensitive setting")
    for topics in ("state_changelog_topics", "repartition_source_topics")
)

SECRETS: dict[str, tuple[Secret, ...]] = {
    # Logging in: passwords, proofs, tokens of OAuth and Kerberos (KIP-152).
    "SaslAuthenticateRequest": (Secret("auth_bytes"),),
    "SaslAuthenticateResponse": (Secret("auth_bytes"),),
    # SCRAM (KIP-554): with salt and salted password anybody can log in.
    "AlterUserScramCredentialsRequest": (
        Secret("upsertions.salt"),
        Secret("upsertions.salted_password"),
    ),
    "UserScramCredentialRecord": (Secret("salt"), Secret("stored_key"), Secret("server_key")),
    # Delegation tokens (KIP-48): the id is the user's name, the hmac the password.
    "CreateDelegationTokenResponse": (Secret("token_id"), Secret("hmac")),
    "RenewDelegationTokenRequest": (Secret("hmac"),),
    "ExpireDelegationTokenRequest": (Secret("hmac"),),
    "DescribeDelegationTokenResponse": (Secret("tokens.token_id"), Secret("tokens.hmac")),
    "DelegationTokenRecord": (Secret("token_id"),),
    "RemoveDelegationTokenRecord": (Secret("token_id"),),
    # Settings.
    "AlterConfigsRequest": _setting("resources.configs.value"),
    "IncrementalAlterConfigsRequest": _setting("resources.configs.value"),
    "CreateTopicsRequest": _setting("topics.configs.value"),
    "CreateTopicsResponse": _setting("topics.configs.value"),
    "DescribeConfigsResponse": (
        *_setting("results.configs.value"),
        *_setting("results.configs.synonyms.value"),
    ),
    "ConfigRecord": _setting("value"),
    "StreamsGroupHeartbeatRequest": _TOPIC_CONFIGS,
    "StreamsGroupDescribeResponse": tuple(
        Secret(f"groups.{secret.path}", secret.when) for secret in _TOPIC_CONFIGS
    ),
    "StreamsGroupTopologyValue": tuple(
        Secret(secret.path.removeprefix("topology."), secret.when) for secret in _TOPIC_CONFIGS
    ),
    "StreamsGroupMetadataValue": _setting("last_assignment_configs.value"),
}

_SECRET_SETTING = re.compile(
    r"password|passphrase|secret|credential|jaas|token|private\.key|access\.key|api\.key|"
    r"\bkeystore\.(key|certificate)|truststore\.certificates",
    re.IGNORECASE,
)


def redact(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a message without its secrets; `name` is the message's."""
    if name not in SECRETS:
        return message
    copy = deepcopy(message)
    for secret in _find(copy, name):
        secret.holder[camel_case(secret.name)] = REDACTED
    return copy


def redact_fields(message: Message) -> list[str]:
    """Replace the secrets of a message in place, and return their paths.

    Secrets within record batches and embedded requests are not found.
    """
    paths = []
    for secret in _find(message, type(message).__name__):
        is_bytes = isinstance(getattr(secret.holder, secret.name), bytes)
        setattr(secret.holder, secret.name, REDACTED_BYTES if is_bytes else REDACTED)
        paths.append(secret.path)
    return paths


def secret_texts(message: Message) -> list[str]:
    """Return the secrets of a message that are strings, the longest first."""
    found = _find(message, type(message).__name__)
    values = {getattr(one.holder, one.name) for one in found}
    return sorted((one for one in values if isinstance(one, str)), key=len, reverse=True)


def is_secret_setting(name: str) -> bool:
    """Whether a setting with this name has a secret value."""
    return _SECRET_SETTING.search(name) is not None


class _SecretValue(NamedTuple):
    """A secret: the struct or JSON object that has it, its attribute's name, and its path."""

    holder: Any
    name: str
    path: str


def _get(holder: Any, name: str) -> Any:
    """Return a field of a struct, or of its JSON form; None if it has none."""
    if isinstance(holder, dict):
        return holder.get(camel_case(name))
    return getattr(holder, name, None)


def _find(message: Any, name: str) -> Iterator[_SecretValue]:
    for secret in SECRETS.get(name, ()):
        *steps, last = secret.path.split(".")
        for holders, path in _walk(message, steps):
            value = _get(holders[-1], last)
            if not value or value in (REDACTED, REDACTED_BYTES):
                continue
            if secret.when == "always" or _is_sensitive(holders):
                yield _SecretValue(holders[-1], last, path + last)


def _walk(message: Any, steps: list[str]) -> list[tuple[list[Any], str]]:
    """Return the structs at the end of a path, each after the structs that contain it."""
    found: list[tuple[list[Any], str]] = [([message], "")]
    for step in steps:
        deeper = []
        for holders, path in found:
            value = _get(holders[-1], step)
            if isinstance(value, list):
                deeper += [
                    ([*holders, item], f"{path}{step}[{at}].") for at, item in enumerate(value)
                ]
            elif value is not None:
                deeper.append(([*holders, value], f"{path}{step}."))
        found = deeper
    return found


def _is_sensitive(holders: list[Any]) -> bool:
    """Whether the setting, or the one that it is a synonym of, is sensitive."""
    if any(_get(holder, "is_sensitive") for holder in holders):
        return True
    name = _get(holders[-1], "name") or _get(holders[-1], "key")
    return isinstance(name, str) and is_secret_setting(name)
