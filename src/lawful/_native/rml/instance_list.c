/* Instance lists: children around a core, in order, found by the values that an event must have to concern them.

   Called by state.c, step.c and machine.c. Matches lawful/laws/rml/instance_list.py.
   tests/laws/rml/test_engine.py and tests/laws/rml/test_duplicate_instances.py compare the two. */
#include "rml/rml.h"

#define GAP (UINT64_C(1) << 20)
#define LARGE_TABLE (1024 * 1024)
#define DUPLICATE_TRIES 16 /* children about the same object that are compared */

static size_t entry_bytes(int size, int links) {
    return sizeof(ListEntry) + sizeof(Val) * (size_t)size + sizeof(Link) * (size_t)links;
}

static int link_count(const ListEntry *entry) { return entry->triggers == NULL ? 1 : entry->triggers->count; }

static Link *entry_links(ListEntry *entry) { return (Link *)(entry->leaf.registers + entry->leaf.size); }

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static const Val *registers_of(const Part *part, const IndexKey *index_key) {
    if (part->kind != P_FILTER) return part->registers;
    const Filter *filter = (const Filter *)part;
    return index_key->in_test ? filter->test->registers : filter->otherwise->registers;
}

static Val index_value(const Part *part, const IndexKey *index_key, int i) {
    const Operand *operand = index_key->operands[i];
    return operand->kind == SLOT ? registers_of(part, index_key)[operand->a] : operand->constant;
}

static bool same_values(const Val *some, const Val *others, int count) {
    for (int i = 0; i < count; i++)
        if (val_identical(some[i], others[i]) != 1) return false;
    return true;
}

/* Are two parts found by the same values? */
static bool same_index_values(const Part *part, const IndexKey *key, const Part *other, const IndexKey *other_key) {
    if (key->table != other_key->table || key->count != other_key->count) return false;
    for (int i = 0; i < key->count; i++)
        if (val_identical(index_value(part, key, i), index_value(other, other_key, i)) != 1) return false;
    return true;
}

static uint32_t key_hash(const Val *values, int count) {
    uint32_t hash = 0x9E3779B9u;
    for (int i = 0; i < count; i++) hash = hash * 31 + val_hash(values[i]);
    return hash;
}

/* The values under which a part is found, and their hash. */
static uint32_t index_values(const Part *part, const IndexKey *key, Val *values) {
    for (int i = 0; i < key->count; i++) values[i] = index_value(part, key, i);
    return key_hash(values, key->count);
}

/* What the present event has for a kind of key, and its hash: 1, 0 if nothing can be found by that, or -1: error. */
static int event_values(RmlMachine *machine, int number, Val *values, uint32_t *hash) {
    PatternMatch *match = captured(machine, machine->trees->keys[number].pattern);
    if (match == NULL) return -1;
    const KeyKind *key = machine->trees->keys + number; /* which matching may have moved */
    if (!match->matched) return 0;
    for (int i = 0; i < key->count; i++)
        if (!val_keyable(values[i] = match->captures[key->captures[i]])) return 0;
    *hash = key_hash(values, key->count);
    return 1;
}

/* ---- a list in a list -------------------------------------------------------------------------------------------- */

#define SMALL 16 /* index keys of a list whose children can wait together */

static void triggers_release(Triggers *triggers) {
    if (triggers == NULL || !triggers->own) return;
    for (int i = 0; i < triggers->count; i++)
        for (int j = 0; j < triggers->index_keys[i].count; j++)
            val_decref(triggers->index_keys[i].operands[j]->constant);
    free(triggers);
}

typedef struct { size_t keys, index_keys, values; } Amount;

static void amount_add(Amount *amount, const Triggers *triggers) {
    amount->keys += (size_t)triggers->key_count;
    amount->index_keys += (size_t)triggers->count;
    for (int i = 0; i < triggers->count; i++) amount->values += (size_t)triggers->index_keys[i].count;
}

