/* Whole histories of objects: which events each one met, and in which order the first and the last ones of each name came,
   however far apart.

   Called by: window.c for every event; learner.c reads the result.
   Must match: lawful/learning/object_histories.py.
   Compared by: tests/learning/test_object_histories.py.

   A history begins with an object's first event and ends with the stream. To bound memory, histories of objects that have
   not been in the window for long end earlier, if there are too many. */
#include "learner/learner.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static inline uint64_t mixed(uint64_t value) {
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ (value >> 29);
}

/* ---- open ones ------------------------------------------------------------------------------------------------------------ */

static void table_drop(Histories *histories, uint32_t number) {
    size_t mask = histories->mask, at = history_home((uint32_t)history_at(histories, number)->object) & mask;
    while (histories->at[at].number != number + 1) at = (at + 1) & mask;
    TABLE_DROP(histories->at, mask, at, slot->number, history_home(slot->tag))->number = 0;
}

static int history_end(Histories *histories, uint32_t number);

/* Histories are looked at in turn. What has not been in the window since it was last looked at is over. */
static int make_room(Histories *histories) {
    for (uint64_t i = 0; i < 2 * (uint64_t)histories->count; i++) {
        if (++histories->clock_hand >= histories->count) histories->clock_hand = 0;
        uint8_t *flags = &histories->flags[histories->clock_hand];
        if (!(*flags & HISTORY_USED) || *flags & HISTORY_IN_WINDOW) continue;
        if (!(*flags & HISTORY_TOUCHED)) {
            table_drop(histories, histories->clock_hand);
            return history_end(histories, histories->clock_hand);
        }
        *flags &= ~HISTORY_TOUCHED;
    }
    return 0; /* all of them are in the window */
}

/* Another block: those that there are stay where they are. */
static int histories_grow(Histories *histories) {
    uint32_t block = histories->room / HISTORY_BLOCK;
    History **blocks = realloc(histories->blocks, (block + 1) * sizeof *blocks);
    if (blocks == NULL) return -1;
    histories->blocks = blocks;
    uint8_t *flags = realloc(histories->flags, histories->room + HISTORY_BLOCK);
    if (flags == NULL) return -1;
    histories->flags = flags;
    if ((blocks[block] = aligned_alloc(LINE, HISTORY_BLOCK * sizeof(History))) == NULL) return -1;
    histories->room += HISTORY_BLOCK;
    return 0;
}

int history_enter(Histories *histories, uint64_t object, Subject *subject) {
    if (2 * (size_t)(histories->used + 1) > histories->mask &&
        !TABLE_GROW(histories->at, histories->mask, 64, slot->number, history_home(slot->tag)))
        return -1;
    uint32_t tag = (uint32_t)object;
    size_t at = history_home(tag) & histories->mask;
    for (uint32_t found; (found = histories->at[at].number); at = (at + 1) & histories->mask)
        if (histories->at[at].tag == tag && history_at(histories, found - 1)->object == object) {
            subject->history_number = found - 1;
            subject->history = history_at(histories, found - 1);
            histories->flags[found - 1] |= HISTORY_IN_WINDOW | HISTORY_TOUCHED;
            return 0;
        }
    if (histories->used >= MOST_OPEN_HISTORIES) {
        if (make_room(histories) < 0) return -1;
        for (at = history_home(tag) & histories->mask; histories->at[at].number;) at = (at + 1) & histories->mask;
    }
    if (!histories->spare) {
        if (histories->count == histories->room && histories_grow(histories) < 0) return -1;
        history_at(histories, histories->count)->object = 0;
        histories->spare = ++histories->count;
    }
    uint32_t number = subject->history_number = histories->spare - 1;
    History *history = subject->history = history_at(histories, number);
    histories->spare = (uint32_t)history->object;
    memset(history, 0, offsetof(History, inline_events));
    history->object = object;
    history->list = history->inline_events;
    history->room = INLINE_HISTORY_EVENTS;
    history->inline_events[0].name = NO_NAME; /* that is where all hints lead */
    histories->flags[number] = HISTORY_USED | HISTORY_IN_WINDOW | HISTORY_TOUCHED;
    histories->at[at] = (HistorySlot){number + 1, tag};
    histories->used++;
    return 0;
}

