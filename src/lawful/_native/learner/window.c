/* The window of the learner: which objects have events in it, and the runs and scenarios that are going on.

   Called by: learner.c (`feed`, `drain`) and the thread of stream.c, under the window's lock.
   Must match: `Window._expire` and what it calls in lawful/learning/window.py.
   Compared by: tests/learning/test_window.py, also with the oracle tests/oracle/ocd.py. */
#include "learner/learner.h"

#include <stdlib.h>
#include <string.h>

/* ---- objects in the window --------------------------------------------------------------------------------------------- */

static inline size_t scramble(uint64_t object) { return (size_t)((object * UINT64_C(0x9E3779B97F4A7C15)) >> 20); }

static bool subjects_grow(Window *window) {
    return TABLE_GROW(window->subject_at, window->subject_mask, 64, slot->subject != NULL, scramble(slot->object));
}

/* One more, and room for it in the table. */
static int subject_make(Window *window) {
    if (2 * (window->subject_count + 1) > window->subject_mask && !subjects_grow(window)) return -1;
    Subject *subject = calloc(1, sizeof *subject);
    if (subject == NULL) return -1;
    window->spare_subjects = subject;
    window->subject_count++;
    return 0;
}

static inline Subject *subject_find(const Window *window, uint64_t object) {
    for (size_t at = scramble(object);; at++) {
        const SubjectSlot *slot = &window->subject_at[at & window->subject_mask];
        if (slot->object == object || slot->subject == NULL) return slot->subject;
    }
}

/* An object that is not in the window. NULL: no memory. */
static Subject *subject_enter(Window *window, uint64_t object) {
    if (window->spare_subjects == NULL && subject_make(window) < 0) return NULL;
    Subject *subject = window->spare_subjects;
    subject->object = object;
    subject->queued = subject->trailed = 0;
    subject->count = 0;
    subject->state = window->cache.states != NULL; /* the first one */
    if (history_enter(&window->histories, object, subject) < 0) return NULL;
    window->spare_subjects = subject->next;
    subject->next = NULL;
    size_t at = scramble(object);
    while (window->subject_at[at & window->subject_mask].subject != NULL) at++;
    window->subject_at[at & window->subject_mask] = (SubjectSlot){object, subject};
    return subject;
}

/* Its last event has left the window. */
static void subject_leave(Window *window, Subject *subject) {
    SubjectSlot *slots = window->subject_at;
    size_t mask = window->subject_mask, at = scramble(subject->object) & mask;
    while (slots[at].subject != subject) at = (at + 1) & mask;
    TABLE_DROP(slots, mask, at, slot->subject != NULL, scramble(slot->object))->subject = NULL;
    subject->next = window->spare_subjects;
    window->spare_subjects = subject;
    history_rest(&window->histories, subject->history_number);
}

/* ---- its events ----------------------------------------------------------------------------------------------------------- */

static inline Scenario *scenario_of(const Subject *subject, int i, int j) {
    return &subject->scenarios[i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i];
}

static inline int local_find(const Subject *subject, uint32_t name) {
    for (int i = 0; i < subject->count; i++)
        if (subject->names[i] == name) return i;
    return -1;
}

int subject_room(Subject *subject, int count) {
    if (count <= subject->room) return 0;
    int room = subject->room ? subject->room : 4;
    while (room < count) room *= 2;
    uint32_t *names = realloc(subject->names, room * sizeof *names);
    if (names == NULL) return -1;
    subject->names = names;
    Local *locals = realloc(subject->locals, room * sizeof *locals);
    if (locals == NULL) return -1;
    subject->locals = locals;
    Scenario *scenarios = realloc(subject->scenarios, (size_t)room * (room - 1) / 2 * sizeof *scenarios);
    if (scenarios == NULL) return -1;
    subject->scenarios = scenarios;
    subject->room = room;
    return 0;
}

