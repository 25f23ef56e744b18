"""A replica of a KRaft quorum (KIP-595, 853, 856): a state machine without clock, file or socket.

Pass each event to `Replica.step`, and carry out the effects that it returns, in order. This program
runs a quorum of one voter, which commits a record:

    from collections import deque
    from random import Random

    from kraftwire.raft.core.effects import Append, Committed, Flush, Leading, SaveElection
    from kraftwire.raft.core.inputs import Flushed, Propose
    from kraftwire.raft.metadata_log.batches import split_batches
    from kraftwire.raft.metadata_log.memory_store import MemoryStore
    from kraftwire.raft.replica import Replica
    from kraftwire.raft.state.config import Config
    from kraftwire.raft.state.voters import Listener, ReplicaKey, Voter, VoterSet

    me = Voter(ReplicaKey(1), (Listener("CONTROLLER", "127.0.0.1", 9093),))
    store = MemoryStore(VoterSet([me]))
    replica = Replica(Config(key=me.key, listeners=me.listeners), store.recover(), Random(), now=0)
    effects, applied = deque(replica.start()), 0
    while effects:
        match effects.popleft():
            case SaveElection(election, kraft_version, voter_ids):
                store.save_election(election, kraft_version, voter_ids)
            case Append(batch):
                store.append(batch)
            case Flush(end):
                store.flush()
                effects.extend(replica.step(1, Flushed(end)))
            case Leading():
                effects.extend(replica.step(1, Propose("my record", [b"hello"])))
            case Committed(high_watermark):
                for batch in split_batches(store.read(applied, 1 << 20)):
                    if batch.header.last_offset < high_watermark and not batch.header.is_control:
                        print([record.value for record in batch.records])
                applied = high_watermark

With other voters, `Send` and `Reply` go over a network, `Request` and `Response` come back, and a
timer passes a `Tick` at `Replica.next_deadline`. `kraftwire.node` does all of this.

The parts, lowest first; each imports only those above it in this list:

- `state`: what a replica knows about its quorum
- `metadata_log`: the log, its control records and its snapshots
- `membership`: the rules for changes of the voter set
- `core`: what all handlers share
- `self_description`: what a replica reports about itself; `election`: votes, leading, resigning
- `replication`: Fetch and FetchSnapshot
- `voter_set`: how voters are added, removed and updated
- `replica`: one input at a time
"""
