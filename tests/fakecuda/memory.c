/* Device memory: pages that only running work of devices with access can reach.
 *
 * A block ends near the end of its last page, rounded up to 256 bytes as CUDA aligns; padding holds
 * a pattern, and guard pages surround it. Addresses are not reused, so freed memory stays
 * inaccessible.
 */
#include "tests/fakecuda/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PAGE = 4096,
    ALIGN = 256,
    EDGE = 256,
    PATTERN = 0xa5,
    NEW = 0xff,
    LARGE = 1 << 20,
    FILLED = 4 << 20
};
static const size_t ARENA_BYTES = (size_t)1 << 38;

static struct {
    char *arena[DEVICES_MAX + 1]; /* the last one is the host's */
    size_t used[DEVICES_MAX + 1];
    Memory **block; /* by address */
    int n, room;
    int open_for; /* HOST: for none */
    bool changed;
} memory = {.open_for = HOST};

static int arena_of(int device)
{
    return device == HOST ? DEVICES_MAX : device;
}

static int place_of(const void *address)
{
    int low = 0, high = memory.n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (memory.block[middle]->base <= (const char *)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Memory *memory_of(const void *address)
{
    int at = place_of(address);
    if (!at)
        return NULL;
    Memory *m = memory.block[at - 1];
    const char *p = address;
    bool within = p >= m->data && (p < m->data + m->n_bytes || (p == m->data && !m->n_bytes));
    return within ? m : NULL;
}

bool memory_has(const void *address, size_t n_bytes, int device)
{
    const Memory *m = memory_of(address);
    if (!m)
        return device == HOST && (address || !n_bytes);
    return m->device == device && n_bytes <= m->n_bytes - (size_t)((const char *)address - m->data);
}

static Memory *memory_new(int device, size_t n_bytes)
{
    int at = arena_of(device);
    if (!memory.arena[at]) {
        void *arena =
            mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED)
            return NULL;
        memory.arena[at] = arena;
    }
    size_t aligned = (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    size_t pages = (aligned + PAGE - 1) / PAGE * PAGE + (aligned ? 0 : PAGE);
    if (pages + 2 * PAGE > ARENA_BYTES - memory.used[at])
        return NULL;
    Memory *m = calloc(1, sizeof *m);
    m->base = memory.arena[at] + memory.used[at] + PAGE;
    memory.used[at] += pages + PAGE;
    m->data = m->base + pages - aligned - (aligned ? 0 : ALIGN);
    m->n_pages_bytes = pages;
    m->n_bytes = n_bytes;
    m->device = device;
    int place = place_of(m->base);
    if (memory.n == memory.room) {
        memory.room = memory.room ? 2 * memory.room : 64;
        memory.block = realloc(memory.block, (size_t)memory.room * sizeof(Memory *));
    }
    memmove(memory.block + place + 1, memory.block + place,
            (size_t)(memory.n - place) * sizeof(Memory *));
    memory.block[place] = m;
    memory.n++;
    return m;
}

static void set_open(Memory *m, bool open)
{
    if (m->open == open)
        return;
    mprotect(m->base, m->n_pages_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
    m->open = open;
}

/* Makes the block usable, filled with a value that nobody should read. */
static void memory_live(Memory *m)
{
    set_open(m, true);
    memset(m->base, PATTERN, (size_t)(m->data - m->base));
    memset(m->data, NEW, m->n_bytes < FILLED ? m->n_bytes : FILLED);
    char *end = m->data + m->n_bytes;
    memset(end, PATTERN, (size_t)(m->base + m->n_pages_bytes - end));
    memory.changed = true;
    if (m->device != HOST)
        set_open(m, false);
}

static size_t first_wrong(const char *from, const char *to)
{
    for (const char *p = from; p < to; p++) {
        if ((unsigned char)*p != PATTERN)
            return (size_t)(p - from) + 1;
    }
    return 0;
}

/* False when the padding of a block was overwritten. */
static bool ends_whole(Memory *m, const char *who)
{
    bool open = m->open;
    set_open(m, true);
    const char *before = m->data - EDGE < m->base ? m->base : m->data - EDGE;
    const char *end = m->data + m->n_bytes;
    size_t behind = first_wrong(end, m->base + m->n_pages_bytes);
    size_t ahead = first_wrong(before, m->data);
    set_open(m, open);
    if (behind)
        fake_say("%s wrote %zu bytes past the end of a block of %zu bytes on device %d", who,
                 behind, m->n_bytes, m->device);
    else if (ahead)
        fake_say("%s wrote before the start of a block of %zu bytes on device %d", who, m->n_bytes,
                 m->device);
    return !behind && !ahead;
}

bool memory_check_ends(int device, const char *who)
{
    for (int i = 0; i < memory.n; i++) {
        Memory *m = memory.block[i];
        if (m->open && !ends_whole(m, who))
            return device_fail(device, cudaErrorIllegalAddress), false;
    }
    return true;
}

static void memory_free(Memory *m)
{
    int place = place_of(m->base) - 1;
    memory.n--;
    memmove(memory.block + place, memory.block + place + 1,
            (size_t)(memory.n - place) * sizeof(Memory *));
    mmap(m->base, m->n_pages_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (m->device != HOST)
        fake.device[m->device].malloc_bytes -= m->n_pages_bytes;
    free(m);
}

bool peer_open(int device, int owner)
{
    return owner == device || owner == HOST || fake.device[device].peer[owner];
}

void memory_open_for(int device)
{
    if (memory.open_for == device && !memory.changed)
        return;
    for (int i = 0; i < memory.n; i++) {
        Memory *m = memory.block[i];
        set_open(m, peer_open(device, m->device));
    }
    memory.open_for = device;
    memory.changed = false;
}

/* Large blocks stay open until another device runs: closing is slow. */
void memory_close(void)
{
    for (int i = 0; i < memory.n; i++) {
        if (memory.block[i]->device != HOST && memory.block[i]->n_pages_bytes <= LARGE)
            set_open(memory.block[i], false);
    }
    memory.open_for = HOST;
    memory.changed = true;
}

bool memory_reach(int device, const void *address, size_t n_bytes, const char *who)
{
    Memory *m = memory_of(address);
    if (!n_bytes || (!m && memory_has(address, n_bytes, HOST) && !memory_in_arena(address)))
        return true;
    if (!m || !memory_has(address, n_bytes, m->device)) {
        char where[200];
        memory_explain(address, where);
        fake_say("%s reaches %zu bytes at %s", who, n_bytes, where);
        return device_fail(device, cudaErrorIllegalAddress), false;
    }
    if (!m->open) {
        set_open(m, true);
        memory.changed = true;
    }
    return true;
}

bool memory_in_arena(const void *address)
{
    for (int i = 0; i <= DEVICES_MAX; i++) {
        const char *arena = memory.arena[i];
        if (arena && (const char *)address >= arena && (const char *)address < arena + ARENA_BYTES)
            return true;
    }
    return false;
}

void memory_explain(const void *address, char out[200])
{
    const Memory *m = memory_of(address);
    if (m) {
        snprintf(out, 200, "byte %zu of a block of %zu bytes on device %d",
                 (size_t)((const char *)address - m->data), m->n_bytes, m->device);
        return;
    }
    int at = place_of(address);
    m = at ? memory.block[at - 1] : NULL;
    if (m && (const char *)address < m->base + m->n_pages_bytes + PAGE)
        snprintf(out, 200, "%zd bytes from the start of a block of %zu bytes on device %d",
                 (const char *)address - m->data, m->n_bytes, m->device);
    else if (memory_in_arena(address))
        snprintf(out, 200, "%p, which was freed or never given", address);
    else
        snprintf(out, 200, "%p, which is no memory of a device", address);
}

void memory_clear(int device)
{
    for (int i = memory.n; i-- > 0;) {
        if (memory.block[i]->device == device)
            memory_free(memory.block[i]);
    }
}

void memory_count(FakecudaLeaks *leaks)
{
    for (int i = 0; i < memory.n; i++) {
        const Memory *m = memory.block[i];
        if (m->device == HOST) {
            leaks->host_blocks++;
        } else {
            leaks->device_blocks++;
            leaks->device_bytes += m->n_bytes;
        }
    }
}

/* ---- blocks of cudaMalloc */

static size_t left_on(const Device *device)
{
    return fake.memory_bytes - device->malloc_bytes;
}

static bool fits(const Device *device, size_t n_bytes)
{
    return n_bytes <= fake.memory_bytes && n_bytes + 2 * PAGE <= left_on(device);
}

static cudaError_t allocate(int at, size_t n_bytes, Memory **out)
{
    int64_t number = ++fake.count.allocations;
    Device *device = &fake.device[at];
    bool refused =
        number == fake.fault.alloc || (fake.fault.oom && n_bytes >= (size_t)fake.fault.oom);
    if (device->failed)
        return device->failed;
    *out = refused || !fits(device, n_bytes) ? NULL : memory_new(at, n_bytes);
    if (!*out)
        return cudaErrorMemoryAllocation;
    device->malloc_bytes += (*out)->n_pages_bytes;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t n_bytes)
{
    cudaError_t error = fake_enter();
    if (error || !out)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    if (capture_forbids())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    *out = NULL;
    Memory *m = NULL;
    if (!n_bytes)
        return fake_leave(cudaSuccess);
    error = allocate(fake_current_device(), n_bytes, &m);
    if (error)
        return fake_leave(error);
    memory_live(m);
    *out = m->data;
    return fake_leave(cudaSuccess);
}

/* Waits for the whole device, as CUDA does. */
cudaError_t cudaFree(void *address)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error) || !address)
        return fake_leave(error);
    Memory *m = memory_of(address);
    if (!m || m->data != address || m->device == HOST)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    error = device_finish(m->device);
    if (!error && !ends_whole(m, "something"))
        device_fail(m->device, cudaErrorIllegalAddress);
    memory_free(m);
    return fake_leave(error);
}

cudaError_t cudaMallocHost(void **out, size_t n_bytes)
{
    cudaError_t error = fake_enter();
    if (error || !out)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    Memory *m = n_bytes < ARENA_BYTES / 2 ? memory_new(HOST, n_bytes) : NULL;
    if (m)
        memory_live(m);
    *out = m ? m->data : NULL;
    return fake_leave(m ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFreeHost(void *address)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error) || !address)
        return fake_leave(error);
    Memory *m = memory_of(address);
    if (!m || m->data != address || m->device != HOST)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    for (int i = 0; i < fake.n_devices; i++)
        device_finish(i);
    bool whole = ends_whole(m, "something");
    memory_free(m);
    return fake_leave(error || whole ? error : cudaErrorIllegalAddress);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t error = fake_enter();
    if (error)
        return fake_leave(error);
    *free = left_on(&fake.device[fake_current_device()]);
    *total = fake.memory_bytes;
    return fake_leave(cudaSuccess);
}
