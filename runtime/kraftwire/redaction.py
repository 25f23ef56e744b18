"""Secrets in messages: which fields have them, and messages without them.

`SECRETS` is the one table. Its fields are secret always, or if they are the value of a sensitive
setting: the setting is named like Kafka's settings of type PASSWORD, or the broker marks it as
sensitive.

`redact` replaces secrets in the JSON form of a message, `redact_fields` in the message itself,
which can still be encoded. Null and empty values stay. Secrets in the records of topics, and in
what producers and members of groups write, have no schema and are not found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from kraftwire.printing import camel_case
from kraftwire_wire.message import Message, Struct

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
    for found in _find(_Json(), copy, name):
        found.holder[found.key] = REDACTED
    return copy


def redact_fields(message: Message) -> list[str]:
    """Replace the secrets of a message in place, and return their paths.

    Secrets within record batches and embedded requests are not found.
    """
    paths = []
    for found in _find(_Attributes(), message, type(message).__name__):
        is_bytes = isinstance(getattr(found.holder, found.key), bytes)
        setattr(found.holder, found.key, REDACTED_BYTES if is_bytes else REDACTED)
        paths.append(found.path)
    return paths


def secret_texts(message: Message) -> list[str]:
    """Return the secrets of a message that are strings, the longest first."""
    found = _find(_Attributes(), message, type(message).__name__)
    values = {getattr(one.holder, one.key) for one in found}
    return sorted((one for one in values if isinstance(one, str)), key=len, reverse=True)


def is_secret_setting(name: str) -> bool:
    """Whether a setting with this name has a secret value."""
    return _SECRET_SETTING.search(name) is not None


class _Attributes:
    """Access to the fields of a message."""

    def key(self, name: str) -> str:
        return name

    def get(self, holder: Struct, key: str) -> Any:
        return getattr(holder, key, None)


class _Json:
    """Access to the fields of a JSON form."""

    def key(self, name: str) -> str:
        return camel_case(name)

    def get(self, holder: dict[str, Any], key: str) -> Any:
        return holder.get(key)


class _SecretValue(NamedTuple):
    """A secret: the object that has it, its key there, and its path."""

    holder: Any
    key: str
    path: str


def _find(form: _Attributes | _Json, message: Any, name: str) -> Iterator[_SecretValue]:
    for secret in SECRETS.get(name, ()):
        *steps, last = map(form.key, secret.path.split("."))
        for holders, path in _walk(form, message, steps):
            value = form.get(holders[-1], last)
            if not value or value in (REDACTED, REDACTED_BYTES):
                continue
            if secret.when == "always" or _is_sensitive(form, holders):
                yield _SecretValue(holders[-1], last, path + last)


def _walk(
    form: _Attributes | _Json, message: Any, steps: list[str]
) -> Iterator[tuple[list[Any], str]]:
    """Yield the structs at the end of a path, each after the structs that contain it."""
    found: list[tuple[list[Any], str]] = [([message], "")]
    for step in steps:
        deeper = []
        for holders, path in found:
            value = form.get(holders[-1], step)
            if isinstance(value, list):
                deeper += [
                    ([*holders, item], f"{path}{step}[{at}].") for at, item in enumerate(value)
                ]
            elif value is not None:
                deeper.append(([*holders, value], f"{path}{step}."))
        found = deeper
    yield from found


def _is_sensitive(form: _Attributes | _Json, holders: list[Any]) -> bool:
    """Whether a setting, or a setting of which it is a synonym, is sensitive."""
    flag = form.key("is_sensitive")
    if any(form.get(holder, flag) for holder in holders):
        return True
    name = form.get(holders[-1], "name") or form.get(holders[-1], "key")
    return isinstance(name, str) and is_secret_setting(name)
