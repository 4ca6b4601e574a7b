/* Turns a list that is linked forwards into one that is linked both ways, and walks it back. The first node's link is
 * only set for lists of one. */
#include <assert.h>
#include <stdlib.h>

#include "choose.h"

struct node {
    struct node *next;
    struct node *previous;
};

static struct node *prepend(struct node *first)
{
    struct node *node = malloc(sizeof *node);
    node->next = first;
    /* Whatever is in fresh memory: nothing that could be followed. */
    node->previous = node;
    return node;
}

static struct node *make_list(void)
{
    struct node *first = prepend(NULL);
    while (choose(2))
        first = prepend(first);
    return first;
}

static void link_back(struct node *node, struct node *previous)
{
    node->previous = previous;
}

static struct node *both_ways(struct node *first)
{
    struct node *node = first;
    if (node->next == NULL)
        link_back(node, NULL);
    while (node->next != NULL) {
        link_back(node->next, node);
        node = node->next;
    }
    return node;
}

static void step_back(void)
{
}

static void walk_back(struct node *last)
{
    struct node *node = last;
    while (node->previous != NULL) {
        assert(node->previous != node);
        step_back();
        node = node->previous;
    }
}

int main(void)
{
    struct node *first = make_list();
    struct node *last = both_ways(first);
    walk_back(last);
    return 0;
}
