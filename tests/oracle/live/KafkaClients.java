import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers and consumers of a live broker. Requests are lines of words on stdin, each is answered by a line on stdout:
 *
 *   create TOPIC COUNT NAME=VALUE...   a topic with this many partitions and these settings: its id
 *   start SEED PAUSE TOPIC:COUNT...    random steps of several producers, plain, idempotent and transactional, with all codecs, to
 *                                      the partitions of these topics, with a pause (in ms) after each, until `stop`: "ok"
 *   stop                               ends the steps and all transactions: "ok", and how many steps and errors there were
 *   follow FILE TOPIC:COUNT...         reads the partitions into a file as they grow, from their start, until `unfollow`
 *   unfollow                           goes on to the present end, and ends: "ok", or what went wrong
 *   read FILE ISOLATION TOPIC:COUNT... reads the partitions into a file, from their start to their present end, which a consumer
 *                                      may not reach: "ok"
 *
 * A line of a file is a record: topic, partition, offset, timestamp, type of timestamp, key, value (hex; - for null) and headers
 * (name=value, separated by commas); or the extent of a partition that was read: "=", topic, partition, first and next offset, and the position of the
 * consumer.
 * What fails is answered by "failed" and the exception.
 */
public final class KafkaClients {
    private static final HexFormat HEX = HexFormat.of();
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(20);
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    private final String address;
    private Load load;
    private Following following;

