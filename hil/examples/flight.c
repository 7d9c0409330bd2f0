/* A flight program in plain C99: B-dot and quaternion feedback on the frames of attitude_frames.h.
 *
 *     flight [--inertial] LINK        LINK: stdio:, udp://HOST:PORT, or the path of a serial line or pseudo-terminal
 *
 * Neither line nor plant need be there yet: it waits for both, two minutes each. Exit code 0 when the plant ends or
 * closes the line, 1 if the line cannot be opened or the plant falls silent, 2 for wrong usage.
 *
 * It points the body's z axis to nadir and x along the flight (with --inertial: to the attitude [0, 0, 0, 1]) as soon
 * as a star tracker has told an attitude and the body turns slowly; until then it damps the rate with the torquers.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "attitude_frames.h"

/* ------------------------------------------------------------------ the spacecraft: a 3U CubeSat */
#define WHEELS 4
#define TORQUERS 3
static const double INERTIA[3] = {0.0419, 0.0419, 0.0067}; /* kg m2 */
static const double WHEEL_AXIS[WHEELS][3] = {{1, 1, 1}, {-1, 1, 1}, {-1, -1, 1}, {1, -1, 1}}; /* over sqrt(3) */
static const double WHEEL_VISCOUS = 4.0e-9, WHEEL_COULOMB = 2.0e-6; /* N m s, N m */
static const double MAX_TORQUE = 5.0e-4, MAX_DIPOLE = 0.2; /* N m, A m2 */
static const double TORQUER_PERIOD = 1.0, QUIET_FROM = 0.67, QUIET_TO = 0.95; /* s; parts: torquers are off */
static const double SIGMA[3] = {1.0e-4, 3.2e-4, 1.0e-4}; /* rad: a star tracker that looks along y, misaligned */
static const double BIAS_SIGMA = 2.5e-3, BIAS_SIGMA_END = 2.0e-5; /* rad/s: the gyro's at turn-on, and once learnt */

/* ------------------------------------------------------------------ settings */
static const double BDOT_GAIN = 20.0; /* A m2 per rad/s that the field seems to turn */
static const double BANDWIDTH = 0.15, DAMPING = 0.8; /* rad/s, 1 */
static const double SLOW = 0.05; /* rad/s: below, the wheels take over */
static const double ATTITUDE_GAIN = 0.2, BIAS_GAIN = 0.01; /* per sample, and per s and sample, of the star tracker */
static const double MAX_BIAS = 0.01; /* rad/s */
#ifndef PATIENCE_S
#define PATIENCE_S 120.0 /* to wait for the line, and for a word of the plant: it may have to be compiled first */
#endif
static const double HELLO_EVERY = 0.1, SILENCE = 0.2, RETRY = 0.1, STALLED = 1.0; /* s */
static const double MU = 3.986004418e14; /* m3/s2 */

typedef struct {
    int running; /* there is an attitude */
    double t, q[4], bias[3], omega[3];
    double drift, bias_sigma; /* rad, rad/s: what gyro and bias may have made wrong, 1 sigma */
    int has_field, has_orbit;
    double field_t, field[3], dipole[TORQUERS];
    double orbit_t, r[3], v[3];
    double reference[4], reference_omega[3], torque[3];
    int pointing;
} flight_state;

/* ------------------------------------------------------------------ small algebra */
static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static int unit(const double *a, int size, double *out)
{
    double square = 0.0;
    int i;
    for (i = 0; i < size; i++)
        square += a[i] * a[i];
    if (!(square > 0.0) || !isfinite(square))
        return 0;
    for (i = 0; i < size; i++)
        out[i] = a[i] / sqrt(square);
    return 1;
}

static double clamp(double x, double limit)
{
    return x > limit ? limit : x < -limit ? -limit : x;
}

/* a b, quaternions [x, y, z, w] */
static void multiply(const double a[4], const double b[4], double out[4])
{
    const double p[4] = {
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    };
    memcpy(out, p, sizeof p);
}

