/* What the kernels of the tests' package (capi/tests/common/gpu.rs) and the library's own copy kernels do. */

/* The first and last of n elements; then element i is at[i * stride]. */
static void span(uint64_t at, int64_t n, int64_t step, size_t size, const char *what) {
    if (n <= 0) return;
    touch(at, size, what);
    touch(at + (uint64_t)((n - 1) * step), size, what);
}
static float get(uint64_t at, int64_t i, int64_t stride) { return ((float *)at)[i * stride]; }
static void put(uint64_t at, int64_t i, int64_t stride, float value) { ((float *)at)[i * stride] = value; }
static void record(uint64_t at, int64_t i) {
    touch(at, 8, "records");
    if (~(uint64_t)i > *(uint64_t *)at) *(uint64_t *)at = ~(uint64_t)i;
}

static void each(const struct module *m, const uint64_t *w) {
    int64_t n = (int64_t)w[4];
    size_t size = (size_t)m->size;
    span(w[0], n, (int64_t)w[1], size, "copy kernel, to");
    if (m->op != 1) span(w[2], n, (int64_t)w[3], size, "copy kernel, from");
    for (int64_t i = 0; i < n; ++i) {
        uint64_t value = 0;
        memcpy(&value, m->op == 1 ? (void *)&w[2] : (void *)(w[2] + (uint64_t)(i * (int64_t)w[3])), size);
        if (m->op == 2) value = value != 0;
        if (m->op == 3) {
            uint64_t *from = (uint64_t *)(w[2] + (uint64_t)i * 8), *to = (uint64_t *)(w[0] + (uint64_t)i * 8);
            *from = 0;
            if (value < *to) value = *to;
        }
        memcpy((void *)(w[0] + (uint64_t)(i * (int64_t)w[1])), &value, size);
    }
}

/* The same along three axes: row by row. */
static void rows(const struct module *m, const uint64_t *w) {
    int64_t inner = (int64_t)w[5], middle = (int64_t)w[6], n = (int64_t)w[4];
    if (n <= 0 || inner <= 0 || middle <= 0 || n % (inner * middle)) bug("rows of %ld, %ld of them, of %ld elements", (long)inner, (long)middle, (long)n);
    for (int64_t r = 0; r < n / inner; ++r) {
        uint64_t i = (uint64_t)(r % middle), o = (uint64_t)(r / middle), value = m->op == 1;
        const uint64_t row[5] = {w[0] + i * w[7] + o * w[8], w[1], value ? w[2] : w[2] + i * w[9] + o * w[10], w[3], w[5]};
        each(m, row);
    }
}

/* The same along four axes: part by part. */
static void structs(const struct module *m, const uint64_t *w) {
    int64_t n = (int64_t)w[4], part = (int64_t)(w[5] * w[6] * w[11]);
    if (n <= 0 || part <= 0 || n % part) bug("parts of %ld of %ld elements", (long)part, (long)n);
    for (int64_t f = 0; f < n / part; ++f) {
        uint64_t words[11], value = m->op == 1;
        memcpy(words, w, sizeof words);
        words[0] += (uint64_t)f * w[12], words[2] += value ? 0 : (uint64_t)f * w[13], words[4] = (uint64_t)part;
        rows(m, words);
    }
}

static void scale(const fake_launch_record *l, int strided, uint32_t version) {
    const uint64_t *w = l->words, *rest = w + (strided ? 4 : 2);
    int64_t sx = strided ? (int64_t)w[2] : 1, sr = strided ? (int64_t)w[3] : 1, n = (int64_t)rest[0];
    float a;
    if (l->count != (strided ? 7u : 5u)) bug("scale has %u parameters", l->count);
    memcpy(&a, &rest[1], 4);
    span(w[0], n, sx * 4, 4, "scale, x"), span(w[1], n, sr * 4, 4, "scale, result"), touch(rest[2], 4, "scale, slot");
    for (int64_t i = 0; i < n; ++i) put(w[1], i, sr, get(w[0], i, sx) * a);
    *(uint32_t *)rest[2] = version;
}

