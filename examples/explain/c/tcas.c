/* Two aircraft come near each other: climb, descend, or stay? Nobody may be told to pass through the other's height. Which
 * way there is more room is looked at, but not on which side the other one is. */
#include <assert.h>

#include "choose.h"

enum advice { STAY, CLIMB, DESCEND };

static int own_height;
static int other_height;
static int room_above;
static int room_below;
static int other_answers;
static int other_climbs;

static int is_below(void)
{
    return own_height < other_height;
}

static int is_above(void)
{
    return other_height < own_height;
}

static int may_climb(void)
{
    return room_above >= 2;
}

static int may_descend(void)
{
    return room_below >= 2;
}

static int climbing_is_better(void)
{
    return room_above > room_below;
}

static enum advice agree(void)
{
    if (other_climbs)
        return may_descend() ? DESCEND : STAY;
    return may_climb() ? CLIMB : STAY;
}

static enum advice advise(void)
{
    if (other_answers)
        return agree();
    if (climbing_is_better()) {
        if (may_climb())
            return CLIMB;
    } else if (may_descend()) {
        return DESCEND;
    }
    if (is_below())
        return DESCEND;
    return is_above() ? CLIMB : STAY;
}

static void check(enum advice advice)
{
    int crosses = is_below() ? advice == CLIMB : is_above() && advice == DESCEND;
    assert(!crosses);
}

int main(void)
{
    own_height = choose(3);
    other_height = choose(3);
    room_above = choose(4);
    room_below = choose(4);
    other_answers = choose(2);
    other_climbs = choose(2);
    check(advise());
    return 0;
}
