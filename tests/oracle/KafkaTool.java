import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs a command line tool many times in one JVM, each time on a fresh copy of a folder.
 *
 * The only argument is the tool's class. Requests come on stdin, answers go to stdout while they are made, so that nothing piles up
 * here. All numbers are big-endian 32-bit integers:
 *
 *   request   count of strings, then for each its size in bytes and its UTF-8: the folder to copy, the tool's arguments
 *   answer    any count of frames 'o' (a piece of stdout) or 'e' (of stderr): kind byte, size in bytes, bytes;
 *             then one frame 'x': kind byte, 4, exit code
 *
 * The working directory of this JVM must be empty. It is emptied and filled with the copy before each run, for a JVM cannot change
 * its working directory. A run that throws ends as a JVM of its own would: the stack trace on stderr, exit code 1. A run that breaks
 * the JVM (no memory, no stack) ends this JVM without an answer: what the tool says then depends on what ran before.
 */
public final class KafkaTool {
    /** The exit code of this JVM when a run broke it. */
    static final int BROKEN = 3;

    /** Thrown in place of System.exit. */
    static final class Ended extends SecurityException {
        final int status;

        Ended(int status) {
            this.status = status;
        }
    }

    /** Lets the tool do everything but end the JVM. */
    @SuppressWarnings("removal")
    static final class KeepRunning extends SecurityManager {
        @Override
        public void checkPermission(java.security.Permission permission) {
        }

        @Override
        public void checkExit(int status) {
            throw new Ended(status);
        }
    }

    /** Sends what is written as frames of one kind. There is one for the whole life of the JVM: Scala's Console keeps the first it sees. */
    static final class Frames extends OutputStream {
        private final int kind;
        private final DataOutputStream answers;

        Frames(int kind, DataOutputStream answers) {
            this.kind = kind;
            this.answers = answers;
        }

        @Override
        public void write(int one) {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) {
            send(answers, kind, bytes, offset, length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path scratch = Paths.get("").toAbsolutePath();
        try (Stream<Path> files = Files.list(scratch)) {
            if (files.findAny().isPresent())
                throw new IllegalStateException("start me in an empty folder, not in " + scratch);
        }
        DataInputStream requests = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setIn(new ByteArrayInputStream(new byte[0]));
        System.setOut(new PrintStream(new BufferedOutputStream(new Frames('o', answers)), false, "UTF-8"));
        System.setErr(new PrintStream(new BufferedOutputStream(new Frames('e', answers)), false, "UTF-8"));
        Method tool = Class.forName(arguments[0]).getMethod("main", String[].class);
        System.setSecurityManager(new KeepRunning());
        String[] request;
        for (int runs = 1; (request = next(requests)) != null; runs++) {
            empty(scratch);
            copy(Paths.get(request[0]), scratch);
            int status = run(tool, Arrays.copyOfRange(request, 1, request.length));
            System.out.flush();
            System.err.flush();
            byte[] code = {(byte) (status >> 24), (byte) (status >> 16), (byte) (status >> 8), (byte) status};
            send(answers, 'x', code, 0, code.length);
            answers.flush();
            if (runs % 256 == 0)
                System.gc(); // a run that throws leaves files open, which only the collector closes
        }
        empty(scratch);
        Runtime.getRuntime().halt(0);
    }

    static String[] next(DataInputStream requests) throws IOException {
        int count;
        try {
            count = requests.readInt();
        } catch (EOFException end) {
            return null;
        }
        String[] strings = new String[count];
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[requests.readInt()];
            requests.readFully(bytes);
            strings[i] = new String(bytes, StandardCharsets.UTF_8);
        }
        return strings;
    }

    static void send(DataOutputStream answers, int kind, byte[] bytes, int offset, int length) {
        try {
            synchronized (answers) {
                answers.writeByte(kind);
                answers.writeInt(length);
                answers.write(bytes, offset, length);
            }
        } catch (IOException gone) { // nobody reads any more
            Runtime.getRuntime().halt(0);
        }
    }

    /** Run the tool in a thread of its own, as fresh as the first thread of a JVM; return the exit code. */
    static int run(Method tool, String[] arguments) throws InterruptedException {
        Integer[] status = {null};
        Thread thread = new Thread(() -> {
            try {
                tool.invoke(null, (Object) arguments);
                status[0] = 0;
            } catch (InvocationTargetException thrown) {
                Throwable cause = thrown.getCause();
                if (cause instanceof Ended) {
                    status[0] = ((Ended) cause).status;
                } else if (!(cause instanceof VirtualMachineError)) {
                    System.err.print("Exception in thread \"main\" ");
                    cause.printStackTrace(System.err);
                    status[0] = 1;
                }
            } catch (IllegalAccessException impossible) {
                throw new IllegalStateException(impossible);
            }
        }, "main");
        thread.start();
        thread.join();
        if (status[0] == null)
            Runtime.getRuntime().halt(BROKEN);
        return status[0];
    }

    static void empty(Path folder) throws IOException {
        for (Path file : walk(folder, Comparator.reverseOrder()))
            if (!file.equals(folder))
                Files.delete(file);
    }

    static void copy(Path from, Path to) throws IOException {
        for (Path file : walk(from, Comparator.naturalOrder())) {
            Path target = to.resolve(from.relativize(file).toString());
            if (Files.isDirectory(file))
                Files.createDirectories(target);
            else
                Files.copy(file, target);
        }
    }

    static List<Path> walk(Path folder, Comparator<Path> order) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.sorted(order).collect(Collectors.toList());
        } catch (UncheckedIOException error) {
            throw error.getCause();
        }
    }
}
