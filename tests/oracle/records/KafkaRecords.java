import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Set;
import java.util.stream.Collectors;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * Reads and filters record batches with Kafka's own classes. Requests are lines of words, answers lines on stdout:
 *
 *   filter BATCHES OFFSETS   the batches (hex) that the log cleaner writes if it keeps the records with these offsets (a,b,c),
 *                            and empty batches where it keeps none: hex
 *   read PATH                the records of a log, a line each: offset, timestamp, key, value and headers (hex, - for null),
 *                            sequence, producer id and epoch, leader epoch, flags (t: transactional, c: control), type of
 *                            timestamp, codec; then a line with a full stop. The CRC of each batch is checked.
 */
public final class KafkaRecords {
    private static final HexFormat HEX = HexFormat.of();

    private KafkaRecords() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", 3);
            if (words[0].equals("filter")) {
                Set<Long> kept = Arrays.stream(words[2].split(",")).filter(word -> !word.isEmpty())
                    .map(Long::valueOf).collect(Collectors.toSet());
                out.println(HEX.formatHex(filtered(HEX.parseHex(words[1]), kept)));
            } else {
                read(new File(line.substring("read ".length())), out);
            }
            out.flush();
        }
    }

    private static byte[] filtered(byte[] batches, Set<Long> kept) {
        MemoryRecords.RecordFilter filter = new MemoryRecords.RecordFilter(0, 0) {
            @Override
            protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                return new BatchRetentionResult(BatchRetention.RETAIN_EMPTY, false);
            }

            @Override
            protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                return kept.contains(record.offset());
            }
        };
        ByteBuffer output = ByteBuffer.allocate(2 * batches.length + 1024);
        ByteBuffer written = MemoryRecords.readableRecords(ByteBuffer.wrap(batches))
            .filterTo(filter, output, BufferSupplier.NO_CACHING).outputBuffer();
        written.flip();
        byte[] bytes = new byte[written.remaining()];
        written.get(bytes);
        return bytes;
    }

    private static void read(File file, PrintStream out) throws Exception {
        try (FileRecords records = FileRecords.open(file, false)) {
            for (RecordBatch batch : records.batches()) {
                batch.ensureValid();
                for (Record record : batch) {
                    record.ensureValid();
                    out.println(String.join(" ", line(batch, record)));
                }
            }
        }
        out.println(".");
    }

    private static String[] line(RecordBatch batch, Record record) {
        StringBuilder headers = new StringBuilder();
        for (Header header : record.headers()) {
            headers.append(HEX.formatHex(header.key().getBytes(java.nio.charset.StandardCharsets.UTF_8))).append('=')
                .append(header.value() == null ? "-" : HEX.formatHex(header.value())).append(';');
        }
        return new String[] {
            Long.toString(record.offset()), Long.toString(record.timestamp()),
            hex(record.hasKey() ? record.key() : null), hex(record.hasValue() ? record.value() : null), "h" + headers,
            Integer.toString(record.sequence()), Long.toString(batch.producerId()), Short.toString(batch.producerEpoch()),
            Integer.toString(batch.partitionLeaderEpoch()),
            "f" + (batch.isTransactional() ? "t" : "") + (batch.isControlBatch() ? "c" : ""),
            batch.timestampType().toString(), batch.compressionType().name
        };
    }

    private static String hex(ByteBuffer bytes) {
        if (bytes == null)
            return "-";
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return "x" + HEX.formatHex(copy);
    }
}
