/* Input that may be anything: a model checker tries every value, a test may give its own. */
#ifndef CHOOSE_H
#define CHOOSE_H

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_assume(int);

/* Any number from 0 to below - 1. */
static int choose(int below)
{
    int chosen = __VERIFIER_nondet_int();
    __VERIFIER_assume(chosen >= 0 && chosen < below);
    return chosen;
}

#endif
