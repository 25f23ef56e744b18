"""Transports Kafka's protocol over asyncio: frames over TCP or TLS, clients and servers.

Start with `client.Connection` or `server.Server`. A module may import those listed before it:

    errors             errors other than `OSError`
    frames             splits a stream of bytes into frames
    security           TLS for both sides, SASL for clients
    settings           reads both from Kafka's properties
    principal          the subject of a certificate, as Kafka prints it
    scram              SCRAM without I/O
    sasl               the login of a client
    versions           the version of a message that both ends speak
    answers            bounds the responses that a client reads, by API
    client             client connections
    limits             bytes, connections and time that clients may take
    descriptors        file descriptors that are reserved for the node
    log_rate           bounds the log lines that peers can cause
    complaints         counts and logs connections that the server closed
    calls              a received request, and its one response
    admission          decides which connections a server keeps
    server_connection  server connections
    server             listeners

Above `kraftwire.log`; it does not know what the messages mean.
"""