static void launch(const struct function *f, const fake_launch_record *l) {
    const uint64_t *w = l->words;
    int64_t n;
    if (f->module->own) {
        l->count == 14 ? structs(f->module, w) : l->count == 11 ? rows(f->module, w) : each(f->module, w);
    } else if (!strcmp(l->entry, "dot")) {
        n = (int64_t)w[4];
        int64_t tiles = (n + 2047) / 2048, groups = (tiles + 2047) / 2048;
        if (l->count != 9) bug("dot has %u parameters", l->count);
        span(w[0], n, (int64_t)w[2] * 4, 4, "dot, x"), span(w[1], n, (int64_t)w[3] * 4, 4, "dot, y"), touch(w[5], 4, "dot, slot");
        int64_t elements = groups > 1 ? (tiles + 3) / 4 * 4 + groups : tiles ? tiles : 1, counters = groups > 1 ? groups + 1 : 1;
        touch(w[6], (size_t)elements * 4, "dot, scratch"), touch(w[7], (size_t)counters * 4, "dot, counters");
        if (w[6] % 256) bug("the scratch is not aligned");
        for (int64_t i = 0; i < counters; ++i)
            if (((uint32_t *)w[7])[i]) bug("a counter is not 0");
        float total = 0;
        for (int64_t t = 0; t < tiles; ++t) {
            float sum = 0;
            for (int64_t i = t * 2048; i < n && i < t * 2048 + 2048; ++i) sum += get(w[0], i, (int64_t)w[2]) * get(w[1], i, (int64_t)w[3]);
            ((float *)w[6])[t] = sum;
        }
        for (int64_t t = 0; t < tiles; ++t) total += ((float *)w[6])[t];
        *(float *)w[5] = total;
    } else if (!strcmp(l->entry, "scale_aligned")) {
        scale(l, 0, 10);
        if (w[0] % 16 || w[1] % 16) bug("scale_aligned is not aligned");
    } else if (!strcmp(l->entry, "scale_contiguous")) {
        scale(l, 0, 11);
    } else if (!strcmp(l->entry, "scaled_steps")) {
        float a;
        if (l->count != 6 || !w[5] || w[5] > 4) bug("scaled_steps has %u parameters", l->count);
        if (w[0] % 16 || w[1] % 16) bug("scaled_steps is not aligned");
        n = (int64_t)w[2];
        memcpy(&a, &w[3], 4);
        span(w[0], n, 4, 4, "scaled_steps, x"), span(w[1], n, 4, 4, "scaled_steps, result"), touch(w[4], 4, "scaled_steps, slot");
        for (int64_t i = 0; i < n; ++i) {
            float value = get(w[0], i, 1);
            for (uint64_t step = 0; step < w[5]; ++step) value *= a;
            put(w[1], i, 1, value);
        }
        *(uint32_t *)w[4] = 13;
    } else if (!strcmp(l->entry, "reached")) {
        if (l->count != 7) bug("reached has %u parameters", l->count);
        touch(w[0], 4, "reached, x"), touch(w[1], 8, "reached, number"), touch(w[6], 8, "reached, guard");
        if (*(int64_t *)w[6] < 0) *(int64_t *)w[1] = get(w[0], 0, 1) >= 1000 ? (int64_t)w[5] : -1;
    } else if (!strncmp(l->entry, "doubled_", 8)) {
        int several = !strcmp(l->entry, "doubled_steps");
        const uint64_t *rest = w + (several ? 2 : 4);
        int64_t sx = several ? 1 : (int64_t)w[2], sr = several ? 1 : (int64_t)w[3];
        float a;
        if (l->count != (several ? 7u : 8u)) bug("doubled has %u parameters", l->count);
        memcpy(&a, &rest[1], 4);
        n = (int64_t)rest[0];
        span(w[0], n, sx * 4, 4, "doubled, x"), span(w[1], n, sr * 4, 4, "doubled, result"), touch(rest[3], 8, "doubled, guard");
        if (*(int64_t *)rest[3] >= 0) return;
        if (n > 0 && get(w[0], 0, 1) >= 64000) record(rest[2], 0);
        for (int64_t i = 0; i < n; ++i) {
            float value = get(w[0], i, sx);
            for (uint64_t step = 0; step < (several ? rest[4] : 1); ++step) value *= a;
            put(w[1], i, sr, value);
        }
    } else if (!strcmp(l->entry, "scaled_any")) {
        scale(l, 1, 12);
    } else if (!strcmp(l->entry, "scale_any")) {
        scale(l, 1, 12);
    } else if (!strcmp(l->entry, "reversed")) {
        n = (int64_t)w[4];
        span(w[0], n, (int64_t)w[2] * 4, 4, "reversed, x"), span(w[1], n, (int64_t)w[3] * 4, 4, "reversed, result");
        for (int64_t i = 0; i < n; ++i) put(w[1], i, (int64_t)w[3], get(w[0], n - 1 - i, (int64_t)w[2]));
    } else if (!strcmp(l->entry, "both")) {
        n = (int64_t)w[8];
        for (int k = 0; k < 4; ++k) span(w[k], n, (int64_t)w[4 + k] * 4, 4, "both");
        for (int64_t i = 0; i < n; ++i) {
            float x = get(w[0], i, (int64_t)w[4]), y = get(w[1], i, (int64_t)w[5]);
            put(w[2], i, (int64_t)w[6], x + y), put(w[3], i, (int64_t)w[7], x - y);
        }
    } else if (!strcmp(l->entry, "gather")) {
        n = (int64_t)w[4];
        int64_t shift = (int64_t)w[5];
        span(w[0], n, (int64_t)w[2] * 4, 4, "gather, x"), span(w[1], n, (int64_t)w[3] * 4, 4, "gather, result");
        for (int64_t i = 0; i < n; ++i) {
            int64_t j = i + shift;
            if (j >= n) record(w[6], i);
            else if (j < 0) record(w[6] + 8, i);
            put(w[1], i, (int64_t)w[3], j >= 0 && j < n ? get(w[0], j, (int64_t)w[2]) : 0);
        }
    } else if (!strcmp(l->entry, "scalars")) {
        touch(w[1], 4, "scalars, slot");
        memcpy((void *)w[1], &w[0], 4);
    } else if (!strcmp(l->entry, "last")) {
        n = (int64_t)w[2];
        *(float *)w[3] = get(w[0], n - 1, (int64_t)w[1]);
        *(uint64_t *)w[4] = 1;
    } else if (!strncmp(l->entry, "turned_", 7)) {
        int64_t rows = (int64_t)w[2], columns = (int64_t)w[3], flat = !strcmp(l->entry, "turned_flat");
        int64_t a0 = (int64_t)w[4], a1 = (int64_t)w[5], r0 = flat ? rows : (int64_t)w[6], r1 = flat ? 1 : (int64_t)w[7];
        if (l->count != 9) bug("turned has %u parameters", l->count);
        if (flat && (a1 != 1 || (int64_t)w[7] != 1 || (int64_t)w[6] != rows)) bug("turned_flat is not flat");
        for (int64_t i = 0; i < columns; ++i)
            for (int64_t j = 0; j < rows; ++j) {
                touch(w[0] + (uint64_t)(j * a0 + i * a1) * 4, 4, "turned, a"), touch(w[1] + (uint64_t)(i * r0 + j * r1) * 4, 4, "turned, result");
                put(w[1], i * r0 + j * r1, 1, get(w[0], j * a0 + i * a1, 1));
            }
        *(uint32_t *)w[8] = flat ? 11 : 12;
    } else if (!strncmp(l->entry, "reversed_", 9)) {
        /* made by the compiler: the tests look at its launches only */
    } else {
        bug("no kernel %s", l->entry);
    }
}
