#!/usr/bin/env bash
# Adopts a release of Kafka: fetches its jars with Maven, imports their specs.
#
#   message_specs/update_kafka.sh VERSION [DIR]     DIR is message_specs/kafka unless said
#
# Environment: PYTHON, the interpreter; STREAMS_VERSION, the release that kafka-streams comes
# from when VERSION has no such jar.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: $0 VERSION [DIR]" >&2
    exit 2
fi
version=$1
root=$(cd "$(dirname "$0")/.." && pwd)
out=${2:-$root/message_specs/kafka}
jars=$(mktemp -d)
trap 'rm -rf "$jars"' EXIT

stop() {
    echo "$1; nothing was changed" >&2
    exit 2
}

# fetch ARTIFACT VERSION: true when the jar is there, false when it was never published.
fetch() {
    echo "fetching $1 $2" >&2
    if (cd "$jars" && mvn -q -B -U dependency:copy -Dartifact="org.apache.kafka:$1:$2" \
        -DoutputDirectory="$jars") >"$jars/log" 2>&1; then
        return 0
    fi
    grep -Eq "Could not find artifact|was not found in" "$jars/log" && return 1
    cat "$jars/log" >&2
    stop "$1 $2 cannot be fetched"
}

for artifact in kafka-clients kafka-raft kafka-metadata; do
    fetch "$artifact" "$version" || stop "$artifact $version is not published"
done

# Releases differ in which of these they have; to 3.8 the core's jar holds coordinator specs.
for artifact in kafka-group-coordinator kafka-transaction-coordinator \
    kafka-share-coordinator kafka-storage kafka_2.13; do
    fetch "$artifact" "$version" || echo "NOTE: $artifact $version is not published" >&2
done

if ! fetch kafka-streams "$version"; then
    echo "WARNING: kafka-streams $version is not published" >&2
    [ -n "${STREAMS_VERSION:-}" ] || stop "set STREAMS_VERSION to the release to take it from"
    echo "WARNING: the streams module comes from kafka-streams $STREAMS_VERSION" >&2
    fetch kafka-streams "$STREAMS_VERSION" || stop "kafka-streams $STREAMS_VERSION is not published"
fi

PYTHONPATH=$root/generator${PYTHONPATH:+:$PYTHONPATH} \
    "${PYTHON:-python3}" -m kraftwire_generator specs import "$jars"/*.jar --out "$out"
