"""Commands for consumer groups, from their coordinators' logs, without a broker.

`reading` has what both commands share, `group_format` turns groups into JSON and texts.
"""
