import java.util.Arrays;

import kafka.Kafka;
import kafka.tools.StorageTool;

/**
 * Formats a log directory where that is asked for, and starts a broker, which ends at once when stdin does.
 *
 *   LiveBroker PROPERTIES [CLUSTER_ID]
 *
 * So no broker outlives the process that started it, whatever ends that.
 */
public final class LiveBroker {
    private LiveBroker() {
    }

    public static void main(String[] arguments) throws Exception {
        Thread watch = new Thread(LiveBroker::haltAtEndOfInput, "end-of-input");
        watch.setDaemon(true);
        watch.start();
        if (arguments.length > 1) {
            String[] format = {"format", "--cluster-id", arguments[1], "--config", arguments[0]};
            int code = StorageTool.execute(format, System.err);
            if (code != 0) {
                System.err.println("the log directory cannot be formatted: " + Arrays.toString(format));
                Runtime.getRuntime().halt(code);
            }
        }
        Kafka.main(new String[] {arguments[0]});
    }

    private static void haltAtEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                continue;
            }
        } catch (java.io.IOException error) {
            // as the end of input
        }
        Runtime.getRuntime().halt(1);
    }
}