static void list_free(History *history) {
    if (history->list != history->inline_events) free(history->list);
    history->list = history->inline_events;
}

static int drop_events(Histories *histories, History *history) {
    histories->events -= history->count > FEW_HISTORY_EVENTS ? history->count : 0;
    list_free(history);
    memset(history->hints, 0, sizeof history->hints);
    history->inline_events[0].name = NO_NAME;
    history->dropped = true;
    return 0;
}

/* An event that is new to a history. -1: no memory. */
static int add_kind(Histories *histories, History *history, HistoryEvent event) {
    if (history->count >= FEW_HISTORY_EVENTS) {
        if (history->count == MOST_HISTORY_EVENTS || histories->events >= ALL_HISTORY_EVENTS) return drop_events(histories, history);
        histories->events += history->count == FEW_HISTORY_EVENTS ? FEW_HISTORY_EVENTS + 1 : 1;
    }
    if (history->count == history->room) {
        int room = history->count + (history->count < 16 ? 4 : 8); /* little spare room: there may be many histories */
        bool own = history->list != history->inline_events;
        HistoryEvent *list = realloc(own ? history->list : NULL, room * sizeof *list);
        if (list == NULL) return -1;
        if (!own) memcpy(list, history->inline_events, sizeof history->inline_events);
        history->list = list;
        history->room = (uint8_t)room;
    }
    history->hints[event.name % HISTORY_HINTS] = history->count;
    history->list[history->count++] = event;
    return 0;
}

/* The hint led to another event. */
int history_take_new(Histories *histories, History *history, uint32_t name, uint32_t site) {
    if (history->dropped) return 0;
    uint32_t now = history->events;
    int kind = 0;
    while (kind < history->count && history->list[kind].name != name) kind++;
    if (kind == history->count) return add_kind(histories, history, (HistoryEvent){name, now, now, {site, site}});
    history->hints[name % HISTORY_HINTS] = (uint8_t)kind;
    history->list[kind].last = now;
    history->list[kind].sites[1] = site;
    return 0;
}

/* ---- ended ones ------------------------------------------------------------------------------------------------------------ */

static uint64_t order_of(const History *history, const HistoryEvent *events, uint32_t *order) {
    /* The first ones are in order; the last ones are put into theirs. */
    uint8_t lasts[MOST_HISTORY_EVENTS];
    for (int i = 0; i < history->count; i++) {
        int at = i;
        for (; at && events[lasts[at - 1]].last > events[i].last; at--) lasts[at] = lasts[at - 1];
        lasts[at] = (uint8_t)i;
    }
    uint64_t hash = 0;
    for (int i = 0, j = 0, n = 0; j < history->count; n++) {
        const HistoryEvent *last = &events[lasts[j]];
        if (i < history->count && events[i].first <= last->last) {
            order[n] = 2 * events[i++].name;
        } else {
            order[n] = 2 * last->name + 1;
            j++;
        }
        hash = mixed(hash ^ order[n]);
    }
    return hash;
}

