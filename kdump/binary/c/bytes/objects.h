/* Helpers that make lists and tuples of Python from numbers. Called with the GIL held. */

#pragma once

#include <Python.h>
#include <stdint.h>

/* Lists that grow together; each function adds one item to each. */
#define MAX_LISTS 17

static int new_lists(PyObject **lists, int count)
{
    for (int list = 0; list < count; list++)
        if (!(lists[list] = PyList_New(0))) {
            while (list)
                Py_DECREF(lists[--list]);
            return 0;
        }
    return 1;
}

/* Appends, and takes over the reference. Returns whether it could. */
static int append(PyObject *list, PyObject *item)
{
    int failed = !item || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return !failed;
}

static int set_number(PyObject *tuple, Py_ssize_t at, int64_t number)
{
    PyObject *item = PyLong_FromLongLong(number);
    return item && PyTuple_SetItem(tuple, at, item) == 0;
}

static PyObject *tuple_of(const int64_t *numbers, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t at = 0; tuple && at < count; at++)
        if (!set_number(tuple, at, numbers[at])) {
            Py_DECREF(tuple);
            return NULL;
        }
    return tuple;
}

static PyObject *finished(PyObject **lists, int count, Py_ssize_t end, int failed)
{
    PyObject *result = failed ? NULL : PyTuple_New(count + 1);
    PyObject *position = result ? PyLong_FromSsize_t(end) : NULL;
    if (!position) {
        for (int list = 0; list < count; list++)
            Py_DECREF(lists[list]);
        Py_XDECREF(result);
        return NULL;
    }
    for (int list = 0; list < count; list++)
        PyTuple_SetItem(result, list, lists[list]);
    PyTuple_SetItem(result, count, position);
    return result;
}
