/* A rear-window heater: it is switched on by a button, off by a timer, by the button, or when the voltage falls. Switched on again
 * while the voltage is low, the timer is started but nothing heats; when it has run out, the lamp has been on for nothing. */
#include <assert.h>

#include "choose.h"

#define FULL 1

static int heating;
static int lamp;
static int timer;
static int low;

static void switch_on(void)
{
    heating = !low;
    lamp = 1;
    timer = FULL;
}

static void switch_off(void)
{
    heating = 0;
    lamp = 0;
    timer = 0;
}

static void press(void)
{
    if (lamp)
        switch_off();
    else
        switch_on();
}

static void voltage_falls(void)
{
    low = 1;
    if (heating)
        switch_off();
}

static void voltage_returns(void)
{
    low = 0;
}

static void tick(void)
{
    if (timer > 0) {
        timer--;
        if (timer == 0) {
            assert(heating);
            switch_off();
        }
    }
}

int main(void)
{
    heating = lamp = timer = low = 0;
    while (choose(2)) {
        switch (choose(3)) {
        case 0:
            press();
            break;
        case 1:
            if (low)
                voltage_returns();
            else
                voltage_falls();
            break;
        default:
            tick();
            break;
        }
    }
    return 0;
}
