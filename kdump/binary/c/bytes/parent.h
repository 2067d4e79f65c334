/* Ends worker processes with the process that started them (`end_with_parent`): Python can ask Linux for it only with ctypes, whose
   import takes longer than the start of a worker. */

#pragma once

#include <Python.h>

#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

PyDoc_STRVAR(end_with_parent_doc, "end_with_parent(): have this process killed when the thread that forked it ends. Returns whether it will "
                                  "be; only Linux does.");

static PyObject *end_with_parent(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
#ifdef __linux__
    return PyBool_FromLong(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
#else
    return PyBool_FromLong(0);
#endif
}
