import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import kafka.network.SocketServer;
import kafka.raft.KafkaRaftManager;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRequestHandlerPoolFactory;
import kafka.tools.TestRaftRequestHandler;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.ApiMessageType.ListenerType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.common.security.token.delegation.internals.DelegationTokenCache;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.raft.Endpoints;
import org.apache.kafka.raft.ExternalKRaftMetrics;
import org.apache.kafka.raft.QuorumConfig;
import org.apache.kafka.raft.RaftClient;
import org.apache.kafka.security.CredentialProvider;
import org.apache.kafka.server.ServerSocketFactory;
import org.apache.kafka.server.SimpleApiVersionManager;
import org.apache.kafka.server.common.FinalizedFeatures;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.serialization.RecordSerde;
import org.apache.kafka.server.fault.ProcessTerminatingFaultHandler;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Kafka's raft without its controller: the metadata partition of a cluster, with any records.
 *
 * <p>The parts are those that a controller is made of: KafkaRaftManager with its log and its
 * network client, a SocketServer, and the request handler of Kafka's TestRaftServer.
 */
final class KafkaRaft {
    private KafkaRaft() {}

    /** Starts a voter of the static quorum that the settings name. */
    static RaftClient<byte[]> start(KafkaConfig config, String clusterId, Uuid directoryId)
            throws Exception {
        Metrics metrics = new Metrics();
        DelegationTokenCache tokens = new DelegationTokenCache(List.of());
        SimpleApiVersionManager versions =
                new SimpleApiVersionManager(ListenerType.CONTROLLER, true, KafkaRaft::features);
        SocketServer server =
                new SocketServer(
                        config,
                        metrics,
                        Time.SYSTEM,
                        new CredentialProvider(List.of(), tokens),
                        versions,
                        ServerSocketFactory.INSTANCE,
                        CollectionConverters.asScala(List.of()));
        QuorumConfig quorum = config.quorumConfig();
        KafkaRaftManager<byte[]> manager =
                new KafkaRaftManager<>(
                        clusterId,
                        config,
                        directoryId,
                        new Bytes(),
                        new TopicPartition(Topic.CLUSTER_METADATA_TOPIC_NAME, 0),
                        Uuid.METADATA_TOPIC_ID,
                        Time.SYSTEM,
                        metrics,
                        ignored -> { },
                        Option.apply("raft"),
                        CompletableFuture.completedFuture(
                                QuorumConfig.parseVoterConnections(quorum.voters())),
                        List.of(),
                        listeners(config),
                        new ProcessTerminatingFaultHandler.Builder().build());
        TestRaftRequestHandler handler =
                new TestRaftRequestHandler(
                        manager, server.dataPlaneRequestChannel(), Time.SYSTEM, versions);
        new KafkaRequestHandlerPoolFactory()
                .createPool(
                        config.nodeId(),
                        server.dataPlaneRequestChannel(),
                        handler,
                        Time.SYSTEM,
                        2,
                        "controller");
        manager.startup();
        server.enableRequestProcessing(scala.collection.immutable.Map$.MODULE$.empty());
        return manager.client();
    }

    private static FinalizedFeatures features() {
        return FinalizedFeatures.fromMetadataVersion(MetadataVersion.latestProduction());
    }

    private static Endpoints listeners(KafkaConfig config) {
        Map<ListenerName, InetSocketAddress> addresses =
                CollectionConverters.asJava(config.effectiveAdvertisedControllerListeners())
                        .stream()
                        .collect(
                                Collectors.toMap(
                                        one -> ListenerName.normalised(one.listener()),
                                        one -> new InetSocketAddress(one.host(), one.port())));
        return Endpoints.fromInetSocketAddresses(addresses);
    }

    /** Records are bytes as they are. */
    private static final class Bytes implements RecordSerde<byte[]> {
        @Override
        public int recordSize(byte[] record, ObjectSerializationCache cache) {
            return record.length;
        }

        @Override
        public void write(byte[] record, ObjectSerializationCache cache, Writable out) {
            out.writeByteArray(record);
        }

        @Override
        public byte[] read(Readable in, int size) {
            return in.readArray(size);
        }
    }
}
