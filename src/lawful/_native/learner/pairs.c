/* Pairs of events, how their scenarios ended, and examples of that.

   Called by: window.c when runs and scenarios end, step_cache.c to add what it has counted, survey.c and learner.c to read.
   Must match: `_Pair`, `_Usage` and what counts them in lawful/learning/window.py.
   Compared by: tests/learning/test_window.py. */
#include "learner/learner.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

Pair pair_pruned;

static int no_memory(Window *window) {
    window->broken = true;
    return -1;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

Name *name_make(Window *window, uint32_t number) {
    if (number >= window->name_count) {
        uint32_t count = number + 1 > 2 * window->name_count ? number + 1 : 2 * window->name_count;
        Name *names = realloc(window->names, count * sizeof *names);
        if (names == NULL) return NULL;
        memset(names + window->name_count, 0, (count - window->name_count) * sizeof *names);
        window->names = names;
        window->name_count = count;
    }
    Name *name = &window->names[number];
    if (name->alone == NULL) name->alone = calloc(window->automaton.positions, sizeof *name->alone);
    return name->alone ? name : NULL;
}

/* ---- examples -------------------------------------------------------------------------------------------------------------- */

static uint32_t trail_keep(Window *window, const Subject *subject) {
    uint32_t number = window->trail_spare;
    if (number) {
        window->trail_spare = window->trails[number - 1].events[0][0];
    } else {
        if (window->trail_count == MOST_TRAILS || !HAS_ROOM(window->trails, window->trail_count, window->trail_room, 64)) return 0;
        number = ++window->trail_count;
    }
    Trail *trail = &window->trails[number - 1];
    trail->count = subject->trailed < MOST_TRAIL ? subject->trailed : MOST_TRAIL;
    for (uint32_t i = 0; i < trail->count; i++) {
        const uint32_t *event = subject->trail[(subject->trailed - trail->count + i) % MOST_TRAIL];
        trail->events[i][0] = event[0];
        trail->events[i][1] = event[1];
    }
    return number;
}

static void trail_drop(Window *window, uint32_t number) {
    if (!number) return;
    window->trails[number - 1].events[0][0] = window->trail_spare;
    window->trail_spare = number;
}

static Example example_of(Window *window, const Subject *subject, uint32_t site, uint32_t last_site) {
    return (Example){.object = subject->object, .seq = window->expired, .count = 1, .site = site, .last_site = last_site,
                     .at_end = window->draining, .trail = trail_keep(window, subject)};
}

/* ---- runs of one event -------------------------------------------------------------------------------------------------------- */

static UsageSpot *spot_of(const Name *name, uint64_t hash) {
    size_t at = hash >> 32, mask = 2 * name->usage_room - 1;
    while (name->usage_at[at & mask].number && name->usage_at[at & mask].hash != hash) at++;
    return &name->usage_at[at & mask];
}

static int usages_grow(Name *name) {
    uint16_t room = name->usage_room ? 2 * name->usage_room : 4, before = name->usage_room;
    UsageSpot *old = name->usage_at, *table = aligned_alloc(LINE, 2 * room * sizeof *table);
    Usage *usages = realloc(name->usages, room * sizeof *usages);
    if (usages != NULL) name->usages = usages;
    if (usages == NULL || table == NULL) {
        free(table);
        return -1;
    }
    memset(table, 0, 2 * room * sizeof *table);
    name->usage_at = table;
    name->usage_room = room;
    for (int i = 0; i < 2 * before; i++)
        if (old[i].number) *spot_of(name, old[i].hash) = old[i];
    free(old);
    return 0;
}

void usages_settle(Window *window, uint32_t number) {
    Name *name = &window->names[number];
    if (!name->unsettled) return;
    name->unsettled = false;
    for (int i = 0; i < 2 * name->usage_room; i++) {
        const UsageSpot *spot = &name->usage_at[i];
        if (!spot->number) continue;
        name->usages[spot->number - 1].last = spot->last;
        name->usages[spot->number - 1].example.count = spot->count;
    }
}

/* Notes a run. The usage has its hash, position and touched events. */
int name_used(Window *window, uint32_t number, const Usage *usage, const Subject *subject, uint32_t site,
              uint32_t last_site) {
    Name *name = &window->names[number];
    UsageSpot *spot = name->usage_room ? spot_of(name, usage->hash) : NULL;
    if (spot != NULL && spot->number) {
        spot->last = window->expired;
        spot->count++;
        name->unsettled = true;
        cache_note(&window->cache, (Effect){.hash = usage->hash, .what = EFFECT_USED});
        return 0;
    }
    if (name->usage_count >= (window->usage_count < ALL_USAGES ? MOST_USAGES : FEW_USAGES)) return 0;
    if (name->usage_count == name->usage_room) {
        if (usages_grow(name) < 0) return no_memory(window);
        spot = spot_of(name, usage->hash);
    }
    uint32_t *touched = malloc((usage->touched_count + 1) * sizeof *touched);
    if (touched == NULL) return no_memory(window);
    memcpy(touched, usage->touched, usage->touched_count * sizeof *touched);
    Usage *made = &name->usages[name->usage_count];
    *made = *usage;
    made->touched = touched;
    made->first = made->last = window->expired;
    made->example = example_of(window, subject, site, last_site);
    window->usage_count++;
    *spot = (UsageSpot){.hash = usage->hash, .last = window->expired, .count = 1, .number = ++name->usage_count};
    cache_note(&window->cache, (Effect){.hash = usage->hash, .what = EFFECT_USED});
    return 0;
}

void usage_add(Window *window, uint32_t number, uint64_t hash, uint64_t count, uint64_t last) {
    Name *name = &window->names[number];
    UsageSpot *spot = spot_of(name, hash);
    spot->count += count;
    if (spot->last < last) spot->last = last;
    name->unsettled = true;
}

bool usage_touched(const Usage *usage, uint32_t name) {
    for (int i = 0; i < usage->touched_count; i++)
        if (usage->touched[i] == name) return true;
    return false;
}

/* ---- pairs -------------------------------------------------------------------------------------------------------------------- */

static inline uint64_t key_of(uint32_t first, uint32_t second) { return (uint64_t)first << 32 | second; }

static inline size_t home_of(uint64_t key) { return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 16); }