/* One block: the triggers, then their index keys, operands, pointers to them, and keys. */
static Triggers *own_triggers(Amount amount) {
    size_t index_keys = sizeof(IndexKey) * amount.index_keys, operands = sizeof(Operand) * amount.values;
    size_t pointers = sizeof(Operand *) * amount.values;
    Triggers *triggers = calloc(1, sizeof(Triggers) + index_keys + operands + pointers + sizeof(int) * amount.keys);
    if (triggers == NULL) return (Triggers *)PyErr_NoMemory();
    triggers->keyed = triggers->own = true;
    triggers->index_keys = (IndexKey *)(triggers + 1);
    Operand *first = (Operand *)((char *)triggers->index_keys + index_keys);
    Operand **places = (Operand **)((char *)first + operands);
    for (size_t i = 0; i < amount.values; i++) places[i] = first + i;
    triggers->keys = (int *)((char *)places + pointers);
    if (amount.index_keys) triggers->index_keys[0].operands = places;
    return triggers;
}

/* Add what a part waits for, by value. */
static void own_add(Triggers *own, const Triggers *triggers, const Part *part) {
    for (int i = 0; i < triggers->key_count; i++) own->keys[own->key_count++] = triggers->keys[i];
    for (int i = 0; i < triggers->count; i++) {
        const IndexKey *index_key = triggers->index_keys + i;
        IndexKey *copy = own->index_keys + own->count;
        Operand **operands = own->count ? copy[-1].operands + copy[-1].count : copy->operands;
        *copy = (IndexKey){index_key->table, index_key->count, operands, false};
        own->count++;
        for (int j = 0; j < index_key->count; j++) {
            *operands[j] = (Operand){.kind = CONSTANT, .constant = index_value(part, index_key, j)};
            val_incref(operands[j]->constant);
        }
    }
}

static int choose_triggers(RmlMachine *machine, Way way, Part *part, Triggers **triggers);

/* A small list in a list of another kind waits for whatever its own children wait for. A large one would have to move
   too often, and there cannot be many of them. */
static int nested_triggers(RmlMachine *machine, Way way, InstanceList *list, Triggers **triggers) {
    if (list->always != NULL) return 0;
    Triggers *core;
    if (choose_triggers(machine, way, list->core, &core) < 0) return -1;
    if (core == NULL) return 0;
    Amount amount = {0, 0, 0};
    amount_add(&amount, core);
    int children = 0;
    for (ListEntry *entry = list->first; children <= SMALL && entry != NULL; entry = entry->after, children++)
        amount_add(&amount, entry->triggers);
    if (children <= SMALL && amount.index_keys <= SMALL) {
        *triggers = own_triggers(amount);
        if (*triggers != NULL) {
            own_add(*triggers, core, list->core);
            for (ListEntry *entry = list->first; entry != NULL; entry = entry->after)
                own_add(*triggers, entry->triggers, entry_part(entry));
        }
    }
    triggers_release(core);
    return PyErr_Occurred() ? -1 : 0;
}

/* The triggers of a child; NULL in `triggers` if every event can change it. */
static int choose_triggers(RmlMachine *machine, Way way, Part *part, Triggers **triggers) {
    *triggers = NULL;
    if (part->kind == P_INSTANCE_LIST) return nested_triggers(machine, way, (InstanceList *)part, triggers);
    Node *test = NULL;
    Part *leaf = part;
    if (part->kind == P_FILTER) {
        test = walk_unmatched(machine, ((Filter *)part)->test);
        if (test == NULL) return -1;
        if (test->kind == N_YES) return 0;
        leaf = ((Filter *)part)->otherwise;
    }
    if (leaf->kind != P_LEAF) return 0;
    Node *end = walk_unmatched(machine, leaf);
    if (end == NULL) return -1;
    if (end->kind != (way == AND ? N_SELF : N_FAIL)) return 0;
    Triggers *found = trees_triggers(machine->trees, end, test);
    if (found == NULL) return -1;
    if (!found->keyed) return 0;
    for (int i = 0; i < found->count; i++)
        for (int j = 0; j < found->index_keys[i].count; j++)
            if (!val_keyable(index_value(part, found->index_keys + i, j))) return 0;
    *triggers = found;
    return 0;
}

