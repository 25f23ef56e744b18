"""Serves recorded traffic as a broker would.

    tape             takes a recording apart for replay
    partition_logs   the recorded records of each partition
    request_parts    splits requests about several things, and joins the answers
    matching         the table of fields that may differ between a request and a recorded one
    search           finds the nearest unused recorded request
    record_answers   answers Produce and Fetch from the partition logs
    miss             a request that was not recorded
    replay           requests in, recorded answers out; no socket
    server           listens once for each recorded broker; the entry point

Batching and grouping depend on timing, so recorded exchanges are compared in parts: records by
partition, other requests by the one thing each part is about.
"""
