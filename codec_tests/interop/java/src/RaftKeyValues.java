import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.BatchReader;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.snapshot.SnapshotReader;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The example of keys and values ({@code kraftwire.node.key_value}) on Kafka's own raft.
 *
 * <p>It speaks the same lines and keeps the same records, so that nodes of both kinds make one
 * quorum, and a node goes on in a directory of the other kind. Keys and values have no quotes.
 * Arguments: settings, of a formatted directory, and the port of clients.
 */
public final class RaftKeyValues implements RaftClient.Listener<byte[]> {
    private final RaftClient<byte[]> raft;
    private final Map<String, String> values = new ConcurrentHashMap<>();
    private final ConcurrentSkipListMap<Long, CompletableFuture<Boolean>> waiting =
            new ConcurrentSkipListMap<>();
    private volatile long committed = -1;

    private RaftKeyValues(RaftClient<byte[]> raft) {
        this.raft = raft;
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = read(Path.of(arguments[0]));
        Properties meta = read(Path.of(settings.getProperty("log.dirs"), "meta.properties"));
        RaftKeyValues machine =
                new RaftKeyValues(
                        KafkaRaft.start(
                                new KafkaConfig(settings),
                                meta.getProperty("cluster.id"),
                                Uuid.fromString(meta.getProperty("directory.id"))));
        machine.raft.register(machine);
        int port = Integer.parseInt(arguments[1]);
        try (var listener = new ServerSocket(port, 512, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket client = listener.accept();
                new Thread(() -> machine.serve(client)).start();
            }
        }
    }

    private static Properties read(Path path) throws IOException {
        Properties properties = new Properties();
        try (var file = Files.newBufferedReader(path)) {
            properties.load(file);
        }
        return properties;
    }

    private void serve(Socket client) {
        try (client;
                var lines = new BufferedReader(new InputStreamReader(client.getInputStream(), UTF_8));
                Writer answers = new OutputStreamWriter(client.getOutputStream(), UTF_8)) {
            client.setTcpNoDelay(true);
            for (String line; (line = lines.readLine()) != null; ) {
                answers.write(answer(line.split(" ", 3)) + "\n");
                answers.flush();
            }
        } catch (IOException error) {
            // The client has gone.
        }
    }

    private String answer(String[] words) {
        LeaderAndEpoch leader = raft.leaderAndEpoch();
        switch (words[0]) {
            case "put":
                return put(leader, words[1], words[2]);
            case "get":
                String value = values.get(words[1]);
                return value == null ? "none" : "value " + value;
            default:
                return leader.leaderId().isEmpty() ? "none" : "leader " + leader.leaderId().getAsInt();
        }
    }

    private String put(LeaderAndEpoch leader, String key, String value) {
        byte[] record = String.format("[\"put\", \"%s\", \"%s\"]", key, value).getBytes(UTF_8);
        long offset;
        try {
            offset = raft.prepareAppend(leader.epoch(), List.of(record));
            raft.schedulePreparedAppend();
        } catch (RuntimeException error) {
            return "error " + error.getMessage();
        }
        CompletableFuture<Boolean> outcome = new CompletableFuture<>();
        waiting.put(offset, outcome);
        complete(waiting.headMap(committed, true).keySet(), true);
        if (raft.leaderAndEpoch().epoch() != leader.epoch()) {
            outcome.complete(false);
        }
        return outcome.join() ? "ok " + (offset + 1) : "error not committed";
    }

    private void complete(Iterable<Long> offsets, boolean isCommitted) {
        for (Long offset : offsets) {
            CompletableFuture<Boolean> outcome = waiting.remove(offset);
            if (outcome != null) {
                outcome.complete(isCommitted);
            }
        }
    }

    private long apply(Iterator<Batch<byte[]>> batches) {
        long last = committed;
        while (batches.hasNext()) {
            Batch<byte[]> batch = batches.next();
            for (byte[] record : batch) {
                String[] parts = new String(record, UTF_8).split("\"");
                values.put(parts[3], parts[5]);
            }
            last = batch.lastOffset();
        }
        return last;
    }

    @Override
    public void handleCommit(BatchReader<byte[]> reader) {
        try (reader) {
            committed = apply(reader);
        }
        complete(waiting.headMap(committed, true).keySet(), true);
    }

    @Override
    public void handleLeaderChange(LeaderAndEpoch leader) {
        complete(waiting.keySet(), false);
    }

    @Override
    public void handleLoadSnapshot(SnapshotReader<byte[]> reader) {
        try (reader) {
            values.clear();
            apply(reader);
        }
    }

    @Override
    public void handleLoadBootstrap(SnapshotReader<byte[]> reader) {
        reader.close();
    }
}