/* ---- tables of rings --------------------------------------------------------------------------------------------- */

/* Where a hash belongs. The room need not be a power of two, so that a table can grow by half and be well filled. */
static inline uint32_t table_place(const Table *table, uint32_t hash) {
    return (uint32_t)((uint64_t)hash * table->room >> 32);
}

static inline uint32_t table_next(const Table *table, uint32_t at) { return at + 1 == table->room ? 0 : at + 1; }

static inline uint32_t table_distance(const Table *table, uint32_t from, uint32_t to) {
    return to >= from ? to - from : to + table->room - from;
}

/* Slots and hashes are one block. */
static int table_resize(Table *table, uint32_t room) {
    size_t size = room * (sizeof(Link *) + sizeof(uint32_t));
    Link **slots = size < LARGE_TABLE ? malloc(size) : huge_alloc(size);
    if (slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(slots, 0, size);
    Table larger = {table->number, table->used, room, slots, (uint32_t *)(slots + room)};
    for (uint32_t i = 0; i < table->room; i++) {
        if (table->slots[i] == NULL) continue;
        uint32_t at = table_place(&larger, table->hashes[i]);
        while (slots[at] != NULL) at = table_next(&larger, at);
        slots[at] = table->slots[i];
        larger.hashes[at] = table->hashes[i];
    }
    free(table->slots);
    *table = larger;
    return 0;
}

static Table *table_of(InstanceList *list, int number) {
    for (int i = 0; i < list->table_count; i++)
        if (list->tables[i].number == number) return list->tables + i;
    return NULL;
}

static Table *table_for(InstanceList *list, int number) {
    Table *table = table_of(list, number);
    if (table != NULL) return table;
    if (rml_grow((void **)&list->tables, &list->table_room, list->table_count + 1, sizeof(Table)) < 0) return NULL;
    table = list->tables + list->table_count;
    *table = (Table){.number = number};
    if (table_resize(table, 8) < 0) return NULL;
    list->table_count++;
    return table;
}

/* The slot of the ring with this key, or the empty slot where it belongs. */
static uint32_t table_find(Table *table, uint32_t hash, const Val *values, int count) {
    uint32_t at = table_place(table, hash);
    for (Link *link; (link = table->slots[at]) != NULL; at = table_next(table, at)) {
        if (table->hashes[at] != hash) continue;
        const ListEntry *entry = list_entry_of(link);
        const IndexKey *key = entry->triggers->index_keys + link->index_key;
        int same = 0;
        while (same < count && val_identical(index_value(entry_part(entry), key, same), values[same]) == 1) same++;
        if (same == count) break;
    }
    return at;
}

/* Close the hole that a ring leaves, so that no search stops there. */
static void table_close(Table *table, uint32_t hole) {
    uint32_t at = hole;
    for (;;) {
        at = table_next(table, at);
        if (table->slots[at] == NULL) break;
        uint32_t wanted = table_place(table, table->hashes[at]);
        if (table_distance(table, wanted, at) >= table_distance(table, hole, at)) {
            table->slots[hole] = table->slots[at];
            table->hashes[hole] = table->hashes[at];
            hole = at;
        }
    }
    table->slots[hole] = NULL;
    table->used--;
}

/* A child's link in the same ring as another link, or NULL. */
static Link *link_beside(ListEntry *entry, const Link *link, const IndexKey *index_key, const Part *part) {
    Link *links = entry_links(entry);
    if (index_key == NULL || entry->triggers == NULL) return index_key == NULL && entry->triggers == NULL ? links : NULL;
    for (int i = 0; i < entry->triggers->count; i++) {
        if (links[i].hash == link->hash &&
            same_index_values(part, index_key, entry_part(entry), entry->triggers->index_keys + i))
            return links + i;
    }
    return NULL;
}

/* Into a ring, at its place; `*first` is the first of the ring or NULL. The place is looked for in two ways at once: from
   the end of the ring, which is soon found if the ring is small or the child new, and among the children before this one,
   of which one is soon found if most are in the ring. */
static void ring_insert(Link **first, Link *link, const IndexKey *index_key) {
    if (*first == NULL) {
        link->next = link->prev = link;
        *first = link;
        return;
    }
    ListEntry *entry = list_entry_of(link), *near = entry->before;
    Link *after = (*first)->prev;
    bool foremost = false;
    while (list_entry_of(after)->label > entry->label) {
        if (after == *first) {
            foremost = true;
            after = after->prev;
            break;
        }
        after = after->prev;
        if (near != NULL) {
            Link *beside = link_beside(near, link, index_key, entry_part(entry));
            if (beside != NULL) {
                after = beside;
                break;
            }
            near = near->before;
        }
    }
    link->prev = after;
    link->next = after->next;
    after->next->prev = link;
    after->next = link;
    if (foremost) *first = link;
}

/* Remove a link from its ring; returns the new first link in case this one was the first. */
static Link *ring_remove(Link *link) {
    Link *next = link->next == link ? NULL : link->next;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    return next;
}

static int ask_for(RmlMachine *machine, InstanceList *list, const Triggers *triggers) {
    if (rml_grow((void **)&list->asked, &list->asked_count, machine->trees->key_count, sizeof(uint32_t)) < 0) return -1;
    for (int i = 0; i < triggers->key_count; i++) list->asked[triggers->keys[i]]++;
    return 0;
}

static int index_entry(RmlMachine *machine, InstanceList *list, ListEntry *entry) {
    Link *links = entry_links(entry);
    size_t first_word = ((char *)links - (char *)entry) / 8;
    for (int i = 0; i < link_count(entry); i++) {
        links[i].place = (uint16_t)(first_word + (size_t)i * (sizeof(Link) / 8));
        links[i].index_key = (uint16_t)i;
        links[i].hash = 0;
    }
    if (entry->triggers == NULL) {
        ring_insert(&list->always, links, NULL);
        return 0;
    }
    if (ask_for(machine, list, entry->triggers) < 0) return -1;
    Part *part = entry_part(entry);
    for (int i = 0; i < entry->triggers->count; i++) {
        const IndexKey *index_key = entry->triggers->index_keys + i;
        Table *table = table_for(list, index_key->table);
        if (table == NULL) return -1;
        if (table->used + 1 > table->room / 8 * 7 && table_resize(table, table->room / 2 * 3) < 0)
            return -1;
        Val values[MOST_VALUES];
        links[i].hash = index_values(part, index_key, values);
        uint32_t at = table_find(table, links[i].hash, values, index_key->count);
        if (table->slots[at] == NULL) table->used++;
        table->hashes[at] = links[i].hash;
        ring_insert(table->slots + at, links + i, index_key);
    }
    return 0;
}

static void unindex_entry(InstanceList *list, ListEntry *entry) {
    Link *links = entry_links(entry);
    if (entry->triggers == NULL) {
        Link *next = ring_remove(links);
        if (list->always == links) list->always = next;
        return;
    }
    for (int i = 0; i < entry->triggers->key_count; i++) list->asked[entry->triggers->keys[i]]--;
    for (int i = 0; i < entry->triggers->count; i++) {
        Table *table = table_of(list, entry->triggers->index_keys[i].table);
        Link *next = ring_remove(links + i);
        if (next != NULL && links[i].prev != NULL && list_entry_of(next)->label > entry->label &&
            list_entry_of(links[i].prev)->label < entry->label)
            continue; /* in the middle of its ring: no slot points here */
        uint32_t at = table_place(table, links[i].hash);
        for (; table->slots[at] != NULL; at = table_next(table, at)) {
            if (table->slots[at] != links + i) continue;
            if (next != NULL)
                table->slots[at] = next;
            else
                table_close(table, at);
            break;
        }
    }
}

Link *list_ring(RmlMachine *machine, InstanceList *list, int number) {
    Val values[MOST_VALUES];
    uint32_t hash;
    if (event_values(machine, number, values, &hash) != 1) return NULL;
    const KeyKind *key = machine->trees->keys + number;
    Table *table = table_of(list, key->table);
    return table->slots[table_find(table, hash, values, key->count)];
}

/* ---- looking ahead ----------------------------------------------------------------------------------------------- */

bool list_is_large(const InstanceList *list) {
    for (int i = 0; i < list->table_count; i++)
        if (list->tables[i].used > LARGE_TABLE / 1024) return true;
    return false;
}

int list_prefetch_slots(RmlMachine *machine, InstanceList *list) {
    EventView *view = machine->now;
    for (int number = 0; number < list->asked_count && view->hints < 8; number++) {
        if (list->asked[number] == 0) continue;
        Val values[MOST_VALUES];
        uint32_t hash;
        int found = machine->trees->keys[number].count ? event_values(machine, number, values, &hash) : 0;
        if (found < 0) return -1;
        const KeyKind *key = machine->trees->keys + number;
        Table *table = table_of(list, key->table);
        if (!found || table == NULL) continue;
        uint32_t at = table_place(table, hash);
        __builtin_prefetch(table->hashes + at);
        __builtin_prefetch(table->slots + at);
        view->hashes[view->hints] = hash;
        view->tables[view->hints++] = key->table;
    }
    return 0;
}

void list_prefetch_entries(InstanceList *list, const EventView *view) {
    for (int i = 0; i < view->hints; i++) {
        Table *table = table_of(list, view->tables[i]);
        if (table == NULL) continue;
        uint32_t at = table_place(table, view->hashes[i]);
        for (int probes = 0; probes < 8 && table->slots[at] != NULL; probes++, at = table_next(table, at)) {
            if (table->hashes[at] != view->hashes[i]) continue;
            __builtin_prefetch(table->slots[at]);
            __builtin_prefetch((char *)table->slots[at] - 56); /* the entry around it */
            break;
        }
    }
}

/* ---- children, by place ------------------------------------------------------------------------------------------ */

static void relabel(InstanceList *list) {
    uint64_t label = 0;
    for (ListEntry *entry = list->first; entry != NULL; entry = entry->after) entry->label = label += GAP;
}

static uint64_t label_between(InstanceList *list, ListEntry *before, ListEntry *after) {
    for (;;) {
        uint64_t low = before == NULL ? 0 : before->label;
        if (after == NULL && low < UINT64_MAX - GAP) return low + GAP;
        if (after != NULL && after->label - low >= 2) return low + (after->label - low) / 2;
        relabel(list);
    }
}

static int count_entry(RmlMachine *machine, InstanceList *list, ListEntry *entry) {
    int halts = part_halts(machine, entry_part(entry));
    int dead = halts < 0 ? -1 : part_is_dead(machine, entry_part(entry));
    if (dead < 0) return -1;
    entry->leaf.halts = halts;
    entry->leaf.dead = dead;
    list->waiting += !halts;
    list->dead += dead;
    return 0;
}

static void discount_entry(InstanceList *list, ListEntry *entry) {
    list->waiting -= !entry->leaf.halts;
    list->dead -= entry->leaf.dead;
}

/* Will the child do nothing, whatever comes, as `e >> all : all` does? */
static int is_inert(RmlMachine *machine, Way way, Part *part) {
    if (part->kind != P_LEAF) return 0;
    Node *end = walk_unmatched(machine, part);
    if (end == NULL) return -1;
    if (end->parent != NULL || end->kind != (way == AND ? N_SELF : N_FAIL)) return 0;
    int halts = part_halts(machine, part), dead = halts < 0 ? -1 : part_is_dead(machine, part);
    return dead < 0 ? -1 : halts && !dead;
}

/* Is there a child already, up to this one, that says the same? `A /\ A` is A, if nothing but intersections stands between
   the two. A law that makes an instance each time something is done to an object would otherwise have ever more of them.
   Children further in may not have taken the present event yet. */
static ListEntry *find_duplicate(InstanceList *list, Way way, const Part *part, const Triggers *triggers,
                                 const ListEntry *last) {
    if (last == NULL) return NULL;
    if (way != AND || part->kind != P_LEAF || list->shuffled || triggers == NULL || triggers->count == 0) return NULL;
    const IndexKey *index_key = triggers->index_keys;
    Table *table = table_of(list, index_key->table);
    if (table == NULL) return NULL;
    Val values[MOST_VALUES];
    uint32_t hash = index_values(part, index_key, values);
    Link *first = table->slots[table_find(table, hash, values, index_key->count)];
    Link *link = first;
    for (int tries = 0; link != NULL && tries < DUPLICATE_TRIES && list_entry_of(link)->label <= last->label; tries++) {
        ListEntry *entry = list_entry_of(link);
        if (entry->leaf.kind == P_LEAF && entry->leaf.shape == part->shape && entry->leaf.size == part->size &&
            same_values(entry->leaf.registers, part->registers, part->size))
            return entry;
        link = link->next == first ? NULL : link->next;
    }
    return NULL;
}

static ListEntry *insert_entry(RmlMachine *machine, InstanceList *list, Way way, Part *part, ListEntry *before) {
    Triggers *triggers;
    if (choose_triggers(machine, way, part, &triggers) < 0) return NULL;
    if (find_duplicate(list, way, part, triggers, before) != NULL) {
        part_free(machine, part);
        return before;
    }
    bool leaf = part->kind == P_LEAF;
    int size = leaf ? part->size : 1;
    ListEntry *entry = pool_alloc(&machine->pool, entry_bytes(size, triggers == NULL ? 1 : triggers->count));
    if (entry == NULL) return NULL;
    entry->triggers = triggers;
    list->shuffled += way != AND;
    entry->leaf = (Leaf){.size = (uint16_t)size, .way = way, .kind = P_BOXED};
    if (leaf) {
        entry->leaf.shape = part->shape;
        entry->leaf.kind = P_LEAF;
        memcpy(entry->leaf.registers, part->registers, sizeof(Val) * (size_t)size);
        pool_free(&machine->pool, part, sizeof(Leaf) + sizeof(Val) * (size_t)size);
    } else {
        entry->leaf.registers[0] = (Val)part;
    }
    ListEntry *after = before == NULL ? list->first : before->after;
    entry->label = label_between(list, before, after);
    entry->before = before;
    entry->after = after;
    *(before == NULL ? &list->first : &before->after) = entry;
    *(after == NULL ? &list->last : &after->before) = entry;
    if (count_entry(machine, list, entry) < 0 || index_entry(machine, list, entry) < 0) return NULL;
    return entry;
}

/* Takes over the part; `*before` becomes the new child. */
static int insert_one(RmlMachine *machine, InstanceList *list, Way way, Part *part, ListEntry **before) {
    int inert = is_inert(machine, way, part);
    if (inert < 0) return -1;
    if (inert) {
        list->inert = true;
        part_free(machine, part);
        return 0;
    }
    ListEntry *entry = insert_entry(machine, list, way, part, *before);
    if (entry == NULL) return -1;
    *before = entry;
    return 0;
}

/* Give back an entry's memory, its part having gone elsewhere. */
static void entry_drop(RmlMachine *machine, ListEntry *entry) {
    size_t size = entry_bytes(entry->leaf.size, link_count(entry));
    triggers_release(entry->triggers);
    pool_free(&machine->pool, entry, size);
}

/* An entry's part as a part of its own. */
static Part *entry_take(RmlMachine *machine, ListEntry *entry) {
    if (entry->leaf.kind == P_BOXED) return (Part *)entry->leaf.registers[0];
    Leaf *leaf = leaf_new(machine, (int)entry->leaf.shape, entry->leaf.size);
    if (leaf != NULL) memcpy(leaf->registers, entry->leaf.registers, sizeof(Val) * entry->leaf.size);
    return leaf;
}

static void entry_unlink(InstanceList *list, ListEntry *entry) {
    discount_entry(list, entry);
    list->shuffled -= entry->leaf.way != AND;
    unindex_entry(list, entry);
    *(entry->before == NULL ? &list->first : &entry->before->after) = entry->after;
    *(entry->after == NULL ? &list->last : &entry->after->before) = entry->before;
}

static void entry_clear(RmlMachine *machine, ListEntry *entry) {
    if (entry->leaf.kind == P_BOXED) {
        part_free(machine, (Part *)entry->leaf.registers[0]);
    } else {
        for (int i = 0; i < entry->leaf.size; i++) val_decref(entry->leaf.registers[i]);
    }
}

void list_remove(RmlMachine *machine, InstanceList *list, ListEntry *entry, bool keep_part) {
    entry_unlink(list, entry);
    if (!keep_part) entry_clear(machine, entry);
    entry_drop(machine, entry);
}

/* May a child that is a list be put in its place child by child? */
static bool can_splice(Way way, const Part *part) {
    if (part->kind != P_INSTANCE_LIST) return false;
    for (const ListEntry *entry = ((const InstanceList *)part)->first; entry != NULL; entry = entry->after)
        if ((entry->leaf.way == AND) != (way == AND)) return false;
    return true;
}

/* The parts of a list in the order in which they are tried. */
static int parts_by_turn(RmlMachine *machine, InstanceList *list, Part **parts) {
    int count = 0;
    for (ListEntry *entry = list->first; entry != NULL; entry = entry->after)
        if (entry->leaf.way != RIGHT && (parts[count++] = entry_take(machine, entry)) == NULL) return -1;
    parts[count++] = list->core;
    for (ListEntry *entry = list->last; entry != NULL; entry = entry->before)
        if (entry->leaf.way == RIGHT && (parts[count++] = entry_take(machine, entry)) == NULL) return -1;
    return count;
}

static void list_shell_free(RmlMachine *machine, InstanceList *list) {
    for (ListEntry *entry = list->first, *after; entry != NULL; entry = after) {
        after = entry->after;
        entry_drop(machine, entry);
    }
    for (int i = 0; i < list->table_count; i++) free(list->tables[i].slots);
    free(list->tables);
    free(list->asked);
    pool_free(&machine->pool, list, sizeof(InstanceList));
}

int list_insert(RmlMachine *machine, InstanceList *list, Way way, Part *part, ListEntry *before) {
    if (!can_splice(way, part)) return insert_one(machine, list, way, part, &before);
    InstanceList *inner = (InstanceList *)part;
    list->inert |= inner->inert;
    int room = 1;
    for (ListEntry *entry = inner->first; entry != NULL; entry = entry->after) room++;
    Part **parts = malloc(sizeof(Part *) * (size_t)room);
    int count = parts == NULL ? -1 : parts_by_turn(machine, inner, parts);
    if (count >= 0) list_shell_free(machine, inner);
    for (int i = 0; i < count; i++) {
        /* Of right-hand operands the innermost is tried first. */
        Part *piece = parts[way == RIGHT ? count - 1 - i : i];
        if (insert_one(machine, list, way, piece, &before) < 0) count = -1;
    }
    free(parts);
    return count < 0 ? -1 : 0;
}

static int is_neutral(RmlMachine *machine, Way way, const Part *part) {
    if (part->kind != P_LEAF) return 0;
    int shape = (int)part->shape;
    return way == AND ? trees_is_exactly_all(machine->trees, shape) : trees_is_empty(machine->trees, shape);
}

/* Can the new leaf take the old one's place without moving in any table? */
static bool stays(const ListEntry *entry, const Part *part, const Triggers *triggers) {
    if (entry->leaf.kind != P_LEAF || part->kind != P_LEAF || part->size != entry->leaf.size) return false;
    if (triggers == NULL || entry->triggers == NULL) return triggers == entry->triggers;
    if (triggers->count != entry->triggers->count || triggers->key_count != entry->triggers->key_count ||
        memcmp(triggers->keys, entry->triggers->keys, sizeof(int) * (size_t)triggers->key_count) != 0)
        return false;
    for (int i = 0; i < triggers->count; i++)
        if (!same_index_values(&entry->leaf, entry->triggers->index_keys + i, part, triggers->index_keys + i)) return false;
    return true;
}

int list_replace(RmlMachine *machine, InstanceList *list, ListEntry *entry, Part *part) {
    Way way = entry->leaf.way;
    Triggers *triggers = NULL;
    int neutral = is_neutral(machine, way, part), inert = neutral ? 0 : is_inert(machine, way, part);
    if (neutral < 0 || inert < 0 || (!neutral && choose_triggers(machine, way, part, &triggers) < 0)) return -1;
    if (neutral || (!inert && find_duplicate(list, way, part, triggers, entry->before) != NULL)) {
        part_free(machine, part);
        list_remove(machine, list, entry, entry->leaf.kind == P_BOXED);
        return 0;
    }
    if (!inert && stays(entry, part, triggers)) {
        discount_entry(list, entry);
        for (int i = 0; i < entry->leaf.size; i++) val_decref(entry->leaf.registers[i]);
        memcpy(entry->leaf.registers, part->registers, sizeof(Val) * part->size);
        entry->leaf.shape = part->shape;
        entry->triggers = triggers;
        pool_free(&machine->pool, part, sizeof(Leaf) + sizeof(Val) * part->size);
        return count_entry(machine, list, entry);
    }
    triggers_release(triggers);
    ListEntry *before = entry->before;
    list_remove(machine, list, entry, entry->leaf.kind == P_BOXED);
    return list_insert(machine, list, way, part, before);
}

/* ---- the list itself --------------------------------------------------------------------------------------------- */

InstanceList *list_new(RmlMachine *machine, Part *core) {
    InstanceList *list = pool_alloc(&machine->pool, sizeof(InstanceList));
    if (list == NULL) return NULL;
    memset(list, 0, sizeof(InstanceList));
    list->head.kind = P_INSTANCE_LIST;
    list->core = core;
    return list_count_core(machine, list, 1) < 0 ? NULL : list;
}

void list_free(RmlMachine *machine, InstanceList *list) {
    for (ListEntry *entry = list->first; entry != NULL; entry = entry->after) entry_clear(machine, entry);
    part_free(machine, list->core);
    list_shell_free(machine, list);
}

int list_count_core(RmlMachine *machine, InstanceList *list, int by) {
    int halts = part_halts(machine, list->core);
    int dead = halts < 0 ? -1 : part_is_dead(machine, list->core);
    if (dead < 0) return -1;
    list->waiting += by * !halts;
    list->dead += by * dead;
    return 0;
}

/* The core was taken away and discounted; the part takes its place, and what it grew its place around it. */
int list_set_core(RmlMachine *machine, InstanceList *list, Part *part) {
    if (part->kind == P_INSTANCE_LIST) {
        InstanceList *inner = (InstanceList *)part;
        list->inert |= inner->inert;
        for (ListEntry *entry = inner->first; entry != NULL; entry = entry->after) {
            Part *child = entry_take(machine, entry);
            if (child == NULL || list_insert(machine, list, entry->leaf.way, child, list->last) < 0) return -1;
        }
        part = inner->core;
        list_shell_free(machine, inner);
    }
    list->core = part;
    return list_count_core(machine, list, 1);
}

/* The child around a core that is `all` or `empty` becomes the core. */
int list_settle_core(RmlMachine *machine, InstanceList *list) {
    while (list->last != NULL) {
        ListEntry *last = list->last;
        int neutral = is_neutral(machine, last->leaf.way, list->core);
        if (neutral <= 0) return neutral;
        Part *part = entry_take(machine, last);
        if (part == NULL || list_count_core(machine, list, -1) < 0) return -1;
        part_free(machine, list->core);
        list_remove(machine, list, last, true);
        if (list_set_core(machine, list, part) < 0) return -1;
    }
    return 0;
}
