/* Spines: children around a core, in order, found by the values that an event must have to concern them. */
#include "rml/rml.h"

#define GAP (UINT64_C(1) << 20)
#define LARGE_TABLE (1024 * 1024)
#define TWIN_TRIES 16 /* children about the same object that are compared */

static size_t frame_bytes(int size, int links) {
    return sizeof(Frame) + sizeof(Val) * (size_t)size + sizeof(Link) * (size_t)links;
}

static int link_count(const Frame *frame) { return frame->watch == NULL ? 1 : frame->watch->count; }

static Link *frame_links(Frame *frame) { return (Link *)(frame->leaf.registers + frame->leaf.size); }

/* ---- keys -------------------------------------------------------------------------------------------------------------- */

static const Val *registers_of(const Part *part, const Home *home) {
    if (part->kind != P_FILTER) return part->registers;
    const Filter *filter = (const Filter *)part;
    return home->in_test ? filter->test->registers : filter->otherwise->registers;
}

static Val home_value(const Part *part, const Home *home, int i) {
    const Operand *operand = home->operands[i];
    return operand->kind == SLOT ? registers_of(part, home)[operand->a] : operand->constant;
}

static uint32_t key_hash(const Val *values, int count) {
    uint32_t hash = 0x9E3779B9u;
    for (int i = 0; i < count; i++) hash = hash * 31 + val_hash(values[i]);
    return hash;
}

/* ---- a spine in a spine ---------------------------------------------------------------------------------------------------- */

#define SMALL 16 /* homes of a spine whose children can wait together */

static void watch_release(Watch *watch) {
    if (watch == NULL || !watch->own) return;
    for (int i = 0; i < watch->count; i++)
        for (int j = 0; j < watch->homes[i].count; j++) val_decref(watch->homes[i].operands[j]->constant);
    free(watch);
}

typedef struct { size_t keys, homes, values; } Amount;

static void amount_add(Amount *amount, const Watch *watch) {
    amount->keys += (size_t)watch->key_count;
    amount->homes += (size_t)watch->count;
    for (int i = 0; i < watch->count; i++) amount->values += (size_t)watch->homes[i].count;
}

/* One block: the watch, then its homes, operands, pointers to them, and keys. */
static Watch *own_watch(Amount amount) {
    size_t homes = sizeof(Home) * amount.homes, operands = sizeof(Operand) * amount.values;
    size_t pointers = sizeof(Operand *) * amount.values;
    Watch *watch = calloc(1, sizeof(Watch) + homes + operands + pointers + sizeof(int) * amount.keys);
    if (watch == NULL) return (Watch *)PyErr_NoMemory();
    watch->keyed = watch->own = true;
    watch->homes = (Home *)(watch + 1);
    Operand *first = (Operand *)((char *)watch->homes + homes);
    Operand **places = (Operand **)((char *)first + operands);
    for (size_t i = 0; i < amount.values; i++) places[i] = first + i;
    watch->keys = (int *)((char *)places + pointers);
    if (amount.homes) watch->homes[0].operands = places;
    return watch;
}

/* Add what a part waits for, by value. */
static void own_add(Watch *own, const Watch *watch, const Part *part) {
    for (int i = 0; i < watch->key_count; i++) own->keys[own->key_count++] = watch->keys[i];
    for (int i = 0; i < watch->count; i++) {
        const Home *home = watch->homes + i;
        Home *copy = own->homes + own->count;
        Operand **operands = own->count ? copy[-1].operands + copy[-1].count : copy->operands;
        *copy = (Home){home->table, home->count, operands, false};
        own->count++;
        for (int j = 0; j < home->count; j++) {
            *operands[j] = (Operand){.kind = CONSTANT, .constant = home_value(part, home, j)};
            val_incref(operands[j]->constant);
        }
    }
}

static int choose_watch(Machine *machine, Way way, Part *part, Watch **watch);

/* A small spine in a spine of another kind waits for whatever its own children wait for. A large one would have to move
   too often, and there cannot be many of them. */
