"""Administers a quorum as a client: `admin` describes it and changes voters; `status` has types.

Above `kraftwire.net`; from `kraftwire.raft` it imports only the types of voters.
"""
