/* What is known about code objects and callees. Python is asked once (the protocol `Wanted` of model.py), and the answer
   is kept as long as the code, the function and the type of the receiver live. */
#include "tracer.h"

#ifndef LAWFUL_NO_TRACER

#if PY_VERSION_HEX >= 0x030C0000
#  define get_extra PyUnstable_Code_GetExtra
#  define set_extra PyUnstable_Code_SetExtra
#  define request_extra PyUnstable_Eval_RequestCodeExtraIndex
#else
#  define get_extra _PyCode_GetExtra
#  define set_extra _PyCode_SetExtra
#  define request_extra _PyEval_RequestCodeExtraIndex
#endif

Py_ssize_t plan_index = PY_SSIZE_T_MAX;
static PyObject *text_plan, *text_callee, *text_receiver_callee, *text_operation, *text_field, *text_class_name,
    *text_dunder_name, *text_on_seen;
static char class_names; /* its address is a key */

/* ---- code objects ---------------------------------------------------------------------------------------------------- */

static void forget_callers(Tracer *tracer) { memset(tracer->callers, 0, sizeof tracer->callers); }

static void free_info(CodeInfo *info) {
    sample_unlink(info);
    if (info->tracer != NULL && info->spots != NULL) forget_callers(info->tracer);
    if (info->before != NULL) info->before->after = info->after;
    else if (info->tracer != NULL) info->tracer->infos = info->after;
    if (info->after != NULL) info->after->before = info->before;
    for (int i = 0; i < info->n_probes; i++) {
        Py_XDECREF(info->probes[i].name);
        Py_XDECREF(info->probes[i].keywords);
    }
    Py_XDECREF(info->file);
    PyMem_RawFree(info->probes);
    PyMem_RawFree(info->at);
    PyMem_RawFree(info->spots);
    for (int i = 0; info->texts != NULL && i < info->units; i++) Py_XDECREF(info->texts[i]);
    PyMem_RawFree(info->texts);
    PyMem_RawFree(info);
}

/* A code object dies. */
static void free_infos(void *extra) {
    for (CodeInfo *info = extra; info != NULL;) {
        CodeInfo *other = info->other;
        free_info(info);
        info = other;
    }
}

static CodeInfo *infos_of(PyCodeObject *code) {
    void *extra = NULL;
    if (get_extra((PyObject *)code, plan_index, &extra) < 0) {
        PyErr_Clear();
        return NULL;
    }
    return extra;
}

static void remove_info(CodeInfo *info) {
    CodeInfo *first = infos_of(info->code);
    if (first == info) {
        /* Setting it would free what was there: the chain goes on without this one. */
        CodeInfo *rest = info->other;
        if (rest == NULL) {
            set_extra((PyObject *)info->code, plan_index, NULL);
            return;
        }
        /* Exchange contents would move a CodeInfo that others point to: mark it as nobody's instead. */
        if (info->before != NULL) info->before->after = info->after;
        else info->tracer->infos = info->after;
        if (info->after != NULL) info->after->before = info->before;
        sample_unlink(info);
        forget_callers(info->tracer);
        info->before = info->after = NULL;
        info->tracer = NULL;
        info->callee = NULL;
        return;
    }
    while (first != NULL && first->other != info) first = first->other;
    if (first != NULL) first->other = info->other;
    free_info(info);
}

/* A tuple of their numbers as a mask; 0 if one of them has no bit. -1: an exception. */
static int read_groups(Tracer *tracer, PyObject *numbers, uint64_t *groups) {
    *groups = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(numbers, i));
        Group *group = number == -1 && PyErr_Occurred() ? NULL : sample_group(tracer, number);
        if (group == NULL) return -1;
        if (group->bit == 0) {
            *groups = 0;
            return 0;
        }
        *groups |= group->bit;
    }
    return 0;
}

