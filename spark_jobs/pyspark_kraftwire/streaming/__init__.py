"""Streams: log directories followed while brokers write to them.

reader                    Spark's side
offsets                   how far a stream has come, as a checkpoint keeps it
progress                  up to where a trigger reads, and what is read between two offsets
listing, tail             what is there, and how far each log reaches
limits, decided           how much of it comes into a trigger; which transactions are decided
trigger                   the splits of a trigger
"""
