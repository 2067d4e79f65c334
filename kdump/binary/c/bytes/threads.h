/* Makes sure that threads can end (`threads_can_end`). When the first one does, glibc loads libgcc_s, and aborts the process if there is
   no descriptor or no memory for that. */

#pragma once

#include <Python.h>

#ifdef __GLIBC__
#include <dlfcn.h>
#endif

PyDoc_STRVAR(threads_can_end_doc, "threads_can_end(): load what the end of a thread needs. Returns whether it is there.");

static PyObject *threads_can_end(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
#ifdef __GLIBC__
    static void *unwinder; /* stays loaded */
    if (unwinder == NULL)
        unwinder = dlopen("libgcc_s.so.1", RTLD_NOW);
    return PyBool_FromLong(unwinder != NULL);
#else
    return PyBool_FromLong(1);
#endif
}