/* small rotation from a to b, in the axes of a: twice the vector part of a^-1 b */
static void difference(const double a[4], const double b[4], double out[3])
{
    const double back[4] = {-a[0], -a[1], -a[2], a[3]};
    double d[4];
    int i;
    multiply(back, b, d);
    for (i = 0; i < 3; i++)
        out[i] = (d[3] < 0.0 ? -2.0 : 2.0) * d[i];
}

static void turn(double q[4], const double angle[3])
{
    const double size = sqrt(dot(angle, angle));
    const double s = size > 1e-9 ? sin(0.5 * size) / size : 0.5;
    const double d[4] = {s * angle[0], s * angle[1], s * angle[2], cos(0.5 * size)};
    multiply(q, d, q);
    if (!unit(q, 4, q))
        q[3] = 1.0;
}

/* attitude whose axes are the unit vectors x, y, z */
static void from_axes(const double x[3], const double y[3], const double z[3], double q[4])
{
    const double m[3][3] = {{x[0], y[0], z[0]}, {x[1], y[1], z[1]}, {x[2], y[2], z[2]}};
    const double trace = m[0][0] + m[1][1] + m[2][2];
    int i = 0, j, k;
    if (trace > 0.0) {
        q[0] = m[2][1] - m[1][2];
        q[1] = m[0][2] - m[2][0];
        q[2] = m[1][0] - m[0][1];
        q[3] = 1.0 + trace;
    } else { /* the largest component is the one to divide by */
        if (m[1][1] > m[0][0])
            i = 1;
        if (m[2][2] > m[i][i])
            i = 2;
        j = (i + 1) % 3;
        k = (i + 2) % 3;
        q[i] = 1.0 + m[i][i] - m[j][j] - m[k][k];
        q[j] = m[j][i] + m[i][j];
        q[k] = m[k][i] + m[i][k];
        q[3] = m[k][j] - m[j][k];
    }
    unit(q, 4, q);
}

/* ------------------------------------------------------------------ what is known */
/* Gyro between the star tracker's samples; each sample pulls the attitude and the gyro's bias a little. */
static void correct(flight_state *s, double t, double sample_t, const double measured[4])
{
    double q[4], late[3], error[3];
    int i;
    if (!unit(measured, 4, q) || !(t - sample_t < 1.0))
        return;
    for (i = 0; i < 3; i++)
        late[i] = s->omega[i] * (t - sample_t);
    turn(q, late);
    if (!s->running)
        memcpy(s->q, q, sizeof q);
    s->drift *= s->running ? 1.0 - ATTITUDE_GAIN : 0.0;
    s->running = 1;
    s->bias_sigma = fmax(BIAS_SIGMA_END, (1.0 - BIAS_GAIN) * s->bias_sigma);
    difference(s->q, q, error);
    for (i = 0; i < 3; i++) {
        s->bias[i] = clamp(s->bias[i] - BIAS_GAIN * error[i], MAX_BIAS);
        error[i] *= ATTITUDE_GAIN;
    }
    turn(s->q, error);
}

static void estimate(flight_state *s, const attitude_samples *x, double t)
{
    const double dt = t > s->t && t - s->t < 10.0 ? t - s->t : 0.0;
    double angle[3];
    int i;
    for (i = 0; i < 3; i++) {
        angle[i] = s->omega[i] * dt;
        if (attitude_has(x->valid, ATTITUDE_BIT_GYRO) && isfinite(x->gyro_omega_B[i]))
            s->omega[i] = x->gyro_omega_B[i] - s->bias[i];
    }
    turn(s->q, angle);
    s->drift += s->bias_sigma * dt;
    s->t = t;
    if (attitude_has(x->valid, ATTITUDE_BIT_STAR_TRACKER_0))
        correct(s, t, x->star_tracker_0_t, x->star_tracker_0_q_IB);
    if (attitude_has(x->valid, ATTITUDE_BIT_STAR_TRACKER_1))
        correct(s, t, x->star_tracker_1_t, x->star_tracker_1_q_IB);
    if (attitude_has(x->valid, ATTITUDE_BIT_GPS)) {
        memcpy(s->r, x->gps_r_I, sizeof s->r);
        memcpy(s->v, x->gps_v_I, sizeof s->v);
        s->orbit_t = x->gps_t;
        s->has_orbit = 1;
    }
}