static int local_enter(Subject *subject, uint32_t name) {
    int found = local_find(subject, name);
    if (found >= 0) return found;
    if (subject_room(subject, subject->count + 1) < 0) return -1;
    int at = subject->count++;
    subject->names[at] = name;
    subject->locals[at] = (Local){0};
    if (at) memset(scenario_of(subject, at, 0), 0, at * sizeof(Scenario));
    return at;
}

static void local_leave(Subject *subject, int at) {
    int last = --subject->count;
    if (at == last) return;
    for (int i = 0; i < last; i++)
        if (i != at) *scenario_of(subject, at, i) = *scenario_of(subject, last, i);
    subject->names[at] = subject->names[last];
    subject->locals[at] = subject->locals[last];
}

static void scenario_over(Subject *subject, int i, int j) {
    *scenario_of(subject, i, j) = (Scenario){0};
    subject->locals[i].scenarios--;
    subject->locals[j].scenarios--;
}

static void subject_tidy(Subject *subject) {
    for (int i = subject->count - 1; i >= 0; i--)
        if (!subject->locals[i].queued && !subject->locals[i].scenarios) local_leave(subject, i);
}

/* ---- Algorithm 1 ----------------------------------------------------------------------------------------------------------- */

#define FEW_TOUCHED 64 /* events of an object in the window, for which no memory is asked for */

static inline int letter_of(uint32_t name, uint32_t other) { return name > other; }

/* Lines 3 to 8: event i leaves while event j of the same object is in the window. */
static int begin(Window *window, Subject *subject, int i, int j) {
    uint32_t mine = subject->names[i], other = subject->names[j];
    int letter = letter_of(mine, other);
    bool created = false;
    Pair *pair = pair_for(window, letter ? other : mine, letter ? mine : other, &created);
    if (pair == NULL || created) window->cache.noting = false; /* it will not be so again */
    if (pair == NULL) return window->broken ? -1 : 0;
    Scenario *scenario = scenario_of(subject, i, j);
    if (pair == &pair_pruned) {
        *scenario = (Scenario){.pair = pair};
        return 0;
    }
    if (created && window_interrupt_runs(window, pair) < 0) return -1;
    if (scenario->pair != NULL) return 0;
    *scenario = (Scenario){.pair = pair, .state = window->automaton.start};
    subject->locals[i].scenarios++;
    subject->locals[j].scenarios++;
    if (created) return 0;
    /* What has been a run of one event alone so far becomes a scenario of both. A run of event j has not begun: it would
       have met event i in the window. */
    Local *local = &subject->locals[i];
    if (local->run) {
        scenario->state = window->automaton.alone[local->run - 1][letter];
        scenario->letters = 1 << letter;
        scenario->site = local->run_site;
    }
    return 0;
}

/* Events that expired before the pair was created do not count for it. */
int window_interrupt_runs(Window *window, Pair *pair) {
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++) {
        Subject *subject = window->subject_at[i].subject;
        if (subject == NULL) continue;
        if (cache_write_out(window, subject) < 0) return -1;
        int first = local_find(subject, pair->first), second = local_find(subject, pair->second);
        if ((first < 0 || !subject->locals[first].run) && (second < 0 || !subject->locals[second].run)) continue;
        if ((first = local_enter(subject, pair->first)) < 0 || (second = local_enter(subject, pair->second)) < 0) {
            window->broken = true;
            return -1;
        }
        *scenario_of(subject, first, second) = (Scenario){.pair = pair, .state = window->automaton.start};
        subject->locals[first].scenarios++;
        subject->locals[second].scenarios++;
    }
    return 0;
}

static inline uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (value ^ (value >> 29)) * UINT64_C(0x94D049BB133111EB);
}

static inline bool is_open(const Scenario *scenario) { return scenario->pair != NULL && scenario->pair != &pair_pruned; }

