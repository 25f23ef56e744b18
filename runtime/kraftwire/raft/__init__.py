"""A replica of a KRaft quorum (KIP-595, 853, 856) that does nothing by itself.

Nothing here reads a clock, a file or a socket. Modules build on those above them:

    quorum             majorities
    voters             who votes: keys, listeners, sets of voters
    history            what was in force at which offset
    log_state          where a log begins and ends, and which epoch wrote what
    batches            record batches, made and taken apart
    control_state      what control records say: the voter set and kraft.version
    bounds             which epochs and offsets there can be, and why
    election           what is remembered of an election
    recovery           from bytes to what is known of a log
    store              what a replica keeps; memory_store does so in memory, with crashes
    inputs             what can happen to a replica
    effects            what it wants done
    config             what it is told once
    membership         by which rules voters come and go
    tally              the answers of voters
    download           a snapshot that comes piece by piece
    parked             Fetches that wait at a leader
    roles              its states
    votes              whom it votes for
    connections        one request at a time to each node, and pauses
    core               what all handlers share: log, voters, state, and how that changes
    claims             which epochs, offsets and leaders that others announce are believed
    snapshots          those that a state machine takes, and how long they are kept
    messages           the one partition within requests and responses
    announced          whether the endpoints that others announce can be connected to
    replies            responses that say how things stand
    apis               what a replica speaks, and ApiVersions
    cluster            DescribeCluster
    describe           DescribeQuorum
    metrics            what a replica tells of itself in numbers
    elections          Vote, BeginQuorumEpoch and EndQuorumEpoch, as they are answered
    leading            what a leader does
    stopping           resigning, shutting down
    fetch_server       Fetch, as a leader answers it
    snapshot_server    FetchSnapshot, as a leader answers it
    candidacy          standing for election
    responses          what responses say of epoch and leader
    voter_checks       what may be wrong with a request that would change the voters
    readiness          whether a replica is ready to be a voter
    voter_changes      AddRaftVoter and RemoveRaftVoter, as a leader answers them
    voter_updates      UpdateRaftVoter, as a leader answers it, and kraft.version
    updating           what a follower tells and asks its leader about itself
    snapshot_fetching  FetchSnapshot, as a replica asks it
    following          Fetch, as a replica asks it
    replica            one input at a time

Beside it, for whoever looks at a quorum from outside:

    quorum_status      what DescribeQuorum tells
    admin              describe a quorum, add and remove voters; this alone speaks to a network
"""
