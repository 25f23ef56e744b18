"""Secrets in messages, by schema: which fields hold them, and messages without them.

`SECRETS` is the one table. A field in it is secret always, or where it is the value of a
sensitive setting: by the setting's name, as Kafka's own settings of type PASSWORD are named,
or because the broker calls the setting sensitive.

`redact` works on the JSON form of a message, so that what is printed keeps its shape;
`redact_fields` on the message itself, which encodes as before. Null and empty values have
nothing to hide and stay. Secrets in the records of users, and in what producers and members
of groups write, have no schema and are not found.
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
    """A field: its path without indexes, and when it is a secret."""

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
    # SCRAM (KIP-554); with salt and salted password anybody can log in.
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
    """The JSON form of a message, with its secrets replaced; `name` is the message's."""
    if name not in SECRETS:
        return message
    copy = deepcopy(message)
    for found in _find(_Json(), copy, name):
        found.holder[found.key] = REDACTED
    return copy


def redact_fields(message: Message) -> list[str]:
    """Replace the secrets of a message, in place; the paths of those that were there.

    Secrets within record batches and embedded requests are not looked for here.
    """
    paths = []
    for found in _find(_Attributes(), message, type(message).__name__):
        is_bytes = isinstance(getattr(found.holder, found.key), bytes)
        setattr(found.holder, found.key, REDACTED_BYTES if is_bytes else REDACTED)
        paths.append(found.path)
    return paths


def secret_texts(message: Message) -> list[str]:
    """The secrets of a message that are text, the longest first."""
    found = _find(_Attributes(), message, type(message).__name__)
    values = {getattr(one.holder, one.key) for one in found}
    return sorted((one for one in values if isinstance(one, str)), key=len, reverse=True)


def is_secret_setting(name: str) -> bool:
    """Whether the value of a setting is a secret, by the setting's name."""
    return _SECRET_SETTING.search(name) is not None


class _Attributes:
    """How to look into a message."""

    def key(self, name: str) -> str:
        return name

    def get(self, holder: Struct, key: str) -> Any:
        return getattr(holder, key, None)


class _Json:
    """How to look into the JSON form of one."""

    def key(self, name: str) -> str:
        return camel_case(name)

    def get(self, holder: dict[str, Any], key: str) -> Any:
        return holder.get(key)


class _Found(NamedTuple):
    """A secret: what holds it, and under which name."""

    holder: Any
    key: str
    path: str


def _find(form: _Attributes | _Json, message: Any, name: str) -> Iterator[_Found]:
    for secret in SECRETS.get(name, ()):
        *steps, last = map(form.key, secret.path.split("."))
        for holders, path in _walk(form, message, steps):
            value = form.get(holders[-1], last)
            if not value or value in (REDACTED, REDACTED_BYTES):
                continue
            if secret.when == "always" or _is_sensitive(form, holders):
                yield _Found(holders[-1], last, path + last)


def _walk(
    form: _Attributes | _Json, message: Any, steps: list[str]
) -> Iterator[tuple[list[Any], str]]:
    """The structs at the end of some steps, each behind those that hold it."""
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
    """Whether a setting, or one that it is a synonym of, is sensitive."""
    flag = form.key("is_sensitive")
    if any(form.get(holder, flag) for holder in holders):
        return True
    name = form.get(holders[-1], "name") or form.get(holders[-1], "key")
    return isinstance(name, str) and is_secret_setting(name)
