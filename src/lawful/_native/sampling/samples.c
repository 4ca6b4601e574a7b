/* Which objects are reported: the coin that is flipped when an object is created, the objects that became samples, and what
   is switched off in the interpreter as long as there are none.

   Called by: the tracer, where objects are created, seen and freed (function.c, call.c, probe.c, identity.c, tracer.c).
   Must match: lawful/sources/python/object_sampling.py; the coin also lawful/coin.py.
   Compared by: tests/sources/python/sampling/, the coin by test_runs.py. */
#include "tracer/tracer.h"

#include <time.h>

#define STACK 8      /* places that `born` has */
#define DEPTH 200    /* frames among which they are looked for */

/* ---- the coin ------------------------------------------------------------------------------------------------------- */

/* splitmix64, as in lawful/sources/python/object_sampling.py. */
#define GOLDEN UINT64_C(0x9E3779B97F4A7C15)

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

static uint64_t first_state(uint64_t seed, long number) { return mixed(seed + (uint64_t)number * GOLDEN); }

static bool accepts_samples(const Group *group) { return group->rate > 0 && group->budget != 0; }

/* ---- groups --------------------------------------------------------------------------------------------------------- */

Group *sample_group(Tracer *tracer, long number) {
    int count = 0;
    for (Group *group = tracer->groups; group != NULL; group = group->next, count++)
        if (group->number == number) return group;
    Group *group = PyMem_RawCalloc(1, sizeof(Group));
    if (group == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    group->number = number;
    group->bit = count < 64 ? UINT64_C(1) << count : 0;
    group->rate = 1;
    group->budget = -1;
    group->coin = first_state(tracer->seed, number);
    group->next = tracer->groups;
    tracer->groups = group;
    tracer->awake[0] |= group->bit;
    tracer->awake[1] |= group->bit;
    return group;
}

void sample_seed(Tracer *tracer, uint64_t seed) {
    tracer->seed = seed;
    for (Group *group = tracer->groups; group != NULL; group = group->next) group->coin = first_state(seed, group->number);
}

void sample_fork(Tracer *tracer, uint64_t process) {
    sample_seed(tracer, mixed(tracer->seed ^ process * GOLDEN));
    for (Group *group = tracer->groups; group != NULL; group = group->next) group->born = group->taken = 0;
}

void sample_forget(Tracer *tracer) {
    for (Group *group = tracer->groups, *next; group != NULL; group = next) {
        next = group->next;
        PyMem_RawFree(group);
    }
    tracer->groups = NULL;
    free(tracer->samples.entries);
    tracer->samples = (Samples){.entries = NULL};
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */

/* Stop to watch its dict. */
static void stop_watching(Sample *sample) {
    if (sample->fields != NULL) field_counts_unwatch(sample->fields);
    sample->fields = NULL;
}

/* A sample is one no more. */
static void sample_left(Tracer *tracer, Sample sample) {
    Group *group = sample.group;
    if (sample.fields == NULL && group->unwatched > 0 && --group->unwatched == 0 && !group->places && !tracer->steps_off)
        tracer->by_place &= ~group->bit;
    stop_watching(&sample);
}

/* ---- sleep ---------------------------------------------------------------------------------------------------------- */

void sample_add_sleeper(Tracer *tracer, CodeInfo *info) {
    if (info->slept) return;
    info->slept = true;
    info->sleeper_before = NULL;
    info->sleeper_after = tracer->sleepers;
    if (tracer->sleepers != NULL) tracer->sleepers->sleeper_before = info;
    tracer->sleepers = info;
}

void sample_unlink(CodeInfo *info) {
    if (!info->slept) return;
    info->slept = false;
    if (info->sleeper_before != NULL) info->sleeper_before->sleeper_after = info->sleeper_after;
    else if (info->tracer != NULL) info->tracer->sleepers = info->sleeper_after;
    if (info->sleeper_after != NULL) info->sleeper_after->sleeper_before = info->sleeper_before;
}

/* The cost of waking a code object, in callbacks: the interpreter goes through all instructions, and calls the tracer
   once more for each where there are probes. */
static int64_t waking_cost(const CodeInfo *info) { return 32 + (info->n_probes ? 2 * info->units : 0); }

#define MOST_GUESSED 4096 /* most code hardly ever runs, and need not be woken */

void sample_cost(Tracer *tracer, CodeInfo *info, uint64_t groups) {
    for (Group *group = tracer->groups; group != NULL; group = group->next)
        if (group->bit & groups && !group->woken && group->patience < MOST_GUESSED) group->patience += waking_cost(info);
}

static bool begins_here(const CodeInfo *info, uint64_t groups) {
    if (info->bears && info->groups & groups) return true;
    for (int i = 0; i < info->n_probes; i++)
        if (info->probes[i].bears && info->probes[i].groups & groups) return true;
    return false;
}

/* Must something in this code wake? Steps that the samples' own dicts report need not. */
static bool wakes(const Tracer *tracer, const CodeInfo *info, uint64_t groups) {
    if (info->groups & groups) return true;
    for (int i = 0; i < info->n_probes; i++)
        if (info->probes[i].groups & (info->probes[i].steps ? groups & tracer->by_place : groups)) return true;
    return false;
}

/* Only where new objects are met, or everywhere. */
static int wake(Tracer *tracer, uint64_t groups, bool births_only) {
    uint64_t slept = groups & ~tracer->awake[births_only];
    tracer->awake[1] |= groups;
    if (!births_only) tracer->awake[0] |= groups;
    if (!slept || !tracer->running) return 0;
    int64_t cost = 0;
    for (CodeInfo *info = tracer->sleepers, *next; info != NULL; info = next) {
        next = info->sleeper_after;
        if (!(info->all_groups & slept) || !(births_only ? begins_here(info, slept) : wakes(tracer, info, slept))) continue;
        sample_unlink(info);
        cost += waking_cost(info);
        if (delivery_wake(tracer, info) < 0) return -1;
    }
    for (Group *group = tracer->groups; group != NULL && !births_only; group = group->next) {
        if (!(group->bit & slept)) continue;
        group->patience = cost;
        group->woken = true;
    }
    return 0;
}

int sample_by_place(Tracer *tracer, Group *group) {
    if (group->places) return 0;
    group->places = true;
    tracer->by_place |= group->bit;
    Samples *samples = &tracer->samples;
    for (size_t i = 0; samples->used && i <= samples->mask; i++)
        if (samples->entries[i].key != NULL && samples->entries[i].group == group) stop_watching(&samples->entries[i]);
    group->unwatched = group->alive;
    if (!(tracer->awake[0] & group->bit)) return 0;
    tracer->awake[0] &= ~group->bit;
    return wake(tracer, group->bit, false);
}

/* The places of the group sleep from their next visit on. */
static void sleep_now(Tracer *tracer, Group *group) {
    tracer->awake[0] &= ~group->bit;
    if (!accepts_samples(group)) tracer->awake[1] &= ~group->bit;
}

/* The next sample comes after 1 / rate births on average, however long the wait was: so it pays to sleep at once, or not
   at all. Until the number of visits between births is known, and now and then later, a group sleeps when its visits
   without a sample have cost as much as waking it: that wastes at most twice as much as need be. Without this, a program
   that samples 1 in 64 makes almost twice as many callbacks. */
#define TRIALS 4
#define TRY_AGAIN 64

static bool pays(const Group *group) { return group->visits > group->patience * group->rate * (group->births + 1); }

void sample_idle_visit(Tracer *tracer, uint64_t groups) {
    if (groups & tracer->alive) return;
    for (Group *group = tracer->groups; group != NULL; group = group->next) {
        if (!(group->bit & groups & tracer->awake[0])) continue;
        group->visits++;
        if (++group->idle_visits > group->patience) sleep_now(tracer, group);
    }
}

static void maybe_sleep(Tracer *tracer, Group *group) {
    group->idle_visits = 0;
    group->sleeps++;
    if (group->births > 1e4 || group->visits > 1e6) { /* programs change */
        group->births /= 2;
        group->visits /= 2;
    }
    if (!accepts_samples(group) || (group->sleeps > TRIALS && group->sleeps % TRY_AGAIN && pays(group))) sleep_now(tracer, group);
}

int sample_set(Tracer *tracer, Group *group, double rate, int64_t budget) {
    group->rate = rate;
    group->budget = budget < 0 ? -1 : budget;
    if (accepts_samples(group)) return wake(tracer, group->bit, true);
    if (group->alive == 0) sleep_now(tracer, group);
    else tracer->awake[1] |= group->bit;
    return 0;
}

/* ---- samples -------------------------------------------------------------------------------------------------------- */

bool sample_flip(Tracer *tracer, Group *group) {
    if (!accepts_samples(group)) return false;
    group->born++;
    if (tracer->awake[0] & ~tracer->alive & group->bit) group->births++;
    group->coin += GOLDEN;
    return (double)(mixed(group->coin) >> 11) * 0x1p-53 < group->rate;
}

static void put(Samples *samples, Sample sample) {
    size_t i = identity_slot(sample.key, samples->mask);
    while (samples->entries[i].key != NULL) i = (i + 1) & samples->mask;
    samples->entries[i] = sample;
}

static int resize(Samples *samples, size_t room) {
    Samples old = *samples;
    Sample *entries = calloc(room, sizeof(Sample));
    if (entries == NULL) return -1;
    samples->entries = entries;
    samples->mask = room - 1;
    for (size_t i = 0; old.entries != NULL && i <= old.mask; i++)
        if (old.entries[i].key != NULL) put(samples, old.entries[i]);
    free(old.entries);
    return 0;
}

static void take_out(Samples *samples, size_t gap) {
    for (size_t i = (gap + 1) & samples->mask; samples->entries[i].key != NULL; i = (i + 1) & samples->mask) {
        size_t wanted = identity_slot(samples->entries[i].key, samples->mask);
        if (((i - wanted) & samples->mask) < ((i - gap) & samples->mask)) continue;
        samples->entries[gap] = samples->entries[i];
        gap = i;
    }
    samples->entries[gap] = (Sample){NULL, 0, NULL, NULL};
    samples->used--;
}

void sample_release(Tracer *tracer, Group *group) {
    Samples *samples = &tracer->samples;
    for (size_t i = 0; samples->entries != NULL && i <= samples->mask;) {
        Sample sample = samples->entries[i];
        /* Another sample may move into the gap. */
        if (sample.key != NULL && sample.group == group) {
            sample_left(tracer, sample);
            take_out(samples, i);
        } else i++;
    }
    group->alive = 0;
    tracer->alive &= ~group->bit;
    if (!accepts_samples(group)) sleep_now(tracer, group);
}

static int add(Tracer *tracer, PyObject *object, Id id, Group *group, PyObject *fields) {
    Samples *samples = &tracer->samples;
    size_t size = samples->entries ? samples->mask + 1 : 0;
    if (4 * (samples->used + 1) > size && resize(samples, size ? 2 * size : 64) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    samples->used++;
    put(samples, (Sample){object, id, group, fields});
    if (fields == NULL) group->unwatched++;
    group->taken++;
    group->alive++;
    group->idle_visits = 0;
    tracer->alive |= group->bit;
    if (group->budget > 0) group->budget--;
    return 0;
}

Group *sample_lost(Tracer *tracer, PyObject *object) {
    Samples *samples = &tracer->samples;
    if (samples->used == 0) return NULL;
    size_t gap = identity_slot(object, samples->mask);
    while (samples->entries[gap].key != object) {
        if (samples->entries[gap].key == NULL) return NULL;
        gap = (gap + 1) & samples->mask;
    }
    Group *group = samples->entries[gap].group;
    sample_left(tracer, samples->entries[gap]);
    take_out(samples, gap);
    /* A small table is faster to look through. Without memory for it, the table stays as it is. */
    if (samples->mask > 1024 && samples->used < samples->mask / 16) (void)resize(samples, (samples->mask + 1) / 4);
    return group;
}

Sample *sample_find(Tracer *tracer, const PyObject *object) {
    Samples *samples = &tracer->samples;
    if (!sample_of(tracer, object)) return NULL;
    size_t i = identity_slot(object, samples->mask);
    while (samples->entries[i].key != object) i = (i + 1) & samples->mask;
    return &samples->entries[i];
}

void sample_gone(Tracer *tracer, Group *group) {
    if (group->alive == 0 || --group->alive > 0) return;
    tracer->alive &= ~group->bit;
    maybe_sleep(tracer, group);
}

void sample_clear(Tracer *tracer) {
    for (size_t i = 0; tracer->samples.used && i <= tracer->samples.mask; i++)
        if (tracer->samples.entries[i].key != NULL) stop_watching(&tracer->samples.entries[i]);
    free(tracer->samples.entries);
    tracer->samples = (Samples){.entries = NULL};
    tracer->alive = 0;
    while (tracer->sleepers != NULL) sample_unlink(tracer->sleepers);
    for (Group *group = tracer->groups; group != NULL; group = group->next) {
        group->alive = group->idle_visits = group->unwatched = 0;
        if (!group->places && !tracer->steps_off) tracer->by_place &= ~group->bit;
        tracer->awake[0] |= group->bit;
        tracer->awake[1] |= group->bit;
        if (!accepts_samples(group)) sleep_now(tracer, group);
    }
}

/* ---- birth ---------------------------------------------------------------------------------------------------------- */

static PyObject *place_text(PyObject *file, PyCodeObject *code, int offset) {
    int line = PyCode_Addr2Line(code, offset);
    return PyUnicode_FromFormat("%U:%d %U", file, line < 0 ? 0 : line, code->co_qualname);
}

/* The same, kept for each place: few places make objects. */
static PyObject *known_text(CodeInfo *info, int offset) {
    int unit = offset / 2;
    if (unit < 0 || unit >= info->units) return place_text(info->file, info->code, offset);
    if (info->texts == NULL && (info->texts = PyMem_RawCalloc(info->units, sizeof(PyObject *))) == NULL) return PyErr_NoMemory();
    if (info->texts[unit] == NULL && (info->texts[unit] = place_text(info->file, info->code, offset)) == NULL) return NULL;
    return Py_NewRef(info->texts[unit]);
}

static int add_place(PyObject *places, PyObject *text) {
    int failed = text == NULL ? -1 : PyList_Append(places, text);
    Py_XDECREF(text);
    return failed;
}

/* The innermost places of own code or, without any, the place that makes the object. */
static PyObject *places(Tracer *tracer, RunFrame *first) {
    PyObject *found = PyList_New(0);
    RunFrame *frame = first;
    for (int i = 0; found != NULL && frame != NULL && i < DEPTH && PyList_GET_SIZE(found) < STACK; frame = frame_caller(frame), i++) {
        CodeInfo *info = plan_find(tracer, frame_code(frame));
        if (info == NULL || !info->own) continue;
        if (add_place(found, known_text(info, frame_offset(frame))) < 0) Py_CLEAR(found);
    }
    if (found != NULL && first != NULL && PyList_GET_SIZE(found) == 0 &&
        add_place(found, place_text(frame_code(first)->co_filename, frame_code(first), frame_offset(first))) < 0)
        Py_CLEAR(found);
    return found;
}

static PyObject *birth_payload(Tracer *tracer, Callee *callee, RunFrame *frame) {
    PyObject *payload = Py_BuildValue("{s:l}", "sampled", callee->group->number);
    if (payload == NULL || !(callee->wants & WANT_STACK)) return payload;
    PyObject *stack = places(tracer, frame);
    if (stack == NULL || PyDict_SetItemString(payload, "stack", stack) < 0) Py_CLEAR(payload);
    Py_XDECREF(stack);
    return payload;
}

int sample_take(Tracer *tracer, Callee *callee, PyObject *object, uint32_t place, RunFrame *frame, Id *id) {
    Group *group = callee->group;
    *id = 0;
    Id number = identity_of(tracer, object);
    Callee *full = number && identity_name(tracer, object) == 0 ? plan_with_class(tracer, callee, Py_TYPE(object)) : NULL;
    PyObject *payload = full ? birth_payload(tracer, callee, frame) : NULL, *fields = NULL;
    if (payload != NULL && (fields = field_counts_watch(tracer, group, object)) == NULL && PyErr_Occurred()) Py_CLEAR(payload);
    if (payload == NULL || add(tracer, object, number, group, fields) < 0 || wake(tracer, group->bit, false) < 0) {
        Py_XDECREF(payload);
        tracer_fault(tracer);
        return 0;
    }
    *id = number;
    return record_add(tracer, KIND_BORN, full, number, payload, place);
}

/* ---- what it costs -------------------------------------------------------------------------------------------------- */

int64_t cpu_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t cost_begin(Tracer *tracer) {
    tracer->callbacks += tracer->timing_period;
    return ticks();
}

void cost_end(Tracer *tracer, int64_t began, unsigned measurements) {
    int64_t passed = ticks() - began;
    /* Time that was measured exactly must not count twice. */
    if (tracer->measurements == measurements && passed > 0 && passed < LONGEST_CALLBACK) tracer->timed_ticks += (double)passed * tracer->timing_period;
    /* At varying distances, so as not to follow a rhythm of the program. */
    tracer->timing_period = tracer->until_timed = 48 + (uint32_t)(mixed(tracer->callbacks) & 31);
}
