"""Names for the numbers in metadata records; numbers without a name stay numbers."""

from __future__ import annotations

from collections.abc import Mapping

RESOURCE_TYPES = {
    1: "ANY",
    2: "TOPIC",
    3: "GROUP",
    4: "CLUSTER",
    5: "TRANSACTIONAL_ID",
    6: "DELEGATION_TOKEN",
    7: "USER",
}
PATTERN_TYPES = {1: "ANY", 2: "MATCH", 3: "LITERAL", 4: "PREFIXED"}
OPERATIONS = {
    1: "ANY",
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
    14: "DESCRIBE_TOKENS",
    15: "TWO_PHASE_COMMIT",
}
PERMISSION_TYPES = {1: "ANY", 2: "DENY", 3: "ALLOW"}
CONFIG_TYPES = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
SECURITY_PROTOCOLS = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
RECOVERY_STATES = {0: "RECOVERED", 1: "RECOVERING"}

TOPIC_CONFIG = 2
"""The resource type of topics' settings."""


def name_of(names: Mapping[int, str], number: int) -> str | int:
    """Return the name of a number, or the number."""
    return names.get(number, number)
