"""Records live traffic between clients and a cluster.

    proxy       the proxy itself: records and rewrites frames; the entry point
    listeners   accepts the clients of each broker
    upstream    connects to a broker, with a login if needed
    relay       passes frames between two connections
    pending     limits the bytes that all connections hold

The proxy records the brokers' frames before it replaces the addresses in them.
"""
