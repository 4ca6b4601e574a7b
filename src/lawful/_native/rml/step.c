/* One step: first what would change, then, when the whole step has succeeded, the changes. */
#include "rml/rml.h"

Change FAILS = {.kind = C_FAIL}, SAME = {.kind = C_SELF};

static Change *change_new(Machine *machine, int kind, Change *inner) {
    Change *change = arena_alloc(&machine->scratch, sizeof(Change));
    if (change == NULL) return NULL;
    change->kind = kind;
    change->inner = inner;
    return change;
}

/* ---- what would change ----------------------------------------------------------------------------------------------- */

static Change *leaf_step(Machine *machine, Leaf *leaf) {
    Node *end = walk(machine, STEP, leaf);
    if (end == NULL) return NULL;
    if (end->kind == N_FAIL) return &FAILS;
    if (end->kind == N_SELF) return &SAME;
    Change *change = change_new(machine, C_BECOME, NULL);
    if (change != NULL) change->recipe = end->recipe;
    return change;
}

static Change *sequence_step(Machine *machine, Sequence *sequence) {
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

static Change *within(Machine *machine, bool in_body, Change *change) {
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
} Touched;

static Frame *next_touched(Touched *touched) {
    Frame *least = NULL;
    for (int i = 0; i < touched->count; i++) {
        Link *at = touched->rings[i].at;
        if (at != NULL && (least == NULL || frame_of(at)->label < least->label)) least = frame_of(at);
    }
    if (least == NULL) return NULL;
    for (int i = 0; i < touched->count; i++) {
        Ring *ring = touched->rings + i;
        while (ring->at != NULL && frame_of(ring->at) == least)
            ring->at = ring->at->next == ring->first ? NULL : ring->at->next;
    }
    return least;
}

static int touch(Machine *machine, Spine *spine, Touched *touched) {
    touched->count = 0;
    touched->rings = arena_take(&machine->scratch, sizeof(Ring) * (size_t)(spine->asked_count + 1));
    if (touched->rings == NULL) return -1;
    if (spine->always != NULL) touched->rings[touched->count++] = (Ring){spine->always, spine->always};
    for (int key = 0; key < spine->asked_count; key++) {
        if (spine->asked[key] == 0) continue;
        Link *ring = spine_ring(machine, spine, key);
        if (ring == NULL) continue;
        int known = 0; /* questions about the same values lead to the same children */
        while (known < touched->count && touched->rings[known].first != ring) known++;
        if (known == touched->count) touched->rings[touched->count++] = (Ring){ring, ring};
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Note a child and its change; the list is made when there is a first one. */
static int remember(Machine *machine, Change **list, Frame *frame, Change *change) {
    if (*list == NULL && (*list = change_new(machine, C_FRAMES, &SAME)) == NULL) return -1;
    Change *all = *list;
    if (all->count == all->room) {
        int room = all->room ? all->room * 2 : 4;
        FrameChange *frames = arena_take(&machine->scratch, sizeof(FrameChange) * (size_t)room);
        if (frames == NULL) return -1;
        if (all->count) memcpy(frames, all->frames, sizeof(FrameChange) * (size_t)all->count);
        all->frames = frames;
        all->room = room;
    }
    all->frames[all->count++] = (FrameChange){frame, change};
    return 0;
}

static Change *changed(Change *all) { return all != NULL && all->count ? all : &SAME; }

/* Something inside failed: a right-hand operand around it may take the event instead, the innermost first. */
static Change *rescued(Machine *machine, Change *rescue, Change *all) {
    for (int i = rescue == NULL ? -1 : rescue->count - 1; i >= 0; i--) {
        Frame *frame = rescue->frames[i].frame;
        Change *change = part_step(machine, frame_part(frame));
        if (change == NULL) return NULL;
        if (change == &FAILS) continue;
        while (all != NULL && all->count && all->frames[all->count - 1].frame->label > frame->label) all->count--;
        if (change != &SAME && remember(machine, &all, frame, change) < 0) return NULL;
        return changed(all);
    }
    return &FAILS;
}

static Change *spine_step(Machine *machine, Spine *spine) {
    Touched touched;
    if (touch(machine, spine, &touched) < 0) return NULL;
    Change *all = NULL, *rescue = NULL;
    for (Frame *frame; (frame = next_touched(&touched)) != NULL;) {
        Way way = frame->leaf.way;
        if (way == RIGHT) {
            if (remember(machine, &rescue, frame, NULL) < 0) return NULL;
            continue;
        }
        Change *change = part_step(machine, frame_part(frame));
        if (change == NULL) return NULL;
        if (change == &FAILS) {
            if (way == AND) return rescued(machine, rescue, all);
            continue;
        }
        if (change != &SAME && remember(machine, &all, frame, change) < 0) return NULL;
        if (way == LEFT) return changed(all);
    }
    Change *core = part_step(machine, spine->core);
    if (core == NULL) return NULL;
    if (core == &FAILS) return rescued(machine, rescue, all);
    if (core == &SAME) return changed(all);
    if (all == NULL && (all = change_new(machine, C_FRAMES, core)) == NULL) return NULL;
    all->inner = core;
    return all;
}

Change *part_step(Machine *machine, Part *part) {
    switch (part->kind) {
    case P_LEAF: return leaf_step(machine, part);
    case P_SPINE: return spine_step(machine, (Spine *)part);
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

/* ---- the changes ---------------------------------------------------------------------------------------------------------- */

static int spine_apply(Machine *machine, Spine *spine, Change *change) {
    for (int i = 0; i < change->count; i++) {
        Frame *frame = change->frames[i].frame;
        Change *inner = change->frames[i].change;
        Part *part;
        if (frame->leaf.kind == P_BOXED) {
            part = part_apply(machine, (Part *)frame->leaf.registers[0], inner);
        } else {
            part = part_build(machine, inner->recipe, frame->leaf.registers);
        }
        part = part_collapsed(machine, part);
        if (part == NULL || spine_replace(machine, spine, frame, part) < 0) return -1;
    }
    if (change->inner != &SAME) {
        if (spine_count_core(machine, spine, -1) < 0) return -1;
        Part *part = part_collapsed(machine, part_apply(machine, spine->core, change->inner));
        if (part == NULL || spine_set_core(machine, spine, part) < 0) return -1;
    }
    return spine_settle_core(machine, spine);
}

static Part *sequence_apply(Machine *machine, Sequence *sequence, Change *change) {
    Part *first = sequence->first;
    Cell *rest = sequence->rest;
    pool_free(&machine->pool, sequence, sizeof(Sequence));
    if (change->kind == C_HEAD) {
        first = part_collapsed(machine, part_apply(machine, first, change->inner));
        return first == NULL ? NULL : sequence_of(machine, first, rest);
    }
    part_free(machine, first);
    while (rest != change->cell) {
        Cell *used = rest;
        rest = rest->rest;
        leaf_free(machine, used->leaf);
        pool_free(&machine->pool, used, sizeof(Cell));
    }
    Leaf *leaf = rest->leaf;
    Cell *used = rest;
    rest = rest->rest;
    pool_free(&machine->pool, used, sizeof(Cell));
    if (change->inner == &SAME) { /* the head is over all the same */
        Recipe *recipe = program_expanded(machine->program, (int)leaf->shape);
        first = recipe == NULL ? NULL : part_build(machine, recipe, leaf->registers);
        leaf_free(machine, leaf);
    } else {
        first = part_apply(machine, leaf, change->inner);
    }
    return first == NULL ? NULL : sequence_of(machine, first, rest);
}

Part *part_apply(Machine *machine, Part *part, Change *change) {
    switch (part->kind) {
    case P_LEAF: {
        Part *built = part_build(machine, change->recipe, part->registers);
        if (built != NULL) leaf_free(machine, part);
        return built;
    }
    case P_SPINE: return spine_apply(machine, (Spine *)part, change) < 0 ? NULL : part;
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
