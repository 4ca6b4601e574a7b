/* Steps of the window that were taken before.

   Called by: window.c, for every event that comes into the window or leaves it.
   Must match: what window.c does without it; Python has no such cache.
   Compared by: tests/learning/test_step_cache.py and test_window.py, with the Python window.

   If the events, runs and scenarios of an object are as those of another one once were, and the same happens to it, the same
   follows, and the same is counted. Programs repeat themselves: of a hundred steps ninety-nine were taken before.

   What an object has in the window is a state here, a number. A step leads from one to the next: an event comes into the
   window, or leaves it. When a step is taken for the first time, window.c notes what it changes in pairs and usages.
   Afterwards only the number of times is counted, and all is added up before anybody reads.

   Where nothing repeats itself, that would cost more than it saves: then the cache rests, for longer each time. */
#include "learner/learner.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING 1              /* the state of an object without events */
#define MOST_STATES (1 << 15)
#define MOST_STEPS (1 << 16)   /* of events that leave; and as many of those that come */
#define MOST_EFFECTS (1 << 18)
#define MOST_WRITTEN (16 << 20) /* bytes */
#define MOST_NAMES 16          /* of one object at a time */
#define MOST_CREDIT (1 << 18)
#define TRIAL (1 << 17)        /* credit after a rest */
#define FIRST_REST (1 << 16)   /* events */
#define LONGEST_REST (1 << 22)
#define LONG_USE (1 << 18)     /* events after which the next rest is short again */

/* The cost of a new step, and the saving of two known ones, with so many names: measured, in units of about 8 ns. Every event
   that comes leaves, so only those that leave are counted. */
static inline int cost(int names) { return 32 + 8 * names; }
static inline int worth(int names) { return names ? 4 * names - 2 : 2; }

/* ---- states ----------------------------------------------------------------------------------------------------------------- */

