import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ScheduledFuture;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogManager;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Pattern;

/**
 * Starts the broker's own log manager on log directories, many in one JVM, and tells what it made of them.
 *
 * Requests are lines on stdin, their parts separated by tabs; each is answered by one line of JSON on stdout:
 *
 *   load LOG_DIR NOW [NAME=VALUE...]   load the partitions of a log directory; NOW is what the clock says (milliseconds), then come
 *                                      settings of topics. The answer: {"thrown": ..., "offline": [...], "logs": [...], "lines": [...]}
 *   close                              shut down properly what was loaded. The answer: {"lines": [...]}
 *
 * A line of the log is [level, logger, message, what was thrown or null]. Kafka's classes are reached by reflection only: names,
 * packages and signatures differ from release to release. Scala keeps the names of parameters; for Java's, see `settingsByType`.
 */
public final class LogManagerStarts {
    private static final ConcurrentLinkedQueue<Object> LINES = new ConcurrentLinkedQueue<>();

    /** Where Kafka throws on purpose; its helpers that only check something are passed over. */
    private static final Pattern IN_KAFKA = Pattern.compile("(org\\.apache\\.)?kafka\\.(?!common\\.utils\\.Utils).*");

    /** What the proxies answer from. */
    private final long now;
    private final List<Object> waiting = new ArrayList<>(); // tasks scheduled without delay
    private final Map<Class<?>, List<Object>> byType = new LinkedHashMap<>(); // the next values of parameters without names
    private Object manager;

    private LogManagerStarts(long now) {
        this.now = now;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
        listen();
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        LogManagerStarts current = null;
        int count = 0;
        for (String request; (request = requests.readLine()) != null; ) {
            String[] parts = request.split("\t");
            LINES.clear();
            Map<String, Object> answer = new LinkedHashMap<>();
            if (parts[0].equals("load")) {
                current = new LogManagerStarts(Long.parseLong(parts[2]));
                answer = current.load(new File(parts[1]), Arrays.asList(parts).subList(3, parts.length));
            } else {
                current.close();
                if (++count % 128 == 0)
                    System.gc(); // a start that failed leaves files open and mapped
            }
            answer.put("lines", new ArrayList<>(LINES));
            StringBuilder json = new StringBuilder();
            write(json, answer);
            answers.println(json);
        }
        Runtime.getRuntime().halt(0);
    }

    private Map<String, Object> load(File logDir, List<String> settings) throws Exception {
        Object channel = type("LogDirFailureChannel").getConstructor(int.class).newInstance(1);
        Class<?> type = managerType();
        Constructor<?> constructor = type.getConstructors()[0];
        boolean isNamed = constructor.getParameters()[0].isNamePresent();
        Map<String, Object> byName = isNamed ? settingsOfBroker(logDir, settings) : Collections.emptyMap();
        if (isNamed)
            byName.put("logDirFailureChannel", channel);
        else
            settingsByType(logDir, settings, channel);
        Object[] values = values(constructor.getParameters(), byName, type);
        Throwable thrown = null;
        try {
            manager = constructor.newInstance(values);
            for (Method method : type.getMethods()) // releases before 2.8.0 load in the constructor
                if (method.getName().equals("loadLogs"))
                    method.invoke(manager, values(method.getParameters(), byName, type));
        } catch (InvocationTargetException failed) {
            thrown = failed.getCause();
        }
        runWaiting();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("thrown", thrown == null ? null : describe(thrown));
        answer.put("offline", new ArrayList<>(((Map<?, ?>) field(channel, "offlineLogDirs")).keySet()));
        List<Object> logs = new ArrayList<>();
        if (manager != null && thrown == null)
            for (Object log : all(call(manager, "allLogs")))
                logs.add(describeLog(log));
        answer.put("logs", logs);
        return answer;
    }

