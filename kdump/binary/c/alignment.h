/* Aligns the cells of a table's page: `align_cells`. A character takes one cell of a terminal, so the text must be ASCII. */

#pragma once

#include <Python.h>
#include <stdint.h>
#include <string.h>

#define CELL_END 0x1f /* after each cell of a line but the last; escaped cells have no such character */
#define MAX_TABLE_COLUMNS 64

typedef struct {
    const uint8_t *cells, *end; /* lines that end in \n */
    int column_count;
    uint8_t is_right[MAX_TABLE_COLUMNS];
    size_t width[MAX_TABLE_COLUMNS], gap;
} Page;

/* Where a cell ends: at the character after it, or at the end of the page. */
static inline const uint8_t *cell_end(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != CELL_END && *p != '\n')
        p++;
    return p;
}

/* Makes each column as wide as its widest cell. Returns whether all lines have as many cells as there are columns. */
static int measure_page(Page *page)
{
    for (const uint8_t *p = page->cells; p < page->end;)
        for (int column = 0; column < page->column_count; column++) {
            const uint8_t *end = cell_end(p, page->end);
            size_t width = (size_t)(end - p);
            if (end == page->end || *end != (column + 1 < page->column_count ? CELL_END : '\n'))
                return 0;
            page->width[column] = width > page->width[column] ? width : page->width[column];
            p = end + 1;
        }
    return 1;
}

/* Writes the lines, or with `out` NULL only counts their bytes, without blanks at their ends. Returns that number. */
static size_t align_page(const Page *page, uint8_t *out)
{
    size_t total = 0;
    for (const uint8_t *p = page->cells; p < page->end;) {
        size_t blanks = 0; /* before the next character that is none */
        for (int column = 0; column < page->column_count; column++) {
            const uint8_t *end = cell_end(p, page->end), *text_end = end;
            size_t padding = page->width[column] - (size_t)(end - p);
            blanks += page->is_right[column] ? padding : 0;
            while (text_end > p && text_end[-1] == ' ')
                text_end--;
            if (text_end > p) {
                if (out) {
                    memset(out + total, ' ', blanks);
                    memcpy(out + total + blanks, p, (size_t)(text_end - p));
                }
                total += blanks + (size_t)(text_end - p);
                blanks = 0;
            }
            blanks += (size_t)(end - text_end) + (page->is_right[column] ? 0 : padding) + page->gap;
            p = end + 1;
        }
        if (out)
            out[total] = '\n';
        total++;
    }
    return total;
}

PyDoc_STRVAR(align_cells_doc, "align_cells(cells, columns, gap) -> (text, width)\n\n"
                          "Lines of ASCII cells in columns, a gap apart; `columns` says of each whether it is aligned to the right.\n"
                          "In a line of `cells`, the character 31 is between two cells. Raises ValueError where a line has other columns.");

static PyObject *align_cells(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_buffer cells, columns;
    Page page = {0};
    Py_ssize_t gap;
    PyObject *result = NULL;
    if (!PyArg_ParseTuple(arguments, "y*y*n:align_cells", &cells, &columns, &gap))
        return NULL;
    page.cells = cells.buf;
    page.end = page.cells + cells.len;
    page.column_count = (int)(columns.len < MAX_TABLE_COLUMNS ? columns.len : MAX_TABLE_COLUMNS);
    if (!columns.len || columns.len > MAX_TABLE_COLUMNS || gap < 0 || gap > MAX_TABLE_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "there are no columns, or too many, or the gap is out of bounds");
        goto end;
    }
    page.gap = (size_t)gap;
    memcpy(page.is_right, columns.buf, (size_t)columns.len);
    if (!measure_page(&page)) {
        PyErr_SetString(PyExc_ValueError, "a line has other columns");
        goto end;
    }
    size_t size = align_page(&page, NULL), width = page.gap * (size_t)(page.column_count - 1);
    for (int column = 0; column < page.column_count; column++)
        width += page.width[column];
    PyObject *text = size <= PY_SSIZE_T_MAX ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size) : PyErr_NoMemory();
    if (!text)
        goto end;
    align_page(&page, (uint8_t *)PyBytes_AsString(text)); /* with the GIL: the cells must be those that were measured */
    result = Py_BuildValue("Nn", text, (Py_ssize_t)width);
end:
    PyBuffer_Release(&cells);
    PyBuffer_Release(&columns);
    return result;
}