/* The run of event i is over: it counts for all its pairs but those it had a scenario with. */
static void run_over(Window *window, Subject *subject, int i, Usage *usage) {
    uint32_t name = subject->names[i];
    int position = subject->locals[i].run - 1, count = 0;
    uint64_t hash = mixed(((uint64_t)subject->locals[i].run_site << 16 | (unsigned)position) + 1);
    for (int j = 0; j < subject->count; j++) {
        const Scenario *scenario = scenario_of(subject, i, j);
        if (j == i || !is_open(scenario)) continue;
        int letter = letter_of(name, subject->names[j]), at = letter * window->automaton.positions + position;
        scenario->pair->alone[at]--;
        cache_note(&window->cache, (Effect){.pair = scenario->pair, .number = (uint16_t)at, .what = -1});
        if (subject->locals[j].queued || scenario->letters & (2 >> letter)) {
            usage->touched[count++] = subject->names[j];
            hash += mixed(subject->names[j] + UINT64_C(0x100000001));
        }
    }
    Name *entry = &window->names[name];
    /* For `name_used`, which comes after the scenarios. */
    if (entry->usage_room) __builtin_prefetch(&entry->usage_at[(hash >> 32) & (2 * entry->usage_room - 1)], 1);
    entry->alone[position]++;
    usage->hash = hash;
    usage->position = (uint16_t)position;
    usage->touched_count = (uint16_t)count;
}

/* An event of a subject leaves the window. */
static int leave(Window *window, Subject *subject, Queued event) {
    const Automaton *automaton = &window->automaton;
    int failed = 0;
    uint32_t from = subject->state;
    if (from && cache_begin(window, subject) < 0) return -1;
    int i = local_find(subject, event.name);
    bool over = --subject->locals[i].queued == 0;
    size_t known = window->pair_count;
    for (int j = 0; j < subject->count; j++)
        if (j != i && subject->locals[j].queued && scenario_of(subject, i, j)->pair == NULL && begin(window, subject, i, j) < 0)
            return -1;
    if (window->pair_count > known + 1) pairs_order(window, known);
    Local *local = &subject->locals[i];
    if (local->run) {
        local->run = automaton->next[local->run - 1] + 1;
    } else {
        local->run = 1;
        local->run_site = event.site;
    }
    uint32_t run = over ? local->run : 0, run_site = local->run_site, touched[FEW_TOUCHED];
    Usage usage = {.touched = touched};
    if (over) {
        if (subject->count > FEW_TOUCHED && (usage.touched = malloc(subject->count * sizeof *touched)) == NULL) {
            window->broken = true;
            return -1;
        }
        run_over(window, subject, i, &usage);
        local->run = 0;
        local->run_site = 0;
    }
    /* Lines 9 to 26. */
    for (int j = 0; j < subject->count; j++) {
        Scenario *scenario = scenario_of(subject, i, j);
        if (j == i || !is_open(scenario)) continue;
        int letter = letter_of(event.name, subject->names[j]);
        if (!scenario->letters) scenario->site = event.site;
        scenario->letters |= 1 << letter;
        scenario->state = automaton->step[scenario->state][letter];
        if (!over || subject->locals[j].queued) continue;
        if (pair_ended(window, scenario->pair, scenario, subject, event.site) < 0) failed = -1;
        scenario_over(subject, i, j);
    }
    if (over) {
        if (name_used(window, event.name, &usage, subject, run_site, event.site) < 0) failed = -1;
        if (usage.touched != touched) free(usage.touched);
        if (failed) return -1;
    }
    if (!subject->queued) subject->count = 0;
    else if (over) subject_tidy(subject);
    if (!cache_rests(&window->cache)) cache_keep_leave(window, subject, from, event.name, event.site, run);
    return 0;
}

/* The oldest event leaves the window. */
static inline int expire(Window *window) {
    Queued event = window->queue[window->expired++ & (window->queue_room - 1)];
    Subject *subject = event.subject;
    subject->queued--;
    uint32_t *trail = subject->trail[subject->trailed++ % MOST_TRAIL];
    trail[0] = event.name;
    trail[1] = event.site;
    StepCache *cache = &window->cache;
    uint32_t known = subject->state ? cache_find(&cache->leaves, cache_from(subject->state, event.name), event.site) : 0;
    if (known) {
        CachedStep *step = &cache->steps[known - 1];
        subject->state = step->to;
        step->count++;
        step->last = (uint32_t)(window->expired - cache->since);
        ++*step->alone;
        cache->credit += step->worth;
    } else if (leave(window, subject, event) < 0) {
        return -1;
    }
    if (!subject->queued) subject_leave(window, subject);
    return 0;
}