static int nested_watch(Machine *machine, Way way, Spine *spine, Watch **watch) {
    if (spine->always != NULL) return 0;
    Watch *core;
    if (choose_watch(machine, way, spine->core, &core) < 0) return -1;
    if (core == NULL) return 0;
    Amount amount = {0, 0, 0};
    amount_add(&amount, core);
    int children = 0;
    for (Frame *frame = spine->first; children <= SMALL && frame != NULL; frame = frame->after, children++)
        amount_add(&amount, frame->watch);
    if (children <= SMALL && amount.homes <= SMALL) {
        *watch = own_watch(amount);
        if (*watch != NULL) {
            own_add(*watch, core, spine->core);
            for (Frame *frame = spine->first; frame != NULL; frame = frame->after)
                own_add(*watch, frame->watch, frame_part(frame));
        }
    }
    watch_release(core);
    return PyErr_Occurred() ? -1 : 0;
}

/* What to watch for a child; NULL in `watch` if every event can change it. */
static int choose_watch(Machine *machine, Way way, Part *part, Watch **watch) {
    *watch = NULL;
    if (part->kind == P_SPINE) return nested_watch(machine, way, (Spine *)part, watch);
    Node *test = NULL;
    Part *leaf = part;
    if (part->kind == P_FILTER) {
        test = unconcerned(machine, ((Filter *)part)->test);
        if (test == NULL) return -1;
        if (test->kind == N_YES) return 0;
        leaf = ((Filter *)part)->otherwise;
    }
    if (leaf->kind != P_LEAF) return 0;
    Node *end = unconcerned(machine, leaf);
    if (end == NULL) return -1;
    if (end->kind != (way == AND ? N_SELF : N_FAIL)) return 0;
    Watch *found = program_watch(machine->program, end, test);
    if (found == NULL) return -1;
    if (!found->keyed) return 0;
    for (int i = 0; i < found->count; i++)
        for (int j = 0; j < found->homes[i].count; j++)
            if (!val_keyable(home_value(part, found->homes + i, j))) return 0;
    *watch = found;
    return 0;
}

/* ---- tables of rings --------------------------------------------------------------------------------------------------- */

/* Where a hash belongs. The room is no power of two, so that a table can grow by half and be well filled. */
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

static Table *table_of(Spine *spine, int number) {
    for (int i = 0; i < spine->table_count; i++)
        if (spine->tables[i].number == number) return spine->tables + i;
    return NULL;
}

static Table *table_for(Spine *spine, int number) {
    Table *table = table_of(spine, number);
    if (table != NULL) return table;
    if (spine->table_count == spine->table_room) {
        int room = spine->table_room ? spine->table_room * 2 : 4;
        Table *tables = realloc(spine->tables, sizeof(Table) * (size_t)room);
        if (tables == NULL) return (Table *)PyErr_NoMemory();
        spine->tables = tables;
        spine->table_room = room;
    }
    table = spine->tables + spine->table_count;
    *table = (Table){.number = number};
    if (table_resize(table, 8) < 0) return NULL;
    spine->table_count++;
    return table;
}