/* z to the Earth, x as near to the velocity as can be; position and velocity go on by Kepler's acceleration. */
static int nadir(flight_state *s)
{
    const double dt = s->t - s->orbit_t, radius = sqrt(dot(s->r, s->r));
    double r[3], v[3], x[3], y[3], z[3], h[3], rate[3];
    int i;
    if (!s->has_orbit || !(radius > 1e6) || !(dt < 60.0))
        return 0;
    for (i = 0; i < 3; i++) {
        const double pull = -MU * s->r[i] / (radius * radius * radius);
        r[i] = s->r[i] + dt * (s->v[i] + 0.5 * dt * pull);
        v[i] = s->v[i] + dt * pull;
        z[i] = -r[i];
    }
    cross(z, v, y);
    if (!unit(z, 3, z) || !unit(y, 3, y))
        return 0;
    cross(y, z, x);
    from_axes(x, y, z, s->reference);
    cross(r, v, h);
    for (i = 0; i < 3; i++)
        rate[i] = h[i] / dot(r, r);
    s->reference_omega[0] = dot(rate, x);
    s->reference_omega[1] = dot(rate, y);
    s->reference_omega[2] = dot(rate, z);
    return 1;
}

static int refer(flight_state *s, int inertial)
{
    static const double origin[4] = {0.0, 0.0, 0.0, 1.0};
    if (!inertial)
        return nadir(s);
    memcpy(s->reference, origin, sizeof origin);
    memset(s->reference_omega, 0, sizeof s->reference_omega);
    return 1;
}

/* ------------------------------------------------------------------ what is done */
/* Dipole against the change of the field's direction, from samples taken while the torquers are off. */
static void detumble(flight_state *s, const attitude_samples *x)
{
    const double phase = fmod(x->magnetometer_t, TORQUER_PERIOD) / TORQUER_PERIOD;
    double b[3];
    int i;
    if (!attitude_has(x->valid, ATTITUDE_BIT_MAGNETOMETER) || !(phase > QUIET_FROM && phase < QUIET_TO)
        || !unit(x->magnetometer_b_B, 3, b))
        return;
    for (i = 0; i < TORQUERS && s->has_field && x->magnetometer_t > s->field_t; i++)
        s->dipole[i] = clamp(-BDOT_GAIN * (b[i] - s->field[i]) / (x->magnetometer_t - s->field_t), MAX_DIPOLE);
    memcpy(s->field, b, sizeof b);
    s->field_t = x->magnetometer_t;
    s->has_field = 1;
}

/* Torque on the body: a damped oscillator about the reference in each axis, and the gyroscopic torque. */
static void feedback(flight_state *s)
{
    double error[3], momentum[3], gyroscopic[3], largest = 0.0;
    int i;
    difference(s->reference, s->q, error);
    for (i = 0; i < 3; i++)
        momentum[i] = INERTIA[i] * s->omega[i];
    cross(s->omega, momentum, gyroscopic);
    for (i = 0; i < 3; i++) {
        const double rate = s->omega[i] - s->reference_omega[i];
        s->torque[i] = gyroscopic[i] - INERTIA[i] * BANDWIDTH * (BANDWIDTH * error[i] + 2.0 * DAMPING * rate);
        largest = fabs(s->torque[i]) > largest ? fabs(s->torque[i]) : largest;
    }
    for (i = 0; i < 3 && largest > MAX_TORQUE; i++)
        s->torque[i] *= MAX_TORQUE / largest; /* keeps its direction */
}

