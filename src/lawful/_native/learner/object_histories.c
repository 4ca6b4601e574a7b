/* Whole lives of objects: which events each one met, and in which order the first and the last ones of each name came,
   however far apart. The Python twin is lawful/learning/object_histories.py.

   A life begins with an object's first event and ends with the stream. So that memory has a bound, lives of objects that
   have not been in the window for long end earlier, if there are too many. */
#include "learner/learner.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t mixed(uint64_t value) {
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ (value >> 29);
}

/* ---- those that go on ----------------------------------------------------------------------------------------------------- */

static int table_grow(Lives *lives) {
    size_t size = lives->at ? 2 * (lives->mask + 1) : 64;
    Lives larger = {.at = calloc(size, sizeof *larger.at), .mask = size - 1};
    if (larger.at == NULL) return -1;
    for (size_t i = 0; lives->at && i <= lives->mask; i++) {
        if (!lives->at[i].number) continue;
        size_t at = life_home(&larger, lives->at[i].tag);
        while (larger.at[at].number) at = (at + 1) & larger.mask;
        larger.at[at] = lives->at[i];
    }
    free(lives->at);
    lives->at = larger.at;
    lives->mask = larger.mask;
    return 0;
}

static void table_drop(Lives *lives, uint32_t number) {
    size_t mask = lives->mask, at = life_home(lives, (uint32_t)life_at(lives, number)->object);
    while (lives->at[at].number != number + 1) at = (at + 1) & mask;
    for (size_t next = (at + 1) & mask; lives->at[next].number; next = (next + 1) & mask) {
        size_t home = life_home(lives, lives->at[next].tag);
        if (((next - home) & mask) >= ((next - at) & mask)) {
            lives->at[at] = lives->at[next];
            at = next;
        }
    }
    lives->at[at].number = 0;
}

static int life_end(Lives *lives, uint32_t number);

/* Those after the hand may be in turn soon. */
static inline void expect_next(const Lives *lives) {
    if (lives->hand + EVENTS_AHEAD >= lives->count) return;
    const char *life = (const char *)life_at(lives, lives->hand + EVENTS_AHEAD);
    __builtin_prefetch(life, 1);
    __builtin_prefetch(life + LINE, 1);
    __builtin_prefetch(&lives->at[life_home(lives, (uint32_t)life_at(lives, lives->hand + EVENTS_SOON)->object)], 1);
}

/* Lives are looked at in turn. What has not been in the window since it was last looked at is over. */
static int make_room(Lives *lives) {
    for (uint64_t i = 0; i < 2 * (uint64_t)lives->count; i++) {
        if (++lives->hand >= lives->count) lives->hand = 0;
        uint8_t *flags = &lives->flags[lives->hand];
        if (!(*flags & LIFE_USED) || *flags & LIFE_AWAKE) continue;
        if (!(*flags & LIFE_TOUCHED)) {
            expect_next(lives);
            table_drop(lives, lives->hand);
            return life_end(lives, lives->hand);
        }
        *flags &= ~LIFE_TOUCHED;
    }
    return 0; /* all of them are in the window */
}

/* Another block: those that there are stay where they are. */
static int lives_grow(Lives *lives) {
    uint32_t block = lives->room / LIFE_BLOCK;
    Life **blocks = realloc(lives->blocks, (block + 1) * sizeof *blocks);
    if (blocks == NULL) return -1;
    lives->blocks = blocks;
    uint8_t *flags = realloc(lives->flags, lives->room + LIFE_BLOCK);
    if (flags == NULL) return -1;
    lives->flags = flags;
    if ((blocks[block] = aligned_alloc(LINE, LIFE_BLOCK * sizeof(Life))) == NULL) return -1;
    lives->room += LIFE_BLOCK;
    return 0;
}

