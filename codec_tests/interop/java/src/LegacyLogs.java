import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;

/**
 * Writes segments of magic 0 and 1 with Kafka's own classes, which brokers do no more: for each
 * magic and codec a partition directory below the one that is named.
 */
public final class LegacyLogs {
    private static final int BATCHES = 3;
    private static final int RECORDS = 7;

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        for (byte magic = 0; magic < 2; magic++) {
            write(directory, magic, "none", Compression.NONE);
            write(directory, magic, "gzip", Compression.gzip().build());
            write(directory, magic, "snappy", Compression.snappy().build());
            write(directory, magic, "lz4", Compression.lz4().build());
        }
    }

    private static void write(Path directory, byte magic, String codec, Compression compression)
            throws Exception {
        Path partition = directory.resolve("magic" + magic + "-" + codec + "-0");
        Files.createDirectories(partition);
        ByteBuffer all = ByteBuffer.allocate(1 << 20);
        for (int batch = 0; batch < BATCHES; batch++) {
            MemoryRecordsBuilder builder = MemoryRecords.builder(
                    ByteBuffer.allocate(1 << 16), magic, compression,
                    TimestampType.CREATE_TIME, (long) batch * RECORDS);
            for (int record = 0; record < RECORDS; record++) {
                long time = magic == 0 ? -1L : 1_400_000_000_000L + record;
                byte[] key = record % 3 == 0 ? null : ("key " + record).getBytes();
                byte[] value = record % 5 == 4 ? null : ("value " + batch + "." + record).repeat(9).getBytes();
                builder.append(time, key, value);
            }
            all.put(builder.build().buffer());
        }
        all.flip();
        byte[] bytes = new byte[all.remaining()];
        all.get(bytes);
        Files.write(partition.resolve("00000000000000000000.log"), bytes);
    }
}