/* The body receives what the rotors do not; friction is known and paid for. */
static void drive(const flight_state *s, const attitude_samples *x, attitude_command *command)
{
    int i;
    for (i = 0; i < WHEELS; i++) {
        const double speed = x->wheel_speed[i];
        const double rubbing = speed > 0.0 ? WHEEL_COULOMB : speed < 0.0 ? -WHEEL_COULOMB : 0.0;
        const double friction = WHEEL_VISCOUS * speed + rubbing;
        command->wheel[i] = friction - 0.75 * dot(WHEEL_AXIS[i], s->torque) / sqrt(3.0);
    }
}

static void fly(flight_state *s, const attitude_samples *x, double t, int inertial, attitude_command *command)
{
    memset(command, 0, sizeof *command);
    memset(s->torque, 0, sizeof s->torque);
    command->t = t;
    estimate(s, x, t);
    detumble(s, x);
    s->pointing = s->running && dot(s->omega, s->omega) < SLOW * SLOW && refer(s, inertial);
    if (s->pointing) {
        feedback(s);
        drive(s, x, command);
        command->valid = 1u << ATTITUDE_BIT_WHEELS;
    } else {
        memcpy(command->dipole, s->dipole, sizeof s->dipole);
        command->valid = 1u << ATTITUDE_BIT_TORQUERS;
    }
}

/* There is no covariance: sigma is that of the star tracker, and of what the gyro's bias may have done since. */
static void tell(const flight_state *s, double t, attitude_estimate *e, attitude_control *c)
{
    int i;
    memset(e, 0, sizeof *e);
    memset(c, 0, sizeof *c);
    e->t = t;
    e->running = s->running;
    memcpy(e->q_IB, s->q, sizeof s->q);
    memcpy(e->omega_B, s->omega, sizeof s->omega);
    memcpy(e->gyro_bias_B, s->bias, sizeof s->bias);
    for (i = 0; i < 3; i++) {
        e->sigma_B[i] = s->running ? SIGMA[i] + s->drift : (double)NAN; /* unknown */
        e->sigma_bias_B[i] = s->bias_sigma;
    }
    c->mode = s->pointing ? 3.0 : 0.0;
    c->pointing = s->pointing ? 0.0 : -1.0;
    memcpy(c->reference_q_IB, s->reference, sizeof s->reference);
    memcpy(c->reference_omega_B, s->reference_omega, sizeof s->reference_omega);
    memcpy(c->torque_B, s->torque, sizeof s->torque);
    c->rate = sqrt(dot(s->omega, s->omega));
}

/* ------------------------------------------------------------------ the line */
typedef struct {
    int in, out, datagrams;
    attitude_stream stream;
} line;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Host and port of udp://HOST:PORT; 0 if the text is not of that kind. */
static int split_address(const char *text, char host[256], char port[6])
{
    const char *colon = strrchr(text, ':');
    const size_t size = colon == NULL ? 0 : (size_t)(colon - text);
    if (size == 0 || size > 255 || strlen(colon + 1) > 5 || strspn(colon + 1, "0123456789") != strlen(colon + 1)
        || atoi(colon + 1) < 1 || atoi(colon + 1) > 65535)
        return 0;
    memcpy(host, text, size);
    host[size] = '\0';
    strcpy(port, colon + 1);
    return 1;
}

static int well_formed(const char *link)
{
    char host[256], port[6];
    return strncmp(link, "udp://", 6) == 0 ? split_address(link + 6, host, port) : link[0] != '\0' && link[0] != '-';
}

