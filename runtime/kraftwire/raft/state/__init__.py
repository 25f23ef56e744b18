"""Plain data about a quorum, and the maths on it.

- `voters`: replica keys, their listeners, and voter sets; `majorities`: quorum maths
- `election_state`: the content of the file quorum-state; `tally`: the votes counted so far
- `config`: the settings of a replica; `bounds`: the largest epochs and offsets it accepts

It imports nothing else of `kraftwire.raft`.
"""
