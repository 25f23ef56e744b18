"""Elections (KIP-595, KIP-996), and the work of a leader until it resigns.

- `vote_grants`: whether a replica grants a vote
- `vote_client` asks for votes; `vote_server` answers Vote, BeginQuorumEpoch and EndQuorumEpoch
- `leadership`: the start of a leader's epoch, its appends, and the high watermark
- `resignation`: how a leader steps down and a replica shuts down

It imports `core` and the packages below it.
"""
