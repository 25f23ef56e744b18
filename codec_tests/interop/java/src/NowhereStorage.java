import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * A remote storage that keeps nothing: it lets a broker write the records of
 * __remote_log_metadata without any place to copy segments to.
 */
public final class NowhereStorage implements RemoteStorageManager {
    @Override
    public void configure(Map<String, ?> settings) {}

    @Override
    public Optional<CustomMetadata> copyLogSegmentData(
            RemoteLogSegmentMetadata metadata, LogSegmentData data) {
        return Optional.of(new CustomMetadata(new byte[] {1, 2, 3}));
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start) {
        return new ByteArrayInputStream(new byte[0]);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata metadata, int start, int end) {
        return new ByteArrayInputStream(new byte[0]);
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata metadata, IndexType type) {
        return new ByteArrayInputStream(new byte[0]);
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata metadata) {}

    @Override
    public void close() {}
}
