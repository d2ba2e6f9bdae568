/* The driver's linker: machine code is a mark, the PTX, and "end". */

struct linker { int n, *options; void **values; char *code; };

int cuLinkCreate_v2(unsigned n, int *options, void **values, struct linker **out) {
    NEED_CONTEXT;
    UNCAPTURED;
    if (option("no_linker", 0)) return NO_MEMORY;
    struct linker *l = calloc(1, sizeof *l);
    l->n = (int)n, l->options = options, l->values = values;
    return counts.linkers++, *out = l, 0;
}
int cuLinkAddData_v2(struct linker *l, int type, void *data, size_t size, const char *name, unsigned n, int *options, void **values) {
    NEED_CONTEXT;
    UNCAPTURED;
    const char *ptx = data;
    (void)options, (void)values;
    if (type != 1 || n || !name || ptx[size - 1] || strlen(ptx) != size - 1) bug("the linker gets what is no PTX");
    if (option("reject_link", 0) || !is_ptx(ptx)) {
        for (int i = 0; i < l->n; ++i)
            if (l->options[i] == 5) strcpy(l->values[i], "ptxas application ptx input, line 1; fatal\n");
        return 218;
    }
    l->code = malloc(size + 20);
    return sprintf(l->code, "\177ELF linked %s end", ptx), 0;
}
int cuLinkComplete(struct linker *l, void **code, size_t *size) {
    NEED_CONTEXT;
    UNCAPTURED;
    if (!l->code) bug("nothing to link");
    return counts.links++, *code = l->code, *size = strlen(l->code) + 1, 0;
}
int cuLinkDestroy(struct linker *l) {
    if (l->code) memset(l->code, 0xDD, strlen(l->code));
    return counts.linkers--, free(l->code), free(l), 0;
}