static PairSlot *slot_of(const Window *window, uint64_t key) {
    size_t at = home_of(key) & window->pair_mask;
    while (window->pair_at[at].pair != NULL && window->pair_at[at].key != key) at = (at + 1) & window->pair_mask;
    return &window->pair_at[at];
}

Pair *pair_find(Window *window, uint32_t first, uint32_t second) {
    return window->pair_at == NULL ? NULL : slot_of(window, key_of(first, second))->pair;
}

static void slot_drop(Window *window, PairSlot *dropped) {
    size_t at = (size_t)(dropped - window->pair_at);
    TABLE_DROP(window->pair_at, window->pair_mask, at, slot->pair != NULL, home_of(slot->key))->pair = NULL;
    window->pair_used--;
}

/* Pruned pairs stay pruned, and may become most of all possible pairs: each takes one bit. */
static inline uint64_t block_of(uint32_t first, uint32_t second) { return key_of(first / 64, second); }

static PrunedBlock *block_at(const Window *window, uint64_t key) {
    size_t at = home_of(key) & window->pruned_mask;
    while (window->pruned_at[at].bits && window->pruned_at[at].key != key) at = (at + 1) & window->pruned_mask;
    return &window->pruned_at[at];
}

static bool is_pruned(const Window *window, uint32_t first, uint32_t second) {
    return window->pruned_at != NULL && block_at(window, block_of(first, second))->bits >> first % 64 & 1;
}

static int note_pruned(Window *window, uint32_t first, uint32_t second) {
    if (2 * (window->pruned_used + 1) > window->pruned_mask &&
        !TABLE_GROW(window->pruned_at, window->pruned_mask, 64, slot->bits, home_of(slot->key)))
        return -1;
    uint64_t key = block_of(first, second);
    PrunedBlock *block = block_at(window, key);
    window->pruned_used += !block->bits;
    block->key = key;
    block->bits |= UINT64_C(1) << first % 64;
    return 0;
}

