/* The kernel in C: the inner loops over windows of bytes. The same functions as kdump/binary/reference.py, and lines of text.

   It knows the layouts of batches, messages and records, but neither releases nor wording: Python passes a line's wording as a
   program, and rules as numbers. It stops before anything irregular (an impossible length, a varint longer than necessary, an old
   magic), and the reference in Python goes on from there.

   The bytes are hostile. No length is used before it is compared with what is left; sums that may overflow are unsigned.
   The loops that write text or make summaries run without the GIL.

   This is one translation unit: each chapter below is a header that is included here once, and everything in it is static. */

#define PY_SSIZE_T_CLEAN
#ifndef KDUMP_FREE_THREADED
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "bytes/arithmetic.h"
#include "bytes/layout.h"
#include "bytes/varint.h"
#include "bytes/crc.h"
#include "bytes/numbers.h"
#include "bytes/utf8.h"
#include "bytes/encodings.h"
#include "bytes/window.h"
#include "bytes/objects.h"
#include "bytes/packed.h"
#include "bytes/parent.h"
#include "bytes/threads.h"

#include "read/batches.h"
#include "read/records.h"
#include "read/walks.h"
#include "read/columns.h"
#include "read/batch_columns.h"
#include "read/search.h"
#include "read/literal.h"

#include "decode/messages.h"
#include "decode/json.h"
#include "decode/words.h"
#include "decode/topic_records.h"

#include "text/rows.h"
#include "text/cells.h"
#include "text/program.h"
#include "text/line.h"
#include "text/dump.h"
#include "text/indexes.h"

#include "check/odd_fields.h"
#include "check/ordinary.h"
#include "check/ordinary_messages.h"
#include "check/summary.h"
#include "check/producers.h"
#include "check/new_entries.h"
#include "check/summary_log.h"

PyDoc_STRVAR(crc32c_doc, "crc32c(data, crc=0, way=-1, /): the CRC-32C of these bytes, going on from `crc`.\n\n"
                         "`way` is one of CRC32C, which are those of this processor; -1 for the last of them, the fastest.");

static PyObject *crc32c(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer data;
    unsigned int crc = 0;
    int way = -1;
    if (!PyArg_ParseTuple(arguments, "y*|Ii:crc32c", &data, &crc, &way))
        return NULL;
    Checksum *over = way >= 0 && way < crc32c_way_count ? crc32c_ways[way] : crc32c_of;
    Py_BEGIN_ALLOW_THREADS;
    crc = ~over(~crc, data.buf, (size_t)data.len);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(crc);
}

static PyMethodDef methods[] = {
    {"compile_plan", compile_plan, METH_VARARGS, compile_plan_doc},
    {"dump", dump, METH_VARARGS, dump_doc},
    {"dump_log", dump_log, METH_VARARGS, dump_log_doc},
    {"dump_index", dump_index, METH_VARARGS, dump_index_doc},
    {"dump_time_index", dump_time_index, METH_VARARGS, dump_time_index_doc},
    {"summarize_batches", summarize_batches, METH_VARARGS, summarize_batches_doc},
    {"summarize_messages", summarize_messages, METH_VARARGS, summarize_messages_doc},
    {"find_literal", find_literal, METH_VARARGS, find_literal_doc},
    {"find", find, METH_VARARGS, find_doc},
    {"next_intact", next_intact, METH_VARARGS, next_intact_doc},
    {"next_header", next_header, METH_VARARGS, next_header_doc},
    {"numbers_at", numbers_at, METH_VARARGS, numbers_at_doc},
    {"numbers_of", numbers_of, METH_VARARGS, numbers_of_doc},
    {"pack", pack, METH_VARARGS, pack_doc},
    {"producer_streaks", producer_streaks, METH_VARARGS, producer_streaks_doc},
    {"summarize_log", summarize_log, METH_VARARGS, summarize_log_doc},
    {"new_entries", new_entries, METH_VARARGS, new_entries_doc},
    {"record_columns", record_columns, METH_VARARGS, record_columns_doc},
    {"rows_of", rows_of, METH_VARARGS, rows_of_doc},
    {"walk_log", walk_log, METH_VARARGS, walk_log_doc},
    {"walk_batches", walk_batches, METH_VARARGS, walk_batches_doc},
    {"walk_messages", walk_messages, METH_VARARGS, walk_messages_doc},
    {"walk_extents", walk_extents, METH_VARARGS, walk_extents_doc},
    {"walk_records", walk_records, METH_VARARGS, walk_records_doc},
    {"walk_contents", walk_contents, METH_VARARGS, walk_contents_doc},
    {"count_odd_fields", count_odd_fields, METH_VARARGS, count_odd_fields_doc},
    {"skip_ordinary", skip_ordinary, METH_VARARGS, skip_ordinary_doc},
    {"skip_compressed", skip_compressed, METH_VARARGS, skip_compressed_doc},
    {"skip_messages", skip_messages, METH_VARARGS, skip_messages_doc},
    {"ordinary_records", ordinary_records, METH_VARARGS, ordinary_records_doc},
    {"end_with_parent", end_with_parent, METH_NOARGS, end_with_parent_doc},
    {"threads_can_end", threads_can_end, METH_NOARGS, threads_can_end_doc},
    {"crc32c", crc32c, METH_VARARGS, crc32c_doc},
    {NULL, NULL, 0, NULL},
};

