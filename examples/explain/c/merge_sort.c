/* Merge sort of a few numbers. When the left half is used up, what is left of the right half is forgotten. */
#include <assert.h>

#include "choose.h"

#define MOST 3

static int numbers[MOST];
static int merged[MOST];

static void take_left(int at, int from)
{
    merged[at] = numbers[from];
}

static void take_right(int at, int from)
{
    merged[at] = numbers[from];
}

static void merge(int begin, int middle, int end)
{
    int left = begin, right = middle, at = begin;
    while (left < middle && right < end) {
        if (numbers[left] <= numbers[right])
            take_left(at++, left++);
        else
            take_right(at++, right++);
    }
    while (left < middle)
        take_left(at++, left++);
    /* The same for the right half is missing. */
    for (int place = begin; place < end; place++)
        numbers[place] = merged[place];
}

static void sort(int begin, int end)
{
    if (end - begin < 2)
        return;
    int middle = begin + (end - begin) / 2;
    sort(begin, middle);
    sort(middle, end);
    merge(begin, middle, end);
}

static void check(int count)
{
    int sorted = 1;
    for (int place = 1; place < count; place++)
        if (numbers[place - 1] > numbers[place])
            sorted = 0;
    assert(sorted);
}

int main(void)
{
    int count = 1 + choose(MOST);
    for (int place = 0; place < count; place++)
        numbers[place] = 1 + choose(3);
    sort(0, count);
    check(count);
    return 0;
}
