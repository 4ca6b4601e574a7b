/* The window of the learner: which objects have events in it, and the runs and scenarios that are going on. */
#include "learn.h"

#include <stdlib.h>
#include <string.h>

/* ---- objects in the window --------------------------------------------------------------------------------------------- */

static inline size_t scramble(uint64_t object) { return (size_t)((object * UINT64_C(0x9E3779B97F4A7C15)) >> 20); }

static int subjects_grow(Window *window) {
    size_t size = window->subject_at ? 2 * (window->subject_mask + 1) : 64;
    uint32_t *table = calloc(size, sizeof *table);
    if (table == NULL) return -1;
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++) {
        uint32_t number = window->subject_at[i];
        if (!number) continue;
        size_t at = scramble(window->subjects[number - 1]->object) & (size - 1);
        while (table[at]) at = (at + 1) & (size - 1);
        table[at] = number;
    }
    free(window->subject_at);
    window->subject_at = table;
    window->subject_mask = size - 1;
    return 0;
}

static int subject_new(Window *window, uint64_t object, uint32_t *number) {
    if (!window->spare_count) {
        if (window->subject_count == window->subject_room) {
            uint32_t room = window->subject_room ? 2 * window->subject_room : 32;
            Subject **subjects = realloc(window->subjects, room * sizeof *subjects);
            if (subjects == NULL) return -1;
            window->subjects = subjects;
            uint32_t *spare = realloc(window->spare_subjects, room * sizeof *spare);
            if (spare == NULL) return -1;
            window->spare_subjects = spare;
            window->subject_room = room;
        }
        Subject *subject = calloc(1, sizeof *subject);
        if (subject == NULL) return -1;
        window->spare_subjects[window->spare_count++] = window->subject_count;
        window->subjects[window->subject_count++] = subject;
    }
    *number = window->spare_subjects[--window->spare_count];
    Subject *subject = window->subjects[*number];
    subject->object = object;
    subject->queued = subject->trailed = 0;
    subject->count = 0;
    subject->state = window->memo.states != NULL; /* the first one */
    return life_enter(&window->lives, object, &subject->life);
}

/* The object's number, which it has as long as some event of it is in the window. */
static int subject_enter(Window *window, uint64_t object, uint32_t *number) {
    if ((window->subject_at == NULL || 2 * (window->subject_count + 1) > window->subject_mask) && subjects_grow(window) < 0)
        return -1;
    size_t at = scramble(object) & window->subject_mask;
    for (uint32_t found; (found = window->subject_at[at]); at = (at + 1) & window->subject_mask)
        if (window->subjects[found - 1]->object == object) {
            *number = found - 1;
            return 0;
        }
    if (subject_new(window, object, number) < 0) return -1;
    window->subject_at[at] = *number + 1;
    return 0;
}

static void subject_leave(Window *window, uint32_t number) {
    size_t mask = window->subject_mask, at = scramble(window->subjects[number]->object) & mask;
    while (window->subject_at[at] != number + 1) at = (at + 1) & mask;
    for (size_t next = (at + 1) & mask; window->subject_at[next]; next = (next + 1) & mask) {
        size_t home = scramble(window->subjects[window->subject_at[next] - 1]->object) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            window->subject_at[at] = window->subject_at[next];
            at = next;
        }
    }
    window->subject_at[at] = 0;
    window->spare_subjects[window->spare_count++] = number;
}

/* ---- its events ----------------------------------------------------------------------------------------------------------- */

static inline Scenario *scenario_of(const Subject *subject, int i, int j) {
    return &subject->scenarios[i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i];
}

/* The place of the scenario of i and the next j, if that of i and j is at `at`; that of i and 0 is at `row(i)`. */
static inline int row(int i) { return i * (i - 1) / 2; }
static inline int after(int at, int i, int j) { return at + (j < i ? 1 : j); }

static inline int find_name(const uint32_t *names, int count, uint32_t name) {
    for (int i = 0; i < count; i++)
        if (names[i] == name) return i;
    return -1;
}

static inline int local_find(const Subject *subject, uint32_t name) { return find_name(subject->names, subject->count, name); }

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
    if (pair == NULL || created) window->memo.noting = false; /* it will not be so again */
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