static int read_probe(Tracer *tracer, PyObject *item, Probe *probe, Py_ssize_t units) {
    PyObject *name, *keywords, *groups, *early;
    int operation, line;
    int quiet, habit, bears;
    if (!PyArg_ParseTuple(item, "iiiiOO!iippO!pO!", &probe->offset, &operation, &probe->base, &probe->count, &name,
                          &PyTuple_Type, &keywords, &probe->result, &line, &quiet, &habit, &PyTuple_Type, &groups, &bears,
                          &PyTuple_Type, &early) ||
        read_groups(tracer, groups, &probe->groups) < 0)
        return -1;
    probe->origin = probe->offset;
#if PY_VERSION_HEX >= 0x030C0000
    if (PyTuple_GET_SIZE(early)) {
        if (!PyArg_ParseTuple(early, "iii", &probe->offset, &probe->value, &probe->owner)) return -1;
        probe->early = true;
    }
#endif
    probe->quiet = quiet;
    probe->habit = habit;
    probe->bears = bears;
    if (probe->offset < 0 || probe->offset / 2 >= units || probe->result / 2 >= units || operation < 0 ||
        operation >= OPERATIONS) {
        PyErr_SetString(PyExc_ValueError, "a probe outside the code");
        return -1;
    }
    probe->operation = operation;
    probe->name = name == Py_None ? NULL : Py_NewRef(name);
    if (probe->name != NULL) PyUnicode_InternInPlace(&probe->name);
    probe->keywords = PyTuple_GET_SIZE(keywords) ? Py_NewRef(keywords) : NULL;
    return 0;
}

static int read_probes(CodeInfo *info, PyObject *probes) {
    Py_ssize_t count = PyTuple_GET_SIZE(probes);
    bool others = false;
    info->units = (int)Py_SIZE(info->code);
    if (count == 0) return 0;
    if (count > INT16_MAX) count = INT16_MAX; /* code of a size that no person wrote */
    info->probes = PyMem_RawCalloc(count, sizeof(Probe));
    info->at = PyMem_RawCalloc(info->units, sizeof *info->at);
    if (info->probes == NULL || info->at == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Probe *probe = &info->probes[i];
        if (read_probe(info->tracer, PyTuple_GET_ITEM(probes, i), probe, info->units) < 0) return -1;
        info->n_probes++;
        probe->plain = probe->operation == OP_CALL && !probe->groups;
        info->all_groups |= probe->groups;
        probe->base += info->code->co_nlocalsplus;
        probe->value += info->code->co_nlocalsplus;
        probe->owner += info->code->co_nlocalsplus;
        if (probe->early && (probe->value < 0 || probe->owner < 0)) {
            PyErr_SetString(PyExc_ValueError, "a probe outside the frame");
            return -1;
        }
        info->probes_bear |= probe->bears;
        info->probe_groups |= probe->groups;
        others |= probe->groups == 0;
        info->at[probe->offset / 2].probe = (int16_t)(i + 1);
        if (probe->result >= 0) info->at[probe->result / 2].result = (int16_t)(i + 1);
    }
    if (others) info->probe_groups = 0;
    for (int i = 0; i < info->units; i++) {
        const Probe *probe = info->at[i].probe ? &info->probes[info->at[i].probe - 1] : NULL;
        bool sampled = probe != NULL && probe->early && probe->groups && !info->at[i].result && probe->owner <= INT16_MAX;
        info->at[i].owner = sampled ? (int16_t)probe->owner : -1;
    }
    return 0;
}

/* For one more. -1: there is none. */
static int make_room(void **items, uint32_t *room, uint32_t count, size_t size) {
    if (count < *room) return 0;
    uint32_t more = *room ? 2 * *room : 64;
    void *grown = PyMem_RawRealloc(*items, more * size);
    if (grown == NULL) return -1;
    *items = grown;
    *room = more;
    return 0;
}

