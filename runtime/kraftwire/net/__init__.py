"""The transport of Kafka's protocol over asyncio: frames over TCP or TLS, calls and answers.

Nothing here knows what the messages are for. Modules build on those above them:

    errors        what can go wrong that is no `OSError`
    frames        a stream of bytes cut into frames
    security      who speaks: TLS on both sides, SASL as a client
    settings      the same under Kafka's names of properties
    principal     the name in a certificate, as Kafka prints it
    scram         SCRAM without input and output
    sasl          logging in
    versions      which version of a message both ends speak
    answers       how long a response may be, by API
    client        a connection that asks
    limits        what a server gives to peers that nobody knows
    descriptors   how many of them clients leave to files
    log_rate      how many lines peers can cause
    complaints    what peers did wrong: counted, and logged at a bounded rate
    calls         a request that came, and how it is answered
    served        a connection that is asked
    admission     which connections there may be
    server        listeners
"""
