/* Plans of code objects. The tracer asks Python once (`WatchPlanner.plan` in tracer_protocol.py), and the answer is kept
   as long as the code lives. monitoring.c calls it when code starts for the first time.
   tests/sources/python/test_planned_once.py tests it. */
#include "tracer/tracer.h"

Py_ssize_t plan_index = PY_SSIZE_T_MAX;

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
    Py_XDECREF(info->keywords);
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
    if (PyUnstable_Code_GetExtra((PyObject *)code, plan_index, &extra) < 0) {
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
            PyUnstable_Code_SetExtra((PyObject *)info->code, plan_index, NULL);
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
    int operation, name_unwanted, learner_only, bears, by_global, steps;
    if (!PyArg_ParseTuple(item, "iiiiOO!ippO!pO!pp", &probe->offset, &operation, &probe->base, &probe->count, &name,
                          &PyTuple_Type, &keywords, &probe->result, &name_unwanted, &learner_only, &PyTuple_Type, &groups, &bears,
                          &PyTuple_Type, &early, &by_global, &steps) ||
        read_groups(tracer, groups, &probe->groups) < 0)
        return -1;
    probe->origin = probe->offset;
    if (PyTuple_GET_SIZE(early)) {
        if (!PyArg_ParseTuple(early, "iii", &probe->offset, &probe->value, &probe->owner)) return -1;
        probe->early = true;
    }
    probe->name_unwanted = name_unwanted;
    probe->learner_only = learner_only;
    probe->bears = bears;
    if (probe->offset < 0 || probe->offset / 2 >= units || probe->result / 2 >= units || operation < 0 ||
        operation >= OPERATIONS)
            return failed_with(PyExc_ValueError, "a probe outside the code");
    probe->operation = operation;
    probe->name = name == Py_None ? NULL : Py_NewRef(name);
    if (probe->name != NULL) PyUnicode_InternInPlace(&probe->name);
    probe->keywords = PyTuple_GET_SIZE(keywords) ? Py_NewRef(keywords) : NULL;
    probe->by_global = by_global;
    probe->steps = steps && probe->groups && !probe->bears && probe->name != NULL && field_counts_possible(tracer);
    if (probe->steps) return field_counts_add_name(tracer, probe->name);
    return 0;
}

static int read_probes(CodeInfo *info, PyObject *probes) {
    Py_ssize_t count = PyTuple_GET_SIZE(probes);
    info->units = (int)Py_SIZE(info->code);
    if (count == 0) return 0;
    if (count > INT16_MAX) count = INT16_MAX; /* code of a size that no person wrote */
    info->probes = PyMem_RawCalloc(count, sizeof(Probe));
    info->at = PyMem_RawCalloc(info->units, sizeof *info->at);
    if (info->probes == NULL || info->at == NULL) return out_of_memory();
    for (Py_ssize_t i = 0; i < count; i++) {
        Probe *probe = &info->probes[i];
        if (read_probe(info->tracer, PyTuple_GET_ITEM(probes, i), probe, info->units) < 0) return -1;
        info->n_probes++;
        probe->fast = probe->operation <= OP_CALL_EX && !probe->groups;
        info->all_groups |= probe->groups;
        probe->base += info->code->co_nlocalsplus;
        probe->value += info->code->co_nlocalsplus;
        probe->owner += info->code->co_nlocalsplus;
        if (probe->early && (probe->value < 0 || probe->owner < 0))
            return failed_with(PyExc_ValueError, "a probe outside the frame");
        info->at[probe->offset / 2].probe = (int16_t)(i + 1);
        if (probe->result >= 0) info->at[probe->result / 2].result = (int16_t)(i + 1);
        if (probe->steps) info->at[probe->origin / 2].step = (int16_t)(i + 1);
    }
    for (int i = 0; i < info->units; i++) {
        const Probe *probe = info->at[i].probe ? &info->probes[info->at[i].probe - 1] : NULL;
        bool sampled = probe != NULL && probe->early && probe->groups && !info->at[i].result && probe->owner <= INT16_MAX;
        info->at[i].owner = sampled ? (int16_t)probe->owner : -1;
    }
    return 0;
}

/* Asks Python. The program may be at the end of its recursion limit, which is its own affair. Signals wait: what their
   handlers do or raise is not ours. */
PyObject *plan_ask(PyObject *whom, PyObject *method, PyObject *first, PyObject *second) {
    OwnWork work = own_work_begin();
    PyObject *raised = PyErr_GetRaisedException();
    PyObject *answer = PyObject_CallMethodObjArgs(whom, method, first, second, NULL);
    if (answer == NULL) Py_XDECREF(raised);
    else PyErr_SetRaisedException(raised);
    own_work_end(&work);
    return answer;
}

