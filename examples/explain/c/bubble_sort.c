/* Sorts a ring of nodes by bubbling. The ring's root is never linked backwards, so that whoever walks back from it falls
 * off: but only if there is something to walk along. */
#include <assert.h>
#include <stdlib.h>

#include "choose.h"

struct node {
    int value;
    struct node *next;
    struct node *previous;
};

static struct node root;

static void make_ring(void)
{
    root.next = &root;
    /* Here root.previous = &root is missing. */
}

static void insert(int value)
{
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = root.next;
    node->previous = &root;
    if (root.next != &root)
        root.next->previous = node;
    root.next = node;
}

static void swap(struct node *left, struct node *right)
{
    int value = left->value;
    left->value = right->value;
    right->value = value;
}

static int pass(void)
{
    int swapped = 0;
    for (struct node *node = root.next; node->next != &root; node = node->next) {
        if (node->value > node->next->value) {
            swap(node, node->next);
            swapped = 1;
        }
    }
    return swapped;
}

static void inspect(void)
{
    struct node *last = root.next;
    while (last->next != &root)
        last = last->next;
    assert(root.previous == last);
}

int main(void)
{
    make_ring();
    while (choose(2))
        insert(choose(3));
    if (root.next != &root) {
        while (pass())
            ;
        inspect();
    }
    return 0;
}
