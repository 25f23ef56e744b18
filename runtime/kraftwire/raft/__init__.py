"""A replica of a KRaft quorum (KIP-595, 853, 856) that does nothing by itself.

Nothing here reads a clock, a file or a socket. Modules build on those above them:

    quorum         majorities
    voters         who votes: keys, listeners, sets of voters
    history        what was in force at which offset
    log_state      where a log begins and ends, and which epoch wrote what
    batches        record batches, made and taken apart
    control_state  what control records say: the voter set and kraft.version
    election       what is remembered of an election
    recovery       from bytes to what is known of a log
    store          what a replica keeps; memory_store does so in memory, with crashes
    inputs         what can happen to a replica
    effects        what it wants done
    config         what it is told once
    tally          the answers of voters
    roles          its states
    votes          whom it votes for
    connections    one request at a time to each node, and pauses
    core           what all handlers share: log, voters, state, and how that changes
    messages       the one partition within requests and responses
    replies        responses that say how things stand
    elections      Vote, BeginQuorumEpoch and EndQuorumEpoch, as they are answered
    leading        what a leader does
    fetch_server   Fetch, as a leader answers it
    candidacy      standing for election
    responses      what responses say of epoch and leader
    following      Fetch, as a replica asks it
    replica        one input at a time
"""
