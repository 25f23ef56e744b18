"""Live traffic between clients and a cluster, passed on and recorded.

`proxy` is what stands between them: `listeners` takes the clients of each broker, `upstream`
connects to it, and `relay` passes frames both ways. What is recorded are the brokers' own
frames, before `capture.rewriting` puts the proxy's addresses into them.
"""
