/* How records lie in memory until the events are delivered. tracer/record.c and tracer/fast_path.c write them, and record.c
   reads them. A program that is recorded writes many of them, and memory that was never used before is slow: a record takes
   two words, the plain end of a call one, and what does not fit takes four. */
#ifndef LAWFUL_RECORD_H
#define LAWFUL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is seldom needed stays out of what often is: the fewer lines of memory, the faster. */
#if defined(__GNUC__)
#  define ALWAYS_INLINE inline __attribute__((always_inline))
#  define NOT_INLINE __attribute__((noinline))
#  define HIDDEN __attribute__((visibility("hidden"))) /* of the core alone: reached without a look-up of its address */
#else
#  define ALWAYS_INLINE inline
#  define NOT_INLINE
#  define HIDDEN
#endif

#define LONGEST_TEXT 10000 /* characters: of longer ones an event has the beginning */

typedef uint64_t Id; /* of an object; 0: none */

enum {
    KIND_PRE, KIND_POST, KIND_RAISE, KIND_NEW, KIND_GONE, KIND_WRITE, KIND_READ, KIND_NEXT, KIND_YIELD, KIND_RESUME,
    KIND_BORN, KIND_EMIT, KINDS,
    /* Not of events, but of words: */
    WORDS_EPOCH = KINDS,   /* the next word is ticks, from which times count on */
    WORDS_END,             /* the end of a call whose beginning lies so many words before, and has all there is to tell but,
                              perhaps, the result */
    WORDS_WIDE,            /* the numbers take a word each */
    WORDS_TASK             /* the next word is the id of the asyncio task that a thread is in from now on; 0: in none */
};

typedef struct {
    Id target;
    uint32_t callee;       /* its number, 0 for gone and emit */
    uint32_t place;        /* its number, or 0 */
    uint32_t time;         /* in units of TICKS, since the last epoch */
    uint16_t thread;
    uint8_t kind;
    bool has_payload;           /* there is a payload */
    bool has_values;           /* there are values behind the numbers (record_values.h) */
    const uint64_t *values, *result; /* where these lie, or NULL; the result of a call may lie apart */
} Record;

#define TICKS 32
#define MOST_WORDS 4       /* of a record */
#define TASK_WORDS 2

/* The first word: kind, whether it is loaded or valued, callee (or how far it is to the beginning), time.
   The second: the lower half of the target, place, thread. */
#define PAYLOAD_BIT 4
#define VALUES_BIT 5
#define CALLEE_BIT 6
#define CALLEE_BITS 26
#define TIME_BIT 32
#define PLACE_BIT 32
#define PLACE_BITS 20
#define THREAD_BIT 52
#define THREAD_BITS 12

static ALWAYS_INLINE uint64_t record_word(unsigned kind, bool has_payload, bool has_values, uint64_t callee, uint32_t time) {
    return kind | (uint64_t)has_payload << PAYLOAD_BIT | (uint64_t)has_values << VALUES_BIT | callee << CALLEE_BIT | (uint64_t)time << TIME_BIT;
}

/* Do these fit into the second word? The thread is where it belongs already; 0: it does not fit. `high` is the upper half of
   the targets that do. */
static ALWAYS_INLINE bool record_fits(Id target, uint32_t place, uint64_t thread, uint32_t high) {
    return thread != 0 && !(place >> PLACE_BITS) && (target == 0 || (target >> 32 == high && (uint32_t)target != 0));
}

static ALWAYS_INLINE uint64_t record_second_word(Id target, uint32_t place, uint64_t thread) {
    return (uint32_t)target | (uint64_t)place << PLACE_BIT | thread;
}