int life_enter(Lives *lives, uint64_t object, Subject *subject) {
    if ((lives->at == NULL || 2 * (size_t)(lives->used + 1) > lives->mask) && table_grow(lives) < 0) return -1;
    uint32_t tag = (uint32_t)object;
    size_t at = life_home(lives, tag);
    for (uint32_t found; (found = lives->at[at].number); at = (at + 1) & lives->mask)
        if (lives->at[at].tag == tag && life_at(lives, found - 1)->object == object) {
            subject->life_number = found - 1;
            subject->life = life_at(lives, found - 1);
            lives->flags[found - 1] |= LIFE_AWAKE | LIFE_TOUCHED;
            return 0;
        }
    if (lives->used >= MOST_LIVES) {
        if (make_room(lives) < 0) return -1;
        for (at = life_home(lives, tag); lives->at[at].number;) at = (at + 1) & lives->mask;
    }
    if (!lives->spare) {
        if (lives->count == lives->room && lives_grow(lives) < 0) return -1;
        life_at(lives, lives->count)->object = 0;
        lives->spare = ++lives->count;
    }
    uint32_t number = subject->life_number = lives->spare - 1;
    Life *life = subject->life = life_at(lives, number);
    lives->spare = (uint32_t)life->object;
    memset(life, 0, offsetof(Life, inline_events));
    life->object = object;
    life->list = life->inline_events;
    life->room = INLINE_LIFE_EVENTS;
    life->inline_events[0].name = NO_NAME; /* that is where all hints lead */
    lives->flags[number] = LIFE_USED | LIFE_AWAKE | LIFE_TOUCHED;
    lives->at[at] = (LifeSlot){number + 1, tag};
    lives->used++;
    return 0;
}

static void list_free(Life *life) {
    if (life->list != life->inline_events) free(life->list);
    life->list = life->inline_events;
}

static int enrich(Lives *lives, Life *life) {
    lives->events -= life->count > FEW_LIFE_EVENTS ? life->count : 0;
    list_free(life);
    memset(life->hints, 0, sizeof life->hints);
    life->inline_events[0].name = NO_NAME;
    life->rich = true;
    return 0;
}

/* An event that is new to a life. -1: no memory. */
static int add_kind(Lives *lives, Life *life, LifeEvent event) {
    if (life->count >= FEW_LIFE_EVENTS) {
        if (life->count == MOST_LIFE_EVENTS || lives->events >= ALL_LIFE_EVENTS) return enrich(lives, life);
        lives->events += life->count == FEW_LIFE_EVENTS ? FEW_LIFE_EVENTS + 1 : 1;
    }
    if (life->count == life->room) {
        int room = life->count + (life->count < 16 ? 4 : 8); /* there may be many lives: none has much that it does not need */
        bool own = life->list != life->inline_events;
        LifeEvent *list = realloc(own ? life->list : NULL, room * sizeof *list);
        if (list == NULL) return -1;
        if (!own) memcpy(list, life->inline_events, sizeof life->inline_events);
        life->list = list;
        life->room = (uint8_t)room;
    }
    life->hints[event.name % LIFE_HINTS] = life->count;
    life->list[life->count++] = event;
    return 0;
}

/* It is not where the hint leads. */
int life_take_new(Lives *lives, Life *life, uint32_t name, uint32_t site) {
    if (life->rich) return 0;
    uint32_t now = life->events;
    int kind = 0;
    while (kind < life->count && life->list[kind].name != name) kind++;
    if (kind == life->count) return add_kind(lives, life, (LifeEvent){name, now, now, {site, site}});
    life->hints[name % LIFE_HINTS] = (uint8_t)kind;
    life->list[kind].last = now;
    life->list[kind].sites[1] = site;
    return 0;
}

/* ---- those that are over --------------------------------------------------------------------------------------------------- */

static uint64_t order_of(const Life *life, const LifeEvent *events, uint32_t *order) {
    /* The first ones are in order; the last ones are put into theirs. */
    uint8_t lasts[MOST_LIFE_EVENTS];
    for (int i = 0; i < life->count; i++) {
        int at = i;
        for (; at && events[lasts[at - 1]].last > events[i].last; at--) lasts[at] = lasts[at - 1];
        lasts[at] = (uint8_t)i;
    }
    uint64_t hash = 0;
    for (int i = 0, j = 0, n = 0; j < life->count; n++) {
        const LifeEvent *last = &events[lasts[j]];
        if (i < life->count && events[i].first <= last->last) {
            order[n] = 2 * events[i++].name;
        } else {
            order[n] = 2 * last->name + 1;
            j++;
        }
        hash = mixed(hash ^ order[n]);
    }
    return hash;
}

static int ways_grow(Lives *lives) {
    uint32_t room = lives->way_room ? 2 * lives->way_room : 64;
    LifeWay *ways = realloc(lives->ways, room * sizeof *ways);
    if (ways == NULL) return -1;
    lives->ways = ways;
    uint32_t *table = calloc(2 * room, sizeof *table);
    if (table == NULL) return -1;
    for (uint32_t i = 0; i < lives->way_count; i++) {
        size_t at = ways[i].hash & (2 * room - 1);
        while (table[at]) at = (at + 1) & (2 * room - 1);
        table[at] = i + 1;
    }
    free(lives->way_at);
    lives->way_at = table;
    lives->way_mask = 2 * room - 1;
    lives->way_room = room;
    return 0;
}

