import java.io.IOException;
import java.util.Arrays;

/**
 * Runs the main method of another class, and ends the process when standard input ends.
 *
 * <p>Whoever starts it holds the other end of that pipe; so no broker outlives its test, even
 * where the test is killed.
 */
public final class Guarded {
    private Guarded() {}

    public static void main(String[] arguments) throws Exception {
        Thread guard = new Thread(Guarded::haltAtEndOfInput, "guard");
        guard.setDaemon(true);
        guard.start();
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }

    private static void haltAtEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (IOException error) {
            // The pipe is gone all the same.
        }
        Runtime.getRuntime().halt(1);
    }
}
