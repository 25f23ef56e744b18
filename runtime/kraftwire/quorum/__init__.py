"""Administers a quorum as a client: `admin` describes it and changes voters, `status` has results.

Above `kraftwire.net`; of `kraftwire.raft` it knows only the types of voters.
"""
