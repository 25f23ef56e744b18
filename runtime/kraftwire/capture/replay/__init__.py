"""Serves recorded traffic as a broker would.

    tape             splits a recording into requests and records
    partition_logs   the recorded records of each partition
    request_parts    splits requests about several things, and joins the answers
    matching         the table of fields that may differ between a request and a recorded one
    search           finds the nearest unused recorded request
    record_answers   answers Produce and Fetch from the partition logs
    miss             a request that was not recorded
    replay           answers requests, without a socket
    server           listens once for each recorded broker; the entry point

How clients group things into requests depends on timing, so requests are compared in parts: records
by partition, other requests by topic, partition or key.
"""