static Callee *intern(Tracer *tracer, PyObject *name, PyObject *class_name, int wants, Group *group) {
    Callee **bucket = &tracer->callees[(size_t)PyObject_Hash(name) % CALLEE_BUCKETS];
    for (Callee *callee = *bucket; callee != NULL; callee = callee->next)
        if (callee->wants == wants && callee->group == group && PyUnicode_Compare(callee->name, name) == 0 &&
            (class_name == NULL ? callee->class_name == NULL
                                : callee->class_name != NULL && PyUnicode_Compare(callee->class_name, class_name) == 0))
            return callee;
    Callee *callee = NULL;
    if (make_room((void **)&tracer->callee_list, &tracer->callee_room, tracer->callee_count, sizeof(Callee *)) == 0)
        callee = PyMem_RawCalloc(1, sizeof(Callee));
    if (callee == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    tracer->callee_list[tracer->callee_count++] = callee;
    callee->number = tracer->callee_count;
    callee->name = Py_NewRef(name);
    callee->class_name = Py_XNewRef(class_name);
    callee->wants = wants;
    callee->group = group;
    bool plain = group == NULL && !(wants & (WANT_ARGS | WANT_HAND | WANT_LEARN | WANT_BIRTH | WANT_EXIT));
    if (plain) {
        callee->plainly = PLAINLY_STARTS;
        if (wants & WANT_PRE && !(wants & (WANT_END | WANT_CALLEE_SIDE))) callee->plainly |= PLAINLY_CALLED;
        if ((wants & (WANT_END | WANT_RESULT)) == WANT_POST) callee->plainly |= PLAINLY_ENDS;
        if (wants & WANT_PRE) callee->plainly |= PLAINLY_PRE;
        if (wants & WANT_END) callee->plainly |= PLAINLY_END;
        if (wants & WANT_RECEIVER) callee->plainly |= PLAINLY_RECEIVER;
    }
    callee->next = *bucket;
    *bucket = callee;
    return callee;
}

/* Asks Python. The program may be at the end of its recursion limit, which is its own affair. Signals wait: what their
   handlers do or raise is not ours. */
PyObject *plan_ask(PyObject *whom, PyObject *method, PyObject *first, PyObject *second) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyThreadState *thread = PyThreadState_Get();
    int depth = frame_depth(thread, 0), collecting = PyGC_Disable();
    Held held = hold_signals();
    PyObject *answer = PyObject_CallMethodObjArgs(whom, method, first, second, NULL);
    let_signals(held);
    if (collecting) PyGC_Enable();
    frame_depth(thread, depth);
    if (answer == NULL) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(trace);
    } else {
        PyErr_Restore(type, value, trace);
    }
    return answer;
}

static PyObject *ask(Tracer *tracer, PyObject *method, PyObject *subject, PyObject *further) {
    int64_t began = cpu_time();
    PyObject *answer = plan_ask(tracer->wanted, method, subject, further);
    tracer->exact += cpu_time() - began;
    tracer->exacts++;
    return answer;
}

int plan_seen(Tracer *tracer, CodeInfo *info) {
    info->unseen = false;
    if (!tracer->tells_seen) return 0;
    PyObject *answer = ask(tracer, text_on_seen, (PyObject *)info->code, NULL);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* From a model.Callee or None. */
static Callee *read_callee(Tracer *tracer, PyObject *answer, PyTypeObject *receiver) {
    if (answer == Py_None) return &tracer->unwanted;
    if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 3 || !PyUnicode_Check(PyTuple_GET_ITEM(answer, 0))) {
        PyErr_SetString(PyExc_TypeError, "a callee is its name, what is wanted, and its group");
        return NULL;
    }
    long wants = PyLong_AsLong(PyTuple_GET_ITEM(answer, 1)), number = PyLong_AsLong(PyTuple_GET_ITEM(answer, 2));
    if (PyErr_Occurred()) return NULL;
    Group *group = number ? sample_group(tracer, number) : NULL;
    if (number && group == NULL) return NULL;
    if (wants & WANT_LEARN && tracer->window == NULL) /* the learner gets events like everybody else */
        wants = (wants & ~WANT_LEARN) | (wants & WANT_LEARN) >> LEARN_SHIFT | WANT_SITE;
    PyObject *class_name = NULL;
    if (receiver != NULL && (class_name = plan_class_name(tracer, receiver)) == NULL) return NULL;
    Callee *callee = intern(tracer, PyTuple_GET_ITEM(answer, 0), class_name, (int)wants, group);
    Py_XDECREF(class_name);
    return callee;
}