/* The slot of the ring with this key, or the empty slot where it belongs. */
static uint32_t table_find(Table *table, uint32_t hash, const Val *values, int count) {
    uint32_t at = table_place(table, hash);
    for (Link *link; (link = table->slots[at]) != NULL; at = table_next(table, at)) {
        if (table->hashes[at] != hash) continue;
        Frame *frame = frame_of(link);
        const Home *home = frame->watch->homes + link->home;
        int same = 1;
        for (int i = 0; same == 1 && i < count; i++)
            same = val_identical(home_value(frame_part(frame), home, i), values[i]);
        if (same == 1) break;
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
static Link *link_beside(Frame *frame, const Link *link, const Home *home, const Part *part) {
    Link *links = frame_links(frame);
    if (home == NULL || frame->watch == NULL) return home == NULL && frame->watch == NULL ? links : NULL;
    for (int i = 0; i < frame->watch->count; i++) {
        const Home *other = frame->watch->homes + i;
        if (other->table != home->table || links[i].hash != link->hash) continue;
        int same = 1;
        for (int j = 0; same == 1 && j < home->count; j++)
            same = val_identical(home_value(frame_part(frame), other, j), home_value(part, home, j));
        if (same == 1) return links + i;
    }
    return NULL;
}

/* Into a ring, at its place; `*first` is the first of the ring or NULL. The place is looked for in two ways at once: from
   the end of the ring, which is soon found if the ring is small or the child new, and among the children before this one,
   of which one is soon found if most are in the ring. */
static void ring_insert(Link **first, Link *link, const Home *home) {
    if (*first == NULL) {
        link->next = link->prev = link;
        *first = link;
        return;
    }
    Frame *frame = frame_of(link), *near = frame->before;
    Link *after = (*first)->prev;
    bool foremost = false;
    while (frame_of(after)->label > frame->label) {
        if (after == *first) {
            foremost = true;
            after = after->prev;
            break;
        }
        after = after->prev;
        if (near != NULL) {
            Link *beside = link_beside(near, link, home, frame_part(frame));
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

/* Out of a ring; returns what is first then, if this was. */
static Link *ring_remove(Link *link) {
    Link *next = link->next == link ? NULL : link->next;
    link->prev->next = link->next;
    link->next->prev = link->prev;
    return next;
}

static int ask_for(Machine *machine, Spine *spine, const Watch *watch) {
    int keys = machine->program->key_count;
    if (spine->asked_count < keys) {
        uint32_t *asked = realloc(spine->asked, sizeof(uint32_t) * (size_t)keys);
        if (asked == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        memset(asked + spine->asked_count, 0, sizeof(uint32_t) * (size_t)(keys - spine->asked_count));
        spine->asked = asked;
        spine->asked_count = keys;
    }
    for (int i = 0; i < watch->key_count; i++) spine->asked[watch->keys[i]]++;
    return 0;
}

static int frame_register(Machine *machine, Spine *spine, Frame *frame) {
    Link *links = frame_links(frame);
    size_t first_word = ((char *)links - (char *)frame) / 8;
    for (int i = 0; i < link_count(frame); i++) {
        links[i].place = (uint16_t)(first_word + (size_t)i * (sizeof(Link) / 8));
        links[i].home = (uint16_t)i;
        links[i].hash = 0;
    }
    if (frame->watch == NULL) {
        ring_insert(&spine->always, links, NULL);
        return 0;
    }
    if (ask_for(machine, spine, frame->watch) < 0) return -1;
    Part *part = frame_part(frame);
    for (int i = 0; i < frame->watch->count; i++) {
        const Home *home = frame->watch->homes + i;
        Table *table = table_for(spine, home->table);
        if (table == NULL) return -1;
        if (table->used + 1 > table->room / 8 * 7 && table_resize(table, table->room / 2 * 3) < 0)
            return -1;
        Val values[MOST_VALUES];
        for (int j = 0; j < home->count; j++) values[j] = home_value(part, home, j);
        links[i].hash = key_hash(values, home->count);
        uint32_t at = table_find(table, links[i].hash, values, home->count);
        if (table->slots[at] == NULL) table->used++;
        table->hashes[at] = links[i].hash;
        ring_insert(table->slots + at, links + i, home);
    }
    return 0;
}

static void frame_unregister(Spine *spine, Frame *frame) {
    Link *links = frame_links(frame);
    if (frame->watch == NULL) {
        Link *next = ring_remove(links);
        if (spine->always == links) spine->always = next;
        return;
    }
    for (int i = 0; i < frame->watch->key_count; i++) spine->asked[frame->watch->keys[i]]--;
    for (int i = 0; i < frame->watch->count; i++) {
        Table *table = table_of(spine, frame->watch->homes[i].table);
        Link *next = ring_remove(links + i);
        if (next != NULL && links[i].prev != NULL && frame_of(next)->label > frame->label &&
            frame_of(links[i].prev)->label < frame->label)
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

Link *spine_ring(Machine *machine, Spine *spine, int number) {
    int pattern = machine->program->keys[number].pattern;
    Memo *memo = captured(machine, pattern);
    if (memo == NULL || !memo->matched) return NULL;
    const Key *key = machine->program->keys + number;
    Val values[MOST_VALUES];
    for (int i = 0; i < key->count; i++) {
        values[i] = memo->captures[key->captures[i]];
        if (!val_keyable(values[i])) return NULL;
    }
    Table *table = table_of(spine, key->table);
    return table->slots[table_find(table, key_hash(values, key->count), values, key->count)];
}

/* ---- looking ahead -------------------------------------------------------------------------------------------------------- */

bool spine_is_large(const Spine *spine) {
    for (int i = 0; i < spine->table_count; i++)
        if (spine->tables[i].used > LARGE_TABLE / 1024) return true;
    return false;
}

int spine_foresee(Machine *machine, Spine *spine) {
    Sight *sight = machine->now;
    for (int number = 0; number < spine->asked_count && sight->hints < 8; number++) {
        if (spine->asked[number] == 0) continue;
        Memo *memo = captured(machine, machine->program->keys[number].pattern);
        if (memo == NULL) return -1;
        const Key *key = machine->program->keys + number;
        if (!memo->matched || key->count == 0) continue;
        Val values[MOST_VALUES];
        bool keyable = true;
        for (int i = 0; keyable && i < key->count; i++)
            keyable = val_keyable(values[i] = memo->captures[key->captures[i]]);
        Table *table = table_of(spine, key->table);
        if (!keyable || table == NULL) continue;
        uint32_t hash = key_hash(values, key->count);
        uint32_t at = table_place(table, hash);
        __builtin_prefetch(table->hashes + at);
        __builtin_prefetch(table->slots + at);
        sight->hashes[sight->hints] = hash;
        sight->tables[sight->hints++] = key->table;
    }
    return 0;
}

void spine_fetch(Spine *spine, const Sight *sight) {
    for (int i = 0; i < sight->hints; i++) {
        Table *table = table_of(spine, sight->tables[i]);
        if (table == NULL) continue;
        uint32_t at = table_place(table, sight->hashes[i]);
        for (int probes = 0; probes < 8 && table->slots[at] != NULL; probes++, at = table_next(table, at)) {
            if (table->hashes[at] != sight->hashes[i]) continue;
            __builtin_prefetch(table->slots[at]);
            __builtin_prefetch((char *)table->slots[at] - 56); /* the frame around it */
            break;
        }
    }
}

/* ---- children, by place --------------------------------------------------------------------------------------------------- */

static void relabel(Spine *spine) {
    uint64_t label = 0;
    for (Frame *frame = spine->first; frame != NULL; frame = frame->after) frame->label = label += GAP;
}

static uint64_t label_between(Spine *spine, Frame *before, Frame *after) {
    for (;;) {
        uint64_t low = before == NULL ? 0 : before->label;
        if (after == NULL && low < UINT64_MAX - GAP) return low + GAP;
        if (after != NULL && after->label - low >= 2) return low + (after->label - low) / 2;
        relabel(spine);
    }
}

static int count_frame(Machine *machine, Spine *spine, Frame *frame) {
    int halts = part_halts(machine, frame_part(frame));
    int doomed = halts < 0 ? -1 : part_doomed(machine, frame_part(frame));
    if (doomed < 0) return -1;
    frame->leaf.halts = halts;
    frame->leaf.doomed = doomed;
    spine->waiting += !halts;
    spine->doomed += doomed;
    return 0;
}

static void discount_frame(Spine *spine, Frame *frame) {
    spine->waiting -= !frame->leaf.halts;
    spine->doomed -= frame->leaf.doomed;
}

/* Will the child do nothing, whatever comes, as `e >> all : all` does? */
static int is_inert(Machine *machine, Way way, Part *part) {
    if (part->kind != P_LEAF) return 0;
    Node *end = unconcerned(machine, part);
    if (end == NULL) return -1;
    if (end->parent != NULL || end->kind != (way == AND ? N_SELF : N_FAIL)) return 0;
    int halts = part_halts(machine, part), doomed = halts < 0 ? -1 : part_doomed(machine, part);
    return doomed < 0 ? -1 : halts && !doomed;
}

/* Is there a child already, up to this one, that says the same? `A /\ A` is A, if nothing but intersections stands between
   the two. A law that makes an instance each time something is done to an object would otherwise have ever more of them.
   Children further in may not have taken the present event yet. */
static Frame *find_twin(Spine *spine, Way way, const Part *part, const Watch *watch, const Frame *last) {
    if (last == NULL) return NULL;
    if (way != AND || part->kind != P_LEAF || spine->shuffled || watch == NULL || watch->count == 0) return NULL;
    const Home *home = watch->homes;
    Table *table = table_of(spine, home->table);
    if (table == NULL) return NULL;
    Val values[MOST_VALUES];
    for (int i = 0; i < home->count; i++) values[i] = home_value(part, home, i);
    Link *first = table->slots[table_find(table, key_hash(values, home->count), values, home->count)];
    Link *link = first;
    for (int tries = 0; link != NULL && tries < TWIN_TRIES && frame_of(link)->label <= last->label; tries++) {
        Frame *frame = frame_of(link);
        if (frame->leaf.kind == P_LEAF && frame->leaf.shape == part->shape && frame->leaf.size == part->size) {
            int same = 1;
            for (int i = 0; same == 1 && i < part->size; i++)
                same = val_identical(frame->leaf.registers[i], part->registers[i]);
            if (same == 1) return frame;
        }
        link = link->next == first ? NULL : link->next;
    }
    return NULL;
}

static Frame *insert_frame(Machine *machine, Spine *spine, Way way, Part *part, Frame *before) {
    Watch *watch;
    if (choose_watch(machine, way, part, &watch) < 0) return NULL;
    if (find_twin(spine, way, part, watch, before) != NULL) {
        part_free(machine, part);
        return before;
    }
    bool leaf = part->kind == P_LEAF;
    int size = leaf ? part->size : 1;
    Frame *frame = pool_alloc(&machine->pool, frame_bytes(size, watch == NULL ? 1 : watch->count));
    if (frame == NULL) return NULL;
    frame->watch = watch;
    spine->shuffled += way != AND;
    frame->leaf = (Leaf){.size = (uint16_t)size, .way = way, .kind = P_BOXED};
    if (leaf) {
        frame->leaf.shape = part->shape;
        frame->leaf.kind = P_LEAF;
        memcpy(frame->leaf.registers, part->registers, sizeof(Val) * (size_t)size);
        pool_free(&machine->pool, part, sizeof(Leaf) + sizeof(Val) * (size_t)size);
    } else {
        frame->leaf.registers[0] = (Val)part;
    }
    Frame *after = before == NULL ? spine->first : before->after;
    frame->label = label_between(spine, before, after);
    frame->before = before;
    frame->after = after;
    *(before == NULL ? &spine->first : &before->after) = frame;
    *(after == NULL ? &spine->last : &after->before) = frame;
    if (count_frame(machine, spine, frame) < 0 || frame_register(machine, spine, frame) < 0) return NULL;
    return frame;
}

/* Takes over the part; `*before` becomes the new child. */
static int insert_one(Machine *machine, Spine *spine, Way way, Part *part, Frame **before) {
    int inert = is_inert(machine, way, part);
    if (inert < 0) return -1;
    if (inert) {
        spine->inert = true;
        part_free(machine, part);
        return 0;
    }
    Frame *frame = insert_frame(machine, spine, way, part, *before);
    if (frame == NULL) return -1;
    *before = frame;
    return 0;
}

/* Give back a frame's memory, its part having gone elsewhere. */
static void frame_drop(Machine *machine, Frame *frame) {
    size_t size = frame_bytes(frame->leaf.size, link_count(frame));
    watch_release(frame->watch);
    pool_free(&machine->pool, frame, size);
}

/* A frame's part as a part of its own. */
static Part *frame_take(Machine *machine, Frame *frame) {
    if (frame->leaf.kind == P_BOXED) return (Part *)frame->leaf.registers[0];
    Leaf *leaf = leaf_new(machine, (int)frame->leaf.shape, frame->leaf.size);
    if (leaf != NULL) memcpy(leaf->registers, frame->leaf.registers, sizeof(Val) * frame->leaf.size);
    return leaf;
}

static void frame_unlink(Spine *spine, Frame *frame) {
    discount_frame(spine, frame);
    spine->shuffled -= frame->leaf.way != AND;
    frame_unregister(spine, frame);
    *(frame->before == NULL ? &spine->first : &frame->before->after) = frame->after;
    *(frame->after == NULL ? &spine->last : &frame->after->before) = frame->before;
}

static void frame_clear(Machine *machine, Frame *frame) {
    if (frame->leaf.kind == P_BOXED) {
        part_free(machine, (Part *)frame->leaf.registers[0]);
    } else {
        for (int i = 0; i < frame->leaf.size; i++) val_decref(frame->leaf.registers[i]);
    }
}

void spine_remove(Machine *machine, Spine *spine, Frame *frame, bool keep_part) {
    frame_unlink(spine, frame);
    if (!keep_part) frame_clear(machine, frame);
    frame_drop(machine, frame);
}

/* May a child that is a spine be put in its place child by child? */
static bool can_splice(Way way, const Part *part) {
    if (part->kind != P_SPINE) return false;
    for (const Frame *frame = ((const Spine *)part)->first; frame != NULL; frame = frame->after)
        if ((frame->leaf.way == AND) != (way == AND)) return false;
    return true;
}

/* The parts of a spine in the order in which they are tried. */
static int parts_by_turn(Machine *machine, Spine *spine, Part **parts) {
    int count = 0;
    for (Frame *frame = spine->first; frame != NULL; frame = frame->after)
        if (frame->leaf.way != RIGHT && (parts[count++] = frame_take(machine, frame)) == NULL) return -1;
    parts[count++] = spine->core;
    for (Frame *frame = spine->last; frame != NULL; frame = frame->before)
        if (frame->leaf.way == RIGHT && (parts[count++] = frame_take(machine, frame)) == NULL) return -1;
    return count;
}

static void spine_shell_free(Machine *machine, Spine *spine) {
    for (Frame *frame = spine->first, *after; frame != NULL; frame = after) {
        after = frame->after;
        frame_drop(machine, frame);
    }
    for (int i = 0; i < spine->table_count; i++) free(spine->tables[i].slots);
    free(spine->tables);
    free(spine->asked);
    pool_free(&machine->pool, spine, sizeof(Spine));
}

int spine_insert(Machine *machine, Spine *spine, Way way, Part *part, Frame *before) {
    if (!can_splice(way, part)) return insert_one(machine, spine, way, part, &before);
    Spine *inner = (Spine *)part;
    spine->inert |= inner->inert;
    int room = 1;
    for (Frame *frame = inner->first; frame != NULL; frame = frame->after) room++;
    Part **parts = malloc(sizeof(Part *) * (size_t)room);
    int count = parts == NULL ? -1 : parts_by_turn(machine, inner, parts);
    if (count >= 0) spine_shell_free(machine, inner);
    for (int i = 0; i < count; i++) {
        /* Of right-hand operands the innermost is tried first. */
        Part *piece = parts[way == RIGHT ? count - 1 - i : i];
        if (insert_one(machine, spine, way, piece, &before) < 0) count = -1;
    }
    free(parts);
    return count < 0 ? -1 : 0;
}

static int is_neutral(Machine *machine, Way way, const Part *part) {
    if (part->kind != P_LEAF) return 0;
    int shape = (int)part->shape;
    return way == AND ? program_is_exactly_all(machine->program, shape) : program_is_empty(machine->program, shape);
}

/* Can the new leaf take the old one's place without moving in any table? */
static bool stays(const Frame *frame, const Part *part, const Watch *watch) {
    if (frame->leaf.kind != P_LEAF || part->kind != P_LEAF || part->size != frame->leaf.size) return false;
    if (watch == NULL || frame->watch == NULL) return watch == frame->watch;
    if (watch->count != frame->watch->count || watch->key_count != frame->watch->key_count ||
        memcmp(watch->keys, frame->watch->keys, sizeof(int) * (size_t)watch->key_count) != 0)
        return false;
    for (int i = 0; i < watch->count; i++) {
        const Home *old = frame->watch->homes + i, *new = watch->homes + i;
        if (old->table != new->table || old->count != new->count) return false;
        for (int j = 0; j < new->count; j++)
            if (val_identical(home_value(&frame->leaf, old, j), home_value(part, new, j)) != 1) return false;
    }
    return true;
}

int spine_replace(Machine *machine, Spine *spine, Frame *frame, Part *part) {
    Way way = frame->leaf.way;
    int neutral = is_neutral(machine, way, part);
    if (neutral < 0) return -1;
    if (neutral) {
        part_free(machine, part);
        spine_remove(machine, spine, frame, frame->leaf.kind == P_BOXED);
        return 0;
    }
    Watch *watch;
    int inert = is_inert(machine, way, part);
    if (inert < 0 || choose_watch(machine, way, part, &watch) < 0) return -1;
    if (!inert && find_twin(spine, way, part, watch, frame->before) != NULL) {
        part_free(machine, part);
        spine_remove(machine, spine, frame, frame->leaf.kind == P_BOXED);
        return 0;
    }
    if (!inert && stays(frame, part, watch)) {
        discount_frame(spine, frame);
        for (int i = 0; i < frame->leaf.size; i++) val_decref(frame->leaf.registers[i]);
        memcpy(frame->leaf.registers, part->registers, sizeof(Val) * part->size);
        frame->leaf.shape = part->shape;
        frame->watch = watch;
        pool_free(&machine->pool, part, sizeof(Leaf) + sizeof(Val) * part->size);
        return count_frame(machine, spine, frame);
    }
    watch_release(watch);
    Frame *before = frame->before;
    spine_remove(machine, spine, frame, frame->leaf.kind == P_BOXED);
    return spine_insert(machine, spine, way, part, before);
}

/* ---- the spine itself -------------------------------------------------------------------------------------------------------- */

Spine *spine_new(Machine *machine, Part *core) {
    Spine *spine = pool_alloc(&machine->pool, sizeof(Spine));
    if (spine == NULL) return NULL;
    memset(spine, 0, sizeof(Spine));
    spine->head.kind = P_SPINE;
    spine->core = core;
    return spine_count_core(machine, spine, 1) < 0 ? NULL : spine;
}

void spine_free(Machine *machine, Spine *spine) {
    for (Frame *frame = spine->first; frame != NULL; frame = frame->after) frame_clear(machine, frame);
    part_free(machine, spine->core);
    spine_shell_free(machine, spine);
}

int spine_count_core(Machine *machine, Spine *spine, int by) {
    int halts = part_halts(machine, spine->core);
    int doomed = halts < 0 ? -1 : part_doomed(machine, spine->core);
    if (doomed < 0) return -1;
    spine->waiting += by * !halts;
    spine->doomed += by * doomed;
    return 0;
}

/* The core was taken away and discounted; the part takes its place, and what it grew its place around it. */
int spine_set_core(Machine *machine, Spine *spine, Part *part) {
    if (part->kind == P_SPINE) {
        Spine *inner = (Spine *)part;
        spine->inert |= inner->inert;
        for (Frame *frame = inner->first; frame != NULL; frame = frame->after) {
            Part *child = frame_take(machine, frame);
            if (child == NULL || spine_insert(machine, spine, frame->leaf.way, child, spine->last) < 0) return -1;
        }
        part = inner->core;
        spine_shell_free(machine, inner);
    }
    spine->core = part;
    return spine_count_core(machine, spine, 1);
}

/* A core that has nothing more to say gives its place to the child around it. */
int spine_settle_core(Machine *machine, Spine *spine) {
    while (spine->last != NULL) {
        Frame *last = spine->last;
        int neutral = is_neutral(machine, last->leaf.way, spine->core);
        if (neutral <= 0) return neutral;
        Part *part = frame_take(machine, last);
        if (part == NULL || spine_count_core(machine, spine, -1) < 0) return -1;
        part_free(machine, spine->core);
        spine_remove(machine, spine, last, true);
        if (spine_set_core(machine, spine, part) < 0) return -1;
    }
    return 0;
}