static int refuse(int fd, const char **why)
{
    *why = strerror(errno);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int open_udp(const char *text, const char **why)
{
    struct addrinfo wanted, *found = NULL;
    char host[256], port[6];
    int fd, error;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_family = AF_INET;
    wanted.ai_socktype = SOCK_DGRAM;
    error = split_address(text, host, port) ? getaddrinfo(host, port, &wanted, &found) : EAI_NONAME;
    if (error != 0) {
        *why = error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error);
        return -1;
    }
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0)
        fd = refuse(fd, why);
    freeaddrinfo(found);
    return fd;
}

static int open_serial(const char *path, const char **why)
{
    struct termios mode;
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK); /* a plant that does not read must not hold us up */
    if (fd < 0 || tcgetattr(fd, &mode) != 0)
        return refuse(fd, why);
    mode.c_iflag = 0;
    mode.c_oflag = 0;
    mode.c_lflag = 0;
    mode.c_cflag = CS8 | CREAD | CLOCAL;
    mode.c_cc[VMIN] = 1;
    mode.c_cc[VTIME] = 0;
    cfsetispeed(&mode, B115200);
    cfsetospeed(&mode, B115200);
    return tcsetattr(fd, TCSANOW, &mode) == 0 ? fd : refuse(fd, why);
}

static int open_line(line *l, const char *link, const char **why)
{
    memset(l, 0, sizeof *l);
    if (strcmp(link, "stdio:") == 0) {
        l->out = STDOUT_FILENO;
        return 1;
    }
    l->datagrams = strncmp(link, "udp://", 6) == 0;
    l->in = l->out = l->datagrams ? open_udp(link + 6, why) : open_serial(link, why);
    return l->in >= 0;
}

/* Try until the line is there: a pseudo-terminal appears only when its plant is ready. */
static int await_line(line *l, const char *link)
{
    const struct timespec pause = {0, (long)(1e9 * RETRY)};
    const double end = now() + PATIENCE_S;
    const char *why = "";
    int told = 0;
    while (!open_line(l, link, &why)) {
        if (now() >= end) {
            fprintf(stderr, "flight: cannot open %s: %s\n", link, why);
            return 0;
        }
        if (!told++)
            fprintf(stderr, "flight: waiting for %s: %s\n", link, why);
        nanosleep(&pause, NULL);
    }
    return 1;
}

/* What a reader that sleeps leaves no room for is dropped: the receiver finds its way by the markers. */
static void write_all(int fd, const uint8_t *data, size_t size)
{
    struct pollfd ready = {fd, POLLOUT, 0};
    while (size > 0 && poll(&ready, 1, (int)(1000.0 * STALLED)) > 0) {
        const ssize_t done = write(fd, data, size);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return;
        data += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0u;
    }
}

static void send_packet(const line *l, const uint8_t *packet, size_t size)
{
    uint8_t marked[ATTITUDE_MARKER_SIZE + ATTITUDE_MAX_PACKET];
    if (l->datagrams) {
        (void)!send(l->out, packet, size, 0); /* a plant that is not there yet is none of our errors */
        return;
    }
    memcpy(marked, attitude_marker, ATTITUDE_MARKER_SIZE);
    memcpy(marked + ATTITUDE_MARKER_SIZE, packet, size);
    write_all(l->out, marked, ATTITUDE_MARKER_SIZE + size);
}

/* ------------------------------------------------------------------ the program */
typedef struct {
    attitude_endpoint me;
    line l;
    flight_state state;
    attitude_command command;
    uint64_t plant, tick;
    int flown, inertial, stopped, closed;
    unsigned long unusable; /* packets since the last good one */
    double heard;
} program;

static void say_hello(program *p)
{
    uint8_t packet[ATTITUDE_MAX_PACKET];
    send_packet(&p->l, packet, attitude_encode_hello(&p->me, p->tick, p->state.t, packet));
}

static void renew(program *p)
{
    memset(&p->state, 0, sizeof p->state);
    p->state.q[3] = p->state.reference[3] = 1.0;
    p->state.bias_sigma = BIAS_SIGMA;
    p->plant = p->me.peer;
    p->flown = 0;
}