/* What is wanted may be called through variables from now on: places that were left alone are looked at again. */
static int rearm(Tracer *tracer) {
    if (tracer->escaped) return 0;
    tracer->escaped = true;
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        bool off = false;
        for (int i = 0; i < info->n_probes; i++) off |= info->probes[i].off && info->probes[i].name == NULL;
        if (off && delivery_again(tracer, info) < 0) return -1;
    }
    return 0;
}

int plan_wanted_name(Tracer *tracer, PyObject *name) {
    if (tracer->called == NULL && (tracer->called = PySet_New(NULL)) == NULL) return -1;
    int known = PySet_Contains(tracer->called, name);
    if (known) return known < 0 ? -1 : 0;
    if (PySet_Add(tracer->called, name) < 0) return -1;
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        bool off = false;
        for (int i = 0; i < info->n_probes; i++) off |= info->probes[i].off && info->probes[i].name == name;
        if (off && delivery_again(tracer, info) < 0) return -1;
    }
    return 0;
}

CodeInfo *plan_make(Tracer *tracer, PyCodeObject *code, PyObject *globals) {
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR)) tracer->tasks = true;
    PyObject *module = PyDict_GetItemWithError(globals, text_dunder_name);
    PyObject *text = module != NULL && PyUnicode_CheckExact(module) ? module : text_dunder_name;
    if (PyErr_Occurred()) return NULL;
    PyObject *plan = ask(tracer, text_plan, (PyObject *)code, text);
    if (plan == NULL) return NULL;
    if (plan == Py_None) {
#if PY_VERSION_HEX >= 0x030C0000
        Py_DECREF(plan);
        return NULL;
#else /* nobody turns events off there: that there is nothing to be seen is remembered, too */
        Py_SETREF(plan, Py_BuildValue("(O()Oii()i)", Py_None, code->co_filename, 0, 0, 0));
        if (plan == NULL) return NULL;
#endif
    }
    PyObject *callee, *probes, *file, *groups;
    int own, escapes, bears;
    CodeInfo *info = NULL;
    if (!PyArg_ParseTuple(plan, "OO!UppO!p", &callee, &PyTuple_Type, &probes, &file, &own, &escapes, &PyTuple_Type, &groups, &bears))
        goto done;
    if (escapes && rearm(tracer) < 0) goto done;
    info = PyMem_RawCalloc(1, sizeof(CodeInfo));
    if (info == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    info->tracer = tracer;
    info->code = code;
    info->after = tracer->infos;
    if (info->after != NULL) info->after->before = info;
    tracer->infos = info;
    info->file = Py_NewRef(file);
    info->own = own;
    info->bears = bears;
    if (read_groups(tracer, groups, &info->groups) < 0) goto failed;
    info->all_groups = info->groups;
    info->by_self = !bears && code->co_argcount && !(PyBytes_AS_STRING(code->co_localspluskinds)[0] & CELL_KIND);
    if (callee != Py_None && (info->callee = read_callee(tracer, callee, NULL)) == NULL) goto failed;
    bool runs_once = !(code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR));
    info->plain = info->callee != NULL && !info->groups && runs_once && code->co_argcount &&
                  !(PyBytes_AS_STRING(code->co_localspluskinds)[0] & CELL_KIND);
    if (read_probes(info, probes) < 0) goto failed;
    info->other = infos_of(code);
    /* The interpreter frees what it replaces: the chain is taken out first. */
    if (info->other != NULL) {
        CodeInfo *first = info->other;
        info->other = first->other;
        first->other = info;
    } else if (set_extra((PyObject *)code, plan_index, info) < 0) {
        goto failed;
    }
    if (info->all_groups) sample_cost(tracer, info, info->all_groups);
    info->unseen = own;
    goto done;