/* The numbers of the enums that Python shares: in programs, plans and state, and in what functions return. */
#define CONSTANT(name) {#name, name}
static const struct {
    const char *name;
    long value;
} constants[] = {
    CONSTANT(NOTHING), CONSTANT(NUMBER), CONSTANT(CHOICE), CONSTANT(OPTIONAL), CONSTANT(HEADERS), CONSTANT(CONTENTS),
    CONSTANT(JSON_HEADERS), CONSTANT(CSV_HEADERS), CONSTANT(JSON_BYTES), CONSTANT(CSV_BYTES),
    CONSTANT(DECODED), CONSTANT(BARE),
    CONSTANT(NEEDS_VALUE),
    CONSTANT(ODD_ATTRIBUTES), CONSTANT(LONG_VARINTS), CONSTANT(ODD_SIZES), CONSTANT(ODD_HEADER_SIZES),
    CONSTANT(PLAN_FLAGS), CONSTANT(PLAN_MAX_CODEC), CONSTANT(PLAN_MAX_DECODED), CONSTANT(PLAN_FROM_TIME), CONSTANT(PLAN_TO_TIME), CONSTANT(PLAN_NUMBERS),
    CONSTANT(SHOWS_BATCHES), CONSTANT(SHOWS_RECORDS), CONSTANT(CHECKS_FIRST_OFFSET), CONSTANT(HAS_TIMES),
    CONSTANT(BATCH_PROGRAM), CONSTANT(BATCH_RECORD_PROGRAM), CONSTANT(MESSAGE_PROGRAM), CONSTANT(MESSAGE_RECORD_PROGRAM),
    CONSTANT(PROGRAM_COUNT),
    CONSTANT(IS_ARRAY), CONSTANT(IS_NULLABLE), CONSTANT(IS_NULL_BY_DEFAULT), CONSTANT(NO_STRUCT),
    CONSTANT(MAX_VERSIONS), CONSTANT(NO_PLACE), CONSTANT(MAX_ELEMENT_PLACES),
    CONSTANT(SHOW_NOTHING), CONSTANT(SHOW_VALUE), CONSTANT(SHOW_NAME),
    CONSTANT(SHOW_SIZE), CONSTANT(SHOW_EPOCHS), CONSTANT(EXPECT_LEAST), CONSTANT(EXPECT_ORDER),
    CONSTANT(MARKER_EPOCH), CONSTANT(TYPE_NAME), CONSTANT(CONTROL_MESSAGE), CONSTANT(PLAIN_RECORDS), CONSTANT(COORDINATOR_RECORDS), CONSTANT(METADATA_RECORDS), CONSTANT(PREVIEW_RECORDS),
    CONSTANT(PREVIOUS_OFFSET), CONSTANT(RECORD_START), CONSTANT(RECORDS_LEFT), CONSTANT(GAP_COUNT), CONSTANT(GAPS),
    CONSTANT(STOPPED), CONSTANT(FULL), CONSTANT(COMPRESSED), CONSTANT(PAUSED),
    CONSTANT(NONE_INTACT), CONSTANT(INTACT), CONSTANT(LEFT_TO_CALLER), CONSTANT(UNDECIDED),
    CONSTANT(NOT_FOUND), CONSTANT(TIMESTAMP_MISMATCH), CONSTANT(OUT_OF_ORDER), CONSTANT(LOG_WALKS),
};

/* Adds all of them to the module. Returns whether it could. */
static int add_constants(PyObject *module)
{
    for (size_t at = 0; at < sizeof constants / sizeof *constants; at++)
        if (PyModule_AddIntConstant(module, constants[at].name, constants[at].value) < 0)
            return 0;
    return 1;
}

/* Adds a tuple of names to the module. Returns whether it could. */
static int add_names(PyObject *module, const char *attribute, const char *const *names, int count)
{
    PyObject *tuple = PyTuple_New(count);
    for (int at = 0; tuple && at < count; at++) {
        PyObject *name = PyUnicode_FromString(names[at]);
        if (!name || PyTuple_SetItem(tuple, at, name) < 0)
            Py_CLEAR(tuple);
    }
    int failed = !tuple || PyModule_AddObjectRef(module, attribute, tuple) < 0;
    Py_XDECREF(tuple);
    return !failed;
}

/* What the sources were when this was built: setup.py gives their SHA-256, other builds nothing. */
#ifndef KDUMP_SOURCES
#define KDUMP_SOURCES ""
#endif

static int fill_module(PyObject *module)
{
    choose_checksums();
    choose_text_check();
    rank_bytes();
    int is_filled = add_constants(module) && add_names(module, "COLUMNS", column_names, COLUMN_COUNT) &&
                    add_names(module, "RECORD_COLUMNS", record_column_names, RECORD_COLUMN_COUNT) &&
                    add_names(module, "SUMMARY", summary_names, SUMMARY_SIZE) &&
                    add_names(module, "FIELD_KINDS", field_kind_names, FIELD_KIND_COUNT) &&
                    add_names(module, "STREAK", streak_names, STREAK_SIZE) &&
                    add_names(module, "CRC32C", crc32c_names, crc32c_way_count) &&
                    PyModule_AddStringConstant(module, "SOURCES", KDUMP_SOURCES) == 0;
    return is_filled ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "kdump.binary._kernel",
    .m_doc = "The inner loops over windows of bytes, in C.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