static inline size_t locals_at(uint32_t count) { return count * sizeof(uint32_t); }
static inline size_t scenarios_at(uint32_t count) {
    return (locals_at(count) + count * sizeof(Local) + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}
static inline size_t size_of(uint32_t count) { return scenarios_at(count) + (size_t)count * (count - 1) / 2 * sizeof(Scenario); }

static uint64_t hash_of(const char *bytes, size_t size) {
    uint64_t hash = size, word;
    for (size_t i = 0; i < size; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash ^= word;
        hash = (hash << 29 | hash >> 35) * UINT64_C(0x9E3779B97F4A7C15);
    }
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

/* The number of the state that a subject is in; 0: no room for it. */
static uint32_t state_of(StepCache *cache, const Subject *subject) {
    size_t size = size_of(subject->count);
    if (cache->written_size + size > MOST_WRITTEN || cache->state_count == MOST_STATES ||
        !HAS_ROOM(cache->states, cache->state_count, cache->state_room, 256) ||
        (2 * (size_t)(cache->state_count + 1) > cache->state_mask &&
         !TABLE_GROW(cache->state_at, cache->state_mask, 1024, *slot, cache->states[*slot - 1].hash)))
        return 0;
    if (cache->written_size + size >= cache->written_room) { /* also for an empty first state: no null pointer is written to */
        size_t room = cache->written_room ? 2 * cache->written_room : 1 << 16;
        char *written = realloc(cache->written, room);
        if (written == NULL) return 0;
        cache->written = written;
        cache->written_room = room;
    }
    char *own = cache->written + cache->written_size;
    write_down(subject, own);
    uint64_t hash = hash_of(own, size);
    size_t at = hash & cache->state_mask;
    for (uint32_t number; (number = cache->state_at[at]); at = (at + 1) & cache->state_mask) {
        const CachedState *state = &cache->states[number - 1];
        if (state->hash == hash && state->count == (uint32_t)subject->count && memcmp(cache->written + state->at, own, size) == 0)
            return number;
    }
    cache->states[cache->state_count++] = (CachedState){hash, cache->written_size, subject->count};
    cache->written_size += size;
    return cache->state_at[at] = cache->state_count;
}

int cache_write_out(Window *window, Subject *subject) {
    if (!subject->state) return 0;
    const CachedState *state = &window->cache.states[subject->state - 1];
    const char *written = window->cache.written + state->at;
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

/* For one more: it has twice as many places as there are steps. */
static bool table_grow(StepTable *table) {
    return 2 * (size_t)(table->count + 1) <= table->mask ||
           TABLE_GROW(table->slots, table->mask, 512, slot->from, cache_hash(slot->from, slot->site));
}

/* false: no room. */
static bool table_add(StepTable *table, StepSlot slot) {
    if (table->count == MOST_STEPS || !table_grow(table)) return false;
    size_t at = cache_hash(slot.from, slot.site);
    while (table->slots[at & table->mask].from) at++;
    table->slots[at & table->mask] = slot;
    table->count++;
    return true;
}

int cache_begin(Window *window, Subject *subject) {
    window->cache.noting = true;
    window->cache.noted = 0;
    return cache_write_out(window, subject);
}

void cache_add_note(StepCache *cache, Effect effect) {
    if (effect.what < EFFECT_ENDED)
        for (int i = 0; i < cache->noted; i++) {
            Effect *known = &cache->notes[i];
            if (known->what >= EFFECT_ENDED || known->pair != effect.pair || known->number != effect.number) continue;
            if ((known->what += effect.what) == 0) *known = cache->notes[--cache->noted];
            return;
        }
    if (cache->noted < MOST_STEP_EFFECTS) cache->notes[cache->noted++] = effect;
    else cache->noting = false;
}

/* false: no room. */
static bool add_step(StepCache *cache, uint64_t from, uint32_t site, CachedStep step) {
    if (cache->effect_count + MOST_STEP_EFFECTS >= MOST_EFFECTS ||
        !HAS_ROOM(cache->steps, cache->step_count, cache->step_room, 256))
        return false;
    step.effects = cache->effect_count;
    for (int i = 0; i <= cache->noted; i++) {
        if (!HAS_ROOM(cache->effects, cache->effect_count, cache->effect_room, 256)) return false;
        cache->effects[cache->effect_count++] = i < cache->noted ? cache->notes[i] : (Effect){.what = EFFECT_LAST};
    }
    cache->steps[cache->step_count++] = step;
    return table_add(&cache->leaves, (StepSlot){from, site, cache->step_count});
}

static void rest(Window *window) {
    StepCache *cache = &window->cache;
    bool useful = window->taken - cache->woken >= LONG_USE;
    cache->resting = useful || !cache->resting ? FIRST_REST : cache->resting < LONGEST_REST ? 4 * cache->resting : LONGEST_REST;
    cache->rested = 0;
    cache_clear(window);
    cache->credit = -1;
}

/* Makes the first state, that of an object without events. */
static bool is_ready(Window *window) {
    StepCache *cache = &window->cache;
    if (cache->states != NULL) return true;
    static const Subject nothing;
    cache->since = window->expired;
    return state_of(cache, &nothing) == NOTHING && table_grow(&cache->comes) && table_grow(&cache->leaves);
}

/* The state to which a step led that was not known; 0: it has none, and nothing is kept. */
static uint32_t state_after(Window *window, Subject *subject) {
    StepCache *cache = &window->cache;
    if (subject->count > MOST_NAMES) return 0;
    if (cache->credit < 0) { /* it has rested */
        cache->credit = cache->resting ? TRIAL : MOST_CREDIT;
        cache->woken = window->taken;
    }
    cache->credit = (cache->credit < MOST_CREDIT ? cache->credit : MOST_CREDIT) - cost(subject->count);
    if (cache->credit < 0) {
        rest(window);
        return 0;
    }
    uint32_t to = is_ready(window) ? state_of(cache, subject) : 0;
    if (!to) cache_clear(window); /* full, or out of memory: it begins anew */
    return to;
}

void cache_keep_come(Window *window, Subject *subject, uint32_t from, uint32_t name) {
    StepCache *cache = &window->cache;
    bool noted = cache->noting;
    cache->noting = false;
    uint32_t to = state_after(window, subject);
    if (!to) return;
    if (!noted || table_add(&cache->comes, (StepSlot){cache_from(from, name), 0, to})) subject->state = to;
    else cache_clear(window);
}

void cache_keep_leave(Window *window, Subject *subject, uint32_t from, uint32_t name, uint32_t site, uint32_t run) {
    StepCache *cache = &window->cache;
    bool noted = cache->noting;
    cache->noting = false;
    uint32_t to = state_after(window, subject);
    if (!to) return;
    uint64_t *alone = run ? &window->names[name].alone[run - 1] : &cache->nowhere;
    CachedStep step = {.alone = alone, .to = to, .name = name, .worth = (uint32_t)worth(subject->count)};
    if (!noted || add_step(cache, cache_from(from, name), site, step)) subject->state = to;
    else cache_clear(window);
}

void cache_settle(Window *window) {
    StepCache *cache = &window->cache;
    if (cache->since == window->expired) return; /* nothing has happened since */
    for (uint32_t i = 0; i < cache->step_count; i++) {
        CachedStep *step = &cache->steps[i];
        if (!step->count) continue;
        for (const Effect *effect = &cache->effects[step->effects]; effect->what != EFFECT_LAST; effect++) {
            if (effect->what == EFFECT_ENDED) ending_add(effect->pair, effect->number, effect->site, step->count);
            else if (effect->what == EFFECT_USED)
                usage_add(window, step->name, effect->hash, step->count, cache->since + step->last);
            else effect->pair->alone[effect->number] += (uint64_t)(int64_t)effect->what * step->count;
        }
        step->count = step->last = 0;
    }
    cache->since = window->expired;
}

int cache_clear(Window *window) {
    cache_settle(window);
    int failed = 0;
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++)
        if (window->subject_at[i].subject && cache_write_out(window, window->subject_at[i].subject) < 0) failed = -1;
    StepCache *cache = &window->cache;
    cache_free(cache);
    *cache = (StepCache){.credit = cache->credit, .resting = cache->resting, .rested = cache->rested, .woken = cache->woken,
                   .noting = false, .since = window->expired};
    return failed;
}

void cache_free(StepCache *cache) {
    free(cache->states);
    free(cache->state_at);
    free(cache->written);
    free(cache->steps);
    free(cache->comes.slots);
    free(cache->leaves.slots);
    free(cache->effects);
}
