/* One step: first what would change, then, when the whole step has succeeded, the changes.

   Called by machine.c. Matches `_step` and `_applied` of lawful/laws/rml/machine.py.
   tests/laws/rml/test_engine.py and tests/oracle/test_rml_oracle.py compare the two. */
#include "rml/rml.h"

Change FAILS = {.kind = C_FAIL}, SAME = {.kind = C_SELF};

static Change *change_new(RmlMachine *machine, int kind, Change *inner) {
    Change *change = arena_alloc(&machine->scratch, sizeof(Change));
    if (change == NULL) return NULL;
    change->kind = kind;
    change->inner = inner;
    return change;
}

/* ---- what would change ------------------------------------------------------------------------------------------- */

static Change *leaf_step(RmlMachine *machine, Leaf *leaf) {
    Node *end = walk(machine, STEP, leaf);
    if (end == NULL) return NULL;
    if (end->kind == N_FAIL) return &FAILS;
    if (end->kind == N_SELF) return &SAME;
    Change *change = change_new(machine, C_BECOME, NULL);
    if (change != NULL) change->recipe = end->recipe;
    return change;
}

static Change *sequence_step(RmlMachine *machine, Sequence *sequence) {
    Change *change = part_step(machine, sequence->first);
    if (change == NULL || change == &SAME) return change;
    if (change != &FAILS) return change_new(machine, C_HEAD, change);
    int halts = part_halts(machine, sequence->first);
    for (Cell *cell = sequence->rest; halts == 1 && cell != NULL; cell = cell->rest) {
        change = leaf_step(machine, cell->leaf);
        if (change == NULL) return NULL;
        if (change != &FAILS) {
            change = change_new(machine, C_CELL, change);
            if (change != NULL) change->cell = cell;
            return change;
        }
        halts = part_halts(machine, cell->leaf);
    }
    return halts < 0 ? NULL : &FAILS;
}

static Change *within(RmlMachine *machine, bool in_body, Change *change) {
    if (change == NULL || change == &FAILS || change == &SAME) return change;
    change = change_new(machine, C_WITHIN, change);
    if (change != NULL) change->in_body = in_body;
    return change;
}

/* The children that the present event can change, by place. */
typedef struct {
    Link *first, *at;
} Ring;

typedef struct {
    Ring *rings;
    int count;
} Affected;

static ListEntry *next_affected(Affected *affected) {
    ListEntry *least = NULL;
    for (int i = 0; i < affected->count; i++) {
        Link *at = affected->rings[i].at;
        if (at != NULL && (least == NULL || list_entry_of(at)->label < least->label)) least = list_entry_of(at);
    }
    if (least == NULL) return NULL;
    for (int i = 0; i < affected->count; i++) {
        Ring *ring = affected->rings + i;
        while (ring->at != NULL && list_entry_of(ring->at) == least)
            ring->at = ring->at->next == ring->first ? NULL : ring->at->next;
    }
    return least;
}

