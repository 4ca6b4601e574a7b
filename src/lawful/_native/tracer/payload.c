/* What the events of an end have beside its numbers: results and exceptions, and what the beginning had. */
#include "tracer/probe.h"

/* What the end of a call has in common with its beginning: the receiver, if that is a value, and the arguments. */
static PyObject *end_payload(const Pending *pending) {
    return pending && pending->payload ? PyDict_Copy(pending->payload) : PyDict_New();
}

PyObject *result_payload(Tracer *tracer, Callee *callee, const Pending *pending, PyObject *result) {
    if (!(callee->wants & WANT_RESULT)) return pending ? Py_XNewRef(pending->payload) : NULL;
    /* Of most there is nothing else to tell. */
    if (!identity_needed(result) && (pending == NULL || (pending->payload == NULL && pending->target)))
        return encode_primitive(result);
    PyObject *payload = end_payload(pending);
    if (payload != NULL && encode_value(tracer, payload, result, text_res, text_resultId) < 0) Py_CLEAR(payload);
    return payload;
}

PyObject *exception_payload(Tracer *tracer, const Pending *pending, PyObject *exception) {
    PyObject *payload = end_payload(pending), *name = NULL, *id = NULL;
    if (payload == NULL) return NULL;
    if (exception != NULL) {
        Id number = identity_of(tracer, exception);
        name = number ? plan_class_name(tracer, Py_TYPE(exception)) : NULL;
        id = name ? PyLong_FromUnsignedLongLong(number) : NULL;
        if (id == NULL || PyDict_SetItem(payload, text_exception, name) < 0 || PyDict_SetItem(payload, text_excId, id) < 0)
            Py_CLEAR(payload);
    }
    Py_XDECREF(name);
    Py_XDECREF(id);
    return payload;
}
