"""Commands for consumer groups, from their coordinators' logs, without a broker."""
