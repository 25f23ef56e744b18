'''A KRaft node: disk, network and clock around the replica, and a replicated state machine on top.

Start with `Assembly`, which builds a node from server.properties. This program replicates a
counter; `kraftwire storage format` has formatted its directories:

    import asyncio

    from kraftwire.node.assembly import Assembly
    from kraftwire.node.settings.properties import read_properties


    class Counter:
        """The state: the sum of all committed records."""

        total = 0

        def apply(self, batch):
            self.total += sum(int(record.value) for record in batch.records)

        def load(self, batches):
            self.total = 0
            for batch in batches:
                self.apply(batch)

        def snapshot(self):
            return [str(self.total).encode()]


    async def main(path):
        counter = Counter()
        assembly = Assembly(read_properties(path))
        with assembly.open_disk() as store:
            node = assembly.node(store, counter)
            await node.start()
            while node.leads is None:
                await asyncio.sleep(0.01)
            await asyncio.gather(*(node.propose([b"%d" % number]) for number in range(10)))
            await node.close()
        return counter.total

- `settings`, `storage`, `disk`: server.properties; formatted directories; the log on disk
- `assembly` builds a `node` from settings; `driver` performs the effects of the replica
- `peers`, `known_peers`: connections to other nodes; `refusals`: requests that the node refuses
- `proposals`: records that wait to be committed; `state_machine` applies the committed ones, and
  `key_value` and `observer` are two machines
- `logging_setup`, `prometheus`: log lines and metrics

Above `kraftwire.raft` and `kraftwire.net`; only the command line imports this package.
'''
