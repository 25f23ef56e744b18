"""A cluster of replicas in one process, in a world that is made of a seed and tries to break it.

scenario    how many nodes of which kind, and how bad their world is
steps       what happens, and the lines of text that say it
network     what is on its way
node        a replica with its disk and its clock
stranger    requests of somebody who is no part of the cluster
ledger      the rules that must hold, and what they are checked against
executor    doing what replicas want done
world       one step at a time
work        what clients and operators ask for
scheduler   what happens next, at random
run         a run from beginning to end
replay      runs again by their steps, and the shortest that still breaks a rule
transcript  a run as a page of text
timeline    a run as a picture
"""
