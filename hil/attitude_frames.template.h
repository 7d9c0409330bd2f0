/* attitude_frames.h - packets between a spacecraft, simulated or real, and its flight software.
 *
 * Generated from the one table that defines them (protocol version @VERSION@); do not edit. C99, no dependency, no
 * allocation, no global state. Numbers are SI; B body axes, I inertial axes (GCRS); quaternions are [x, y, z, w],
 * body to inertial. The interface document tells the handshake and the timing.
 *
 *     attitude_endpoint me;
 *     attitude_init(&me, ATTITUDE_ROLE_FLIGHT, session, NULL, 0.1);  // a session never used before
 *     n = attitude_encode_hello(&me, 0, 0.0, packet);                // send it every 0.1 s until me.peer is not 0
 *     ...
 *     status = attitude_decode(&me, received, size, &frame);
 *     if (me.answer_due)
 *         n = attitude_encode_hello(&me, 0, 0.0, packet);            // send it
 *     if (status == ATTITUDE_ACCEPTED && frame.apid == ATTITUDE_APID_SAMPLES)
 *         n = attitude_encode_command(&me, frame.header.tick, frame.header.t, &command, packet);  // send it
 */
#ifndef ATTITUDE_FRAMES_H
#define ATTITUDE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------ constants */
@CONSTANTS@

/* A double must be an IEEE 754 binary64. */
typedef char attitude_double_has_64_bits[sizeof(double) == 8 ? 1 : -1];

/* ------------------------------------------------------------------ what is in the packets */
@STRUCTS@

/* A decoded packet; `apid` tells which member of `body` it fills. */
typedef struct {
    uint16_t apid;
    attitude_header header;
    union {
@MEMBERS@
    } body;
} attitude_frame;

/* Whether a bit (ATTITUDE_BIT_...) is set in a field of bits. */
static inline int attitude_has(double bits, unsigned bit)
{
    return bits >= 0.0 && bits < 4294967296.0 && ((uint32_t)bits >> bit & 1u) != 0u;
}

/* ------------------------------------------------------------------ numbers, most significant byte first */
static inline void attitude_put_u8(uint8_t *to, uint8_t value)
{
    to[0] = value;
}

static inline void attitude_put_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)(value >> 8);
    to[1] = (uint8_t)(value & 0xFFu);
}

static inline void attitude_put_u32(uint8_t *to, uint32_t value)
{
    attitude_put_u16(to, (uint16_t)(value >> 16));
    attitude_put_u16(to + 2, (uint16_t)(value & 0xFFFFu));
}

static inline void attitude_put_u64(uint8_t *to, uint64_t value)
{
    attitude_put_u32(to, (uint32_t)(value >> 32));
    attitude_put_u32(to + 4, (uint32_t)(value & 0xFFFFFFFFu));
}

static inline void attitude_put_f64(uint8_t *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    attitude_put_u64(to, bits);
}

static inline uint8_t attitude_get_u8(const uint8_t *from)
{
    return from[0];
}

static inline uint16_t attitude_get_u16(const uint8_t *from)
{
    return (uint16_t)((unsigned)from[0] << 8 | (unsigned)from[1]);
}

static inline uint32_t attitude_get_u32(const uint8_t *from)
{
    return (uint32_t)attitude_get_u16(from) << 16 | (uint32_t)attitude_get_u16(from + 2);
}

static inline uint64_t attitude_get_u64(const uint8_t *from)
{
    return (uint64_t)attitude_get_u32(from) << 32 | (uint64_t)attitude_get_u32(from + 4);
}

static inline double attitude_get_f64(const uint8_t *from)
{
    const uint64_t bits = attitude_get_u64(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Finite, whatever the compiler was told about NaN. */
static inline int attitude_is_finite(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 52 & 0x7FFu) != 0x7FFu;
}

/* ------------------------------------------------------------------ structs to and from bytes */
@CODE@

/* ------------------------------------------------------------------ CRC-16 and HMAC-SHA-256 */
/* CRC-16: polynomial 0x1021, start 0xFFFF, nothing reflected; 0 over data that ends with its own CRC. */
static inline uint16_t attitude_crc16(const uint8_t *data, size_t size)
{
    unsigned crc = 0xFFFFu;
    size_t i;
    for (i = 0; i < size; i++) {
        unsigned x = (crc >> 8 ^ (unsigned)data[i]) & 0xFFu;
        x ^= x >> 4;
        crc = (crc << 8 ^ x << 12 ^ x << 5 ^ x) & 0xFFFFu;
    }
    return (uint16_t)crc;
}

/* SHA-256 (FIPS 180-4). */
typedef struct {
    uint32_t state[8];
    uint8_t block[64];
    size_t filled;
    uint64_t length;
} attitude_sha256;

static inline uint32_t attitude_rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32u - n);
}