/* NULL: there are too many, or `*failed`. */
static EndedHistory *ended_for(Histories *histories, const uint32_t *order, int names, uint64_t hash, bool *failed) {
    size_t size = 2 * names * sizeof *order;
    if (!HAS_ROOM(histories->ended, histories->ended_count, histories->ended_room, 64) ||
        (2 * (size_t)(histories->ended_count + 1) > histories->ended_mask &&
         !TABLE_GROW(histories->ended_at, histories->ended_mask, 128, *slot, histories->ended[*slot - 1].hash))) {
        *failed = true;
        return NULL;
    }
    size_t at = hash & histories->ended_mask;
    for (uint32_t found; (found = histories->ended_at[at]); at = (at + 1) & histories->ended_mask) {
        EndedHistory *ended = &histories->ended[found - 1];
        if (ended->hash == hash && ended->names == names && memcmp(ended->order, order, size) == 0) return ended;
    }
    if (histories->ended_count == MOST_HISTORIES) return NULL;
    uint32_t *copy = malloc(size);
    if (copy == NULL) {
        *failed = true;
        return NULL;
    }
    EndedHistory *ended = &histories->ended[histories->ended_count++];
    *ended = (EndedHistory){.hash = hash, .order = memcpy(copy, order, size), .names = (uint8_t)names};
    histories->ended_at[at] = histories->ended_count;
    return ended;
}

static int ended_example(Histories *histories, EndedHistory *ended, const History *history, const HistoryEvent *events) {
    uint32_t sites[2 * MOST_HISTORY_EVENTS];
    size_t size = 2 * ended->names * sizeof *sites;
    uint64_t hash = 0;
    for (int i = 0; i < history->count; i++) {
        memcpy(&sites[2 * i], events[i].sites, sizeof events[i].sites);
        hash = mixed(hash ^ ((uint64_t)sites[2 * i] << 32 | sites[2 * i + 1]));
    }
    for (int i = 0; i < ended->example_count; i++)
        if (ended->examples[i].hash == hash) {
            ended->examples[i].count++;
            return 0;
        }
    if (ended->example_count >= (histories->sites < ALL_HISTORY_SITES ? MOST_HISTORY_EXAMPLES : 1)) return 0;
    if (!HAS_ROOM(ended->examples, ended->example_count, ended->example_room, 1)) return -1;
    uint32_t *copy = malloc(size);
    if (copy == NULL) return -1;
    ended->examples[ended->example_count++] =
        (HistoryExample){.object = history->object, .seq = history->seq, .count = 1, .hash = hash, .sites = memcpy(copy, sites, size)};
    histories->sites += 2 * ended->names;
    return 0;
}

/* The caller has removed it from the table, or will. */
static int history_end(Histories *histories, uint32_t number) {
    History *history = history_at(histories, number);
    const HistoryEvent *events = history->list;
    bool failed = false;
    EndedHistory *ended = NULL;
    if (!history->dropped) {
        uint32_t order[2 * MOST_HISTORY_EVENTS];
        uint64_t hash = order_of(history, events, order);
        ended = ended_for(histories, order, history->count, hash, &failed);
        histories->events -= history->count > FEW_HISTORY_EVENTS ? history->count : 0;
    }
    if (ended == NULL) {
        histories->given_up++;
    } else {
        ended->count++;
        failed = ended_example(histories, ended, history, events) < 0;
    }
    histories->used--;
    list_free(history);
    histories->flags[number] = 0;
    history->object = histories->spare;
    histories->spare = number + 1;
    return failed ? -1 : 0;
}

/* Nothing is in the window. */
int histories_end(Histories *histories) {
    for (uint32_t i = 0; i < histories->count; i++)
        if (histories->flags[i] & HISTORY_USED && history_end(histories, i) < 0) return -1;
    if (histories->at) memset(histories->at, 0, (histories->mask + 1) * sizeof *histories->at);
    return 0;
}

void histories_free(Histories *histories) {
    for (uint32_t i = 0; i < histories->count; i++)
        if (histories->flags[i] & HISTORY_USED) list_free(history_at(histories, i));
    for (uint32_t i = 0; i < histories->ended_count; i++) {
        for (int j = 0; j < histories->ended[i].example_count; j++) free(histories->ended[i].examples[j].sites);
        free(histories->ended[i].examples);
        free(histories->ended[i].order);
    }
    for (uint32_t i = 0; i < histories->room / HISTORY_BLOCK; i++) free(histories->blocks[i]);
    free(histories->blocks);
    free(histories->flags);
    free(histories->at);
    free(histories->ended);
    free(histories->ended_at);
}