/* Events that expired before there was the pair do not count for it. */
int window_interrupt_runs(Window *window, Pair *pair) {
    for (size_t i = 0; window->subject_at && i <= window->subject_mask; i++) {
        if (!window->subject_at[i]) continue;
        Subject *subject = window->subjects[window->subject_at[i] - 1];
        const uint32_t *names;
        const Local *locals;
        int count = memo_locals(window, subject, &names, &locals);
        int first = find_name(names, count, pair->first), second = find_name(names, count, pair->second);
        if ((first < 0 || !locals[first].run) && (second < 0 || !locals[second].run)) continue;
        if (memo_write_out(window, subject) < 0 || (first = local_enter(subject, pair->first)) < 0 ||
            (second = local_enter(subject, pair->second)) < 0) {
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
    for (int j = 0, place = row(i); j < subject->count; place = after(place, i, j++)) {
        const Scenario *scenario = &subject->scenarios[place];
        if (j == i || !is_open(scenario)) continue;
        int letter = letter_of(name, subject->names[j]), at = letter * window->automaton.positions + position;
        scenario->pair->alone[at]--;
        memo_note(&window->memo, (Effect){.pair = scenario->pair, .number = (uint16_t)at, .what = -1});
        if (subject->locals[j].queued || scenario->letters & (2 >> letter)) {
            usage->touched[count++] = subject->names[j];
            hash += mixed(subject->names[j] + UINT64_C(0x100000001));
        }
    }
    Name *entry = &window->names[name];
    name_expect(entry, hash);
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
    if (from && memo_begin(window, subject) < 0) return -1;
    int i = local_find(subject, event.name);
    bool over = --subject->locals[i].queued == 0;
    size_t known = window->pair_count;
    for (int j = 0, place = row(i); j < subject->count; place = after(place, i, j++))
        if (j != i && subject->locals[j].queued && subject->scenarios[place].pair == NULL && begin(window, subject, i, j) < 0)
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
    for (int j = 0, place = row(i); j < subject->count; place = after(place, i, j++)) {
        Scenario *scenario = &subject->scenarios[place];
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
        /* Only now: what it needs has come into the cache. */
        if (name_used(window, event.name, &usage, subject, run_site, event.site) < 0) failed = -1;
        if (usage.touched != touched) free(usage.touched);
        if (failed) return -1;
    }
    if (!subject->queued) subject->count = 0;
    else if (over) subject_tidy(subject);
    if (!memo_rests(&window->memo)) memo_keep(window, subject, 2 * from + 1, event.name, event.site, run);
    return 0;
}

/* The oldest event leaves the window. */
static int expire(Window *window) {
    Queued event = window->queue[window->queue_head];
    if (++window->queue_head == window->queue_room) window->queue_head = 0;
    window->queue_count--;
    window->expired++;
    Subject *subject = window->subjects[event.subject];
    subject->queued--;
    uint32_t *trail = subject->trail[subject->trailed++ % MOST_TRAIL];
    trail[0] = event.name;
    trail[1] = event.site;
    WindowMemo *memo = &window->memo;
    MemoStep *step = subject->state ? memo_find(memo, 2 * subject->state + 1, event.name, event.site) : NULL;
    if (step != NULL) {
        subject->state = step->to;
        step->count++;
        step->last = (uint32_t)(window->expired - memo->since);
        if (step->run) window->names[event.name].alone[step->run - 1]++;
        memo_used(memo, step);
    } else if (leave(window, subject, event) < 0) {
        return -1;
    }
    if (!subject->queued) {
        subject_leave(window, event.subject);
        life_rest(&window->lives, subject->life);
    }
    return 0;
}

static int queue_grow(Window *window) {
    size_t room = window->queue_room ? 2 * window->queue_room : 64;
    Queued *queue = malloc(room * sizeof *queue);
    if (queue == NULL) return -1;
    for (size_t i = 0; i < window->queue_count; i++)
        queue[i] = window->queue[(window->queue_head + i) % window->queue_room];
    free(window->queue);
    window->queue = queue;
    window->queue_room = room;
    window->queue_head = 0;
    return 0;
}

/* An event of a subject comes into the window. */
static int come(Window *window, Subject *subject, uint32_t name) {
    uint32_t from = subject->state;
    int at;
    if ((from && memo_begin(window, subject) < 0) || (at = local_enter(subject, name)) < 0) return -1;
    subject->locals[at].queued++;
    if (!memo_rests(&window->memo)) memo_keep(window, subject, 2 * from, name, 0, 0);
    return 0;
}

int window_take(Window *window, LearnEvent event) {
    uint32_t number;
    if (window->broken) return -1;
    if ((window->queue_count == window->queue_room && queue_grow(window) < 0) || name_at(window, event.name) == NULL ||
        subject_enter(window, event.object, &number) < 0) {
        window->broken = true;
        return -1;
    }
    Subject *subject = window->subjects[number];
    MemoStep *step = subject->state ? memo_find(&window->memo, 2 * subject->state, event.name, 0) : NULL;
    if (step != NULL) {
        subject->state = step->to;
        memo_used(&window->memo, step);
    } else if (come(window, subject, event.name) < 0) {
        window->broken = true;
        return -1;
    }
    if (life_take(&window->lives, subject->life, event.name, event.site, window->taken + 1) < 0) {
        window->broken = true;
        return -1;
    }
    subject->queued++;
    size_t end = window->queue_head + window->queue_count++;
    window->queue[end < window->queue_room ? end : end - window->queue_room] = (Queued){event.name, event.site, number};
    window->taken++;
    return window->queue_count > window->size ? expire(window) : 0;
}

static int shrink_to(Window *window, size_t size) {
    while (window->queue_count > size)
        if (expire(window) < 0) return -1;
    return 0;
}

int window_drain(Window *window) {
    window->draining = true;
    int failed = shrink_to(window, 0);
    window->draining = false;
    if (!failed && lives_end(&window->lives) < 0) {
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
        if (!window->subject_at[i]) continue;
        Subject *subject = window->subjects[window->subject_at[i] - 1];
        int first = local_find(subject, pair->first), second = local_find(subject, pair->second);
        if (first < 0 || second < 0 || scenario_of(subject, first, second)->pair != pair) continue;
        scenario_over(subject, first, second);
        subject_tidy(subject);
    }
}

void window_free(Window *window) {
    for (uint32_t i = 0; i < window->subject_count; i++) {
        free(window->subjects[i]->names);
        free(window->subjects[i]->locals);
        free(window->subjects[i]->scenarios);
        free(window->subjects[i]);
    }
    free(window->subjects);
    free(window->spare_subjects);
    free(window->subject_at);
    free(window->queue);
    memo_free(&window->memo);
    lives_free(&window->lives);
}