/* NULL: there are too many, or `*failed`. */
static LifeWay *way_for(Lives *lives, const uint32_t *order, int names, uint64_t hash, bool *failed) {
    size_t size = 2 * names * sizeof *order;
    if (lives->way_count == lives->way_room && lives->way_count < MOST_WAYS && ways_grow(lives) < 0) {
        *failed = true;
        return NULL;
    }
    size_t at = hash & lives->way_mask;
    for (uint32_t found; (found = lives->way_at[at]); at = (at + 1) & lives->way_mask) {
        LifeWay *way = &lives->ways[found - 1];
        if (way->hash == hash && way->names == names && memcmp(way->order, order, size) == 0) return way;
    }
    if (lives->way_count == MOST_WAYS) return NULL;
    uint32_t *copy = malloc(size);
    if (copy == NULL) {
        *failed = true;
        return NULL;
    }
    LifeWay *way = &lives->ways[lives->way_count++];
    *way = (LifeWay){.hash = hash, .order = memcpy(copy, order, size), .names = (uint8_t)names};
    lives->way_at[at] = lives->way_count;
    return way;
}

static int way_example(Lives *lives, LifeWay *way, const Life *life, const LifeEvent *events) {
    uint32_t sites[2 * MOST_LIFE_EVENTS];
    size_t size = 2 * way->names * sizeof *sites;
    uint64_t hash = 0;
    for (int i = 0; i < life->count; i++) {
        memcpy(&sites[2 * i], events[i].sites, sizeof events[i].sites);
        hash = mixed(hash ^ ((uint64_t)sites[2 * i] << 32 | sites[2 * i + 1]));
    }
    for (int i = 0; i < way->example_count; i++)
        if (way->examples[i].hash == hash) {
            way->examples[i].count++;
            return 0;
        }
    if (way->example_count >= (lives->sites < ALL_LIFE_SITES ? MOST_LIFE_EXAMPLES : 1)) return 0;
    if (way->example_count == way->example_room) {
        int room = way->example_room ? 2 * way->example_room : 1;
        LifeExample *examples = realloc(way->examples, room * sizeof *examples);
        if (examples == NULL) return -1;
        way->examples = examples;
        way->example_room = (uint8_t)room;
    }
    uint32_t *copy = malloc(size);
    if (copy == NULL) return -1;
    way->examples[way->example_count++] =
        (LifeExample){.object = life->object, .seq = life->seq, .count = 1, .hash = hash, .sites = memcpy(copy, sites, size)};
    lives->sites += 2 * way->names;
    return 0;
}

/* It is not in the table any more, or will not be. */
static int life_end(Lives *lives, uint32_t number) {
    Life *life = life_at(lives, number);
    const LifeEvent *events = life->list;
    bool failed = false;
    LifeWay *way = NULL;
    if (!life->rich) {
        uint32_t order[2 * MOST_LIFE_EVENTS];
        uint64_t hash = order_of(life, events, order);
        way = way_for(lives, order, life->count, hash, &failed);
        lives->events -= life->count > FEW_LIFE_EVENTS ? life->count : 0;
    }
    if (way == NULL) {
        lives->given_up++;
    } else {
        way->count++;
        failed = way_example(lives, way, life, events) < 0;
    }
    lives->used--;
    list_free(life);
    lives->flags[number] = 0;
    life->object = lives->spare;
    lives->spare = number + 1;
    return failed ? -1 : 0;
}

/* Nothing is in the window. */
int lives_end(Lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->flags[i] & LIFE_USED && life_end(lives, i) < 0) return -1;
    if (lives->at) memset(lives->at, 0, (lives->mask + 1) * sizeof *lives->at);
    return 0;
}

void lives_free(Lives *lives) {
    for (uint32_t i = 0; i < lives->count; i++)
        if (lives->flags[i] & LIFE_USED) list_free(life_at(lives, i));
    for (uint32_t i = 0; i < lives->way_count; i++) {
        for (int j = 0; j < lives->ways[i].example_count; j++) free(lives->ways[i].examples[j].sites);
        free(lives->ways[i].examples);
        free(lives->ways[i].order);
    }
    for (uint32_t i = 0; i < lives->room / LIFE_BLOCK; i++) free(lives->blocks[i]);
    free(lives->blocks);
    free(lives->flags);
    free(lives->at);
    free(lives->ways);
    free(lives->way_at);
}
