/* What pending.c, call.c, operation.c, probe.c and function.c share: the general path at probed instructions, and in functions
   that report themselves. */
#ifndef LAWFUL_PROBE_H
#define LAWFUL_PROBE_H

#include "tracer/learner_feed.h"

#define MOST_UNMATCHED 32 /* calls of nothing that is wanted, after which a place is left alone */

int probe_fault(Tracer *tracer); /* internal error: the program goes on unwatched; 0 */

/* ---- calls that have begun (pending.c) ------------------------------------------------------------------------------- */

/* A new one on the stack; takes a reference to the payload. The offset is that of the probe; callee side: -1. */
Pending *pending_push(Tracer *tracer, Callee *callee, RunFrame *frame, int offset, Id target, PyObject *payload);
/* Takes the pending call of a frame at an offset off the stack, and those above it, which never ended. The caller settles
   it. */
bool pending_pop(Tracer *tracer, RunFrame *frame, int offset, Pending *found);
/* Gives back the references of a pending call, and reports the death of its receiver. */
void pending_release(Tracer *tracer, Pending *pending);
/* The offset of the instruction that a frame is in the middle of, or -1. */
int pending_offset(Tracer *tracer, RunFrame *frame);

/* Is the object what the call of a class, or of a function that stands for one, was to make? */
bool pending_made(const Pending *pending, PyObject *object);

/* ---- parts of records (probe.c) -------------------------------------------------------------------------------------- */

/* NULL: none is needed, or there is an exception. */
/* Without a pending call: of an object that has an id. */
PyObject *result_payload(Tracer *tracer, Callee *callee, const Pending *pending, PyObject *result);

static inline PyObject *frame_local(RunFrame *frame, const PyCodeObject *code, int index) {
    PyObject *value = frame->localsplus[index];
    bool in_cell = PyBytes_AS_STRING(code->co_localspluskinds)[index] & CELL_KIND;
    return value != NULL && in_cell && PyCell_Check(value) ? PyCell_GET(value) : value;
}

/* Of a class, itself: class methods belong to it, and not to its metaclass. */
static inline PyTypeObject *receiver_type(PyObject *receiver) {
    return PyType_Check(receiver) ? (PyTypeObject *)receiver : Py_TYPE(receiver);
}

/* The id of the receiver, or its value in the payload; or as the payload, if that has nothing else to come. */
static inline int take_receiver(Tracer *tracer, PyObject *receiver, Id *target, PyObject **payload, bool alone) {
    *target = 0;
    if (receiver == NULL) return 0;
    if (identity_needed(receiver)) return (*target = identity_of(tracer, receiver)) == 0 ? -1 : 0;
    if (*payload == NULL && alone) return (*payload = encode_primitive(receiver)) == NULL ? -1 : 0;
    if (*payload == NULL && (*payload = PyDict_New()) == NULL) return -1;
    return encode_value(tracer, *payload, receiver, text_target, text_target);
}

static inline uint32_t place_of(Tracer *tracer, CodeInfo *info, Probe *probe) {
    return probe->spot.place ? probe->spot.place : plan_place(tracer, &probe->spot, info->code, probe->origin);
}

/* A call begins: its objects are handed over. The events that come back are at the place; what is to be handed back at its
   end is the token, a new reference or NULL. -1: an exception goes on into the program. Takes over arguments and keywords. */
int ask_on_call(Tracer *tracer, PyObject *subject, PyObject *arguments, PyObject *keywords, uint32_t place, PyObject **token);
/* It ends, with a result, or with an exception of a class of this name. */
int ask_on_return(Tracer *tracer, PyObject *token, PyObject *result, PyObject *exception, uint32_t place);

/* ---- samples --------------------------------------------------------------------------------------------------------- */

/* This object is not reported. */
static inline int unsampled(Tracer *tracer, uint64_t groups) {
    if (groups && !(groups & tracer->alive)) sample_idle_visit(tracer, groups);
    return 1;
}

/* Is this an object that all events here must be of, and is it none? */
static inline bool passes(Tracer *tracer, const Probe *probe, PyObject *receiver) {
    return probe->groups && !probe->bears && receiver != NULL && !sample_of(tracer, receiver);
}

/* ---- what is before (call.c, operation.c) ------------------------------------------------------------------------------ */

typedef struct {
    PyObject *function, *key, *receiver;
    PyObject *const *args;
    Py_ssize_t count;     /* of arguments, with those by keyword */
    PyObject *keywords;   /* names of the last, or NULL */
    PyObject *mapping;    /* `**mapping`, or NULL */
    PyTypeObject *type;   /* the class that is called, or NULL */
    bool known;           /* are the arguments known? */
    bool other;           /* an object with `__call__` */
} Call;

static inline bool is_method_descriptor(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    return type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type;
}

/* Is there an object for the learner? */
static inline bool learnable(const Callee *callee, PyObject *receiver) {
    return callee->wants & LEARN(WANT_PRE) && receiver != NULL && identity_needed(receiver);
}

/* What is common to all that has a before and an after. Takes over the payload. */
int probe_begin(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, Callee *callee, PyObject *receiver,
                PyObject *payload, const Call *call);
int before_call(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands);
int before_exit(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands);
int before_operation(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands);
int before_field(Tracer *tracer, CodeInfo *info, Probe *probe, RunFrame *frame, PyObject **operands);

/* Where the receiver and the arguments are among the operands, and where the result is, from the base. */
typedef struct {
    signed char receiver, args, first, last, result;
} OperationShape;
extern const OperationShape operation_shapes[OPERATIONS];

#endif