/* How many words its numbers take. `high` is the upper half of the targets that are written in two words. */
static ALWAYS_INLINE size_t record_pack(uint64_t *words, const Record *record, uint32_t high) {
    bool fits = !(record->callee >> CALLEE_BITS | record->place >> PLACE_BITS | record->thread >> THREAD_BITS) &&
                (record->target == 0 || (record->target >> 32 == high && (uint32_t)record->target != 0));
    if (fits) {
        words[0] = record_word(record->kind, record->has_payload, record->has_values, record->callee, record->time);
        words[1] = record_second_word(record->target, record->place, (uint64_t)record->thread << THREAD_BIT);
        return 2;
    }
    words[0] = record_word(WORDS_WIDE, record->has_payload, record->has_values, 0, record->time);
    words[1] = record->target;
    words[2] = record->callee | (uint64_t)record->place << 32;
    words[3] = record->thread | (uint64_t)record->kind << 32;
    return 4;
}

/* ---- values --------------------------------------------------------------------------------------------------------- */

/* Receiver, arguments and result of a call (record_values.h): a word that says which of these there are, and then a word for each,
   or two. */
#define SHAPE_ARGS_BIT 0        /* how many arguments there are by position, and one more; 0: not recorded */
#define SHAPE_KEYWORDS_BIT 8    /* how many by keyword; their names come first, as a tuple */
#define SHAPE_SIZE_BIT 16       /* how many words follow */
#define SHAPE_MASK 255
#define SHAPE_TARGET (UINT64_C(1) << 24) /* a receiver that has no id */
#define SHAPE_RESULT (UINT64_C(1) << 25)
#define SHAPE_HOLDS (UINT64_C(1) << 26)  /* one of the words is a reference of its own */

static inline size_t shape_size(uint64_t shape) { return shape >> SHAPE_SIZE_BIT & SHAPE_MASK; }

/* What a word is, by its lowest bits. */
enum {
    VALUE_HELD,            /* the address of a string, of an int, or of a tuple of names: a reference of its own */
    VALUE_STATIC,          /* the same, of what never dies */
    VALUE_ID,              /* of an object */
    VALUE_INT,
    VALUE_FLOAT            /* the next word is its bits */
};
#define VALUE_BITS 3
#define VALUE_MASK UINT64_C(7)

static inline size_t value_size(uint64_t word) { return (word & VALUE_MASK) == VALUE_FLOAT ? 2 : 1; }

/* ---- and backwards -------------------------------------------------------------------------------------------------- */

/* How many words it takes, with its values. Not for an epoch. */
static inline size_t record_unpack(const uint64_t *words, Record *record, uint32_t high) {
    uint64_t first = words[0];
    unsigned kind = first & ((1 << PAYLOAD_BIT) - 1);
    bool has_values = first >> VALUES_BIT & 1;
    if (kind == WORDS_END) {
        record_unpack(words - (uint32_t)(first >> CALLEE_BIT & ((1 << CALLEE_BITS) - 1)), record, high);
        record->kind = KIND_POST;
        record->has_payload = false;
        record->time = (uint32_t)(first >> TIME_BIT);
        if (!has_values) return 1;
        record->result = &words[1];
        return 1 + value_size(words[1]);
    }
    record->has_payload = first >> PAYLOAD_BIT & 1;
    record->time = (uint32_t)(first >> TIME_BIT);
    size_t size = 2;
    if (kind == WORDS_WIDE) {
        record->target = words[1];
        record->callee = (uint32_t)words[2];
        record->place = (uint32_t)(words[2] >> 32);
        record->thread = (uint16_t)words[3];
        record->kind = (uint8_t)(words[3] >> 32);
        size = 4;
    } else {
        record->kind = (uint8_t)kind;
        record->callee = (uint32_t)(first >> CALLEE_BIT & ((1 << CALLEE_BITS) - 1));
        record->target = (uint32_t)words[1] ? (uint32_t)words[1] | (uint64_t)high << 32 : 0;
        record->place = (uint32_t)(words[1] >> PLACE_BIT & ((1 << PLACE_BITS) - 1));
        record->thread = (uint16_t)(words[1] >> THREAD_BIT);
    }
    record->has_values = has_values;
    record->values = has_values ? &words[size] : NULL;
    record->result = NULL;
    return has_values ? size + 1 + shape_size(words[size]) : size;
}

#endif
