/* What has happened before: an object whose events, runs and scenarios are as those of another one once were, and to which the
   same happens, comes to be as that one did, and the same is counted. Programs repeat themselves: of a hundred steps
   ninety-nine have been taken before.

   What an object has in the window is a state here, a number. A step leads from one to the next: an event comes into
   the window, or leaves it. What a step changes in pairs and usages is noted when it is taken for the first time, by window.c;
   afterwards it is only counted how often it is taken, and all is added up before anybody looks.

   Where nothing repeats itself, that would cost more than it saves: then it rests, for longer each time. */
#include "learn.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING 1              /* the state of an object without events */
#define MOST_STATES (1 << 15)
#define MOST_STEPS (1 << 16)
#define MOST_EFFECTS (1 << 18)
#define MOST_WRITTEN (16 << 20) /* bytes */
#define MOST_NAMES 16          /* of one object at a time */
#define TRIAL (1 << 17)        /* credit after a rest */
#define FIRST_REST (1 << 16)   /* events */
#define LONGEST_REST (1 << 22)
#define LONG_USE (1 << 18)     /* events after which the next rest is short again */

/* What a step takes that is not known, and what one saves that is, with so many names: measured, in units of about 8 ns. */
static inline int cost(int names) { return 32 + 8 * names; }
static inline int worth(int names) { return names ? 2 * names - 1 : 1; }

/* ---- states ----------------------------------------------------------------------------------------------------------------- */

