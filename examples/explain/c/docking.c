/* A spacecraft docks in phases. An abort just before contact is acknowledged, but the thrusters are not stopped. */
#include <assert.h>

#include "choose.h"

enum phase { APPROACH, ALIGN, CLOSE_IN, CONTACT, RETREAT, DONE };

static enum phase phase;
static int thrust;

static void approach(void)
{
    thrust = 2;
    if (choose(2))
        phase = choose(2) ? ALIGN : CLOSE_IN;
}

static void align(void)
{
    thrust = 0;
    phase = choose(2) ? CLOSE_IN : APPROACH;
}

static void close_in(void)
{
    thrust = 1;
    phase = CONTACT;
}

static void contact(void)
{
    thrust = 0;
    phase = DONE;
}

static void retreat(void)
{
    assert(thrust == 0);
    phase = DONE;
}

static void abort_mission(void)
{
    if (phase != CONTACT)
        thrust = 0;
    phase = RETREAT;
}

int main(void)
{
    phase = APPROACH;
    thrust = 0;
    while (phase != DONE) {
        switch (phase) {
        case APPROACH:
            approach();
            break;
        case ALIGN:
            align();
            break;
        case CLOSE_IN:
            close_in();
            break;
        case CONTACT:
            contact();
            break;
        default:
            retreat();
            break;
        }
        if (phase != DONE && phase != RETREAT && choose(2))
            abort_mission();
    }
    return 0;
}
