"""Simulates whole clusters in one process, with random faults from a seed, and checks rules.

Upper rows import lower ones:

timeline, transcript    draw a run as SVG; write it as text that can be replayed
replay                  repeats runs step by step, and shortens those that break a rule
run                     one run: random steps, then a quiet period in which to recover
scheduler               draws the next step from the seed
workload                draws the requests of clients and operators
world                   takes one step
executor                carries out the effects that replicas return
ledger                  the rules, and the history of the nodes that they need
network, node           messages in flight; a replica with its disk and clock
forged_requests         draws the requests of a stranger, a client outside the cluster
steps, scenario         the steps, as lines of text; the settings of a run

The package imports `kraftwire.raft` and `kraftwire.log`, never files, sockets or clocks.
"""