static void answer(program *p, const attitude_frame *frame)
{
    const attitude_header *h = &frame->header;
    attitude_estimate known;
    attitude_control done;
    uint8_t packet[ATTITUDE_MAX_PACKET];
    if (h->session != p->plant)
        renew(p);
    if (!p->flown || h->tick != p->tick) /* the same tick again gets the same answer */
        fly(&p->state, &frame->body.samples, h->t, p->inertial, &p->command);
    p->flown = 1;
    p->tick = h->tick;
    tell(&p->state, h->t, &known, &done);
    send_packet(&p->l, packet, attitude_encode_command(&p->me, h->tick, h->t, &p->command, packet));
    send_packet(&p->l, packet, attitude_encode_housekeeping(&p->me, h->tick, h->t, &known, &done, packet));
}

static void take(program *p, const uint8_t *packet, size_t size)
{
    attitude_frame frame;
    const attitude_status status = attitude_decode(&p->me, packet, size, &frame);
    if (p->me.answer_due)
        say_hello(p);
    p->unusable = status == ATTITUDE_ACCEPTED ? 0 : p->unusable + 1;
    if (status != ATTITUDE_ACCEPTED)
        return;
    p->heard = now();
    if (frame.apid == ATTITUDE_APID_SAMPLES)
        answer(p, &frame);
    p->stopped |= frame.apid == ATTITUDE_APID_STOP;
}

static void listen_once(program *p)
{
    struct pollfd ready = {p->l.in, POLLIN, 0};
    uint8_t data[ATTITUDE_MAX_PACKET + 1], packet[ATTITUDE_MAX_PACKET];
    ssize_t got, i;
    size_t size;
    if (poll(&ready, 1, (int)(1000.0 * HELLO_EVERY)) <= 0)
        return;
    got = read(p->l.in, data, sizeof data);
    if (p->l.datagrams) {
        if (got > 0)
            take(p, data, (size_t)got);
        return;
    }
    p->closed |= got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    for (i = 0; i < got; i++) {
        attitude_stream_push(&p->l.stream, data[i]);
        while ((size = attitude_stream_take(&p->l.stream, packet)) > 0)
            take(p, packet, size);
    }
}

static void fly_on(program *p)
{
    double next_hello = 0.0;
    for (p->heard = now(); !p->stopped && !p->closed && now() - p->heard < PATIENCE_S;) {
        if ((p->me.peer == 0 || now() - p->heard > SILENCE) && now() >= next_hello) {
            say_hello(p); /* if there is a peer: the last one may have been lost */
            next_hello = now() + HELLO_EVERY;
        }
        listen_once(p);
    }
}

/* Says why it ends, unless all is well; returns the exit code. */
static int conclude(const program *p)
{
    if (p->stopped)
        return 0;
    if (p->closed)
        fprintf(stderr, "flight: the line was closed\n");
    else if (p->unusable > 0)
        fprintf(stderr, "flight: no packet from the plant was good for %g s, %lu were not\n", PATIENCE_S, p->unusable);
    else
        fprintf(stderr, "flight: nothing was heard from the plant for %g s\n", PATIENCE_S);
    return p->closed ? 0 : 1;
}

int main(int argc, char **argv)
{
    static program p;
    struct timespec t;
    p.inertial = argc == 3 && strcmp(argv[1], "--inertial") == 0;
    if (argc != 2 + p.inertial || !well_formed(argv[argc - 1])) {
        fprintf(stderr, "usage: flight [--inertial] stdio: | udp://HOST:PORT | SERIAL-LINE\n");
        return 2;
    }
    if (!await_line(&p.l, argv[argc - 1]))
        return 1;
    clock_gettime(CLOCK_REALTIME, &t);
    attitude_init(&p.me, ATTITUDE_ROLE_FLIGHT, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, NULL, 1.0);
    renew(&p);
    fly_on(&p);
    return conclude(&p);
}
