"""Extracting frames from packet captures. Each step knows only the steps before it.

    pcap_file          the packets of a pcap or pcapng file
    tcp_segments       the TCP segment in a packet
    reassembly         one direction of a connection as an ordered stream of bytes
    tcp_connection     both directions: which bytes are lost, and which must wait for others
    boundaries         where frames begin in a stream whose beginning is missing
    frame_cutter       cuts a stream into frames, also after missing bytes
    kafka_connection   which side is the client; the frames of both sides
    traffic            all connections of a file, and the memory limits; the entry point
    losses             counts what could not be read

Nothing here decodes messages except to test a candidate for a frame boundary.
"""
