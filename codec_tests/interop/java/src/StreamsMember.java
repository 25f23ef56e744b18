import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Joins a streams group (KIP-1071), reads a record, and ends at once, so that the group still
 * has its member: arguments are the brokers, the group, the topic and a directory.
 */
public final class StreamsMember {
    private static final int SECONDS = 60;

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("application.id", arguments[1]);
        settings.put("state.dir", arguments[3]);
        settings.put("group.protocol", "streams");
        settings.put("commit.interval.ms", "100");
        settings.put("auto.offset.reset", "earliest");
        settings.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        settings.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        CountDownLatch seen = new CountDownLatch(1);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(arguments[2]).foreach((key, value) -> seen.countDown());
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.start();
        boolean joined = seen.await(SECONDS, TimeUnit.SECONDS);
        Runtime.getRuntime().halt(joined ? 0 : 1);
    }
}
