/* Drives the generated header from standard input: the other half of the codec's tests. */
#include <stdio.h>
#include <stdlib.h>

#include "attitude_frames.h"
#include "fields.h" /* written by the tests: fill_fields, print_fields */

static int get(void *to, size_t size)
{
    return size == 0 || fread(to, 1, size, stdin) == size;
}

static void put(const void *from, size_t size)
{
    fwrite(from, 1, size, stdout);
}

static void put_number(uint32_t value)
{
    uint8_t bytes[4];
    attitude_put_u32(bytes, value);
    put(bytes, sizeof bytes);
}

static uint32_t get_number(void)
{
    uint8_t bytes[4] = {0};
    return get(bytes, sizeof bytes) ? attitude_get_u32(bytes) : 0;
}

/* A block of exactly the given size on the heap: a read or write beyond it does not go unnoticed. */
static uint8_t *get_block(size_t *size)
{
    uint8_t *block;
    *size = get_number();
    block = malloc(*size > 0 ? *size : 1);
    if (block == NULL || !get(block, *size))
        exit(2);
    return block;
}

static void put_body(const attitude_frame *frame)
{
    uint8_t body[ATTITUDE_MAX_PACKET], header[ATTITUDE_BODY_START];
    unsigned kind = 0;
    while (attitude_kinds[kind].apid != frame->apid)
        kind++;
    switch (kind) {
    case ATTITUDE_KIND_SAMPLES:
        attitude_put_samples(body, &frame->body.samples);
        break;
    case ATTITUDE_KIND_COMMAND:
        attitude_put_command(body, &frame->body.command);
        break;
    case ATTITUDE_KIND_HOUSEKEEPING:
        attitude_put_estimate(body, &frame->body.housekeeping.estimate);
        attitude_put_control(body + sizeof(attitude_estimate), &frame->body.housekeeping.control);
        break;
    case ATTITUDE_KIND_HELLO:
        attitude_put_hello(body, &frame->body.hello);
        break;
    default:
        attitude_put_stop(body, &frame->body.stop);
    }
    attitude_put_header(header, &frame->header);
    put(header, ATTITUDE_BODY_START - ATTITUDE_PRIMARY_SIZE);
    put(body, attitude_kinds[kind].body_size);
}

static void decode(attitude_endpoint *me, attitude_frame *frame)
{
    size_t size;
    uint8_t *packet = get_block(&size), state[10];
    const attitude_status status = attitude_decode(me, packet, size, frame);
    state[0] = (uint8_t)status;
    state[1] = (uint8_t)me->answer_due;
    attitude_put_u64(state + 2, me->peer);
    put(state, sizeof state);
    if (status <= ATTITUDE_INTRODUCTION)
        put_body(frame);
    free(packet);
}

static void encode(attitude_endpoint *me, unsigned kind, uint64_t tick, double t, const attitude_frame *frame)
{
    uint8_t *packet = malloc(ATTITUDE_MAX_PACKET);
    size_t size = 0;
    if (packet == NULL)
        exit(2);
    switch (kind) {
    case ATTITUDE_KIND_SAMPLES:
        size = attitude_encode_samples(me, tick, t, &frame->body.samples, packet);
        break;
    case ATTITUDE_KIND_COMMAND:
        size = attitude_encode_command(me, tick, t, &frame->body.command, packet);
        break;
    case ATTITUDE_KIND_HOUSEKEEPING:
        size = attitude_encode_housekeeping(me, tick, t, &frame->body.housekeeping.estimate,
                                            &frame->body.housekeeping.control, packet);
        break;
    case ATTITUDE_KIND_HELLO:
        size = attitude_encode_hello(me, tick, t, packet);
        break;
    default:
        size = attitude_encode_stop(me, tick, t, &frame->body.stop, packet);
    }
    put_number((uint32_t)size);
    put(packet, size);
    free(packet);
}

static void cut_stream(attitude_stream *stream)
{
    size_t size, n, i;
    uint8_t *data = get_block(&size), packet[ATTITUDE_MAX_PACKET];
    for (i = 0; i < size; i++) {
        attitude_stream_push(stream, data[i]);
        while ((n = attitude_stream_take(stream, packet)) > 0) {
            put_number((uint32_t)n);
            put(packet, n);
        }
    }
    put_number(0);
    put_number((uint32_t)stream->skipped);
    free(data);
}

static void start(attitude_endpoint *me)
{
    uint8_t begin[1 + 8 + 1 + ATTITUDE_HASH_SIZE + 8];
    size_t size;
    uint8_t *key;
    if (!get(begin, sizeof begin))
        exit(2);
    attitude_init(me, begin[0], attitude_get_u64(begin + 1), begin[9] ? NULL : begin + 10,
                  attitude_get_f64(begin + 10 + ATTITUDE_HASH_SIZE));
    key = get_block(&size);
    if (size > 0)
        attitude_set_key(me, key, size);
    free(key);
}

int main(void)
{
    static attitude_endpoint me;
    static attitude_frame frame;
    static attitude_stream stream;
    uint8_t op, times[1 + 8 + 8];
    size_t size;
    unsigned i;
    start(&me);
    while (get(&op, 1)) {
        if (op == 'D') {
            decode(&me, &frame);
        } else if (op == 'E') { /* what was last decoded or filled */
            if (!get(times, sizeof times))
                return 2;
            encode(&me, times[0], attitude_get_u64(times + 1), attitude_get_f64(times + 9), &frame);
        } else if (op == 'F') {
            if (!get(times, 1))
                return 2;
            fill_fields(&frame, times[0]);
        } else if (op == 'N') {
            print_fields(&frame);
        } else if (op == 'S') {
            cut_stream(&stream);
        } else if (op == 'C') {
            uint8_t *data = get_block(&size);
            put_number(attitude_crc16(data, size));
            free(data);
        } else if (op == 'B') {
            uint8_t *bits = get_block(&size);
            put_number((uint32_t)attitude_has(attitude_get_f64(bits), bits[8]));
            free(bits);
        } else if (op == 'Q') {
            for (i = 0; i < ATTITUDE_STATUSES; i++)
                put_number((uint32_t)me.counts[i]);
        } else {
            return 3;
        }
    }
    return 0;
}