static inline size_t locals_at(uint32_t count) { return count * sizeof(uint32_t); }
static inline size_t scenarios_at(uint32_t count) {
    return (locals_at(count) + count * sizeof(Local) + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}
static inline size_t size_of(uint32_t count) { return scenarios_at(count) + (size_t)count * (count - 1) / 2 * sizeof(Scenario); }

static bool has_room(void **array, uint32_t count, uint32_t *room, size_t each) {
    if (count < *room) return true;
    uint32_t more = *room ? 2 * *room : 256;
    void *larger = realloc(*array, more * each);
    if (larger == NULL) return false;
    *array = larger;
    *room = more;
    return true;
}

/* A hash table of numbers from 1, twice as large as what it is for. */
static bool table_grow(uint32_t **table, size_t *mask, uint32_t count, uint64_t (*hash_of)(const WindowMemo *, uint32_t), const WindowMemo *memo) {
    if (*table != NULL && 2 * (size_t)(count + 1) <= *mask) return true;
    size_t size = *table ? 2 * (*mask + 1) : 1024;
    uint32_t *larger = calloc(size, sizeof *larger);
    if (larger == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        size_t at = hash_of(memo, i) & (size - 1);
        while (larger[at]) at = (at + 1) & (size - 1);
        larger[at] = i + 1;
    }
    free(*table);
    *table = larger;
    *mask = size - 1;
    return true;
}

static uint64_t state_hash(const WindowMemo *memo, uint32_t i) { return memo->states[i].hash; }

static inline uint64_t stirred(uint64_t hash, const char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    hash ^= word;
    return (hash << 29 | hash >> 35) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Four words at a time, which do not wait for each other. */
static uint64_t hash_of(const char *bytes, size_t size) {
    uint64_t one = size, two = 1, three = 2, four = 3;
    size_t i = 0;
    for (; i + 32 <= size; i += 32) {
        one = stirred(one, bytes + i);
        two = stirred(two, bytes + i + 8);
        three = stirred(three, bytes + i + 16);
        four = stirred(four, bytes + i + 24);
    }
    for (; i < size; i += 8) one = stirred(one, bytes + i);
    uint64_t hash = one + (two << 17 | two >> 47) + (three << 31 | three >> 33) + (four << 43 | four >> 21);
    return hash ^ hash >> 32;
}

/* Writes a subject down, its names in order: how it came to them does not matter. */
static void write_down(const Subject *subject, char *to) {
    int count = subject->count, order[MOST_NAMES];
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at && subject->names[order[at - 1]] > subject->names[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    uint32_t *names = (uint32_t *)to;
    Local *locals = (Local *)(to + locals_at(count));
    Scenario *scenario = (Scenario *)(to + scenarios_at(count));
    memset(to, 0, scenarios_at(count));
    for (int i = 0; i < count; i++) {
        names[i] = subject->names[order[i]];
        locals[i] = subject->locals[order[i]];
        for (int j = 0; j < i; j++) {
            int one = order[i], other = order[j];
            *scenario++ = subject->scenarios[one > other ? one * (one - 1) / 2 + other : other * (other - 1) / 2 + one];
        }
    }
}

/* The number of the state that a subject is in; 0: there is no room for it. */
static uint32_t state_of(WindowMemo *memo, const Subject *subject) {
    size_t size = size_of(subject->count);
    if (memo->written_size + size > MOST_WRITTEN || memo->state_count == MOST_STATES ||
        !has_room((void **)&memo->states, memo->state_count, &memo->state_room, sizeof *memo->states) ||
        !table_grow(&memo->state_at, &memo->state_mask, memo->state_count, state_hash, memo))
        return 0;
    if (memo->written_size + size > memo->written_room) {
        size_t room = memo->written_room ? 2 * memo->written_room : 1 << 16;
        char *written = realloc(memo->written, room);
        if (written == NULL) return 0;
        memo->written = written;
        memo->written_room = room;
    }
    char *own = memo->written + memo->written_size;
    write_down(subject, own);
    uint64_t hash = hash_of(own, size);
    size_t at = hash & memo->state_mask;
    for (uint32_t number; (number = memo->state_at[at]); at = (at + 1) & memo->state_mask) {
        const MemoState *state = &memo->states[number - 1];
        if (state->hash == hash && state->count == (uint32_t)subject->count && memcmp(memo->written + state->at, own, size) == 0)
            return number;
    }
    memo->states[memo->state_count++] = (MemoState){hash, memo->written_size, subject->count};
    memo->written_size += size;
    return memo->state_at[at] = memo->state_count;
}

int memo_locals(const Window *window, const Subject *subject, const uint32_t **names, const Local **locals) {
    if (!subject->state) {
        *names = subject->names;
        *locals = subject->locals;
        return subject->count;
    }
    const MemoState *state = &window->memo.states[subject->state - 1];
    const char *written = window->memo.written + state->at;
    *names = (const uint32_t *)written;
    *locals = (const Local *)(written + locals_at(state->count));
    return (int)state->count;
}

int memo_write_out(Window *window, Subject *subject) {
    if (!subject->state) return 0;
    const MemoState *state = &window->memo.states[subject->state - 1];
    const char *written = window->memo.written + state->at;
    uint32_t count = state->count;
    if (subject_room(subject, (int)count) < 0) {
        window->broken = true;
        return -1;
    }
    subject->state = 0;
    subject->count = (int)count;
    if (count) {
        memcpy(subject->names, written, count * sizeof *subject->names);
        memcpy(subject->locals, written + locals_at(count), count * sizeof *subject->locals);
        memcpy(subject->scenarios, written + scenarios_at(count), size_of(count) - scenarios_at(count));
    }
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------------ */

static uint64_t step_hash(const WindowMemo *memo, uint32_t i) {
    return memo_hash(memo->steps[i].from, memo->steps[i].name, memo->steps[i].site);
}

int memo_begin(Window *window, Subject *subject) {
    window->memo.noting = true;
    window->memo.noted = 0;
    return memo_write_out(window, subject);
}

void memo_add_note(WindowMemo *memo, Effect effect) {
    if (effect.what < EFFECT_ENDED)
        for (int i = 0; i < memo->noted; i++) {
            Effect *known = &memo->notes[i];
            if (known->what >= EFFECT_ENDED || known->pair != effect.pair || known->number != effect.number) continue;
            if ((known->what += effect.what) == 0) *known = memo->notes[--memo->noted];
            return;
        }
    if (memo->noted < MOST_STEP_EFFECTS) memo->notes[memo->noted++] = effect;
    else memo->noting = false;
}

/* false: there is no room. */
static bool add_step(WindowMemo *memo, MemoStep step) {
    if (memo->step_count == MOST_STEPS || memo->effect_count + MOST_STEP_EFFECTS >= MOST_EFFECTS ||
        !has_room((void **)&memo->steps, memo->step_count, &memo->step_room, sizeof *memo->steps) ||
        !table_grow(&memo->step_at, &memo->step_mask, memo->step_count, step_hash, memo))
        return false;
    step.effects = memo->effect_count;
    for (int i = 0; i <= memo->noted; i++) {
        if (!has_room((void **)&memo->effects, memo->effect_count, &memo->effect_room, sizeof *memo->effects)) return false;
        memo->effects[memo->effect_count++] = i < memo->noted ? memo->notes[i] : (Effect){.what = EFFECT_LAST};
    }
    memo->steps[memo->step_count] = step;
    size_t at = step_hash(memo, memo->step_count) & memo->step_mask;
    while (memo->step_at[at]) at = (at + 1) & memo->step_mask;
    memo->step_at[at] = ++memo->step_count;
    return true;
}

static void rest(Window *window) {
    WindowMemo *memo = &window->memo;
    bool useful = window->taken - memo->woken >= LONG_USE;
    memo->resting = useful || !memo->resting ? FIRST_REST : memo->resting < LONGEST_REST ? 4 * memo->resting : LONGEST_REST;
    memo->rested = 0;
    memo_clear(window);
    memo->credit = -1;
}

/* Nothing is done before the states of nothing can be had. */
static bool is_ready(Window *window) {
    WindowMemo *memo = &window->memo;
    if (memo->states != NULL) return true;
    static const Subject nothing;
    memo->since = window->expired;
    return state_of(memo, &nothing) == NOTHING && table_grow(&memo->step_at, &memo->step_mask, 0, step_hash, memo);
}

void memo_keep(Window *window, Subject *subject, uint32_t from, uint32_t name, uint32_t site, uint32_t run) {
    WindowMemo *memo = &window->memo;
    bool noted = memo->noting;
    memo->noting = false;
    if (subject->count > MOST_NAMES) return;
    if (memo->credit < 0) { /* it has rested */
        memo->credit = memo->resting ? TRIAL : MOST_CREDIT;
        memo->woken = window->taken;
    }
    if ((memo->credit -= cost(subject->count)) < 0) {
        rest(window);
        return;
    }
    uint32_t to = is_ready(window) ? state_of(memo, subject) : 0;
    if (to && (!noted || add_step(memo, (MemoStep){.from = from, .name = name, .site = site, .to = to, .run = (uint16_t)run,
                                                          .worth = (uint16_t)worth(subject->count)})))
        subject->state = to;
    else memo_clear(window); /* it is full, or there is no memory: it begins anew */
}

void memo_settle(Window *window) {
    WindowMemo *memo = &window->memo;
    if (memo->since == window->expired) return; /* nothing has happened since */
    for (uint32_t i = 0; i < memo->step_count; i++) {
        MemoStep *step = &memo->steps[i];
        if (!step->count) continue;
        for (const Effect *effect = &memo->effects[step->effects]; effect->what != EFFECT_LAST; effect++) {
            if (effect->what == EFFECT_ENDED) ending_add(effect->pair, effect->number, effect->site, step->count);
            else if (effect->what == EFFECT_USED)
                usage_add(window, step->name, effect->hash, step->count, memo->since + step->last);
            else effect->pair->alone[effect->number] += (uint64_t)(int64_t)effect->what * step->count;
        }
        step->count = step->last = 0;
    }
    memo->since = window->expired;
}

int memo_clear(Window *window) {
    memo_settle(window);
    int failed = 0;
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++)
        if (window->subject_at[i] && memo_write_out(window, window->subjects[window->subject_at[i] - 1]) < 0) failed = -1;
    WindowMemo *memo = &window->memo;
    memo_free(memo);
    *memo = (WindowMemo){.credit = memo->credit, .resting = memo->resting, .rested = memo->rested, .woken = memo->woken,
                   .noting = false, .since = window->expired};
    return failed;
}

void memo_free(WindowMemo *memo) {
    free(memo->states);
    free(memo->state_at);
    free(memo->written);
    free(memo->steps);
    free(memo->step_at);
    free(memo->effects);
}
