/* All rules under a strategy: which are enforced, which are dead, and which endings break the best rule of a pair.

   Called by: learner.c (`survey`, `counts`, `pair`), under the window's lock.
   Must match: `Window.survey` in lawful/learning/window.py, and `judge` in lawful/learning/strategies.py.
   Compared by: tests/learning/test_window.py. */
#include "learner/learner.h"

#include <stdlib.h>
#include <string.h>

/* What the strategy says of a rule: join is the greater state, meet the lesser one. */
static int judge(const Instruction *program, int length, uint64_t satisfied, uint64_t total, uint64_t contexts) {
    int stack[64], depth = 0;
    for (int i = 0; i < length; i++) {
        const Instruction *each = &program[i];
        switch (each->op) {
        case OP_COUNT:
            stack[depth++] = (double)satisfied > each->x   ? STATE_ENFORCING
                             : (double)satisfied < each->y ? STATE_DEAD
                                                           : STATE_LEARNING;
            break;
        case OP_RATIO: {
            double ratio = total ? (double)satisfied / (double)total : 0.0;
            stack[depth++] = total && ratio > each->x                         ? STATE_ENFORCING
                             : ratio < each->y && (double)total >= each->z    ? STATE_DEAD
                                                                              : STATE_LEARNING;
            break;
        }
        case OP_CONTEXT:
            stack[depth++] = (double)contexts >= each->x ? STATE_ENFORCING : STATE_LEARNING;
            break;
        default: {
            int right = stack[--depth], left = stack[--depth];
            bool left_greater = left > right;
            stack[depth++] = (each->op == OP_JOIN) == left_greater ? left : right;
        }
        }
    }
    return stack[0];
}

uint64_t survey_first(Window *window, const Pair *pair, int kind) {
    if (pair->remembered && pair->remembered[kind]) return 0;
    int letters = window->automaton.letters[kind];
    if (letters == 3) {
        for (int i = 0; i < pair->ending_count; i++)
            if (pair->endings[i].kind == kind) return pair->endings[i].first;
        return pair->created + 1;
    }
    int letter = letters >> 1;
    const Name *name = &window->names[letter ? pair->second : pair->first];
    uint32_t other = letter ? pair->first : pair->second;
    uint64_t least = 0;
    usages_settle(window, letter ? pair->second : pair->first);
    for (int i = 0; i < name->usage_count; i++) {
        const Usage *usage = &name->usages[i];
        if (usage->last <= pair->created || alone_kind(&window->automaton, letter, usage->position) != kind ||
            usage_touched(usage, other))
            continue;
        uint64_t first = usage->first > pair->created ? usage->first : pair->created + 1;
        if (!least || first < least) least = first;
    }
    return least ? least : pair->created + 1;
}

static void add_rules(uint64_t rules, uint64_t count, uint64_t *sums) {
    for (; rules; rules &= rules - 1) sums[__builtin_ctzll(rules)] += count;
}

/* Sums over kinds of endings; with `firsts`, only those that came up before the kind `until`. */
static void sum_up(const Automaton *automaton, const uint64_t *by_kind, const uint64_t *firsts, int until, uint64_t *total,
                   uint64_t *satisfied) {
    *total = 0;
    memset(satisfied, 0, automaton->rules * sizeof *satisfied);
    for (int kind = 0; kind < automaton->kinds; kind++) {
        if (!by_kind[kind] || (firsts && (kind == until || (firsts[kind] && firsts[kind] >= firsts[until])))) continue;
        *total += by_kind[kind];
        add_rules(automaton->satisfied[kind], by_kind[kind], satisfied);
    }
}

static void count_contexts(const Automaton *automaton, const Pair *pair, uint64_t *contexts) {
    memset(contexts, 0, automaton->rules * sizeof *contexts);
    for (int i = 0; i < pair->context_count; i++) add_rules(pair->contexts[i].satisfied, 1, contexts);
}

void survey_rules(Window *window, const Pair *pair, uint64_t *total, uint64_t *satisfied, uint64_t *contexts) {
    pair_counts(window, pair);
    sum_up(&window->automaton, window->by_kind, NULL, 0, total, satisfied);
    count_contexts(&window->automaton, pair, contexts);
}

static int add_candidate(Survey *survey, const Pair *pair, int rule, int kind) {
    if (!HAS_ROOM(survey->candidates, survey->count, survey->room, 64)) return -1;
    survey->candidates[survey->count++] = (Candidate){pair->first, pair->second, rule, kind};
    return 0;
}

/* Section 2.4: only the best enforcing rule speaks. */
static int group(Window *window, const Pair *pair, uint64_t enforcing, Survey *survey) {
    const Automaton *automaton = &window->automaton;
    uint64_t *by_kind = window->by_kind, *firsts = window->firsts;
    for (int kind = 0; kind < automaton->kinds; kind++)
        firsts[kind] = by_kind[kind] ? survey_first(window, pair, kind) : 0;
    for (int kind = 0; kind < automaton->kinds; kind++) {
        uint64_t total, before[MOST_RULES];
        if (!by_kind[kind] || !(enforcing & ~automaton->satisfied[kind])) continue;
        sum_up(automaton, by_kind, firsts, kind, &total, before);
        int best = -1;
        for (int rule = 0; rule < automaton->rules; rule++) {
            if (!(enforcing >> rule & 1)) continue;
            if (best < 0 || before[rule] > before[best] ||
                (before[rule] == before[best] && automaton->size[rule] < automaton->size[best]))
                best = rule;
        }
        if (!(automaton->satisfied[kind] >> best & 1) && add_candidate(survey, pair, best, kind) < 0) return -1;
    }
    return 0;
}

int survey_all(Window *window, const Instruction *program, int length, bool prune, Survey *survey) {
    const Automaton *automaton = &window->automaton;
    int failed = 0;
    cache_settle(window);
    size_t kept = 0, count = window->pair_count;
    for (size_t i = 0; i < count; i++) {
        Pair *pair = window->pairs[i];
        if (failed) {
            window->pairs[kept++] = pair;
            continue;
        }
        uint64_t total, satisfied[MOST_RULES], contexts[MOST_RULES], enforcing = 0;
        int dead = 0;
        survey_rules(window, pair, &total, satisfied, contexts);
        for (int rule = 0; rule < automaton->rules; rule++) {
            int state = judge(program, length, satisfied[rule], total, contexts[rule]);
            if (state == STATE_ENFORCING) {
                enforcing |= UINT64_C(1) << rule;
                survey->enforcing++;
            } else if (state == STATE_DEAD) {
                dead++;
            } else {
                survey->learning++;
            }
        }
        survey->dead += dead;
        if (prune && dead == automaton->rules && (failed = pair_prune(window, i)) == 0) continue;
        window->pairs[kept++] = pair;
        survey->pairs += enforcing != 0;
        if (enforcing && !failed) failed = group(window, pair, enforcing, survey);
    }
    window->pair_count = kept;
    return failed;
}
