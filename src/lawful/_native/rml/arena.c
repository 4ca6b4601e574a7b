/* Memory: arenas that are freed as a whole, and pools of small blocks by size.

   Called by rml/, grammar/ and invariants/. It has no counterpart in Python; the tests of those
   use it all the time, tests/laws/rml/test_engine.py with many instances. */
#include "rml/rml.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

struct Chunk {
    Chunk *next;
};

#define CHUNK (64 * 1024)
#define HUGE_PAGE (2 * 1024 * 1024)

/* Where many instances are alive, most of the time goes into finding their pages: large pages make that several times
   rarer. Other systems get ordinary memory. */
void *huge_alloc(size_t size) {
#ifdef __linux__
    void *block = NULL;
    if (posix_memalign(&block, HUGE_PAGE, size) != 0) return NULL;
    madvise(block, size, MADV_HUGEPAGE);
    return block;
#else
    return malloc(size);
#endif
}

int array_enlarge(void **array, int *room, int wanted, size_t size) {
    int more = *room ? *room : 4;
    while (more < wanted) more *= 2;
    char *bigger = realloc(*array, (size_t)more * size);
    if (bigger == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memset(bigger + (size_t)*room * size, 0, (size_t)(more - *room) * size);
    *array = bigger;
    *room = more;
    return 0;
}

int arena_init(Arena *arena) {
    arena->chunks = NULL;
    arena->at = arena->end = NULL;
    arena->total = 0;
    arena->keep = PyList_New(0);
    return arena->keep == NULL ? -1 : 0;
}

static void free_chunks(Chunk *chunk) {
    while (chunk != NULL) {
        Chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
}

void arena_free(Arena *arena) {
    free_chunks(arena->chunks);
    arena->chunks = NULL;
    arena->at = arena->end = NULL;
    Py_CLEAR(arena->keep);
}

void arena_reset(Arena *arena) {
    if (arena->chunks == NULL) return;
    free_chunks(arena->chunks->next);
    arena->chunks->next = NULL;
    arena->at = (char *)(arena->chunks + 1);
}

void *arena_take(Arena *arena, size_t size) {
    size = (size + 7) & ~(size_t)7;
    if ((size_t)(arena->end - arena->at) < size) {
        bool large = arena->total >= HUGE_PAGE;
        size_t room = size > CHUNK / 4 ? size : large ? HUGE_PAGE - sizeof(Chunk) : CHUNK;
        Chunk *chunk = large && room + sizeof(Chunk) == HUGE_PAGE ? huge_alloc(HUGE_PAGE) : malloc(sizeof(Chunk) + room);
        if (chunk == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        arena->total += room;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->at = (char *)(chunk + 1);
        arena->end = arena->at + room;
    }
    void *block = arena->at;
    arena->at += size;
    return block;
}

void *arena_alloc(Arena *arena, size_t size) {
    void *block = arena_take(arena, size);
    if (block != NULL) memset(block, 0, size);
    return block;
}

void *pool_alloc(Pool *pool, size_t size) {
    size_t words = (size + 7) / 8;
    if (words > POOL_WORDS) {
        void *block = malloc(size);
        if (block == NULL) PyErr_NoMemory();
        return block;
    }
    void *block = pool->free[words];
    if (block != NULL) {
        pool->free[words] = *(void **)block;
        return block;
    }
    return arena_take(&pool->arena, words * 8);
}

void pool_free(Pool *pool, void *block, size_t size) {
    size_t words = (size + 7) / 8;
    if (words > POOL_WORDS) {
        free(block);
        return;
    }
    *(void **)block = pool->free[words];
    pool->free[words] = block;
}