static int queue_grow(Window *window) {
    size_t room = window->queue_room ? 2 * window->queue_room : 64;
    Queued *queue = malloc(room * sizeof *queue);
    if (queue == NULL) return -1;
    for (uint64_t i = window->expired; i < window->taken; i++)
        queue[i & (room - 1)] = window->queue[i & (window->queue_room - 1)];
    free(window->queue);
    window->queue = queue;
    window->queue_room = room;
    return 0;
}

/* An event of a subject comes into the window. */
static int come(Window *window, Subject *subject, uint32_t name) {
    uint32_t from = subject->state;
    int at;
    if (name_at(window, name) == NULL || (from && cache_begin(window, subject) < 0) || (at = local_enter(subject, name)) < 0)
        return -1;
    subject->locals[at].queued++;
    if (!cache_rests(&window->cache)) cache_keep_come(window, subject, from, name);
    return 0;
}

static inline int take(Window *window, const LearnEvent *event) {
    if (window->taken - window->expired == window->queue_room && queue_grow(window) < 0) return -1;
    Subject *subject = subject_find(window, event->object);
    if (subject == NULL && (subject = subject_enter(window, event->object)) == NULL) return -1;
    uint32_t to = subject->state ? cache_find(&window->cache.comes, cache_from(subject->state, event->name), 0) : 0;
    if (to) subject->state = to;
    else if (come(window, subject, event->name) < 0) return -1;
    subject->queued++;
    window->queue[window->taken++ & (window->queue_room - 1)] = (Queued){event->name, event->site, subject};
    if (history_take(&window->histories, subject->history, event->name, event->site, window->taken) < 0) return -1;
    return window->taken - window->expired > window->size ? expire(window) : 0;
}

int window_take(Window *window, const LearnEvent *events, size_t count, size_t seen) {
    if (window->broken) return -1;
    if (window->subject_at == NULL && !subjects_grow(window)) window->broken = true;
    for (size_t i = 0; i < count && !window->broken; i++) {
        if (i + EVENTS_AHEAD < seen && window->histories.at != NULL) {
            history_expect(&window->histories, events[i + EVENTS_AHEAD].object);
            history_expect_soon(&window->histories, events[i + EVENTS_SOON].object);
        }
        if (take(window, &events[i]) < 0) window->broken = true;
    }
    return window->broken ? -1 : 0;
}

static int shrink_to(Window *window, size_t size) {
    while (window->taken - window->expired > size)
        if (expire(window) < 0) return -1;
    return 0;
}

int window_drain(Window *window) {
    window->draining = true;
    int failed = shrink_to(window, 0);
    window->draining = false;
    if (!failed && histories_end(&window->histories) < 0) {
        window->broken = true;
        return -1;
    }
    return failed;
}

int window_resize(Window *window, size_t size) {
    window->size = size;
    return shrink_to(window, size);
}

void window_forget(Window *window, const Pair *pair) {
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++) {
        Subject *subject = window->subject_at[i].subject;
        if (subject == NULL) continue;
        int first = local_find(subject, pair->first), second = local_find(subject, pair->second);
        if (first < 0 || second < 0 || scenario_of(subject, first, second)->pair != pair) continue;
        scenario_over(subject, first, second);
        subject_tidy(subject);
    }
}

static void subject_free(Subject *subject) {
    free(subject->names);
    free(subject->locals);
    free(subject->scenarios);
    free(subject);
}

void window_free(Window *window) {
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++)
        if (window->subject_at[i].subject != NULL) subject_free(window->subject_at[i].subject);
    for (Subject *subject = window->spare_subjects, *next; subject != NULL; subject = next) {
        next = subject->next;
        subject_free(subject);
    }
    free(window->subject_at);
    free(window->queue);
    cache_free(&window->cache);
    histories_free(&window->histories);
}