static inline void attitude_sha256_block(attitude_sha256 *hash)
{
    static const uint32_t k[64] = {
        0x428A2F98u, 0x71374491u, 0xB5C0FBCFu, 0xE9B5DBA5u, 0x3956C25Bu, 0x59F111F1u, 0x923F82A4u, 0xAB1C5ED5u,
        0xD807AA98u, 0x12835B01u, 0x243185BEu, 0x550C7DC3u, 0x72BE5D74u, 0x80DEB1FEu, 0x9BDC06A7u, 0xC19BF174u,
        0xE49B69C1u, 0xEFBE4786u, 0x0FC19DC6u, 0x240CA1CCu, 0x2DE92C6Fu, 0x4A7484AAu, 0x5CB0A9DCu, 0x76F988DAu,
        0x983E5152u, 0xA831C66Du, 0xB00327C8u, 0xBF597FC7u, 0xC6E00BF3u, 0xD5A79147u, 0x06CA6351u, 0x14292967u,
        0x27B70A85u, 0x2E1B2138u, 0x4D2C6DFCu, 0x53380D13u, 0x650A7354u, 0x766A0ABBu, 0x81C2C92Eu, 0x92722C85u,
        0xA2BFE8A1u, 0xA81A664Bu, 0xC24B8B70u, 0xC76C51A3u, 0xD192E819u, 0xD6990624u, 0xF40E3585u, 0x106AA070u,
        0x19A4C116u, 0x1E376C08u, 0x2748774Cu, 0x34B0BCB5u, 0x391C0CB3u, 0x4ED8AA4Au, 0x5B9CCA4Fu, 0x682E6FF3u,
        0x748F82EEu, 0x78A5636Fu, 0x84C87814u, 0x8CC70208u, 0x90BEFFFAu, 0xA4506CEBu, 0xBEF9A3F7u, 0xC67178F2u,
    };
    uint32_t w[64], v[8];
    unsigned i;
    for (i = 0; i < 16; i++)
        w[i] = attitude_get_u32(hash->block + 4 * i);
    for (i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (attitude_rotate(a, 7) ^ attitude_rotate(a, 18) ^ a >> 3)
               + (attitude_rotate(b, 17) ^ attitude_rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, hash->state, sizeof v);
    for (i = 0; i < 64; i++) {
        const uint32_t s1 = attitude_rotate(v[4], 6) ^ attitude_rotate(v[4], 11) ^ attitude_rotate(v[4], 25);
        const uint32_t s0 = attitude_rotate(v[0], 2) ^ attitude_rotate(v[0], 13) ^ attitude_rotate(v[0], 22);
        const uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
        const uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (i = 0; i < 8; i++)
        hash->state[i] += v[i];
}

static inline void attitude_sha256_init(attitude_sha256 *hash)
{
    static const uint32_t start[8] = {
        0x6A09E667u, 0xBB67AE85u, 0x3C6EF372u, 0xA54FF53Au, 0x510E527Fu, 0x9B05688Cu, 0x1F83D9ABu, 0x5BE0CD19u,
    };
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
}

static inline void attitude_sha256_update(attitude_sha256 *hash, const uint8_t *data, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++) {
        hash->block[hash->filled++] = data[i];
        if (hash->filled == sizeof hash->block) {
            attitude_sha256_block(hash);
            hash->filled = 0;
        }
    }
    hash->length += size;
}

static inline void attitude_sha256_finish(attitude_sha256 *hash, uint8_t digest[32])
{
    static const uint8_t one = 0x80, zero = 0;
    const uint64_t bits = hash->length * 8u;
    uint8_t length[8];
    unsigned i;
    attitude_put_u64(length, bits);
    attitude_sha256_update(hash, &one, 1);
    while (hash->filled != 56)
        attitude_sha256_update(hash, &zero, 1);
    attitude_sha256_update(hash, length, sizeof length);
    for (i = 0; i < 8; i++)
        attitude_put_u32(digest + 4 * i, hash->state[i]);
}

/* The two keyed states of HMAC (RFC 2104). */
typedef struct {
    attitude_sha256 inner, outer;
} attitude_hmac;

static inline void attitude_hmac_init(attitude_hmac *hmac, const uint8_t *key, size_t size)
{
    uint8_t pad[64] = {0};
    unsigned i;
    attitude_sha256_init(&hmac->inner);
    attitude_sha256_init(&hmac->outer);
    if (size > sizeof pad) {
        attitude_sha256 hash = hmac->inner;
        attitude_sha256_update(&hash, key, size);
        attitude_sha256_finish(&hash, pad);
    } else {
        memcpy(pad, key, size);
    }
    for (i = 0; i < sizeof pad; i++)
        pad[i] = (uint8_t)(pad[i] ^ 0x36u);
    attitude_sha256_update(&hmac->inner, pad, sizeof pad);
    for (i = 0; i < sizeof pad; i++)
        pad[i] = (uint8_t)(pad[i] ^ 0x36u ^ 0x5Cu);
    attitude_sha256_update(&hmac->outer, pad, sizeof pad);
}

/* The first ATTITUDE_TAG_SIZE bytes of the HMAC. */
static inline void attitude_hmac_tag(const attitude_hmac *hmac, const uint8_t *data, size_t size, uint8_t *tag)
{
    attitude_sha256 hash = hmac->inner;
    uint8_t digest[32];
    attitude_sha256_update(&hash, data, size);
    attitude_sha256_finish(&hash, digest);
    hash = hmac->outer;
    attitude_sha256_update(&hash, digest, sizeof digest);
    attitude_sha256_finish(&hash, digest);
    memcpy(tag, digest, ATTITUDE_TAG_SIZE);
}

/* ------------------------------------------------------------------ one side of a link */
/* `peer` is the session that is accepted, 0 while there is none; `counts` has a counter for each status. A session
 * number is not 0 and was never used before with the same key: take a clock, or a random generator. */
typedef struct {
    uint8_t role;
    uint8_t scenario[ATTITUDE_HASH_SIZE];
    int learns; /* takes the scenario of its peer */
    double tick_s;
    uint64_t session, peer, heard_session;
    uint32_t epoch, heard_epoch;
    int answer_due; /* a HELLO was received that waits for ours */
    uint64_t sent[ATTITUDE_KINDS], last[ATTITUDE_KINDS];
    uint64_t counts[ATTITUDE_STATUSES];
    int has_key;
    attitude_hmac hmac;
} attitude_endpoint;

/* `scenario`: its hash, or NULL to take that of the peer. */
static inline void attitude_init(attitude_endpoint *me, uint8_t role, uint64_t session, const uint8_t *scenario,
                                 double tick_s)
{
    memset(me, 0, sizeof *me);
    me->role = role;
    me->session = session != 0 ? session : 1;
    me->learns = scenario == NULL;
    if (scenario != NULL)
        memcpy(me->scenario, scenario, ATTITUDE_HASH_SIZE);
    me->tick_s = tick_s;
}

/* From now on every packet is authenticated, and every packet that is not is refused. */
static inline void attitude_set_key(attitude_endpoint *me, const uint8_t *key, size_t size)
{
    attitude_hmac_init(&me->hmac, key, size);
    me->has_key = 1;
}

/* ------------------------------------------------------------------ sending */
/* Headers, authentication and CRC around a body that is in place; returns the size of the packet. */
static inline size_t attitude_finish(attitude_endpoint *me, unsigned kind, uint64_t tick, double t, uint8_t *packet)
{
    const attitude_kind *what = &attitude_kinds[kind];
    attitude_header header;
    size_t size = ATTITUDE_BODY_START + what->body_size;
    const size_t whole = size + (me->has_key ? ATTITUDE_TAG_SIZE : 0u) + ATTITUDE_CRC_SIZE;
    header.tick = tick;
    header.t = t;
    header.version = ATTITUDE_VERSION;
    header.role = me->role;
    header.flags = me->has_key ? ATTITUDE_AUTHENTICATED : 0;
    header.spare = 0;
    header.session = me->session;
    header.counter = ++me->sent[kind];
    memcpy(header.scenario, me->scenario, ATTITUDE_HASH_SIZE);
    attitude_put_u16(packet, (uint16_t)((what->telecommand ? 0x1800u : 0x0800u) | what->apid));
    attitude_put_u16(packet + 2, (uint16_t)(0xC000u | (header.counter & 0x3FFFu)));
    attitude_put_u16(packet + 4, (uint16_t)(whole - ATTITUDE_PRIMARY_SIZE - 1));
    attitude_put_header(packet + ATTITUDE_PRIMARY_SIZE, &header);
    if (me->has_key) {
        attitude_hmac_tag(&me->hmac, packet, size, packet + size);
        size += ATTITUDE_TAG_SIZE;
    }
    attitude_put_u16(packet + size, attitude_crc16(packet, size));
    return whole;
}

@ENCODERS@

/* introduction, or answer to one. */
static inline size_t attitude_encode_hello(attitude_endpoint *me, uint64_t tick, double t,
                                           uint8_t packet[ATTITUDE_MAX_PACKET])
{
    attitude_hello hello;
    hello.tick_s = me->tick_s;
    hello.peer_session = me->heard_session;
    hello.peer_epoch = me->heard_epoch;
    hello.epoch = me->epoch;
    hello.synchronised = me->peer != 0 && me->heard_session == me->peer;
    me->answer_due = 0;
    attitude_put_hello(packet + ATTITUDE_BODY_START, &hello);
    return attitude_finish(me, ATTITUDE_KIND_HELLO, tick, t, packet);
}

/* ------------------------------------------------------------------ receiving */
static inline int attitude_no_scenario(const uint8_t *scenario)
{
    static const uint8_t none[ATTITUDE_HASH_SIZE] = {0};
    return memcmp(scenario, none, ATTITUDE_HASH_SIZE) == 0;
}

static inline attitude_status attitude_newer(attitude_endpoint *me, unsigned kind, uint64_t counter)
{
    if (counter <= me->last[kind])
        return ATTITUDE_REPLAYED;
    me->last[kind] = counter;
    return ATTITUDE_ACCEPTED;
}

/* A new session is accepted with an echo of our own session and epoch, which is then used up. */
static inline attitude_status attitude_judge_hello(attitude_endpoint *me, const attitude_header *header,
                                                   const attitude_hello *hello)
{
    if (header->session != me->peer) {
        if (hello->peer_session != me->session || hello->peer_epoch != me->epoch
            || attitude_no_scenario(header->scenario))
            return ATTITUDE_INTRODUCTION;
        me->peer = header->session;
        me->epoch++;
        memcpy(me->scenario, header->scenario, ATTITUDE_HASH_SIZE);
        memset(me->last, 0, sizeof me->last);
    }
    return attitude_newer(me, ATTITUDE_KIND_HELLO, header->counter);
}

static inline attitude_status attitude_hear_hello(attitude_endpoint *me, const attitude_header *header,
                                                  const attitude_hello *hello)
{
    attitude_status status = ATTITUDE_WRONG_SCENARIO;
    if (me->learns || attitude_no_scenario(header->scenario)
        || memcmp(header->scenario, me->scenario, ATTITUDE_HASH_SIZE) == 0)
        status = attitude_judge_hello(me, header, hello);
    if (status == ATTITUDE_REPLAYED)
        return status;
    me->heard_session = header->session;
    me->heard_epoch = hello->epoch;
    if (status == ATTITUDE_WRONG_SCENARIO)
        me->answer_due = hello->peer_session == 0;
    else
        me->answer_due = status == ATTITUDE_INTRODUCTION || hello->peer_session != me->session || !hello->synchronised;
    return status;
}

static inline attitude_status attitude_hear(attitude_endpoint *me, unsigned kind, const attitude_header *header)
{
    if (memcmp(header->scenario, me->scenario, ATTITUDE_HASH_SIZE) != 0)
        return ATTITUDE_WRONG_SCENARIO;
    if (header->session != me->peer)
        return ATTITUDE_UNKNOWN_SESSION;
    return attitude_newer(me, kind, header->counter);
}

static inline int attitude_authentic(const attitude_endpoint *me, const uint8_t *packet, size_t size, uint8_t flags)
{
    const size_t signed_size = size - ATTITUDE_CRC_SIZE - ATTITUDE_TAG_SIZE;
    uint8_t tag[ATTITUDE_TAG_SIZE];
    unsigned i, difference = 0;
    if (!me->has_key || !(flags & ATTITUDE_AUTHENTICATED))
        return !me->has_key && !(flags & ATTITUDE_AUTHENTICATED);
    attitude_hmac_tag(&me->hmac, packet, signed_size, tag);
    for (i = 0; i < ATTITUDE_TAG_SIZE; i++) /* the same time wherever they differ */
        difference |= (unsigned)tag[i] ^ (unsigned)packet[signed_size + i];
    return difference == 0;
}

/* Length, primary header and CRC. */
static inline attitude_status attitude_check_envelope(const uint8_t *packet, size_t size)
{
    if (size < ATTITUDE_MIN_PACKET)
        return ATTITUDE_TOO_SHORT;
    if (size > ATTITUDE_MAX_PACKET)
        return ATTITUDE_TOO_LONG;
    if ((packet[0] & 0xE8u) != 0x08u || (packet[2] & 0xC0u) != 0xC0u
        || (size_t)attitude_get_u16(packet + 4) + ATTITUDE_PRIMARY_SIZE + 1u != size)
        return ATTITUDE_MALFORMED;
    return attitude_crc16(packet, size) == 0 ? ATTITUDE_ACCEPTED : ATTITUDE_BAD_CRC;
}

static inline attitude_status attitude_check_contents(const attitude_endpoint *me, const uint8_t *packet, size_t size,
                                                      unsigned kind, const attitude_header *header)
{
    const attitude_kind *expected = &attitude_kinds[kind];
    const size_t tag = header->flags & ATTITUDE_AUTHENTICATED ? ATTITUDE_TAG_SIZE : 0u;
    if (size != ATTITUDE_BODY_START + expected->body_size + tag + ATTITUDE_CRC_SIZE)
        return ATTITUDE_WRONG_LENGTH;
    if ((packet[0] >> 4 & 1u) != expected->telecommand || header->session == 0 || header->counter == 0
        || (header->counter & 0x3FFFu) != (attitude_get_u16(packet + 2) & 0x3FFFu)
        || header->flags > ATTITUDE_AUTHENTICATED || header->spare != 0 || !attitude_is_finite(header->t)
        || (header->role != ATTITUDE_ROLE_PLANT && header->role != ATTITUDE_ROLE_FLIGHT))
        return ATTITUDE_MALFORMED;
    if (!attitude_authentic(me, packet, size, header->flags))
        return ATTITUDE_NOT_AUTHENTIC;
    if (header->role == me->role || (expected->sender != 0 && expected->sender != header->role))
        return ATTITUDE_WRONG_SENDER;
    return ATTITUDE_ACCEPTED;
}

static inline attitude_status attitude_judge(attitude_endpoint *me, const uint8_t *packet, size_t size,
                                             attitude_frame *frame)
{
    const uint8_t *body = packet + ATTITUDE_BODY_START;
    attitude_header header;
    attitude_hello hello;
    attitude_stop stop;
    uint16_t apid;
    unsigned kind;
    attitude_status status = attitude_check_envelope(packet, size);
    if (status != ATTITUDE_ACCEPTED)
        return status;
    attitude_get_header(packet + ATTITUDE_PRIMARY_SIZE, &header);
    if (header.version != ATTITUDE_VERSION)
        return ATTITUDE_WRONG_VERSION;
    apid = (uint16_t)(attitude_get_u16(packet) & 0x7FFu);
    for (kind = 0; kind < ATTITUDE_KINDS && attitude_kinds[kind].apid != apid; kind++) {
    }
    if (kind == ATTITUDE_KINDS)
        return ATTITUDE_UNKNOWN_APID;
    status = attitude_check_contents(me, packet, size, kind, &header);
    if (status != ATTITUDE_ACCEPTED)
        return status;
    if (kind == ATTITUDE_KIND_HELLO) {
        attitude_get_hello(body, &hello);
        if (!attitude_is_finite(hello.tick_s) || !(hello.tick_s > 0.0) || hello.synchronised > 1)
            return ATTITUDE_MALFORMED;
        status = attitude_hear_hello(me, &header, &hello);
    } else {
        if (kind == ATTITUDE_KIND_STOP) {
            attitude_get_stop(body, &stop);
            if (stop.reason > ATTITUDE_REASON_LAST)
                return ATTITUDE_MALFORMED;
        }
        status = attitude_hear(me, kind, &header);
    }
    if (status > ATTITUDE_INTRODUCTION)
        return status;
    frame->apid = apid;
    frame->header = header;
    switch (kind) {
@DECODERS@
    default:
        break;
    }
    return status;
}

/* Judge a packet; `frame` is filled if it is accepted or an introduction, and left alone if it is refused. */
static inline attitude_status attitude_decode(attitude_endpoint *me, const uint8_t *packet, size_t size,
                                              attitude_frame *frame)
{
    const attitude_status status = attitude_judge(me, packet, size, frame);
    me->counts[status]++;
    return status;
}

/* ------------------------------------------------------------------ byte streams: a sync marker before each packet */
/* Start with all bytes zero. */
typedef struct {
    uint8_t buffer[ATTITUDE_MARKER_SIZE + ATTITUDE_MAX_PACKET];
    size_t filled;
    size_t seen; /* bytes in front that were handed over with a bad CRC */
    uint64_t skipped; /* bytes that belong to no packet */
} attitude_stream;

static const uint8_t attitude_marker[ATTITUDE_MARKER_SIZE] = {@MARKER@};

static inline void attitude_stream_drop(attitude_stream *stream, size_t size, int is_noise)
{
    if (is_noise && size > stream->seen)
        stream->skipped += size - stream->seen;
    stream->seen = stream->seen > size ? stream->seen - size : 0;
    stream->filled -= size;
    memmove(stream->buffer, stream->buffer + size, stream->filled);
}

/* One byte comes in; take all packets before the next. */
static inline void attitude_stream_push(attitude_stream *stream, uint8_t byte)
{
    if (stream->filled == sizeof stream->buffer)
        attitude_stream_drop(stream, 1, 1);
    stream->buffer[stream->filled++] = byte;
}

/* Drop what is before the next marker; true if there is one. */
static inline int attitude_stream_find(attitude_stream *stream)
{
    size_t place = 0;
    while (place + ATTITUDE_MARKER_SIZE <= stream->filled
           && memcmp(stream->buffer + place, attitude_marker, ATTITUDE_MARKER_SIZE) != 0)
        place++;
    if (place + ATTITUDE_MARKER_SIZE <= stream->filled) {
        attitude_stream_drop(stream, place, 1);
        return 1;
    }
    if (stream->filled >= ATTITUDE_MARKER_SIZE) /* its beginning may be at the end */
        attitude_stream_drop(stream, stream->filled - ATTITUDE_MARKER_SIZE + 1, 1);
    return 0;
}

/* Size of the next complete packet, which is copied to `packet`; 0 if there is none. Its content is unchecked: if the
 * CRC does not fit, the search goes on behind its marker, so that a damaged length swallows nothing. */
static inline size_t attitude_stream_take(attitude_stream *stream, uint8_t packet[ATTITUDE_MAX_PACKET])
{
    while (attitude_stream_find(stream) && stream->filled >= ATTITUDE_MARKER_SIZE + ATTITUDE_PRIMARY_SIZE) {
        const size_t size = ATTITUDE_PRIMARY_SIZE + 1u + attitude_get_u16(stream->buffer + ATTITUDE_MARKER_SIZE + 4);
        if (size < ATTITUDE_MIN_PACKET || size > ATTITUDE_MAX_PACKET) {
            attitude_stream_drop(stream, ATTITUDE_MARKER_SIZE, 1);
        } else if (stream->filled < ATTITUDE_MARKER_SIZE + size) {
            return 0;
        } else {
            memcpy(packet, stream->buffer + ATTITUDE_MARKER_SIZE, size);
            if (attitude_crc16(packet, size) == 0) {
                attitude_stream_drop(stream, ATTITUDE_MARKER_SIZE + size, 0);
            } else {
                attitude_stream_drop(stream, ATTITUDE_MARKER_SIZE, 0);
                stream->seen = stream->seen > size ? stream->seen : size;
            }
            return size;
        }
    }
    return 0;
}

#endif
