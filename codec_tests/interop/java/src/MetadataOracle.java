import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Builds Kafka's own image of a cluster out of metadata records, one a line in hex.
 *
 * <p>Prints {@code refused N} for each record, counted from 0, that does not fit the image, and
 * then {@code record HEX} for each record of a snapshot of the final image.
 */
public final class MetadataOracle {
    public static void main(String[] arguments) throws Exception {
        MetadataImage image = MetadataImage.EMPTY;
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        long offset = 0;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            ApiMessageAndVersion record = decode(HexFormat.of().parseHex(line));
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            try {
                delta.replay(record.message());
                image = delta.apply(new MetadataProvenance(offset, 1, 0, true));
            } catch (RuntimeException refusal) {
                System.out.println("refused " + offset);
            }
            offset++;
        }
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(image)
                .setEligibleLeaderReplicasEnabled(true)
                .setLossHandler(loss -> {
                    throw new IllegalStateException(loss);
                })
                .build());
        for (ApiMessageAndVersion record : writer.records()) {
            System.out.println("record " + HexFormat.of().formatHex(encode(record)));
        }
    }

    private static ApiMessageAndVersion decode(byte[] bytes) {
        ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
        return MetadataRecordSerde.INSTANCE.read(readable, bytes.length);
    }

    private static byte[] encode(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(record, cache));
        MetadataRecordSerde.INSTANCE.write(record, cache, new ByteBufferAccessor(buffer));
        return buffer.array();
    }
}
