import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipFile;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/**
 * Encodes and decodes messages with the classes that Kafka generates from its own specs.
 *
 * <p>Reads a task a line from standard input and answers each with a line on standard output;
 * parts of a line are separated by tabs.
 *
 * <pre>
 * encode  NAME  VERSION  JSON   the message's bytes as hex
 * decode  NAME  VERSION  HEX    the JSON form (null where Kafka has none), and the bytes that
 *                               writing it again gives
 * facts                         lines of three kinds:
 *   api      NUMBER NAME LOWEST HIGHEST HEADERS   for each version its two header versions
 *   code     NUMBER NAME                          an error code
 *   message  CLASS LOWEST HIGHEST                 a generated class, and its versions
 * </pre>
 *
 * <p>The answer to the first two starts with "ok", or with "error" where Kafka refuses.
 */
public final class CodecOracle {
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final HexFormat HEX = HexFormat.of();
    private static final String CONVERTER = "JsonConverter";
    private static final Pattern GENERATED =
            Pattern.compile("(.*/(?:generated|common/message|common/metadata)/([A-Za-z]+))\\.class");

    private final Map<String, String> classes = new HashMap<>();

    private CodecOracle() throws IOException {
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (entry.endsWith(".jar") && new File(entry).getName().startsWith("kafka")) {
                findClasses(entry);
            }
        }
    }

    private void findClasses(String jar) throws IOException {
        try (ZipFile zip = new ZipFile(jar)) {
            zip.stream()
                    .map(file -> GENERATED.matcher(file.getName()))
                    .filter(Matcher::matches)
                    .forEach(match -> classes.put(match.group(2), match.group(1).replace('/', '.')));
        }
    }

    /** The name of a message's class: those of requests, responses and headers end in Data. */
    private String className(String name) {
        String found = classes.getOrDefault(name + "Data", classes.get(name));
        if (found == null) {
            throw new IllegalArgumentException("no class of Kafka is called " + name);
        }
        return found;
    }

    private String encode(String name, short version, String json) throws Exception {
        Method read =
                Class.forName(className(name) + CONVERTER)
                        .getMethod("read", JsonNode.class, short.class);
        return HEX.formatHex(bytes((Message) read.invoke(null, MAPPER.readTree(json), version), version));
    }

    private String decode(String name, short version, String hex) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(HEX.parseHex(hex));
        Class<?> type = Class.forName(className(name));
        Message message = (Message) type.getConstructor().newInstance();
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IllegalArgumentException(buffer.remaining() + " bytes are left");
        }
        return json(type, message, version) + "\t" + HEX.formatHex(bytes(message, version));
    }

    /** Kafka Streams generates no converters for its messages: they have no JSON form. */
    private String json(Class<?> type, Message message, short version) throws Exception {
        if (!classes.containsKey(type.getSimpleName() + CONVERTER)) {
            return "null";
        }
        Method write =
                Class.forName(type.getName() + CONVERTER).getMethod("write", type, short.class);
        return MAPPER.writeValueAsString(write.invoke(null, message, version));
    }

    private static byte[] bytes(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return buffer.array();
    }

    private static String api(ApiKeys api) {
        StringBuilder line = new StringBuilder();
        short highest = api.latestVersion(true);
        line.append("api\t").append(api.id).append('\t').append(api.messageType.name);
        line.append('\t').append(api.oldestVersion()).append('\t').append(highest).append('\t');
        for (short version = api.oldestVersion(); version >= 0 && version <= highest; version++) {
            line.append(api.requestHeaderVersion(version)).append(':');
            line.append(api.responseHeaderVersion(version)).append(' ');
        }
        return line.toString();
    }

    /** The versions that a class says it supports; null where it is no message. */
    private String message(String simpleName) throws Exception {
        Class<?> type = Class.forName(classes.get(simpleName));
        if (!Message.class.isAssignableFrom(type)) {
            return null;
        }
        return "message\t" + simpleName + "\t" + type.getField("LOWEST_SUPPORTED_VERSION").get(null)
                + "\t" + type.getField("HIGHEST_SUPPORTED_VERSION").get(null);
    }

    private void printFacts(PrintStream out) throws Exception {
        for (ApiKeys api : ApiKeys.values()) {
            out.println(api(api));
        }
        for (Errors error : Errors.values()) {
            out.println("code\t" + error.code() + "\t" + error.name());
        }
        for (String name : classes.keySet()) {
            String versions = message(name);
            if (versions != null) {
                out.println(versions);
            }
        }
    }

    private String answer(String task) {
        String[] parts = task.split("\t", -1);
        try {
            short version = Short.parseShort(parts[2]);
            boolean encodes = parts[0].equals("encode");
            return "ok\t"
                    + (encodes ? encode(parts[1], version, parts[3]) : decode(parts[1], version, parts[3]));
        } catch (InvocationTargetException wrapped) {
            return refusal(parts, wrapped.getCause());
        } catch (Throwable error) {
            return refusal(parts, error);
        }
    }

    /** What Kafka raised, and over which message. */
    private static String refusal(String[] task, Throwable raised) {
        String message = String.join(" ", Arrays.copyOf(task, Math.min(task.length, 3)));
        return "error\t" + message + ": " + raised.toString().replaceAll("\\s", " ");
    }

    public static void main(String[] arguments) throws Exception {
        CodecOracle oracle = new CodecOracle();
        BufferedReader tasks =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8)) {
            for (String task = tasks.readLine(); task != null; task = tasks.readLine()) {
                if (task.equals("facts")) {
                    oracle.printFacts(out);
                } else {
                    out.println(oracle.answer(task));
                }
            }
        }
    }
}