failed:
    free_info(info);
    info = NULL;
done:
    Py_DECREF(plan);
    return info;
}

/* ---- places ------------------------------------------------------------------------------------------------------------- */

Spot *plan_spot(Tracer *tracer, PyCodeObject *code, int offset) {
    CodeInfo *info = plan_find(tracer, code);
    int unit = offset / 2;
    if (info != NULL && unit >= 0 && unit < info->units) {
        if (info->spots == NULL && (info->spots = PyMem_RawCalloc(info->units, sizeof(Spot))) == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        return &info->spots[unit];
    }
    size_t at = (((uintptr_t)code >> 4) + (size_t)offset * 31) % SPOTS;
    if (tracer->spots[at].code != code || tracer->spots[at].offset != offset) {
        Py_XSETREF(tracer->spots[at].code, (PyCodeObject *)Py_NewRef((PyObject *)code));
        tracer->spots[at].offset = offset;
        tracer->spots[at].spot = (Spot){0, 0};
    }
    return &tracer->spots[at].spot;
}

static int number_place(Tracer *tracer, PyObject *file, int line, uint32_t *number) {
    PyObject *key = Py_BuildValue("(Oi)", file, line), *value = NULL;
    int failed = -1;
    if (key == NULL || (tracer->place_numbers == NULL && (tracer->place_numbers = PyDict_New()) == NULL)) goto done;
    PyObject *known = PyDict_GetItemWithError(tracer->place_numbers, key);
    if (known != NULL) {
        *number = (uint32_t)PyLong_AsUnsignedLong(known);
        failed = 0;
        goto done;
    }
    if (make_room((void **)&tracer->place_list, &tracer->place_room, tracer->place_count, sizeof *tracer->place_list) < 0 ||
        (value = PyLong_FromUnsignedLong(tracer->place_count + 1)) == NULL ||
        PyDict_SetItem(tracer->place_numbers, key, value) < 0)
        goto done;
    tracer->place_list[tracer->place_count].file = Py_NewRef(file);
    tracer->place_list[tracer->place_count].line = line;
    *number = ++tracer->place_count;
    failed = 0;
done:
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

uint32_t plan_place(Tracer *tracer, Spot *spot, PyCodeObject *code, int offset) {
    if (spot->place) return spot->place;
    CodeInfo *info = plan_find(tracer, code);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace); /* some callbacks run while an exception is on its way */
    if (number_place(tracer, info && info->file ? info->file : code->co_filename, PyCode_Addr2Line(code, offset), &spot->place) < 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return spot->place;
}

/* ---- callees ------------------------------------------------------------------------------------------------------------ */

unsigned plan_deaths;
static PyObject *note_death;

static PyObject *noted_death(PyObject *self, PyObject *reference) {
    plan_deaths++;
    Py_RETURN_NONE;
}

static PyMethodDef noted_death_method = {"callee_died", noted_death, METH_O, NULL};

typedef struct Slot {
    const void *key;      /* NULL: free */
    PyTypeObject *type;   /* of the receiver, or NULL */
    PyObject *key_holder; /* a weak reference where there can be one, else a strong one; NULL: it lives forever */
    PyObject *type_ref;   /* a weak reference; NULL: it lives forever */
    Callee *callee;
    unsigned deaths;      /* when it was last seen to live */
} Slot;

static inline size_t slot_home(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    uint64_t mixed = ((uintptr_t)key >> 4) * UINT64_C(0x9E3779B97F4A7C15) + ((uintptr_t)type >> 4) * UINT64_C(0xC2B2AE3D27D4EB4F);
    return (mixed ^ mixed >> 29) & tracer->slot_mask;
}

static inline bool lives(PyObject *holder) {
    return holder == NULL || !PyWeakref_CheckRefExact(holder) || ((PyWeakReference *)holder)->wr_object != Py_None;
}

static inline bool slot_lives(const Slot *slot) { return lives(slot->key_holder) && lives(slot->type_ref); }

/* NULL: not known. */
static const Slot *find_slot(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    if (tracer->slots == NULL) return NULL;
    for (size_t i = slot_home(tracer, key, type);; i = (i + 1) & tracer->slot_mask) {
        Slot *slot = &tracer->slots[i];
        if (slot->key == NULL) return NULL;
        if (slot->key != key || slot->type != type) continue;
        if (slot->deaths == plan_deaths) return slot;
        if (!slot_lives(slot)) continue;
        slot->deaths = plan_deaths;
        return slot;
    }
}

static inline Callee *known(const Tracer *tracer, const void *key, const PyTypeObject *type) {
    const Slot *slot = find_slot(tracer, key, type);
    return slot ? slot->callee : NULL;
}

/* The same where it is mostly asked for the same as last time. */
static inline const LastAnswer *answer_again(const Tracer *tracer, LastAnswer *last_answers, const void *key,
                                             PyObject *qualname, PyTypeObject *type) {
    LastAnswer *last_answer = &last_answers[answer_home(type)];
    if (last_answer->key == key && last_answer->type == type && last_answer->deaths == plan_deaths) return last_answer;
    const Slot *slot = find_slot(tracer, key, type);
    if (slot == NULL) return NULL;
    /* Where a class is called upon, the answer is for itself, not for its own class: quick.h need not find that out. */
    bool metaclass = type != NULL && PyType_FastSubclass(type, Py_TPFLAGS_TYPE_SUBCLASS);
    *last_answer = (LastAnswer){key, type, qualname, slot->callee, plan_deaths, slot->callee->number,
                                metaclass ? 0 : slot->callee->plainly, type != NULL && is_primitive(type)};
    return last_answer;
}

static inline Callee *known_again(const Tracer *tracer, LastAnswer *last_answers, const void *key, PyTypeObject *type) {
    const LastAnswer *answer = answer_again(tracer, last_answers, key, NULL, type);
    return answer ? answer->callee : NULL;
}

static void free_slot(Slot *slot) {
    Py_XDECREF(slot->key_holder);
    Py_XDECREF(slot->type_ref);
}

static int grow(Tracer *tracer) {
    Slot *old = tracer->slots;
    size_t size = old ? tracer->slot_mask + 1 : 0, alive = 0;
    for (size_t i = 0; i < size; i++) alive += old[i].key != NULL && slot_lives(&old[i]);
    size_t room = 1024;
    while (room < 4 * alive) room *= 2;
    Slot *slots = PyMem_RawCalloc(room, sizeof(Slot));
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    tracer->slots = slots;
    tracer->slot_mask = room - 1;
    tracer->slot_count = 0;
    for (size_t i = 0; i < size; i++) {
        if (old[i].key == NULL) continue;
        if (!slot_lives(&old[i])) {
            free_slot(&old[i]);
            continue;
        }
        size_t at = slot_home(tracer, old[i].key, old[i].type);
        while (slots[at].key != NULL) at = (at + 1) & tracer->slot_mask;
        slots[at] = old[i];
        tracer->slot_count++;
    }
    PyMem_RawFree(old);
    return 0;
}

static PyObject *type_reference(PyTypeObject *type) {
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? PyWeakref_NewRef((PyObject *)type, note_death) : NULL;
}

/* NULL with an exception; `callee` may be NULL with one already. */
static Callee *store(Tracer *tracer, const void *key, PyObject *holder, PyTypeObject *type, Callee *callee) {
    if (callee == NULL) return NULL;
    if ((tracer->slots == NULL || 2 * tracer->slot_count > tracer->slot_mask) && grow(tracer) < 0) return NULL;
    Slot slot = {.key = key, .type = type, .callee = callee, .deaths = plan_deaths};
    if (holder != NULL) {
        bool weak = PyCode_Check(holder) || PyType_Check(holder) || PyFunction_Check(holder);
        slot.key_holder = weak ? PyWeakref_NewRef(holder, note_death) : Py_NewRef(holder);
        if (slot.key_holder == NULL) return NULL;
    }
    if (type != NULL && (slot.type_ref = type_reference(type)) == NULL && PyErr_Occurred()) {
        free_slot(&slot);
        return NULL;
    }
    size_t at = slot_home(tracer, key, type);
    while (tracer->slots[at].key != NULL) at = (at + 1) & tracer->slot_mask;
    tracer->slots[at] = slot;
    tracer->slot_count++;
    return callee;
}

/* Remembers an answer of Python, whose reference it takes over. */
static Callee *remember(Tracer *tracer, const void *key, PyObject *holder, PyTypeObject *type, PyObject *answer) {
    Callee *callee = answer == NULL ? NULL : read_callee(tracer, answer, type);
    Py_XDECREF(answer);
    return store(tracer, key, holder, type, callee);
}

#define OR_NONE(type) ((type) ? (PyObject *)(type) : Py_None)

const LastAnswer *plan_known_call(Tracer *tracer, LastAnswer *last_answers, const void *key, PyObject *qualname, PyTypeObject *receiver) {
    return answer_again(tracer, last_answers, key, qualname, receiver);
}

Callee *plan_call(Tracer *tracer, LastAnswer *last_answers, PyObject *function, PyObject *key, PyTypeObject *receiver) {
    PyObject *qualname = PyFunction_Check(function) && key != function ? ((PyCodeObject *)key)->co_qualname : NULL;
    const LastAnswer *known = answer_again(tracer, last_answers, key, qualname, receiver);
    if (known != NULL) return known->callee;
    PyObject *answer = ask(tracer, text_callee, function, OR_NONE(receiver));
    return remember(tracer, key, PyCFunction_Check(function) ? NULL : key, receiver, answer);
}

/* A code object is also the key of its function when it is called from a probed place: hence another key. */
static inline const void *receiver_key(const CodeInfo *info) { return (const char *)info->code + 1; }

const LastAnswer *plan_known_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver) {
    return answer_again(tracer, info->last_answers, receiver_key(info), NULL, receiver);
}

Callee *plan_receiver(Tracer *tracer, CodeInfo *info, PyTypeObject *receiver) {
    Callee *callee = known_again(tracer, info->last_answers, receiver_key(info), receiver);
    if (callee != NULL) return callee;
    PyObject *answer = ask(tracer, text_receiver_callee, (PyObject *)info->code, (PyObject *)receiver);
    return remember(tracer, receiver_key(info), (PyObject *)info->code, receiver, answer);
}

/* `x += y` is `x = x + y` where the type knows no other way. A new reference. */
static PyObject *real_operation(PyObject *name, PyTypeObject *owner) {
    static const char *const in_place[] = {"add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow",
                                           "lshift", "rshift", "and", "or", "xor"};
    for (size_t i = 0; i < sizeof in_place / sizeof in_place[0]; i++) {
        char text[32];
        PyOS_snprintf(text, sizeof text, "__i%s__", in_place[i]);
        if (PyUnicode_CompareWithASCIIString(name, text) != 0 || _PyType_Lookup(owner, name) != NULL) continue;
        return PyUnicode_FromFormat("__%s__", in_place[i]);
    }
    return Py_NewRef(name);
}

Callee *plan_operation(Tracer *tracer, LastAnswer *last_answers, PyObject *name, PyTypeObject *owner) {
    Callee *callee = known_again(tracer, last_answers, name, owner);
    if (callee != NULL) return callee;
    PyObject *real = real_operation(name, owner);
    if (real == NULL) return NULL;
    PyObject *answer = ask(tracer, text_operation, real, (PyObject *)owner);
    Py_DECREF(real);
    return remember(tracer, name, name, owner, answer);
}

Callee *plan_field(Tracer *tracer, LastAnswer *last_answers, PyObject *name, PyTypeObject *owner) {
    const void *key = (const char *)name + 1; /* not the special method of this name */
    Callee *callee = known_again(tracer, last_answers, key, owner);
    if (callee != NULL) return callee;
    PyObject *answer = ask(tracer, text_field, name, (PyObject *)owner);
    return remember(tracer, key, name, owner, answer);
}

PyObject *plan_class_name(Tracer *tracer, PyTypeObject *type) {
    Callee *callee = known(tracer, &class_names, type);
    if (callee == NULL) {
        PyObject *name = ask(tracer, text_class_name, (PyObject *)type, NULL);
        if (name == NULL) return NULL;
        if (PyUnicode_Check(name)) callee = intern(tracer, name, NULL, 0, NULL);
        else PyErr_SetString(PyExc_TypeError, "a class name is a string");
        Py_DECREF(name);
        callee = store(tracer, &class_names, NULL, type, callee);
    }
    return callee == NULL ? NULL : Py_NewRef(callee->name);
}

Callee *plan_with_class(Tracer *tracer, Callee *callee, PyTypeObject *type) {
    Callee *other = known(tracer, callee, type);
    if (other != NULL) return other;
    PyObject *class_name = plan_class_name(tracer, type);
    if (class_name == NULL) return NULL;
    other = intern(tracer, callee->name, class_name, callee->wants, callee->group);
    Py_DECREF(class_name);
    return store(tracer, callee, NULL, type, other);
}

/* ---- beginning and end -------------------------------------------------------------------------------------------------- */

void plan_forget(Tracer *tracer) {
    Py_CLEAR(tracer->called);
    for (int i = 0; i < SPOTS; i++) Py_CLEAR(tracer->spots[i].code);
    for (uint32_t i = 0; i < tracer->place_count; i++) Py_DECREF(tracer->place_list[i].file);
    PyMem_RawFree(tracer->place_list);
    tracer->place_list = NULL;
    tracer->place_count = tracer->place_room = 0;
    Py_CLEAR(tracer->place_numbers);
    PyMem_RawFree(tracer->callee_list);
    tracer->callee_list = NULL;
    tracer->callee_count = tracer->callee_room = 0;
    while (tracer->infos != NULL) remove_info(tracer->infos);
    for (size_t i = 0; tracer->slots != NULL && i <= tracer->slot_mask; i++)
        if (tracer->slots[i].key != NULL) free_slot(&tracer->slots[i]);
    PyMem_RawFree(tracer->slots);
    tracer->slots = NULL;
    tracer->slot_count = 0;
    for (int i = 0; i < CALLEE_BUCKETS; i++) {
        for (Callee *callee = tracer->callees[i], *next; callee != NULL; callee = next) {
            next = callee->next;
            Py_XDECREF(callee->name);
            Py_XDECREF(callee->class_name);
            PyMem_RawFree(callee);
        }
        tracer->callees[i] = NULL;
    }
}

void plan_forget_numbers(Tracer *tracer) {
    for (int i = 0; i < CALLEE_BUCKETS; i++)
        for (Callee *callee = tracer->callees[i]; callee != NULL; callee = callee->next)
            memset(callee->words, 0, sizeof callee->words);
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        for (int i = 0; i < info->n_probes; i++) info->probes[i].spot.site = 0;
        for (int i = 0; info->spots != NULL && i < info->units; i++) info->spots[i].site = 0;
    }
    for (int i = 0; i < SPOTS; i++) tracer->spots[i].spot.site = 0;
}

int plan_setup(void) {
    if (plan_index != PY_SSIZE_T_MAX) return 0;
#define TEXT(name) if ((text_##name = PyUnicode_InternFromString(#name)) == NULL) return -1;
    TEXT(plan) TEXT(callee) TEXT(receiver_callee) TEXT(operation) TEXT(field) TEXT(class_name) TEXT(on_seen)
#undef TEXT
    if ((note_death = PyCFunction_New(&noted_death_method, NULL)) == NULL) return -1;
    if ((text_dunder_name = PyUnicode_InternFromString("__name__")) == NULL) return -1;
    Py_ssize_t index = request_extra(free_infos);
    if (index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no room for notes on code objects");
        return -1;
    }
    plan_index = index;
    return 0;
}

#endif