static int find_affected(RmlMachine *machine, InstanceList *list, Affected *affected) {
    affected->count = 0;
    affected->rings = arena_take(&machine->scratch, sizeof(Ring) * (size_t)(list->asked_count + 1));
    if (affected->rings == NULL) return -1;
    if (list->always != NULL) affected->rings[affected->count++] = (Ring){list->always, list->always};
    for (int key = 0; key < list->asked_count; key++) {
        if (list->asked[key] == 0) continue;
        Link *ring = list_ring(machine, list, key);
        if (ring == NULL) continue;
        int known = 0; /* questions about the same values lead to the same children */
        while (known < affected->count && affected->rings[known].first != ring) known++;
        if (known == affected->count) affected->rings[affected->count++] = (Ring){ring, ring};
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Note a child and its change; the list is made when there is a first one. */
static int remember(RmlMachine *machine, Change **list, ListEntry *entry, Change *change) {
    if (*list == NULL && (*list = change_new(machine, C_ENTRIES, &SAME)) == NULL) return -1;
    Change *all = *list;
    if (all->count == all->room) {
        int room = all->room ? all->room * 2 : 4;
        EntryChange *entries = arena_take(&machine->scratch, sizeof(EntryChange) * (size_t)room);
        if (entries == NULL) return -1;
        if (all->count) memcpy(entries, all->entries, sizeof(EntryChange) * (size_t)all->count);
        all->entries = entries;
        all->room = room;
    }
    all->entries[all->count++] = (EntryChange){entry, change};
    return 0;
}

static Change *changed(Change *all) { return all != NULL && all->count ? all : &SAME; }

/* Something inside failed: a right-hand operand around it may take the event instead, the innermost first. */
static Change *try_fallback(RmlMachine *machine, Change *fallback, Change *all) {
    for (int i = fallback == NULL ? -1 : fallback->count - 1; i >= 0; i--) {
        ListEntry *entry = fallback->entries[i].entry;
        Change *change = part_step(machine, entry_part(entry));
        if (change == NULL) return NULL;
        if (change == &FAILS) continue;
        while (all != NULL && all->count && all->entries[all->count - 1].entry->label > entry->label) all->count--;
        if (change != &SAME && remember(machine, &all, entry, change) < 0) return NULL;
        return changed(all);
    }
    return &FAILS;
}

static Change *list_step(RmlMachine *machine, InstanceList *list) {
    Affected affected;
    if (find_affected(machine, list, &affected) < 0) return NULL;
    Change *all = NULL, *fallback = NULL;
    for (ListEntry *entry; (entry = next_affected(&affected)) != NULL;) {
        Way way = entry->leaf.way;
        if (way == RIGHT) {
            if (remember(machine, &fallback, entry, NULL) < 0) return NULL;
            continue;
        }
        Change *change = part_step(machine, entry_part(entry));
        if (change == NULL) return NULL;
        if (change == &FAILS) {
            if (way == AND) return try_fallback(machine, fallback, all);
            continue;
        }
        if (change != &SAME && remember(machine, &all, entry, change) < 0) return NULL;
        if (way == LEFT) return changed(all);
    }
    Change *core = part_step(machine, list->core);
    if (core == NULL) return NULL;
    if (core == &FAILS) return try_fallback(machine, fallback, all);
    if (core == &SAME) return changed(all);
    if (all == NULL && (all = change_new(machine, C_ENTRIES, core)) == NULL) return NULL;
    all->inner = core;
    return all;
}

Change *part_step(RmlMachine *machine, Part *part) {
    switch (part->kind) {
    case P_LEAF: return leaf_step(machine, part);
    case P_INSTANCE_LIST: return list_step(machine, (InstanceList *)part);
    case P_SEQUENCE: return sequence_step(machine, (Sequence *)part);
    case P_FILTER: {
        Filter *filter = (Filter *)part;
        Node *end = walk(machine, STEP, filter->test);
        if (end == NULL) return NULL;
        bool matched = end->kind == N_YES;
        return within(machine, matched, part_step(machine, matched ? filter->body : filter->otherwise));
    }
    default: return within(machine, true, part_step(machine, ((Closure *)part)->body));
    }
}

/* ---- the changes ------------------------------------------------------------------------------------------------- */

static int list_apply(RmlMachine *machine, InstanceList *list, Change *change) {
    for (int i = 0; i < change->count; i++) {
        ListEntry *entry = change->entries[i].entry;
        Change *inner = change->entries[i].change;
        Part *part;
        if (entry->leaf.kind == P_BOXED) {
            part = part_apply(machine, (Part *)entry->leaf.registers[0], inner);
        } else {
            part = part_build(machine, inner->recipe, entry->leaf.registers);
        }
        part = part_collapsed(machine, part);
        if (part == NULL || list_replace(machine, list, entry, part) < 0) return -1;
    }
    if (change->inner != &SAME) {
        if (list_count_core(machine, list, -1) < 0) return -1;
        Part *part = part_collapsed(machine, part_apply(machine, list->core, change->inner));
        if (part == NULL || list_set_core(machine, list, part) < 0) return -1;
    }
    return list_settle_core(machine, list);
}

static Part *sequence_apply(RmlMachine *machine, Sequence *sequence, Change *change) {
    Part *first = sequence->first;
    Cell *rest = sequence->rest;
    pool_free(&machine->pool, sequence, sizeof(Sequence));
    if (change->kind == C_HEAD) {
        first = part_collapsed(machine, part_apply(machine, first, change->inner));
        return first == NULL ? NULL : sequence_of(machine, first, rest);
    }
    part_free(machine, first);
    while (rest != change->cell) rest = cell_drop(machine, rest);
    Leaf *leaf = rest->leaf;
    Cell *used = rest;
    rest = rest->rest;
    pool_free(&machine->pool, used, sizeof(Cell));
    if (change->inner == &SAME) { /* the head is over all the same */
        Recipe *recipe = trees_expanded(machine->trees, (int)leaf->shape);
        first = recipe == NULL ? NULL : part_build(machine, recipe, leaf->registers);
        leaf_free(machine, leaf);
    } else {
        first = part_apply(machine, leaf, change->inner);
    }
    return first == NULL ? NULL : sequence_of(machine, first, rest);
}

Part *part_apply(RmlMachine *machine, Part *part, Change *change) {
    switch (part->kind) {
    case P_LEAF: {
        Part *built = part_build(machine, change->recipe, part->registers);
        if (built != NULL) leaf_free(machine, part);
        return built;
    }
    case P_INSTANCE_LIST: return list_apply(machine, (InstanceList *)part, change) < 0 ? NULL : part;
    case P_SEQUENCE: return sequence_apply(machine, (Sequence *)part, change);
    default: {
        Part **inner = part->kind == P_CLOSURE ? &((Closure *)part)->body
                       : change->in_body       ? &((Filter *)part)->body
                                               : &((Filter *)part)->otherwise;
        Part *changed = part_collapsed(machine, part_apply(machine, *inner, change->inner));
        if (changed == NULL) return NULL;
        *inner = changed;
        return part;
    }
    }
}