    private KafkaClients(String address) {
        this.address = address;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        KafkaClients clients = new KafkaClients(arguments[0]);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = clients.answer(line.split(" "));
            } catch (Exception | AssertionError error) {
                answer = "failed " + error;
            }
            out.println(answer.replace('\n', ' '));
        }
        Runtime.getRuntime().halt(0); // whatever still waits for a broker
    }

    private String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "create":
                return create(words);
            case "start":
                load = new Load(Long.parseLong(words[1]), Integer.parseInt(words[2]), partitions(words, 3));
                load.start();
                return "ok";
            case "stop":
                try (Load ending = load) {
                    ending.isOver = true;
                    ending.join();
                    return "ok " + ending.steps + " " + ending.errors;
                }
            case "follow":
                following = new Following(Path.of(words[1]), partitions(words, 2));
                following.start();
                return "ok";
            case "unfollow":
                following.isOver = true;
                following.join();
                return following.result;
            case "read":
                read(Path.of(words[1]), words[2], partitions(words, 3));
                return "ok";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private static List<TopicPartition> partitions(String[] words, int first) {
        return Arrays.stream(words).skip(first).map(word -> word.split(":"))
            .flatMap(parts -> IntStream.range(0, Integer.parseInt(parts[1])).mapToObj(row -> new TopicPartition(parts[0], row)))
            .collect(Collectors.toList());
    }

    private Properties settings(String... pairs) {
        Properties found = new Properties();
        found.put("bootstrap.servers", address);
        found.put("reconnect.backoff.max.ms", "200");
        found.put("retry.backoff.max.ms", "200");
        for (int row = 0; row < pairs.length; row += 2) {
            found.put(pairs[row], pairs[row + 1]);
        }
        return found;
    }

    private String create(String[] words) throws Exception {
        Map<String, String> config = pairs(words, 3);
        try (Admin admin = Admin.create(settings())) {
            NewTopic topic = new NewTopic(words[1], Integer.parseInt(words[2]), (short) 1).configs(config);
            return admin.createTopics(Set.of(topic)).topicId(words[1]).get(60, TimeUnit.SECONDS).toString();
        }
    }

    private static Map<String, String> pairs(String[] words, int first) {
        return Arrays.stream(words).skip(first).map(word -> word.split("=", 2))
            .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    }

    // --- Writing

    /** Random steps of several producers. */
    private final class Load extends Thread implements AutoCloseable {
        private volatile boolean isOver;
        private volatile int steps;
        private volatile int errors;
        private final Random random;
        private final int pause;
        private final List<TopicPartition> partitions;
        private final long seed;
        private final List<Writer> writers = new ArrayList<>();

        private Load(long seed, int pause, List<TopicPartition> partitions) {
            this.seed = seed;
            this.random = new Random(seed);
            this.pause = pause;
            this.partitions = partitions;
            String[] kinds = {"plain", "idempotent", "idempotent", "transactional", "transactional", "transactional"};
            for (String kind : kinds) {
                writers.add(new Writer(kind, CODECS[random.nextInt(CODECS.length)], writers.size()));
            }
        }

        @Override
        public void run() {
            try {
                while (!isOver) {
                    step();
                    Thread.sleep(random.nextInt(2 * pause + 1));
                }
                end();
            } catch (InterruptedException error) {
                errors++;
            }
        }

        private void step() {
            Writer writer = writers.get(random.nextInt(writers.size()));
            try {
                writer.step();
            } catch (KafkaException error) { // of a broker that was killed: the producer starts again, and aborts what was open
                errors++;
                writer.close();
            }
            steps++;
        }

        private void end() {
            for (Writer writer : writers) {
                try {
                    writer.end();
                } catch (KafkaException error) {
                    errors++;
                    writer.close();
                }
            }
        }

        @Override
        public void close() {
            writers.forEach(Writer::close);
        }

        /** A producer, and whether its transaction is open. */
        private final class Writer {
            private final boolean isTransactional;
            private final Properties settings;
            private KafkaProducer<byte[], byte[]> producer;
            private boolean isOpen;

            private Writer(String kind, String codec, int row) {
                isTransactional = kind.equals("transactional");
                settings = settings("acks", kind.equals("plain") ? "1" : "all", "compression.type", codec, "linger.ms", "3",
                    "enable.idempotence", String.valueOf(!kind.equals("plain")),
                    "batch.size", String.valueOf(500 + random.nextInt(4000)), "max.block.ms", "60000");
                if (isTransactional) {
                    settings.put("transactional.id", "writer-" + seed + "-" + row);
                    settings.put("transaction.timeout.ms", "600000");
                }
            }

            private void step() {
                if (producer == null) {
                    producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
                    if (isTransactional) {
                        producer.initTransactions();
                    }
                }
                if (isTransactional && !isOpen) {
                    producer.beginTransaction();
                    isOpen = true;
                }
                TopicPartition first = any();
                for (int count = 1 + random.nextInt(15); count > 0; count--) {
                    send(random.nextInt(4) == 0 ? any() : first);
                }
                if (random.nextInt(3) == 0) {
                    producer.flush();
                }
                if (isTransactional && random.nextInt(3) == 0) {
                    finish();
                }
            }

            private TopicPartition any() {
                return partitions.get(random.nextInt(partitions.size()));
            }

            private void send(TopicPartition to) {
                byte[] key = to.topic().startsWith("plain") && random.nextInt(8) == 0 ? null
                    : ("key-" + random.nextInt(30)).getBytes(StandardCharsets.UTF_8);
                byte[] value = random.nextInt(12) == 0 ? null : new byte[random.nextInt(random.nextInt(8) == 0 ? 1500 : 120)];
                if (value != null) {
                    random.nextBytes(value);
                }
                long time = System.currentTimeMillis() - (random.nextInt(3) == 0 ? random.nextInt(20_000) : 0);
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(to.topic(), to.partition(), time, key, value);
                for (int row = random.nextInt(12) - 9; row > 0; row--) {
                    record.headers().add(new RecordHeader("h" + row, random.nextBoolean() ? null : new byte[] {(byte) row}));
                }
                producer.send(record);
            }

            private void finish() {
                isOpen = false;
                if (random.nextInt(3) == 0) {
                    producer.flush(); // so that something is there that is aborted
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }

            private void end() {
                if (producer != null) {
                    producer.flush();
                    if (isOpen) {
                        finish();
                    }
                }
            }

            private void close() {
                if (producer != null) {
                    producer.close(Duration.ZERO);
                }
                producer = null;
                isOpen = false;
            }
        }
    }

    // --- Reading

    private KafkaConsumer<byte[], byte[]> consumer(String isolation) {
        Properties settings = settings("isolation.level", isolation, "auto.offset.reset", "none", "enable.auto.commit", "false",
            "allow.auto.create.topics", "false", "default.api.timeout.ms", "60000", "fetch.max.wait.ms", "100",
            "max.poll.records", "5000");
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void read(Path path, String isolation, List<TopicPartition> partitions) throws Exception {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation); BufferedWriter file = Files.newBufferedWriter(path)) {
            consumer.assign(partitions);
            Map<TopicPartition, Long> starts = consumer.beginningOffsets(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            starts.forEach(consumer::seek);
            copy(consumer, file, ends);
            for (TopicPartition one : partitions) {
                long position = consumer.position(one);
                file.write(String.join(" ", "=", one.topic(), "" + one.partition(), "" + starts.get(one), "" + ends.get(one),
                    "" + position) + "\n");
            }
        }
    }

    /** Copy records up to these offsets, or until nothing comes any more. */
    private static void copy(KafkaConsumer<byte[], byte[]> consumer, BufferedWriter file, Map<TopicPartition, Long> ends)
        throws Exception {
        Map<TopicPartition, Long> missing = new HashMap<>(ends);
        Map<TopicPartition, Long> positions = Map.of();
        long latest = 0;
        while (true) {
            missing.entrySet().removeIf(one -> consumer.position(one.getKey()) >= one.getValue());
            Map<TopicPartition, Long> now = missing.keySet().stream().collect(Collectors.toMap(one -> one, consumer::position));
            if (!now.equals(positions)) {
                positions = now;
                latest = System.nanoTime() + PATIENCE_NANOS;
            }
            if (missing.isEmpty() || System.nanoTime() > latest) {
                return;
            }
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                if (record.offset() < ends.get(new TopicPartition(record.topic(), record.partition()))) {
                    file.write(line(record));
                }
            }
        }
    }

    /** A consumer that reads all that comes. */
    private final class Following extends Thread {
        private final Path path;
        private final List<TopicPartition> partitions;
        private volatile boolean isOver;
        private String result = "ok";

        private Following(Path path, List<TopicPartition> partitions) {
            this.path = path;
            this.partitions = partitions;
        }

        @Override
        public void run() {
            try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted");
                    BufferedWriter file = Files.newBufferedWriter(path)) {
                consumer.assign(partitions);
                for (TopicPartition one : partitions) {
                    consumer.seek(one, 0);
                }
                while (!isOver) {
                    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                        file.write(line(record));
                    }
                }
                copy(consumer, file, consumer.endOffsets(partitions));
            } catch (Exception error) {
                result = "failed " + error;
            }
        }
    }

    private static String line(ConsumerRecord<byte[], byte[]> record) {
        String headers = StreamSupport.stream(record.headers().spliterator(), false)
            .map(one -> one.key() + "=" + hex(one.value())).collect(Collectors.joining(","));
        return String.join(" ", record.topic(), "" + record.partition(), "" + record.offset(), "" + record.timestamp(),
            record.timestampType().name, hex(record.key()), hex(record.value()), headers.isEmpty() ? "-" : headers) + "\n";
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "-" : "x" + HEX.formatHex(bytes);
    }
}