static Pair *pair_new(Window *window, uint32_t first, uint32_t second) {
    int positions = window->automaton.positions;
    if (!HAS_ROOM(window->pairs, window->pair_count, window->pair_room, 256)) return NULL;
    Name *larger = name_at(window, second), *smaller = name_at(window, first);
    size_t size = (offsetof(Pair, alone) + 2 * positions * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
    Pair *pair = aligned_alloc(LINE, size);
    if (larger == NULL || smaller == NULL || pair == NULL) {
        free(pair);
        return NULL;
    }
    memset(pair, 0, size);
    pair->first = first;
    pair->second = second;
    pair->created = window->expired;
    for (int i = 0; i < positions; i++) {
        pair->alone[i] = -window->names[first].alone[i];
        pair->alone[positions + i] = -window->names[second].alone[i];
    }
    window->pairs[window->pair_count++] = pair;
    return pair;
}

Pair *pair_for(Window *window, uint32_t first, uint32_t second, bool *created) {
    if (5 * window->pair_used >= 3 * window->pair_mask &&
        !TABLE_GROW(window->pair_at, window->pair_mask, 256, slot->pair != NULL, home_of(slot->key))) {
        no_memory(window);
        return NULL;
    }
    PairSlot *slot = slot_of(window, key_of(first, second));
    if (slot->pair != NULL) return slot->pair;
    if (is_pruned(window, first, second)) return &pair_pruned;
    if (window->most_pairs && window->pair_count >= window->most_pairs) {
        window->given_up++;
        return NULL;
    }
    Pair *pair = pair_new(window, first, second);
    if (pair == NULL) {
        no_memory(window);
        return NULL;
    }
    *slot = (PairSlot){key_of(first, second), pair};
    window->pair_used++;
    *created = true;
    return pair;
}

static int compare(const void *one, const void *other) {
    const Pair *left = *(Pair *const *)one, *right = *(Pair *const *)other;
    uint64_t mine = key_of(left->first, left->second), theirs = key_of(right->first, right->second);
    return (mine > theirs) - (mine < theirs);
}

void pairs_order(Window *window, size_t from) {
    qsort(window->pairs + from, window->pair_count - from, sizeof *window->pairs, compare);
}

static void pair_free(Window *window, Pair *pair) {
    for (int i = 0; i < pair->ending_count; i++) {
        for (int j = 0; j < pair->endings[i].example_count; j++) trail_drop(window, pair->endings[i].examples[j].trail);
        free(pair->endings[i].examples);
    }
    free(pair->endings);
    free(pair->contexts);
    free(pair->remembered);
    free(pair);
}

/* Forgets a pair for good. The caller closes the gap in the list. */
int pair_prune(Window *window, size_t index) {
    Pair *pair = window->pairs[index];
    if ((window->cache.states != NULL && cache_clear(window) < 0) || note_pruned(window, pair->first, pair->second) < 0)
        return no_memory(window);
    window_forget(window, pair);
    slot_drop(window, slot_of(window, key_of(pair->first, pair->second)));
    window->pairs[index] = NULL;
    window->pruned++;
    pair_free(window, pair);
    return 0;
}

int pair_context(Pair *pair, uint32_t site, uint64_t satisfied) {
    if (!satisfied) return 0;
    for (int i = 0; i < pair->context_count; i++)
        if (pair->contexts[i].site == site) {
            pair->contexts[i].satisfied |= satisfied;
            return 0;
        }
    if (pair->context_count == MOST_CONTEXTS) return 0;
    if (!HAS_ROOM(pair->contexts, pair->context_count, pair->context_room, 1)) return -1;
    pair->contexts[pair->context_count++] = (Context){satisfied, site};
    return 0;
}

static void settle_recent(Ending *ending, int at) {
    for (int i = 0; i < ending->example_count && ending->recent_count[at] > 1; i++)
        if (ending->examples[i].site == ending->recent_site[at]) {
            ending->examples[i].count += ending->recent_count[at] - 1;
            break;
        }
    if (ending->recent_count[at]) ending->recent_count[at] = 1;
}

void ending_settle(Ending *ending) {
    for (int i = 0; i < RECENT_SITES; i++) settle_recent(ending, i);
}

void ending_add(Pair *pair, int kind, uint32_t site, uint64_t count) {
    for (int i = 0; i < pair->ending_count; i++) {
        Ending *ending = &pair->endings[i];
        if (ending->kind != kind) continue;
        ending->count += count;
        for (int j = 0; j < ending->example_count; j++)
            if (ending->examples[j].site == site) ending->examples[j].count += count;
    }
}

/* A scenario that began at a place which is not among the recent ones. */
static int ending_at_site(Window *window, Pair *pair, Ending *ending, const Subject *subject, uint32_t site,
                          uint32_t last_site) {
    int recent = site % RECENT_SITES;
    settle_recent(ending, recent);
    ending->recent_site[recent] = site;
    ending->recent_count[recent] = 1;
    if (pair_context(pair, site, window->automaton.satisfied[ending->kind]) < 0) return -1;
    for (int i = 0; i < ending->example_count; i++)
        if (ending->examples[i].site == site) {
            ending->examples[i].count++;
            return 0;
        }
    if (ending->example_count >= (window->example_count < ALL_EXAMPLES ? MOST_EXAMPLES : FEW_EXAMPLES)) return 0;
    Example *examples = realloc(ending->examples, (ending->example_count + 1) * sizeof *examples);
    if (examples == NULL) return -1;
    ending->examples = examples;
    examples[ending->example_count++] = example_of(window, subject, site, last_site);
    window->example_count++;
    return 0;
}

/* The index of the endings of a kind, which are added if they are new. */
static int ending_of(Window *window, Pair *pair, int kind) {
    int at = 0;
    if (kind < FEW_KINDS && pair->ending_at[kind]) return pair->ending_at[kind] - 1;
    while (at < pair->ending_count && pair->endings[at].kind != kind) at++;
    if (at == pair->ending_count) {
        if (!HAS_ROOM(pair->endings, at, pair->ending_room, 1)) return -1;
        pair->endings[pair->ending_count++] = (Ending){.kind = kind, .first = window->expired};
        if (kind < FEW_KINDS && at < UINT8_MAX) pair->ending_at[kind] = at + 1;
    }
    return at;
}

int pair_ended(Window *window, Pair *pair, const Scenario *scenario, const Subject *subject, uint32_t last_site) {
    const Automaton *automaton = &window->automaton;
    int kind = automaton->kind[scenario->state];
    if (scenario->letters != 3) {
        int letter = scenario->letters >> 1, at = letter * automaton->positions + automaton->alone_at[kind][letter];
        pair->alone[at]++;
        cache_note(&window->cache, (Effect){.pair = pair, .number = (uint16_t)at, .what = 1});
        return 0;
    }
    cache_note(&window->cache, (Effect){.pair = pair, .site = scenario->site, .number = (uint16_t)kind, .what = EFFECT_ENDED});
    int at = ending_of(window, pair, kind);
    if (at < 0) return no_memory(window);
    Ending *ending = &pair->endings[at];
    ending->count++;
    int recent = scenario->site % RECENT_SITES;
    if (ending->recent_site[recent] == scenario->site && ending->recent_count[recent] &&
        ending->recent_count[recent] < UINT32_MAX) {
        ending->recent_count[recent]++;
        return 0;
    }
    if (ending_at_site(window, pair, ending, subject, scenario->site, last_site) < 0) return no_memory(window);
    return 0;
}

void pair_counts(Window *window, const Pair *pair) {
    const Automaton *automaton = &window->automaton;
    uint64_t *by_kind = window->by_kind;
    if (pair->remembered) memcpy(by_kind, pair->remembered, automaton->kinds * sizeof *by_kind);
    else memset(by_kind, 0, automaton->kinds * sizeof *by_kind);
    for (int i = 0; i < pair->ending_count; i++) by_kind[pair->endings[i].kind] += pair->endings[i].count;
    for (int letter = 0; letter < 2; letter++) {
        const Name *name = &window->names[letter ? pair->second : pair->first];
        for (int i = 0; i < automaton->positions; i++)
            by_kind[alone_kind(automaton, letter, i)] += pair->alone[letter * automaton->positions + i] + name->alone[i];
    }
}

void pairs_free(Window *window) {
    for (size_t i = 0; i < window->pair_count; i++) pair_free(window, window->pairs[i]);
    for (uint32_t i = 0; i < window->name_count; i++) {
        for (int j = 0; j < window->names[i].usage_count; j++) free(window->names[i].usages[j].touched);
        free(window->names[i].usages);
        free(window->names[i].usage_at);
        free(window->names[i].alone);
    }
    free(window->names);
    free(window->pairs);
    free(window->pair_at);
    free(window->pruned_at);
    free(window->trails);
}
