/* Which complete batches of a log are beyond doubt, by the offsets and leader epochs around them. The reference is Order in
   kdump/reading/trust.py. */

#pragma once

#include <stdint.h>
#include "layout.h"

enum { STATUS_INTACT, STATUS_SALVAGED, STATUS_DAMAGED };

/* The offsets of a batch and its leader epoch. Messages have none; what is not there is not set. */
typedef struct {
    int64_t is_set, first, last, has_epoch, epoch;
} Extent;

/* The state of an order, as Python hands it over: an array of 64-bit numbers in this sequence. */
typedef struct {
    int64_t highest;     /* offset that a batch may have */
    int64_t last_offset; /* of the last batch beyond doubt, and its leader epoch */
    int64_t epoch;
    int64_t is_in_doubt;
    int64_t nested_end; /* in the log */
    Extent stray, found, undecided;
    int64_t damaged_end; /* of the batch before, if that is damaged, and what it claims */
    Extent damaged;
} Order;

static inline Extent extent_of_batch(const uint8_t *p, int is_legacy)
{
    int64_t first = batch_base_offset(p);
    if (is_legacy)
        return (Extent){1, first, first, 0, 0};
    return (Extent){1, first, (int64_t)((uint64_t)first + (uint64_t)(int64_t)batch_last_offset_delta(p)), 1, batch_leader_epoch(p)};
}

static inline int is_lower(const Extent *extent, const Extent *other)
{
    return extent->has_epoch && other->has_epoch && extent->epoch < other->epoch;
}

static inline int have_same_extent(const Extent *extent, const Extent *other)
{
    return extent->is_set && other->is_set && extent->first == other->first && extent->last == other->last &&
           extent->has_epoch == other->has_epoch && (!extent->has_epoch || extent->epoch == other->epoch);
}

/* Whether a batch continues after the last one beyond doubt. */
static inline int fits_order(const Order *order, const Extent *extent)
{
    return order->last_offset < extent->first && extent->first <= extent->last && extent->last <= order->highest &&
           (!extent->has_epoch || extent->epoch >= order->epoch);
}

static inline void move_order(Order *order, const Extent *extent)
{
    order->last_offset = extent->last;
    if (extent->has_epoch)
        order->epoch = extent->epoch;
}

static inline void doubt(Order *order, int64_t claimed_end)
{
    order->is_in_doubt = 1;
    order->found.is_set = 0;
    if (claimed_end > order->nested_end)
        order->nested_end = claimed_end;
}

/* Whether it can take the next batches by their summary. */
static inline int wants_summary(const Order *order)
{
    return !order->is_in_doubt && !order->stray.is_set && !order->undecided.is_set;
}

/* The status of the next intact batch where it follows damage and is in doubt. */
static int judge_found(Order *order, const Extent *extent, int64_t position)
{
    Extent found = order->found;
    order->found = *extent;
    order->undecided.is_set = 0;
    if (!found.is_set || !fits_order(order, &found) || found.last >= extent->first || extent->first > extent->last ||
        extent->last > order->highest || is_lower(extent, &found) || position < order->nested_end)
        return STATUS_SALVAGED;
    order->is_in_doubt = 0;
    order->stray.is_set = 0;
    move_order(order, extent);
    return STATUS_INTACT;
}

/* Whether a batch fits what comes before it, but is itself out of line with the two that follow; those may be missing. */
static int is_outlier(const Order *order, const Extent *extent, const Extent *after, const Extent *next)
{
    if (!after->is_set || (after->first > extent->last && !is_lower(after, extent)) || !fits_order(order, after))
        return 0;
    if (next->is_set && next->first > extent->last && !is_lower(next, extent)) {
        /* each of the two could stand here without the other: which of them has room where it should be? The numbers do not overflow:
           all of these offsets are in order */
        int has_room = after->first - order->last_offset > extent->last - extent->first + 1;
        int after_has_room = next->first - extent->last > after->last - after->first + 1;
        return after->first <= extent->last && has_room && !after_has_room;
    }
    return 1;
}

/* Whether the status of a whole batch depends on those that follow it. */
static inline int depends_on_following(const Order *order, const Extent *extent)
{
    const Extent *stray = &order->stray;
    return fits_order(order, extent) ||
           (stray->is_set && stray->last < extent->first && extent->first >= 0 && !is_lower(extent, stray));
}

/* The status of a whole batch after the last one beyond doubt, given the extents of the two that follow, which may be missing. */
static int judge(Order *order, const Extent *extent, const Extent *following)
{
    Extent undecided = order->undecided;
    int depends = depends_on_following(order, extent);
    Extent next = following[1];
    next.is_set = next.is_set && next.last <= order->highest; /* or else it is wrong itself, and vouches for none */
    order->undecided.is_set = 0;
    if (!fits_order(order, extent)) {
        order->stray = *extent;
        if (!depends || (following->is_set && fits_order(order, following)))
            return STATUS_SALVAGED;
    } else {
        if (is_outlier(order, extent, following, &next)) {
            int64_t expected = order->last_offset + 1; /* it is no more than `first` */
            if (!next.is_set && !(following->first == expected && expected != extent->first))
                order->undecided = *following; /* either of the two last batches may be the wrong one */
            return STATUS_SALVAGED;
        }
        if (have_same_extent(extent, &undecided))
            return STATUS_SALVAGED;
    }
    order->stray.is_set = 0;
    move_order(order, extent);
    return STATUS_INTACT;
}