PyObject *plan_ask_wanted(Tracer *tracer, PyObject *method, PyObject *subject, PyObject *further) {
    int64_t began = cpu_time();
    PyObject *answer = plan_ask(tracer->wanted, method, subject, further);
    tracer->measured += cpu_time() - began;
    tracer->measurements++;
    return answer;
}

int plan_report_start(Tracer *tracer, CodeInfo *info) {
    info->report_start = false;
    if (!tracer->reports_starts) return 0;
    PyObject *answer = plan_ask_wanted(tracer, text_on_seen, (PyObject *)info->code, NULL);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* Calls by this name, or without one if it is NULL, are looked at again where the tracer had disabled them. */
static int enable_calls(Tracer *tracer, const PyObject *name) {
    for (CodeInfo *info = tracer->infos; info != NULL; info = info->after) {
        bool disabled = false;
        for (int i = 0; i < info->n_probes; i++) disabled |= info->probes[i].disabled && info->probes[i].name == name;
        if (disabled && delivery_again(tracer, info) < 0) return -1;
    }
    return 0;
}

int plan_wanted_name(Tracer *tracer, PyObject *name) {
    if (tracer->called_names == NULL && (tracer->called_names = PySet_New(NULL)) == NULL) return -1;
    int known = PySet_Contains(tracer->called_names, name);
    if (known) return known < 0 ? -1 : 0;
    return PySet_Add(tracer->called_names, name) < 0 ? -1 : enable_calls(tracer, name);
}

CodeInfo *plan_make(Tracer *tracer, PyCodeObject *code, PyObject *globals) {
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR) && !tracer->tasks) {
        tracer->tasks = true;
        if (field_counts_disable(tracer) < 0) return NULL; /* it takes Python code to know the task */
    }
    PyObject *module = PyDict_GetItemWithError(globals, text_dunder_name);
    PyObject *text = module != NULL && PyUnicode_CheckExact(module) ? module : text_dunder_name;
    if (PyErr_Occurred()) return NULL;
    PyObject *plan = plan_ask_wanted(tracer, text_plan, (PyObject *)code, text);
    if (plan == NULL) return NULL;
    if (plan == Py_None) {
        Py_DECREF(plan);
        return NULL;
    }
    PyObject *callee, *probes, *file, *groups;
    int own, escapes, bears;
    CodeInfo *info = NULL;
    if (!PyArg_ParseTuple(plan, "OO!UppO!p", &callee, &PyTuple_Type, &probes, &file, &own, &escapes, &PyTuple_Type, &groups, &bears))
        goto done;
    if (escapes && !tracer->escaped) { /* variables may hold wanted callees from now on */
        tracer->escaped = true;
        if (enable_calls(tracer, NULL) < 0) goto done;
    }
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
    info->first_is_receiver = !bears && code->co_argcount && !(PyBytes_AS_STRING(code->co_localspluskinds)[0] & CELL_KIND);
    if (callee != Py_None && (info->callee = callee_read(tracer, callee, NULL)) == NULL) goto failed;
    info->fast = info->callee != NULL && !info->groups && code->co_argcount &&
                  !(code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR));
    info->in_cell = info->fast && PyBytes_AS_STRING(code->co_localspluskinds)[0] & CELL_KIND;
    info->is_generator = code->co_flags & CO_GENERATOR;
    info->special_first = info->in_cell || info->is_generator;
    if (read_probes(info, probes) < 0) goto failed;
    info->other = infos_of(code);
    /* The interpreter frees what it replaces: the chain is taken out first. */
    if (info->other != NULL) {
        CodeInfo *first = info->other;
        info->other = first->other;
        first->other = info;
    } else if (PyUnstable_Code_SetExtra((PyObject *)code, plan_index, info) < 0) {
        goto failed;
    }
    if (info->all_groups) sample_cost(tracer, info, info->all_groups);
    info->report_start = own;
    goto done;
failed:
    free_info(info);
    info = NULL;
done:
    Py_DECREF(plan);
    return info;
}

/* ---- beginning and end -------------------------------------------------------------------------------------------------- */

void plan_forget(Tracer *tracer) {
    Py_CLEAR(tracer->called_names);
    place_forget(tracer);
    while (tracer->infos != NULL) remove_info(tracer->infos);
    callee_forget(tracer);
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
    if (callee_setup() < 0) return -1;
    Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(free_infos);
    if (index < 0) return failed_with(PyExc_RuntimeError, "no room for notes on code objects");
    plan_index = index;
    return 0;
}
