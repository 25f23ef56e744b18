"""Commands for consumer groups, from their coordinators' logs, without a broker.

`reading` replays the logs for both commands, `group_format` formats groups as JSON and text.
"""
