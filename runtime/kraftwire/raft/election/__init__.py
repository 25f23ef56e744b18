"""Elections (KIP-595, KIP-996): from a lost leader to a new one, and back to none.

- `vote_rules`: whether a replica grants a vote
- `vote_client` asks for votes; `vote_server` answers Vote, BeginQuorumEpoch and EndQuorumEpoch
- `leadership`: the beginning of a leader's epoch, and the high watermark in it
- `resignation`: how a leader steps down and a replica shuts down

It imports `core` and the packages below it.
"""
