import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import org.slf4j.impl.StaticLoggerBinder;

/**
 * Loads log directories with the log manager of the release on the class path, one after the other, and shuts it down again.
 *
 * A request is a line on stdin: the log directory, then settings as name=value, all apart by tabs. The answer is a line on stdout,
 * fields apart by tabs, characters below the blank and backslashes
 * in hex: the result (loaded, offline or exception), the class of the exception, its
 * message, log start and log end of the only partition, then what was logged. Empty fields are not there.
 *
 * Releases differ in the classes and parameters of what is needed, so all of it is found by its type when it runs.
 */
public final class LogStarts {
    /** Where the log manager reports directories that fail. */
    private static Object failures;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write((answer(line.split("\t")) + "\n").getBytes(StandardCharsets.UTF_8));
            out.flush();
        }
        System.exit(0);
    }

    private static String answer(String[] request) throws Exception {
        StaticLoggerBinder.LINES.clear();
        File directory = new File(request[0]);
        Properties properties = new Properties();
        for (int number = 1; number < request.length; number++) {
            String[] setting = request[number].split("=", 2);
            properties.setProperty(setting[0], setting[1]);
        }
        properties.setProperty("log.dirs", directory.getPath());
        Object config = config(properties);
        Object scheduler = scheduler();
        Object module = Class.forName("kafka.log.LogManager$").getField("MODULE$").get(null);
        Method apply = method(module.getClass(), "apply");
        Object manager = apply.invoke(module, values(apply.getParameterTypes(), config, scheduler, null));
        String result = "loaded";
        Throwable thrown = null;
        String start = "";
        String end = "";
        try {
            Method load = method(manager.getClass(), "loadLogs");
            load.invoke(manager, values(load.getParameterTypes(), config, scheduler, manager));
            if (isOffline(directory)) {
                result = "offline";
            } else {
                Object logs = call(call(manager, "allLogs"), "iterator");
                if ((boolean) call(logs, "hasNext")) {
                    Object log = call(logs, "next");
                    start = String.valueOf(call(log, "logStartOffset"));
                    end = String.valueOf(call(log, "logEndOffset"));
                }
            }
        } catch (InvocationTargetException error) {
            result = "exception";
            thrown = error.getCause();
        }
        try {
            Method shutdown = method(manager.getClass(), "shutdown");
            if (shutdown.getParameterCount() == 0)
                shutdown.invoke(manager);
            else
                shutdown.invoke(manager, -1L);
        } catch (InvocationTargetException error) {
            StaticLoggerBinder.LINES.add("shutdown failed: " + error.getCause());
        }
        call(scheduler, "shutdown");
        List<String> fields = new ArrayList<>(List.of(
            result, thrown == null ? "" : thrown.getClass().getName(), thrown == null ? "" : String.valueOf(thrown.getMessage()), start, end));
        synchronized (StaticLoggerBinder.LINES) {
            fields.addAll(StaticLoggerBinder.LINES);
        }
        StringBuilder answer = new StringBuilder();
        for (String field : fields)
            answer.append(answer.length() == 0 ? "" : "\t").append(escaped(field));
        return answer.toString();
    }

    private static boolean isOffline(File directory) throws Exception {
        try {
            return (boolean) failures.getClass().getMethod("hasOfflineLogDir", String.class).invoke(failures, directory.getPath());
        } catch (NoSuchMethodException error) {
            return false; // releases without it throw
        }
    }

    private static Object config(Properties properties) throws Exception {
        Class<?> type = Class.forName("kafka.server.KafkaConfig");
        Properties of = new Properties();
        of.putAll(properties);
        try {
            of.setProperty("zookeeper.connect", "localhost:2181");
            of.setProperty("broker.id", "1");
            return type.getConstructor(java.util.Map.class).newInstance(of);
        } catch (InvocationTargetException error) {
            of.remove("zookeeper.connect");
            of.setProperty("node.id", "1");
            of.setProperty("process.roles", "broker");
            of.setProperty("controller.quorum.voters", "2@localhost:9093");
            of.setProperty("controller.listener.names", "CONTROLLER");
            of.setProperty("listeners", "PLAINTEXT://localhost:9092");
            return type.getConstructor(java.util.Map.class).newInstance(of);
        }
    }

    private static Object scheduler() throws Exception {
        Object scheduler;
        try {
            scheduler = Class.forName("org.apache.kafka.server.util.KafkaScheduler").getConstructor(int.class).newInstance(1);
        } catch (ClassNotFoundException error) {
            scheduler = Class.forName("kafka.utils.KafkaScheduler").getConstructor(int.class, String.class, boolean.class)
                .newInstance(1, "scheduler-", true);
        }
        call(scheduler, "startup");
        return scheduler;
    }

    /** What parameters of these types want to be given. */
    private static Object[] values(Class<?>[] types, Object config, Object scheduler, Object manager) throws Exception {
        Object[] values = new Object[types.length];
        for (int number = 0; number < types.length; number++)
            values[number] = value(types[number], config, scheduler, manager);
        return values;
    }

    private static Object value(Class<?> type, Object config, Object scheduler, Object manager) throws Exception {
        switch (type.getSimpleName()) {
            case "KafkaConfig": return config;
            case "KafkaScheduler":
            case "Scheduler": return scheduler;
            case "Seq": return Class.forName("scala.collection.immutable.Nil$").getField("MODULE$").get(null);
            case "Map": return call(Class.forName("scala.collection.immutable.Map$").getField("MODULE$").get(null), "empty");
            case "LogConfig": return call(manager, "currentDefaultConfig");
            case "Time": return type.getField("SYSTEM").get(null);
            case "boolean": return true;
            case "LogDirFailureChannel": return failures = type.getConstructor(int.class).newInstance(8);
            case "ConfigRepository": return proxy(type, new Properties());
            case "Function1": return proxy(type, false);
            default: return made(type);
        }
    }

    private static Object proxy(Class<?> type, Object answer) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> answer);
    }

    private static Object made(Class<?> type) throws Exception {
        for (Constructor<?> constructor : type.getConstructors()) {
            Class<?>[] types = constructor.getParameterTypes();
            if (types.length == 0)
                return constructor.newInstance();
            if (types.length == 1 && types[0] == Optional.class)
                return constructor.newInstance(Optional.empty());
            if (types.length == 1 && types[0] == boolean.class)
                return constructor.newInstance(false);
        }
        throw new IllegalStateException("no way to make a " + type);
    }

    private static Method method(Class<?> type, String name) {
        for (Method method : type.getMethods())
            if (method.getName().equals(name) && !method.isSynthetic()) {
                method.setAccessible(true);
                return method;
            }
        throw new IllegalStateException(type + " has no " + name);
    }

    private static Object call(Object object, String name) throws Exception {
        Method method = object.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(object);
    }

    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (char letter : text.toCharArray())
            escaped.append(letter < ' ' || letter == '\\' ? String.format("\\u%04x", (int) letter) : String.valueOf(letter));
        return escaped.toString();
    }
}