    /** What a broker gives its log manager, by the names of the parameters; the rest follows from the types. */
    private Map<String, Object> settingsOfBroker(File logDir, List<String> settings) throws Exception {
        Properties properties = new Properties();
        for (String setting : settings)
            properties.put(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
        Object config = logConfig(properties);
        Map<String, Object> byName = new LinkedHashMap<>();
        byName.put("logDirs", scala("asScalaBuffer", List.class, Collections.singletonList(logDir)));
        byName.put("initialDefaultConfig", config);
        byName.put("defaultConfig", config);
        byName.put("recoveryThreadsPerDataDir", 1);
        byName.put("maxTransactionTimeoutMs", 15 * 60 * 1000);
        byName.put("maxPidExpirationMs", 7 * 24 * 60 * 60 * 1000);
        byName.put("keepPartitionMetadataFile", true);
        return byName;
    }

    /** The same by the types of the parameters, in the order of those of one type: for Java, which keeps no names. */
    private void settingsByType(File logDir, List<String> settings, Object channel) throws Exception {
        Object config = settingsOfBroker(logDir, settings).get("defaultConfig");
        byType.put(List.class, new ArrayList<>(Arrays.asList(Collections.singletonList(logDir)))); // then those that are offline
        byType.put(config.getClass(), new ArrayList<>(Arrays.asList(config, config))); // of the constructor, of loadLogs
        byType.put(int.class, new ArrayList<>(Arrays.asList(1, 15 * 60 * 1000))); // threads for recovery, longest transaction
        byType.put(channel.getClass(), new ArrayList<>(Arrays.asList(channel)));
    }

    private void runWaiting() throws Exception {
        for (int i = 0; i < waiting.size(); i++) // a task may schedule another
            try {
                call(waiting.get(i), waiting.get(i) instanceof Runnable ? "run" : "apply");
            } catch (InvocationTargetException logged) { // a broker's scheduler goes on as well
                LINES.add(Arrays.asList("ERROR", "Scheduler", "a task failed", String.valueOf(logged.getCause())));
            }
    }

    private void close() throws Exception {
        if (manager != null)
            try {
                if (hasMethod(manager, "shutdown"))
                    call(manager, "shutdown");
                else
                    manager.getClass().getMethod("shutdown", long.class).invoke(manager, -1L);
            } catch (InvocationTargetException ignored) { // nothing was loaded
            }
    }

    // What is told about a loaded log, and about what was thrown.

    private static Map<String, Object> describeLog(Object log) throws Exception {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("dir", ((File) call(log, "dir")).getName());
        told.put("start", call(log, "logStartOffset"));
        told.put("end", call(log, "logEndOffset"));
        told.put("recovery_point", call(log, "recoveryPoint"));
        List<Object> segments = new ArrayList<>();
        for (Object segment : all(call(log, "logSegments")))
            segments.add(Arrays.asList(call(segment, "baseOffset"), call(segment, "size")));
        told.put("segments", segments);
        String id = hasMethod(log, "topicId") ? String.valueOf(content(call(log, "topicId"))) : null;
        told.put("topic_id", id == null || id.equals("null") || id.equals("AAAAAAAAAAAAAAAAAAAAAA") ? null : id);
        told.put("producers", call(call(call(log, "producerStateManager"), "activeProducers"), "size"));
        return told;
    }

    private static Map<String, Object> describe(Throwable thrown) {
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("class", thrown.getClass().getName());
        told.put("message", thrown.getMessage());
        told.put("cause", thrown.getCause() == null ? null : thrown.getCause().toString());
        String place = null;
        for (StackTraceElement frame : thrown.getStackTrace())
            if (place == null && IN_KAFKA.matcher(frame.getClassName()).matches())
                place = frame.getClassName().replaceFirst(".*\\.", "") + "." + frame.getMethodName();
        told.put("place", place);
        return told;
    }

    // Kafka's objects, made from what the release's constructors ask for.

    private Object logConfig(Properties properties) throws Exception {
        for (Constructor<?> constructor : type("LogConfig").getConstructors())
            if (constructor.getParameterTypes()[0] == Map.class
                    && (constructor.getParameterCount() == 1 || constructor.getParameterTypes()[1].getName().startsWith("scala.collection.imm"))) {
                Object[] values = new Object[constructor.getParameterCount()];
                values[0] = properties;
                if (values.length == 2)
                    values[1] = call(type("LogConfig"), null, "$lessinit$greater$default$2");
                return constructor.newInstance(values);
            }
        throw new IllegalStateException("no constructor of LogConfig that fits");
    }

    /** Make an object with its longest constructor, but for Java classes that have one for a switch alone. */
    private Object make(Class<?> wanted, Map<String, Object> byName) throws Exception {
        Constructor<?> chosen = null;
        for (Constructor<?> constructor : wanted.getConstructors()) {
            boolean isSwitch = Arrays.equals(constructor.getParameterTypes(), new Class<?>[] {boolean.class});
            if (chosen == null || isSwitch || constructor.getParameterCount() > chosen.getParameterCount())
                chosen = constructor;
            if (isSwitch)
                break;
        }
        return chosen.newInstance(values(chosen.getParameters(), byName, wanted));
    }

    /** A value for each parameter: by its name, else Scala's default, else what stands for its type. */
    private Object[] values(Parameter[] parameters, Map<String, Object> byName, Class<?> owner) throws Exception {
        Object[] values = new Object[parameters.length];
        for (int i = 0; i < values.length; i++) {
            String fallback = "$lessinit$greater$default$" + (i + 1);
            Class<?> type = parameters[i].getType();
            boolean isOfManager = !parameters[i].isNamePresent() && owner != null && owner.getSimpleName().equals("LogManager");
            if (byName.containsKey(parameters[i].getName()))
                values[i] = byName.get(parameters[i].getName());
            else if (isOfManager && !byType.getOrDefault(type, Collections.emptyList()).isEmpty())
                values[i] = byType.get(type).remove(0);
            else if (owner != null && type != boolean.class && hasMethod(owner, fallback))
                values[i] = call(owner, null, fallback);
            else
                values[i] = standing(type);
        }
        return values;
    }

    private Object standing(Class<?> type) throws Exception {
        if (type == boolean.class)
            return false;
        if (type == int.class)
            return 24 * 60 * 60 * 1000;
        if (type == long.class)
            return 60_000L;
        if (type.getName().startsWith("scala.collection.")) {
            boolean isMap = type.getSimpleName().equals("Map");
            return isMap ? scala("mapAsScalaMap", Map.class, new Properties()) : scala("asScalaBuffer", List.class, new ArrayList<>());
        }
        if (type == List.class)
            return new ArrayList<>();
        if (type == Map.class)
            return new Properties();
        if (type.isInterface())
            return Proxy.newProxyInstance(LogManagerStarts.class.getClassLoader(), new Class<?>[] {type}, handler(type.getSimpleName()));
        if (type.getSimpleName().equals("MetadataVersion")) {
            Object[] versions = type.getEnumConstants();
            return versions[versions.length - 1];
        }
        return make(type, Collections.emptyMap());
    }

    private InvocationHandler handler(String name) {
        return (proxy, method, arguments) -> {
            switch (name + "." + method.getName()) {
                case "Time.milliseconds":
                case "Time.hiResClockMs":
                    return now;
                case "Time.nanoseconds":
                    return now * 1_000_000L;
                case "Time.sleep":
                    return null;
                case "Scheduler.schedule":
                    if ((Long) arguments[2] <= 0)
                        waiting.add(arguments[1]);
                    return standing(ScheduledFuture.class);
                default:
            }
            if (name.equals("ConfigRepository"))
                return new Properties();
            if (name.startsWith("Function")) // asked whether a log is a stray one
                return false;
            if (method.isDefault())
                return InvocationHandler.invokeDefault(proxy, method, arguments);
            return method.getReturnType() == boolean.class ? true : null;
        };
    }

    /** The log manager in Scala, or in Java since 4.4.0; a class of helpers may have the other name. */
    private static Class<?> managerType() throws ClassNotFoundException {
        try {
            Class<?> inScala = Class.forName("kafka.log.LogManager");
            return inScala.getConstructors().length > 0 ? inScala : type("LogManager");
        } catch (ClassNotFoundException gone) {
            return type("LogManager");
        }
    }

    /** The class of this name, wherever the release keeps it. */
    private static Class<?> type(String name) throws ClassNotFoundException {
        for (String place : new String[] {"org.apache.kafka.storage.internals.log.", "kafka.log.", "kafka.server."})
            try {
                return Class.forName(place + name);
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        throw new ClassNotFoundException(name);
    }

    // Reflection, and Scala's collections.

    private static Object scala(String conversion, Class<?> from, Object value) throws Exception {
        return Class.forName("scala.collection.JavaConverters").getMethod(conversion, from).invoke(null, value);
    }

    private static List<Object> all(Object collection) throws Exception {
        List<Object> items = new ArrayList<>();
        if (collection instanceof Iterable) {
            ((Iterable<?>) collection).forEach(items::add);
        } else {
            Object iterator = call(collection, "iterator");
            while ((Boolean) call(iterator, "hasNext"))
                items.add(call(iterator, "next"));
        }
        return items;
    }

    /** What an Optional or Option holds, or null; any other object as it is. */
    private static Object content(Object value) throws Exception {
        if (value instanceof java.util.Optional)
            return ((java.util.Optional<?>) value).orElse(null);
        if (value != null && hasMethod(value, "isEmpty") && hasMethod(value, "get"))
            return (Boolean) call(value, "isEmpty") ? null : call(value, "get");
        return value;
    }

    private static Object field(Object target, String name) throws Exception {
        for (Field field : target.getClass().getDeclaredFields())
            if (field.getName().endsWith(name)) {
                field.setAccessible(true);
                return field.get(target);
            }
        throw new NoSuchFieldException(name);
    }

    private static boolean hasMethod(Object target, String name) {
        Class<?> type = target instanceof Class ? (Class<?>) target : target.getClass();
        return Arrays.stream(type.getMethods()).anyMatch(method -> method.getName().equals(name) && method.getParameterCount() == 0);
    }

    private static Object call(Object target, String name) throws Exception {
        if (target instanceof Map && name.equals("size"))
            return ((Map<?, ?>) target).size();
        return call(target.getClass(), target, name);
    }

    private static Object call(Class<?> type, Object target, String name) throws Exception {
        Method method = type.getMethod(name);
        if (!Modifier.isPublic(method.getDeclaringClass().getModifiers()))
            method.setAccessible(true);
        return method.invoke(target);
    }

    // The log, and JSON.

    private static void listen() {
        LogManager.getLogManager().reset();
        Logger root = Logger.getLogger("");
        root.setLevel(Level.INFO);
        root.addHandler(new Handler() {
            @Override
            public void publish(LogRecord line) {
                Throwable thrown = line.getThrown();
                String level = line.getLevel() == Level.SEVERE ? "ERROR" : line.getLevel() == Level.WARNING ? "WARN" : "INFO";
                LINES.add(Arrays.asList(level, line.getLoggerName(), line.getMessage(), thrown == null ? null : thrown.toString()));
            }

            @Override
            public void flush() {
            }

            @Override
            public void close() {
            }
        });
    }

    private static void write(StringBuilder json, Object value) {
        if (value instanceof Map) {
            String before = "{";
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                json.append(before);
                write(json, entry.getKey());
                json.append(':');
                write(json, entry.getValue());
                before = ",";
            }
            json.append(before.equals("{") ? "{}" : "}");
        } else if (value instanceof List) {
            String before = "[";
            for (Object item : (List<?>) value) {
                json.append(before);
                write(json, item);
                before = ",";
            }
            json.append(before.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            json.append('"');
            for (char one : ((String) value).toCharArray())
                json.append(one < ' ' || one > '~' || one == '"' || one == '\\' ? String.format("\\u%04x", (int) one) : String.valueOf(one));
            json.append('"');
        } else {
            json.append(value);
        }
    }
}
