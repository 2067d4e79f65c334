/* Aligns the cells of a table's page: `align_cells`. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>
#include "cells.h"
#include "utf8.h"

#define CELL_END 0x1f /* after each cell of a line but the last; escaped cells have no such character */
#define MAX_TABLE_COLUMNS 64

/* How many cells of a terminal each character takes, plus 1; 0 if Python was not asked yet. Read and written with the GIL held. */
static uint8_t known_widths[0x110000];

/* The number of cells that a character takes, or -1 where Python does not answer; then an exception is set. */
static int ask_width(uint32_t character, PyObject *width_of)
{
    PyObject *text = PyUnicode_FromOrdinal((int)character);
    PyObject *answer = text ? PyObject_CallFunctionObjArgs(width_of, text, NULL) : NULL;
    long width = answer ? PyLong_AsLong(answer) : -1;
    Py_XDECREF(text);
    Py_XDECREF(answer);
    if (width < 0 || width > 2) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a character takes 0 to 2 cells");
        return -1;
    }
    known_widths[character] = (uint8_t)(width + 1);
    return (int)width;
}

static inline int width_of_character(uint32_t character, PyObject *width_of)
{
    return known_widths[character] ? known_widths[character] - 1 : ask_width(character, width_of);
}

/* --- Pages */

typedef struct {
    const uint8_t *start, *end; /* of its text */
    size_t width;
} Cell;

typedef struct {
    const uint8_t *start, *end; /* lines of well-formed UTF-8 that end in \n */
    size_t column_count, line_count, gap;
    uint8_t is_right[MAX_TABLE_COLUMNS];
    size_t width[MAX_TABLE_COLUMNS]; /* of the widest cell */
    Cell *cells;
} Page;

/* Reads the cell at `p`: up to the character after it, or to the end of the page. Returns whether it could be measured. */
static inline int read_cell(const uint8_t *p, const uint8_t *end, PyObject *width_of, Cell *cell)
{
    size_t width = 0;
    cell->start = p;
    while (p < end) {
        uint64_t eight = eight_bytes(p, (size_t)(end - p));
        uint64_t special = not_printable(eight);
        size_t left = (size_t)(end - p), size = left < 8 ? left : 8;
        size = special ? bytes_before(special) : size;
        width += size;
        p += size;
        if (!special)
            continue;
        if (*p == CELL_END || *p == '\n')
            break;
        uint32_t character;
        p = next_character(p, &character);
        int cells = width_of_character(character, width_of);
        if (cells < 0)
            return 0;
        width += (size_t)cells;
    }
    cell->end = p;
    cell->width = width;
    return 1;
}

/* Reads all cells, and makes each column as wide as its widest. Returns whether that succeeded; if not, an exception is set. */
static int read_page(Page *page, PyObject *width_of)
{
    const uint8_t *p = page->start;
    Cell *cell = page->cells;
    for (size_t line = 0; line < page->line_count; line++)
        for (size_t column = 0; column < page->column_count; column++, cell++) {
            if (!read_cell(p, page->end, width_of, cell))
                return 0;
            p = cell->end;
            if (p == page->end || *p++ != (column + 1 < page->column_count ? CELL_END : '\n')) {
                PyErr_SetString(PyExc_ValueError, "a line has other columns");
                return 0;
            }
            page->width[column] = cell->width > page->width[column] ? cell->width : page->width[column];
        }
    return 1;
}

/* Writes the lines without blanks at their ends, or with `out` NULL only counts the bytes. Returns their number. */
static size_t align_page(const Page *page, uint8_t *out)
{
    const Cell *cell = page->cells;
    size_t total = 0;
    for (size_t line = 0; line < page->line_count; line++) {
        size_t blanks = 0; /* before the next character that is none */
        for (size_t column = 0; column < page->column_count; column++, cell++) {
            const uint8_t *text_end = cell->end;
            size_t padding = page->width[column] - cell->width;
            blanks += page->is_right[column] ? padding : 0;
            while (text_end > cell->start && text_end[-1] == ' ')
                text_end--;
            size_t size = (size_t)(text_end - cell->start);
            if (size) {
                if (out) {
                    memset(out + total, ' ', blanks);
                    memcpy(out + total + blanks, cell->start, size);
                }
                total += blanks + size;
                blanks = 0;
            }
            blanks += (size_t)(cell->end - text_end) + (page->is_right[column] ? 0 : padding) + page->gap;
        }
        if (out)
            out[total] = '\n';
        total++;
    }
    return total;
}

static PyObject *aligned_page(Page *page, PyObject *width_of)
{
    if (!read_page(page, width_of))
        return NULL;
    size_t width = page->gap * (page->column_count - 1), size = align_page(page, NULL);
    for (size_t column = 0; column < page->column_count; column++)
        width += page->width[column];
    PyObject *text = size <= PY_SSIZE_T_MAX ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size) : PyErr_NoMemory();
    if (!text)
        return NULL;
    align_page(page, (uint8_t *)PyBytes_AsString(text));
    return Py_BuildValue("Nn", text, (Py_ssize_t)width);
}

PyDoc_STRVAR(align_cells_doc,
             "align_cells(cells, columns, gap, width_of) -> (text, width)\n\n"
             "Lines of cells in columns, a gap apart; `columns` says of each whether it is aligned to the right, and `width_of` how\n"
             "many cells of a terminal a character takes: always the same function. In a line of `cells`, which are UTF-8, the\n"
             "character 31 is between two cells. Raises ValueError where a line has other columns.");

static PyObject *align_cells(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer columns;
    PyObject *cells, *width_of, *result = NULL;
    Page page = {0};
    Py_ssize_t gap;
    if (!PyArg_ParseTuple(arguments, "Sy*nO:align_cells", &cells, &columns, &gap, &width_of))
        return NULL;
    if (columns.len < 1 || columns.len > MAX_TABLE_COLUMNS || gap < 0 || gap > MAX_TABLE_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "there are no columns, or too many, or the gap is out of bounds");
        goto end;
    }
    size_t size = (size_t)PyBytes_Size(cells); /* an object that does not change, whatever `width_of` does */
    page.start = (const uint8_t *)PyBytes_AsString(cells);
    page.end = page.start + size;
    page.gap = (size_t)gap;
    page.column_count = (size_t)columns.len;
    memcpy(page.is_right, columns.buf, page.column_count);
    for (const uint8_t *p = page.start; p < page.end; page.line_count++) {
        const uint8_t *line_end = memchr(p, '\n', (size_t)(page.end - p));
        p = line_end ? line_end + 1 : page.end;
    }
    if (!is_well_formed_text(page.start, size)) {
        PyErr_SetString(PyExc_ValueError, "the cells are not UTF-8");
        goto end;
    }
    if (page.line_count <= SIZE_MAX / sizeof(Cell) / page.column_count)
        page.cells = PyMem_Malloc(sizeof(Cell) * page.line_count * page.column_count + 1);
    result = page.cells ? aligned_page(&page, width_of) : PyErr_NoMemory();
    PyMem_Free(page.cells);
end:
    PyBuffer_Release(&columns);
    return result;
}
