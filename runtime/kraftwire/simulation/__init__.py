"""Whole clusters in one process: random schedules and faults from a seed, and rules checked.

Upper rows import lower ones:

timeline, transcript    a run drawn as SVG, or written as text that can be replayed
replay                  runs repeated step by step, and shortened to what breaks a rule
run                     one run: random steps, then a quiet period to recover in
scheduler               what happens next, drawn from the seed
workload                what clients and operators ask for
world                   one step at a time
executor                the effects that replicas return, carried out
ledger                  the rules, and what they are checked against
network, node           messages in flight; a replica with its disk and clock
forged_requests         what a stranger, a client outside the cluster, sends
steps, scenario         what can happen, as lines of text; what a run starts with

The package imports `kraftwire.raft` and `kraftwire.log`, never files, sockets or clocks.
"""
